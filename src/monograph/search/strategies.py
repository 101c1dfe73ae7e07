"""The search modes: seven frozen values with their options, and their text form, such as ``hybrid:alpha=0.3``."""

from __future__ import annotations

import json
from dataclasses import Field, dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from monograph.errors import InputError
from monograph.values import arguments

if TYPE_CHECKING:
    from monograph.search.query import Query, Strategy
    from monograph.search.reader import Counts, Reader
    from monograph.values import Hit

LEAST = 10
"""Chunks that a dense search looks for, at least: up to here, a search for more hits finds the same ones first."""

STRETCH = 4.0
"""On the window of a dense search's stop condition. It is calibrated on texts, and questions lie elsewhere than those:
without, 86 % of the ten nearest to a question were found where 95 % were wanted; so, 91 %, as when a hundred are looked
for."""

NOT_MADE = "without a graph: archive.graph.build() builds it"


class BuiltIn:
    """A strategy of this package: as a text it is what :func:`strategy` reads."""

    __slots__ = ()
    needs_graph: ClassVar[bool] = False
    """Whether it reads the graph or the trigrams, which a file with ``Settings(graph=False)`` lacks."""
    needs_vector: ClassVar[bool] = True
    """Whether results depend on the query's vector."""
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __str__(self) -> str:
        """Return the name and the parameters that differ from their defaults: ``hybrid:alpha=0.3``."""
        values = ((one.name, getattr(self, one.name), one.default) for one in fields(self))
        changed = ",".join(f"{name}={json.dumps(value)}" for name, value, usual in values if value != usual)
        name = type(self).__name__.lower()
        return f"{name}:{changed}" if changed else name


@dataclass(frozen=True, slots=True)
class Auto(BuiltIn):
    """``Graph``; or ``Hybrid`` until the graph is built, and for questions without a name that the file knows.

    Hits from a time that the question asks for are lifted above others of about their rank.
    """

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Search as ``Graph`` or ``Hybrid``; hits of a file without a graph have a note that says so."""
        from monograph.search import rerank
        from monograph.search.question import parse, times_of

        question = parse(reader, query)
        times = times_of(reader, query)
        # Hits from such a time are lifted among the first from as many places below them.
        wide = replace(query, k=query.k + rerank.PLACES) if times else query
        if question.names and reader.has_graph():
            from monograph.search import graph

            found = graph.search(reader, wide, question)
        else:
            found = _search_hybrid(reader, wide, counts=question.counts)
            if not reader.has_graph():
                found = [replace(one, note=NOT_MADE) for one in found]
        return rerank.lifted(found, times, query.k) if times else found


@dataclass(frozen=True, slots=True)
class Dense(BuiltIn):
    """``Hybrid(alpha=1)``: the chunks whose vectors are nearest to the query's."""

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Scores are cosines."""
        return _search_hybrid(reader, query, 1.0)


@dataclass(frozen=True, slots=True)
class Graph(BuiltIn):
    """Hybrid search, continued hop by hop along the entities that chunks name together.

    Parameters
    ----------
    faithful:
        Search by MiniRAG's own formulas instead, which keep of the dense search's chunks those that the best paths
        through the graph lead to. The model, if the file was opened with one, is asked once of which types the answer
        may be.
    """

    needs_graph: ClassVar[bool] = True

    faithful: bool = False

    @property
    def asks_model(self) -> bool:
        """Whether it reads the types that the answer may have."""
        return self.faithful

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Every hit that the graph led to has the path to it; by MiniRAG's formulas there may be fewer than k."""
        if self.faithful:
            from monograph.search import minirag

            return minirag.search(reader, query)
        from monograph.search import graph
        from monograph.search.question import parse

        return graph.search(reader, query, parse(reader, query))


@dataclass(frozen=True, slots=True)
class Hybrid(BuiltIn):
    """BM25 and cosines, fused: see :mod:`monograph.search.fusion`.

    Parameters
    ----------
    alpha:
        What meaning counts beside words, from 0 (words alone) to 1 (vectors alone); None for the weights that did best
        on question sets.

    Raises
    ------
    InputError
        If ``alpha`` is out of range.
    """

    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.alpha is not None:
            hint = "give 0 (words alone) to 1 (vectors alone)"
            object.__setattr__(self, "alpha", arguments.share(self.alpha, "alpha", hint))

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Scores are fused ones; the origins have those of each retriever."""
        return _search_hybrid(reader, query, self.alpha)


@dataclass(frozen=True, slots=True)
class Lexical(BuiltIn):
    """``Hybrid(alpha=0)``: BM25; codes and quoted phrases that a chunk has word for word come first."""

    needs_vector: ClassVar[bool] = False

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Scores are BM25's, above 0, and what a match word for word adds."""
        return _search_hybrid(reader, query, 0.0)


@dataclass(frozen=True, slots=True)
class Tfidf(BuiltIn):
    """RAGdb's hybrid score (Sec. 4.2): see :func:`monograph.search.words.search_tfidf`.

    Parameters
    ----------
    alpha, beta:
        Weights of the cosine, and of a word-for-word match.

    Raises
    ------
    InputError
        If one is not finite.
    """

    needs_graph: ClassVar[bool] = True
    needs_vector: ClassVar[bool] = False

    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            object.__setattr__(self, name, arguments.finite(getattr(self, name), name))

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Scores lie in [0, alpha + beta]."""
        from monograph.search import words

        return words.search_tfidf(reader, query, self.alpha, self.beta)


@dataclass(frozen=True, slots=True)
class Tree(BuiltIn):
    """The chunks and the summaries that are nearest to the query: see :mod:`monograph.search.tree`.

    Parameters
    ----------
    detail:
        The share of chunks among the hits, from 0 (summaries alone) to 1 (chunks alone); None takes what is nearest,
        whatever it is. Where both are asked for and there is too little of one, the other fills up.
    budget:
        Most tokens of all hits together, shared as ``detail`` says; a hit that would go over is passed over. None for
        no bound.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    detail: float | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.detail is not None:
            object.__setattr__(self, "detail", arguments.share(self.detail, "detail"))
        if self.budget is not None:
            object.__setattr__(self, "budget", arguments.whole_number(self.budget, "budget", 0))

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Scores are cosines. A summary is found only if all chunks under it are allowed.

        Raises InputError if the file has no tree.
        """
        from monograph.search import tree

        return tree.search(reader, query, self.detail, self.budget)


def _search_hybrid(reader: Reader, query: Query, alpha: float | None = None, counts: Counts | None = None) -> list[Hit]:
    """Search by words (``alpha`` 0), by meaning (1) or by both; ``counts`` are those of the query's words."""
    from monograph.search import fusion, rerank, words

    k = query.k if query.reranker is None else rerank.most(query)
    vector = None if alpha == 0 else query.vector_by(reader)
    if alpha == 1 and vector is not None:
        near = fusion.nearest(reader, vector, max(k, LEAST), query.filter, stretch=STRETCH)
        hits = fusion.cosine_hits(reader, near, k)
    else:
        pool = max(fusion.POOL, k)
        if counts is None:
            counts = words.count(reader, query)
        _, rankings = words.pool(reader, query, counts, pool, vector)
        matches = words.matches(reader, query, counts, pool)
        if alpha == 0:
            unfound, scores = 0.0, fusion.lifted(dict(zip(rankings[0].rows, rankings[0].scores, strict=True)), matches)
        else:
            weights = fusion.WEIGHTS if alpha is None else {"lexical": 1 - alpha, "dense": alpha}
            scores, unfound = fusion.fuse(rankings, matches, weights)
        hits = fusion.best_hits(reader, scores, [*rankings, *matches], k, unfound)
    return hits if query.reranker is None else rerank.hits(query, hits)


STRATEGIES: dict[str, type[BuiltIn]] = {
    "auto": Auto,
    "dense": Dense,
    "graph": Graph,
    "hybrid": Hybrid,
    "lexical": Lexical,
    "tfidf": Tfidf,
    "tree": Tree,
}


def strategies() -> tuple[str, ...]:
    """Return the names of all search modes, in alphabetical order."""
    return tuple(STRATEGIES)


def strategy(how: str | Strategy) -> Strategy:
    """Return a strategy.

    Parameters
    ----------
    how:
        A strategy; or the name of one, ``tree``, with parameters that differ from their defaults:
        ``tree:detail=0.5,budget=800``.

    Raises
    ------
    InputError
        If no strategy has that name, it knows no such parameter, or a value is out of range.
    """
    if not isinstance(how, str):
        from monograph.search.query import Strategy

        if isinstance(how, Strategy) and not isinstance(how, type):
            return how
        raise InputError(f"how is {arguments.shown(how)}", f"give a strategy, or one of {', '.join(STRATEGIES)}")
    name, _, written = how.partition(":")
    made = STRATEGIES.get(name)
    if made is None:
        raise InputError(f"unknown way to search {arguments.shown(name)}", f"ways are {', '.join(STRATEGIES)}")
    if not written:
        return cast("Strategy", made())
    known = [field.name for field in fields(made)]
    parameters: dict[str, Any] = {}
    for part in written.split(","):
        key, _, value = part.partition("=")
        key = key.strip()
        if key not in known:
            hint = f"it knows {', '.join(known)}" if known else f"it has none: write {name}"
            raise InputError(f"the way to search {name!r} has no parameter {arguments.shown(key)}", hint)
        try:
            parameters[key] = json.loads(value)
        except (ValueError, RecursionError):
            raise InputError(f"{key} is {arguments.shown(value)}", "give a number, true or false") from None
    return cast("Strategy", made(**parameters))
