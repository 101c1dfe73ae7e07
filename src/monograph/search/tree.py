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
    over = Ranking("tree", tuple(node for node, _ in scored), tuple(one for _, one in scored), effort)
    near = nearest(reader, vector, k, query.filter)
    found = rerank.hits(query, _hits(reader, near, over, _chosen(near, over, k, detail)))
    if budget is not None:
        found = _within(found, budget, detail)
    return [replace(one, rank=rank) for rank, one in enumerate(found)]


_Place = tuple[bool, int]
"""(Whether it is a summary, its position in the ranking of chunks or of summaries)."""


def _chosen(near: Ranking, over: Ranking, k: int, detail: float | None) -> list[_Place]:
    """Return the places of at most k hits, best first; at equal scores the chunk comes before the summary."""
    places = [(False, place) for place in range(len(near.rows))], [(True, place) for place in range(len(over.rows))]
    if detail is not None:
        few = round(detail * k)
        many = k - few
        if 0 < detail < 1:
            few, many = few + max(0, many - len(places[1])), many + max(0, few - len(places[0]))
        places = places[0][:few], places[1][:many]
    scores = {False: near.scores, True: over.scores}
    return sorted([*places[0], *places[1]], key=lambda one: (-scores[one[0]][one[1]], *one))[:k]


def _hits(reader: Reader, near: Ranking, over: Ranking, chosen: list[_Place]) -> list[Hit]:
    found = reader.summaries([over.rows[place] for summary, place in chosen if summary])
    wanted = (near.rows[place] for summary, place in chosen if not summary)
    read, _ = reader.show(dict.fromkeys([*wanted, *(chunk for _, chunk in found.values())]))
    hits: list[Hit] = []
    for summary, place in chosen:
        ranking = over if summary else near
        row = ranking.rows[place]
        if summary and row not in found:
            continue
        one = read.get(found[row][1] if summary else row)
        if one is None:
            continue
        origin = Origin(ranking.retriever, place, ranking.scores[place], ranking.effort)
        hits.append(
            Hit(
                one.chunk, ranking.scores[place], len(hits), one.title, one.uri, one.metadata, (origin,),
                summary=found[row][0] if summary else None, relevance=min(1.0, max(0.0, ranking.scores[place])),
            )
        )  # fmt: skip
    return hits


def _within(hits: list[Hit], budget: int, detail: float | None) -> list[Hit]:
    """Return the hits that fit into the budget, in order.

    With ``detail``, chunks and summaries first get their own shares of the tokens; the rest then goes to any hit.
    """
    tokens = count_tokens([hit.text for hit in hits])
    kept: set[int] = set()
    shares: list[tuple[bool | None, int]] = [(None, budget)]
    if detail is not None:
        few = round(detail * budget)
        shares = [(False, few), (True, budget - few), (None, 0)]
    left = 0
    for summary, share in shares:
        left += share
        for place, hit in enumerate(hits):
            mine = summary is None or (hit.summary is not None) == summary
            if mine and place not in kept and tokens[place] <= left:
                left -= tokens[place]
                kept.add(place)
    return [hit for place, hit in enumerate(hits) if place in kept]
