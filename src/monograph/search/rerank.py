"""Reordering of the first hits: by a reranker, or to move up hits from the period that a question asks for.

A reranker sorts the first hits by z(search score) + weight * z(reranker score). Here z standardises the scores of these
hits, and each reranker has its own weight. The search and the reranker see different things. A graph search knows which
passages lead to a hit, and a reranker does not. The reranker reads the hit's text, while the search only compares words
and vectors.

Only the order changes: the first hit gets the best score of the search, the second hit the second best, and so on. So a
reranker's scores may have any scale, and later steps work as without a reranker. A graph search still prefers passages
with words of the question that earlier hits lack, and exact matches still come first.
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
"""Number of hits that a reranker puts in order: the best ones of the search."""

PLACES = 10
"""Number of places that a hit from a requested period moves up; docs/explanation/measuring.md compares smaller and
larger numbers."""

_NAME = "rerank"


@dataclass(frozen=True, slots=True)
class RerankedHead:
    """Chunks at the beginning of a ranking, in the order that a reranker gave them.

    ``rows`` are the rows of the chunks. ``ranking`` is the reranker's own ranking of these chunks, by its scores alone.
    Both are empty if nothing was reranked.
    """

    rows: Sequence[int] = ()
    ranking: Ranking = field(default_factory=lambda: Ranking(_NAME, (), ()))

    def reassign_values(self, worth: Mapping[int, float]) -> dict[int, float]:
        """Return {row: score} of the reordered chunks: the first chunk gets the highest score, and so on.

        ``worth`` is {row: score} before the reordering.
        """
        return dict(zip(self.rows, sorted([worth[row] for row in self.rows], reverse=True), strict=True))


NOTHING = RerankedHead()


def most(query: Query) -> int:
    """Return the number of hits that a search must find: k; with a reranker, FIRST if that is more."""
    return query.k if query.reranker is None else max(query.k, FIRST)


def chunks(reader: Reader, query: Query, worth: Sequence[tuple[int, float]]) -> RerankedHead:
    """Return the first FIRST chunks, reordered by the query's reranker.

    ``worth`` has (row, score) of chunks, best first. The result is empty (NOTHING) if there is no reranker or the query
    is blank.
    """
    if query.reranker is None or not query.text.strip():
        return NOTHING
    first = worth[:FIRST]
    rows = [row for row, _ in first]
    scores = query.reranker.score(query.text, [read(*titled) for titled in reader.titled_texts(rows)])
    by_score = _sort_indices(scores)
    ranking = Ranking(_NAME, tuple(rows[index] for index in by_score), tuple(scores[index] for index in by_score))
    order = _sort_indices(_add_scores([value for _, value in first], scores, query.reranker.weight))
    return RerankedHead([rows[index] for index in order], ranking)


def hits(query: Query, found: list[Hit]) -> list[Hit]:
    """Return at most ``query.k`` hits; the query's reranker puts the first FIRST of them in order.

    If the query has codes such as INV-2024 (see :func:`monograph.search.words.codes`), hits that contain a code stay
    before all other hits. Without a reranker, or for a blank query, the order stays the same.
    """
    if query.reranker is None or not query.text.strip():
        return found[: query.k]
    first = found[:FIRST]
    scores = query.reranker.score(query.text, [read(hit.title, hit.text) for hit in first])
    origins = {index: Origin(_NAME, rank, scores[index]) for rank, index in enumerate(_sort_indices(scores))}
    order: list[int] = []
    for exact in (True, False):
        indices = [index for index, hit in enumerate(first) if _is_exact(hit) == exact]
        values = [first[index].score for index in indices]
        sums = _add_scores(values, [scores[index] for index in indices], query.reranker.weight)
        order += [indices[position] for position in _sort_indices(sums)]
    return [*_reorder(first, order, origins), *found[FIRST:]][: query.k]


def read(title: str, text: str) -> str:
    """Return the text that a reranker gets for a chunk: the document's title, then the chunk's text.

    If there is no title, or the text begins with it, only the text is returned.
    """
    return f"{title}\n{text}" if title and not text.startswith(title) else text


def move_up_requested(found: list[Hit], times: Sequence[TimeSpan], k: int) -> list[Hit]:
    """Move up hits from requested periods by at most PLACES places, and return the first k hits.

    ``times`` are the periods. A hit is from a period if its date overlaps the period. A date that was only taken from
    the file's time does not count. Hits that contain a code of the query (:func:`monograph.search.words.codes`) stay
    before all other hits. If all hits are from the periods, or none is, the order stays the same. The scores are not
    moved with the hits: the first hit gets the highest score, the second hit the second highest, and so on.
    """
    time_origins = {
        index: Origin("time", index, 1.0)
        for index, hit in enumerate(found)
        if hit.date is not None
        and hit.date.source != FILE
        and any(period.first <= hit.date.when.last and hit.date.when.first <= period.last for period in times)
    }
    if len(time_origins) in (0, len(found)):
        return found[:k]
    order = sorted(
        range(len(found)),
        key=lambda index: (not _is_exact(found[index]), index - (PLACES + 0.5) * (index in time_origins)),
    )
    return _reorder(found, order, time_origins)[:k]


def _reorder(found: Sequence[Hit], order: Sequence[int], new_origins: Mapping[int, Origin]) -> list[Hit]:
    """Return the hits in the order of the indexes ``order``. ``new_origins`` is {index of hit: origin to add}."""
    # Scores and relevances are not moved with the hits: the first hit gets the highest, and so on.
    scores = sorted([hit.score for hit in found], reverse=True)
    relevance = sorted([hit.relevance for hit in found], reverse=True)
    return [
        replace(
            found[index],
            rank=rank,
            score=scores[rank],
            relevance=relevance[rank],
            origins=(*found[index].origins, new_origins[index]) if index in new_origins else found[index].origins,
        )
        for rank, index in enumerate(order)
    ]


def _is_exact(hit: Hit) -> bool:
    """Return whether a hit contains a code of the query: see :func:`monograph.search.words.codes`."""
    return any(origin.retriever == "exact" for origin in hit.origins)


def _add_scores(values: Sequence[float], scores: Sequence[float], weight: float) -> list[float]:
    both = standardised(np.array(values, dtype=np.float64)) + weight * standardised(np.array(scores, dtype=np.float64))
    sums: list[float] = both.tolist()
    return sums


def _sort_indices(values: Sequence[float]) -> list[int]:
    """Return the positions of the values, highest value first. Equal values stay in order."""
    return sorted(range(len(values)), key=lambda index: (-values[index], index))
