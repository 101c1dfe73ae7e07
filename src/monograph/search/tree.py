"""Tree search: chunks and summaries of all layers ranked together by cosine.

Implements two searches of EraRAG (Zhang et al. 2025): the collapsed search (Alg. 2), and the search in which a fixed
share of the hits are chunks and the others are summaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from monograph.derive.tokens import count_tokens
from monograph.search import rerank
from monograph.search.fusion import Ranking, nearest
from monograph.values import Hit, Origin

if TYPE_CHECKING:
    from monograph.search.query import Query
    from monograph.search.reader import Reader


def search(reader: Reader, query: Query, detail: float | None, budget: int | None) -> list[Hit]:
    """Return the chunks and summaries nearest to the query, best first.

    ``detail`` and ``budget`` are the parameters of :class:`monograph.search.strategies.Tree`.
    """
    vector, k = query.vector_by(reader), rerank.most(query)
    scored, effort = reader.nearest_summaries(vector, k, query.filter, query.stop)
    summaries = Ranking("tree", tuple(node for node, _ in scored), tuple(score for _, score in scored), effort)
    rankings = (nearest(reader, vector, k, query.filter, stop=query.stop), summaries)
    hits = rerank.hits(query, _load_hits(reader, rankings, _choose(rankings, k, detail)))
    if budget is not None:
        hits = _fit_budget(hits, budget, detail)
    return [replace(hit, rank=rank) for rank, hit in enumerate(hits)]


def _choose(rankings: Sequence[Ranking], k: int, detail: float | None) -> list[tuple[int, int]]:
    """Return (kind, position in ``rankings[kind]``) of the k best hits. Kind 0 is a chunk, 1 a summary."""
    counts = [k, k]
    if detail is not None:
        counts = [round(detail * k), k - round(detail * k)]
        if 0 < detail < 1:
            lacking = [max(0, count - len(ranking.rows)) for count, ranking in zip(counts, rankings, strict=True)]
            counts = [counts[0] + lacking[1], counts[1] + lacking[0]]
    entries = [
        (-score, kind, index)
        for kind, ranking in enumerate(rankings)
        for index, score in enumerate(ranking.scores[: counts[kind]])
    ]
    return [(kind, index) for _, kind, index in sorted(entries)[:k]]


def _load_hits(reader: Reader, rankings: Sequence[Ranking], chosen: Sequence[tuple[int, int]]) -> list[Hit]:
    rows = [(kind, rankings[kind].rows[index]) for kind, index in chosen]
    summaries = reader.summaries([row for kind, row in rows if kind])
    nearest_chunks = {node: chunk for node, (_, chunk) in summaries.items()}
    # The chunk that each hit shows: itself, or the one nearest to the summary.
    shown = [nearest_chunks.get(row) if kind else row for kind, row in rows]
    loaded, _ = reader.show(dict.fromkeys(row for row in shown if row is not None))
    hits: list[Hit] = []
    for (kind, index), (_, row), chunk_row in zip(chosen, rows, shown, strict=True):
        if chunk_row is not None and (one := loaded.get(chunk_row)) is not None:
            score = rankings[kind].scores[index]
            origin = Origin(rankings[kind].retriever, index, score, rankings[kind].effort)
            hits.append(
                Hit(
                    one.chunk, score, len(hits), one.title, one.uri, one.metadata, (origin,),
                    summary=summaries[row][0] if kind else None, relevance=min(1.0, max(0.0, score)),
                )
            )  # fmt: skip
    return hits


def _fit_budget(hits: list[Hit], budget: int, detail: float | None) -> list[Hit]:
    """Return the hits that fit into ``budget`` tokens, in the same order."""
    tokens = count_tokens([hit.text for hit in hits])
    kept: set[int] = set()
    shares: list[tuple[bool | None, int]] = [(None, budget)]
    if detail is not None:
        chunk_budget = round(detail * budget)
        # Chunks get their share first. Summaries get theirs and what is left; then hits of either kind.
        shares = [(False, chunk_budget), (True, budget - chunk_budget), (None, 0)]
    remaining = 0
    for summary, share in shares:
        remaining += share
        for index, hit in enumerate(hits):
            matches = summary is None or (hit.summary is not None) == summary
            if matches and index not in kept and tokens[index] <= remaining:
                remaining -= tokens[index]
                kept.add(index)
    return [hit for index, hit in enumerate(hits) if index in kept]
