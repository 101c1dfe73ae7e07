"""Reordering of the first hits: by a reranker's scores, or for the period that a question asks for.

A reranker's scores and those of the search, both standardised, count as its weight says. Along the graph the search
knows what no reranker can see, that a passage is evidence because another leads to it; the reranker reads what the
search only counted. Together they say which chunk has which place, and not what the places are worth: the first takes
on the score of the best, and so on. So a reranker's scores may be of any kind, and what builds on those of the search
goes on as ever: along the graph each hit is to add to those before it, and exact matches come first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from monograph.dates.span import FILE
from monograph.search.fusion import Ranking, standardised
from monograph.values import Origin

if TYPE_CHECKING:
    from monograph.dates.span import TimeSpan
    from monograph.search.query import Query
    from monograph.search.reader import Reader
    from monograph.values import Hit

FIRST = 30
"""So many are put in order by a reranker."""

PLACES = 10
"""So many places a hit from a requested time is lifted; docs/measuring.md holds it against fewer and more."""

_NAME = "rerank"


@dataclass(frozen=True, slots=True)
class Reordered:
    """The first of some chunks in their new order, and what the reranker says of them."""

    rows: Sequence[int] = ()
    ranking: Ranking = field(default_factory=lambda: Ranking(_NAME, (), ()))

    def handed_on(self, worth: Mapping[int, float]) -> dict[int, float]:
        """Return what each of the chunks is worth in its place, by what each was worth before."""
        return dict(zip(self.rows, sorted([worth[row] for row in self.rows], reverse=True), strict=True))


NOTHING = Reordered()


def most(query: Query) -> int:
    """Return how many hits to look for: at least as many as are put in order."""
    return query.k if query.reranker is None else max(query.k, FIRST)


def chunks(reader: Reader, query: Query, worth: Sequence[tuple[int, float]]) -> Reordered:
    """Put the first of some (row, value), the best first, in order; nothing without a reranker."""
    if query.reranker is None or not query.text.strip():
        return NOTHING
    first = worth[:FIRST]
    rows = [row for row, _ in first]
    scores = query.reranker.score(query.text, [read(*titled) for titled in reader.titled_texts(rows)])
    by_score = _in_order(scores)
    ranking = Ranking(_NAME, tuple(rows[place] for place in by_score), tuple(scores[place] for place in by_score))
    order = _in_order(_together([value for _, value in first], scores, query.reranker.weight))
    return Reordered([rows[place] for place in order], ranking)


def hits(query: Query, found: list[Hit]) -> list[Hit]:
    """Return at most ``query.k`` hits, the first of those that were found put in order by the query's reranker.

    Those with codes of the query word for word stay before all others.
    """
    if query.reranker is None or not query.text.strip():
        return found[: query.k]
    first = found[:FIRST]
    scores = query.reranker.score(query.text, [read(hit.title, hit.text) for hit in first])
    told = {place: Origin(_NAME, rank, scores[place]) for rank, place in enumerate(_in_order(scores))}
    order: list[int] = []
    for exact in (True, False):
        some = [place for place, hit in enumerate(first) if _is_exact(hit) == exact]
        values = [first[place].score for place in some]
        together = _together(values, [scores[place] for place in some], query.reranker.weight)
        order += [some[at] for at in _in_order(together)]
    return [*_placed(first, order, told), *found[FIRST:]][: query.k]


def read(title: str, text: str) -> str:
    """Return what a reranker reads of a chunk: its text, under its document's title."""
    return f"{title}\n{text}" if title and not text.startswith(title) else text


def lifted(found: list[Hit], times: Sequence[TimeSpan], k: int) -> list[Hit]:
    """Return at most k hits, those from any of some times moved up by PLACES.

    The places keep their scores. Those with codes of the query word for word stay before all others, and where all hits
    are from such a time, or none is, all stay as they are.
    """
    within = {place: Origin("time", place, 1.0) for place, hit in enumerate(found) if _is_from(hit, times)}
    if len(within) in (0, len(found)):
        return found[:k]
    order = sorted(range(len(found)), key=lambda at: (not _is_exact(found[at]), at - (PLACES + 0.5) * (at in within)))
    return _placed(found, order, within)[:k]


def _placed(found: Sequence[Hit], order: Sequence[int], told: Mapping[int, Origin]) -> list[Hit]:
    """Return hits in another order, with the origins of ``told``; the places keep their scores."""
    worth = sorted([hit.score for hit in found], reverse=True)
    relevance = sorted([hit.relevance for hit in found], reverse=True)
    return [
        replace(
            found[place],
            rank=rank,
            score=worth[rank],
            relevance=relevance[rank],
            origins=(*found[place].origins, told[place]) if place in told else found[place].origins,
        )
        for rank, place in enumerate(order)
    ]


def _is_exact(hit: Hit) -> bool:
    """Return whether a hit holds a code of the query word for word."""
    return any(one.retriever == "exact" for one in hit.origins)


def _is_from(hit: Hit, times: Sequence[TimeSpan]) -> bool:
    """Return whether a hit's document may be from one of some times, as far as it tells that itself."""
    if hit.date is None or hit.date.told_by == FILE:
        return False
    when = hit.date.when
    return any(one.first <= when.last and when.first <= one.last for one in times)


def _together(values: Sequence[float], scores: Sequence[float], weight: float) -> list[float]:
    both = standardised(np.array(values, dtype=np.float64)) + weight * standardised(np.array(scores, dtype=np.float64))
    together: list[float] = both.tolist()
    return together


def _in_order(values: Sequence[float]) -> list[int]:
    """Places, that of the highest value first; of equal ones the first."""
    return sorted(range(len(values)), key=lambda place: (-values[place], place))
