"""A search of an open file, by the strategy that is asked for."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from monograph import telemetry
from monograph import where as filters
from monograph.library.opened import OpenFile
from monograph.models import Reranker, reads_context, weight_of
from monograph.search.how import strategy
from monograph.search.relevance import settled
from monograph.search.strategy import Corpus, Query, Rerank, Strategy, given_vector
from monograph.store.documents.filters import Allowed, compile_condition
from monograph.values import Float32, Hit
from monograph.write import configuration

if TYPE_CHECKING:
    from monograph.library.past import Moment

MANY = 10_000
"""Where more hits are asked for, it is looked first how many there can be: memory is set aside for each."""


@dataclass(frozen=True, slots=True, eq=False)
class Brought:
    """What comes with a query: its vector, and what puts the hits in order; an empty text for nothing."""

    vector: Sequence[float] | Float32 | None = None
    reranker: Reranker | str | None = None


NOTHING = Brought()


def search(
    file: OpenFile,
    text: str,
    k: int,
    how: str | Strategy,
    where: Mapping[str, Any] | None,
    brought: Brought = NOTHING,
) -> list[Hit]:
    """See :meth:`monograph.Monograph.search`."""
    chosen = strategy(how)
    query = Query(text, k, allowed(where), given_vector(brought.vector))
    if query.k > MANY:
        with file.reading() as snapshot:
            # A summary stands for at least two of what is below it: there are fewer of them than chunks.
            query = replace(query, k=min(query.k, 2 * snapshot.total()))
    if not query.k:
        return []
    if getattr(chosen, "needs_graph", False):
        file.require_graph()
    reranker = file.reranker if brought.reranker is None else file.reranker_of(brought.reranker)
    searched = corpus(file)
    if reranker is not None:
        searched = replace(searched, rerank=Rerank(file.scores.by(reranker), weight_of(reranker)))
    since, told = time.perf_counter(), {"monograph.search.mode": type(chosen).__name__.lower()}
    with file.spending(), telemetry.span("monograph.search", {**told, "monograph.search.k": query.k}) as span:
        span.text("monograph.search.query", query.text)
        found = settled(chosen.search(searched, query))
        span.set({"monograph.search.hits": len(found)})
    telemetry.took("monograph.search.duration", since, told)
    if reranker is not None:
        file.scores.keep()
    return found


def at(file: OpenFile, moment: Moment | None) -> OpenFile:
    """The file, or view, as it stood at a moment; itself where none is given. Raises as :func:`past.as_of`."""
    if moment is None:
        return file
    from monograph.library import past

    return past.searched(file, moment)


def allowed(where: Mapping[str, Any] | None) -> Allowed:
    """Which chunks a filter lets through: see :mod:`monograph.where`. Raises InvalidFilter."""
    return compile_condition(filters.parse(where))


def corpus(file: OpenFile) -> Corpus:
    """An open file as strategies see it."""

    def embed(texts: Sequence[str]) -> Float32:
        # Another process may have given the file another embedder since it was opened.
        configuration.EMBEDDER.check(file.database, file.embedder)
        return file.embedder.embed(texts, "query")

    def types(question: str) -> tuple[str, ...]:
        if file.model is None:
            return ()
        from monograph.answer.answer_types import answer_types

        return answer_types(file.model, file.answers(), question)

    def in_context() -> bool:
        return reads_context(file.embedder)

    return Corpus(file.reading, embed, in_context, lambda: file.embedder, types)
