"""Tree search: chunks and summaries of all layers ranked together by cosine.

Implements EraRAG's collapsed search (Alg. 2 of Zhang et al. 2025), and its search with two shares: a set share of the
hits from chunks, the rest from summaries.
"""

from __future__ import annotations

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
    """Return the chunks and summaries nearest to the query: see :class:`monograph.search.strategies.Tree`."""
    vector, k = query.vector_by(reader), rerank.most(query)
    scored, effort = reader.nearest_summaries(vector, k, query.filter)
    summaries = Ranking("tree", tuple(node for node, _ in scored), tuple(score for _, score in scored), effort)
    chunks = nearest(reader, vector, k, query.filter)
    hits = rerank.hits(query, _load_hits(reader, chunks, summaries, _choose(chunks, summaries, k, detail)))
    if budget is not None:
        hits = _fit_budget(hits, budget, detail)
    return [replace(hit, rank=rank) for rank, hit in enumerate(hits)]


_Position = tuple[bool, int]
"""(Whether it is a summary, its position in the ranking of chunks or of summaries)."""


def _choose(chunks: Ranking, summaries: Ranking, k: int, detail: float | None) -> list[_Position]:
    """Return the places of at most k hits, best first; at equal scores the chunk comes before the summary."""
    positions = (
        [(False, index) for index in range(len(chunks.rows))],
        [(True, index) for index in range(len(summaries.rows))],
    )
    if detail is not None:
        chunk_count = round(detail * k)
        summary_count = k - chunk_count
        if 0 < detail < 1:
            chunk_count, summary_count = (
                chunk_count + max(0, summary_count - len(positions[1])),
                summary_count + max(0, chunk_count - len(positions[0])),
            )
        positions = positions[0][:chunk_count], positions[1][:summary_count]
    scores = {False: chunks.scores, True: summaries.scores}
    return sorted([*positions[0], *positions[1]], key=lambda entry: (-scores[entry[0]][entry[1]], *entry))[:k]


def _load_hits(reader: Reader, chunks: Ranking, summaries: Ranking, chosen: list[_Position]) -> list[Hit]:
    loaded_summaries = reader.summaries([summaries.rows[index] for is_summary, index in chosen if is_summary])
    chunk_rows = (chunks.rows[index] for is_summary, index in chosen if not is_summary)
    loaded_chunks, _ = reader.show(dict.fromkeys([*chunk_rows, *(chunk for _, chunk in loaded_summaries.values())]))
    hits: list[Hit] = []
    for is_summary, index in chosen:
        ranking = summaries if is_summary else chunks
        row = ranking.rows[index]
        if is_summary and row not in loaded_summaries:
            continue
        loaded = loaded_chunks.get(loaded_summaries[row][1] if is_summary else row)
        if loaded is None:
            continue
        origin = Origin(ranking.retriever, index, ranking.scores[index], ranking.effort)
        hits.append(
            Hit(
                loaded.chunk, ranking.scores[index], len(hits), loaded.title, loaded.uri, loaded.metadata, (origin,),
                summary=loaded_summaries[row][0] if is_summary else None,
                relevance=min(1.0, max(0.0, ranking.scores[index])),
            )
        )  # fmt: skip
    return hits


def _fit_budget(hits: list[Hit], budget: int, detail: float | None) -> list[Hit]:
    """Return the hits that fit into the budget, in order.

    With ``detail``, chunks and summaries first get their own shares of the tokens; the rest then goes to any hit.
    """
    tokens = count_tokens([hit.text for hit in hits])
    kept: set[int] = set()
    shares: list[tuple[bool | None, int]] = [(None, budget)]
    if detail is not None:
        chunk_budget = round(detail * budget)
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
