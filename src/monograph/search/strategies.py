"""The seven search modes: a class for each, with its options as fields, and their text form: ``hybrid:alpha=0.3``."""

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
"""Least number of chunks that a dense search looks for, even if fewer hits are requested. A search for fewer chunks
could read less of the vector index, and find other chunks. With this minimum, a request for 3 hits returns the first 3
hits of a request for 10."""

WINDOW_FACTOR = 4.0
"""Factor on the window of a dense search: the number of successive clusters without a useful result that ends it. The
window is calibrated on texts, but questions lie elsewhere in the vector space. Without the factor, a search with a
recall target of 95 % found 86 % of the ten chunks nearest to a question. With the factor, the recall is 91 %, as in a
search for a hundred chunks."""

NOT_MADE = "without a graph: archive.graph.build() builds it"


class BuiltInMode:
    """Base class of the search modes of this package. ``str()`` returns the text that :func:`strategy` parses."""

    __slots__ = ()
    needs_graph: ClassVar[bool] = False
    """Whether the mode reads the graph or the trigrams, which a file with ``Settings(graph=False)`` lacks."""
    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    @property
    def needs_vector(self) -> bool:
        """Whether results depend on the query's vector."""
        return True

    def __str__(self) -> str:
        """Return the mode's name, with the parameters that differ from their defaults: ``hybrid:alpha=0.3``."""
        values = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        changed = ",".join(f"{name}={json.dumps(value)}" for name, value, default in values if value != default)
        name = type(self).__name__.lower()
        return f"{name}:{changed}" if changed else name


@dataclass(frozen=True, slots=True)
class Auto(BuiltInMode):
    """Mode ``Graph``; or ``Hybrid``, if the graph is not built or the file knows no name of the question.

    If the question asks for a period, hits from that period move up by up to ``monograph.search.rerank.PLACES`` places.
    """

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Return the hits of ``Graph`` or ``Hybrid``, best first.

        If the file has no graph, each hit has a note that says so.
        """
        from monograph.search import rerank
        from monograph.search.question import parse, times_of

        question = parse(reader, query)
        times = times_of(reader, query)
        # A hit moves up by at most this many places, so look for that many more.
        wide = replace(query, k=query.k + rerank.PLACES) if times else query
        if question.names and reader.has_graph():
            from monograph.search import graph

            hits = graph.search(reader, wide, question)
        else:
            hits = _search_hybrid(reader, wide, counts=question.counts)
            if not reader.has_graph():
                hits = [replace(hit, note=NOT_MADE) for hit in hits]
        return rerank.move_up_requested(hits, times, query.k) if times else hits


@dataclass(frozen=True, slots=True)
class Dense(BuiltInMode):
    """The chunks whose vectors are nearest to the query's vector; the same as ``Hybrid(alpha=1)``."""

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Return the nearest chunks, best first; the scores are cosines."""
        return _search_hybrid(reader, query, 1.0)


@dataclass(frozen=True, slots=True)
class Graph(BuiltInMode):
    """Hybrid search that also goes, hop by hop, from each good chunk to other chunks that name the same entities.

    Parameters
    ----------
    faithful:
        Rank by the formulas of the MiniRAG paper (Eq. 2 and 3) instead of Monograph's own: the chunks of hybrid search,
        with path scores as a third ranking. If the file was opened with a language model, the model is asked once which
        of the file's entity types the answer may have.
    """

    needs_graph: ClassVar[bool] = True

    faithful: bool = False

    @property
    def asks_model(self) -> bool:
        """Whether a language model is asked for the entity types that the answer may have."""
        return self.faithful

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Return hits, best first. A hit that was reached over the graph has its path."""
        if self.faithful:
            from monograph.search import minirag

            return minirag.search(reader, query)
        from monograph.search import graph
        from monograph.search.question import parse

        return graph.search(reader, query, parse(reader, query))


@dataclass(frozen=True, slots=True)
class Hybrid(BuiltInMode):
    """BM25 and cosines, fused: see :mod:`monograph.search.fusion`.

    Parameters
    ----------
    alpha:
        Weight of the vectors: 0 uses words only, 1 vectors only. None uses the weights that did best on question sets.

    Raises
    ------
    InputError
        If ``alpha`` is out of range.
    """

    alpha: float | None = None

    def __post_init__(self) -> None:
        if self.alpha is not None:
            hint = "give a number from 0 (only words) to 1 (only vectors)"
            object.__setattr__(self, "alpha", arguments.share(self.alpha, "alpha", hint))

    @property
    def needs_vector(self) -> bool:
        """Whether results depend on the query's vector."""
        return self.alpha != 0

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Return hits, best first. Their scores are fused; the scores of each retriever are in the hits' origins."""
        return _search_hybrid(reader, query, self.alpha)


@dataclass(frozen=True, slots=True)
class Lexical(BuiltInMode):
    """BM25, the same as ``Hybrid(alpha=0)``.

    If the query has codes such as INV-2024, the chunks that contain a code come first. If it has phrases in quotation
    marks, the chunks that contain a phrase get a higher score.
    """

    needs_vector: ClassVar[bool] = False

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Return hits, best first.

        The scores are BM25 (above 0), plus values of ``monograph.search.fusion.LIFTS`` for codes and quoted phrases.
        """
        return _search_hybrid(reader, query, 0.0)


@dataclass(frozen=True, slots=True)
class Tfidf(BuiltInMode):
    """RAGdb's hybrid score (Sec. 4.2): see :func:`monograph.search.words.search_tfidf`.

    Parameters
    ----------
    alpha:
        Weight of the cosine.
    beta:
        Weight of a word-for-word match.

    Raises
    ------
    InputError
        If ``alpha`` or ``beta`` is not finite.
    """

    needs_graph: ClassVar[bool] = True
    needs_vector: ClassVar[bool] = False

    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        for name in ("alpha", "beta"):
            object.__setattr__(self, name, arguments.finite(getattr(self, name), name))

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Return hits, best first; the scores are in [0, alpha + beta]."""
        from monograph.search import words

        return words.search_tfidf(reader, query, self.alpha, self.beta)


@dataclass(frozen=True, slots=True)
class Tree(BuiltInMode):
    """The chunks and summaries nearest to the query: see :mod:`monograph.search.tree`.

    Parameters
    ----------
    detail:
        Share of chunks among the hits, from 0 (summaries only) to 1 (chunks only). None means no fixed share: chunks
        and summaries are ranked together. If ``detail`` is strictly between 0 and 1, and there are too few chunks,
        summaries take the free places. Likewise, chunks take the places of missing summaries.
    budget:
        Most tokens of all hits together; None for no limit. ``detail`` divides the tokens between chunks and summaries.
        A hit with more tokens than are left is skipped.

    Raises
    ------
    InputError
        If ``detail`` or ``budget`` is out of range.
    """

    detail: float | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.detail is not None:
            object.__setattr__(self, "detail", arguments.share(self.detail, "detail"))
        if self.budget is not None:
            object.__setattr__(self, "budget", arguments.whole_number(self.budget, "budget", 0))

    def search(self, reader: Reader, query: Query) -> list[Hit]:
        """Return hits, best first; the scores are cosines.

        A summary is found only if the query's filter allows all chunks under it. Raises InputError if the file has no
        tree.
        """
        from monograph.search import tree

        return tree.search(reader, query, self.detail, self.budget)


def _search_hybrid(reader: Reader, query: Query, alpha: float | None = None, counts: Counts | None = None) -> list[Hit]:
    """Return hits by words (``alpha`` 0), vectors (1) or both. ``alpha`` is the vectors' weight (None: default)."""
    from monograph.search import fusion, rerank, words

    k = query.k if query.reranker is None else rerank.most(query)
    vector = None if alpha == 0 else query.vector_by(reader)
    if alpha == 1 and vector is not None:
        ranking = fusion.nearest(
            reader, vector, max(k, LEAST), query.filter, window_factor=WINDOW_FACTOR, stop=query.stop
        )
        hits = fusion.cosine_hits(reader, ranking, k)
    else:
        pool = max(fusion.POOL, k)
        if counts is None:
            counts = words.count(reader, query)
        _, rankings = words.pool(reader, query, counts, pool, vector)
        matches = words.matches(reader, query, counts, pool)
        if alpha == 0:
            unfound = 0.0
            scores = fusion.add_lifts(dict(zip(rankings[0].rows, rankings[0].scores, strict=True)), matches)
        else:
            weights = fusion.WEIGHTS if alpha is None else {"lexical": 1 - alpha, "dense": alpha}
            scores, unfound = fusion.fuse(rankings, matches, weights)
        hits = fusion.best_hits(reader, scores, [*rankings, *matches], k, unfound)
    return hits if query.reranker is None else rerank.hits(query, hits)


STRATEGIES: dict[str, type[BuiltInMode]] = {
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
    """Return the search mode that a text or object describes.

    Parameters
    ----------
    how:
        A search mode, which is returned as it is. Or the name of a mode, such as ``tree``; parameters that differ from
        their defaults may follow it: ``tree:detail=0.5,budget=800``.

    Raises
    ------
    InputError
        If no mode has that name, the mode has no such parameter, or a value is out of range.
    """
    if not isinstance(how, str):
        from monograph.search.query import Strategy

        if isinstance(how, Strategy) and not isinstance(how, type):
            return how
        raise InputError(f"how is {arguments.shown(how)}", f"give a Strategy, or one of {', '.join(STRATEGIES)}")
    return cast("Strategy", arguments.parse(how, STRATEGIES, "search mode"))
