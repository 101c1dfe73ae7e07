"""Hits from a time that a question asks for, lifted among the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from monograph.dates.asked import names_a_time, times_asked
from monograph.dates.dating import FILE
from monograph.search.hits import is_exact
from monograph.values import Hit, Origin

if TYPE_CHECKING:
    from monograph.dates.span import TimeSpan
    from monograph.search.query import Query
    from monograph.search.reader import Reader

PLACES = 10
"""So many places a hit from that time is lifted; docs/measuring.md holds it against fewer and more."""

MOST_READ = 2_000
"""Characters of a question in which a time is looked for."""


def times_of(reader: Reader, query: Query) -> tuple[TimeSpan, ...]:
    """Return the times that a question asks for, if documents have dates; none if a reranker reads the question.

    What it counts from its own day, as *last week*, is counted from that of the newest document: of a corpus that rests
    that is nearer to what is meant than the clock, and the same question finds the same whenever it is asked.
    """
    text = query.text[:MOST_READ]
    if query.reranker is not None or not names_a_time(text):
        return ()
    newest = reader.newest()
    return () if newest is None else times_asked(text, datetime.fromtimestamp(newest, UTC).date())


def widened(query: Query, times: Sequence[TimeSpan]) -> Query:
    """Raise k so that hits from the requested period can be lifted among the first."""
    return replace(query, k=query.k + PLACES) if times and query.k else query


def lifted(found: list[Hit], times: Sequence[TimeSpan], k: int) -> list[Hit]:
    """Return at most k hits, those from a requested time moved up by PLACES.

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


def _is_from(hit: Hit, times: Sequence[TimeSpan]) -> bool:
    """Whether a hit's document may be from one of some times, as far as it tells that itself."""
    if hit.date is None or hit.date.told_by == FILE:
        return False
    when = hit.date.when
    return any(one.first <= when.last and when.first <= one.last for one in times)
