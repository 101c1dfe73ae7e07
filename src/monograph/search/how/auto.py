"""The way that serves most questions, by what a file has and what is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from monograph.dates.asked import names_a_time, times_asked
from monograph.dates.dating import FILE
from monograph.search.hits import is_exact
from monograph.search.how.hybrid import Hybrid, by_both
from monograph.search.question import counted, take_apart
from monograph.search.snapshot import Opening, Snapshot
from monograph.search.strategy import Corpus, Named, Query
from monograph.values import Hit, Origin

if TYPE_CHECKING:
    from monograph.dates.span import Span

NOT_MADE = "without a graph: archive.graph.build() builds it"

PLACES = 10
"""So many places a hit from that time is lifted; docs/measuring.md holds it against fewer and more."""

MOST_READ = 2_000
"""Characters of a question in which a time is looked for."""


@dataclass(frozen=True, slots=True)
class Auto(Named):
    """By the graph; by words and meaning until that is made, and for questions that name nothing the file knows.

    Hits from a time that the question asks for are lifted above others of about their rank.
    """

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """As :class:`~monograph.search.how.graph.Graph`, or :class:`~monograph.search.how.hybrid.Hybrid`.

        A hit of a file without a graph says so.
        """
        with corpus.read() as snapshot:
            snapshot.expect(Opening(query.text, query.allowed, counted))
            asked = times_of(corpus, snapshot, query)
            return lifted(_found(corpus, snapshot, widened(query, asked)), asked, query.k)


def _found(corpus: Corpus, snapshot: Snapshot, query: Query) -> list[Hit]:
    if not snapshot.has_graph():
        return [replace(one, note=NOT_MADE) for one in Hybrid().search(corpus, query)]
    question = take_apart(snapshot, query.text)
    if question.names:
        from monograph.search.how.graph import by_walk

        return by_walk(corpus, snapshot, query, question)
    return by_both(corpus, snapshot, query, question.frequencies)


def times_of(corpus: Corpus, snapshot: Snapshot, query: Query) -> tuple[Span, ...]:
    """The times that a question asks for, as far as documents tell when they are from; none where a reranker reads it.

    What it counts from its own day, as *last week*, is counted from that of the newest document: of a corpus that rests
    that is nearer to what is meant than the clock, and the same question finds the same whenever it is asked.
    """
    text = query.text[:MOST_READ]
    if corpus.rerank is not None or not names_a_time(text):
        return ()
    newest = snapshot.newest()
    return () if newest is None else times_asked(text, datetime.fromtimestamp(newest, UTC).date())


def widened(query: Query, times: Sequence[Span]) -> Query:
    """The query, for as many more hits as may be lifted among the first."""
    return replace(query, k=query.k + PLACES) if times and query.k else query


def lifted(found: list[Hit], times: Sequence[Span], k: int) -> list[Hit]:
    """At most k hits, those from a time that is asked for before the PLACES that stood next above them.

    The places keep their scores. Those with codes of the query word for word stay before all others, and where all hits
    are from such a time, or none is, all stay as they are.
    """
    if not times:
        return found
    within = [_is_from(hit, times) for hit in found]
    if all(within) or not any(within):
        return found[:k]
    places = sorted(range(len(found)), key=lambda at: (not is_exact(found[at]), at - (PLACES + 0.5) * within[at]))
    worth = sorted((hit.score for hit in found), reverse=True)
    relevance = sorted((hit.relevance for hit in found), reverse=True)
    return [
        replace(
            found[place],
            rank=rank,
            score=worth[rank],
            relevance=relevance[rank],
            origins=(*found[place].origins, *([Origin("time", place, 1.0)] if within[place] else [])),
        )
        for rank, place in enumerate(places[:k])
    ]


def _is_from(hit: Hit, times: Sequence[Span]) -> bool:
    """Whether a hit's document may be from one of some times, as far as it tells that itself."""
    if hit.date is None or hit.date.told_by == FILE:
        return False
    when = hit.date.when
    return any(one.first <= when.last and when.first <= one.last for one in times)
