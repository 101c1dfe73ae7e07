"""Search through the tree: chunks and summaries of all layers side by side, by cosine.

EraRAG's collapsed search (Alg. 2 of Zhang et al. 2025), and its search of two shares: so much of what is asked for
from chunks, the rest from summaries.
"""

from __future__ import annotations

from dataclasses import dataclass

from monograph.derive.tokens import count_tokens
from monograph.models import Float32
from monograph.retrieve import dense, summaries
from monograph.retrieve.ranking import Ranking
from monograph.store import chunks
from monograph.store import tree as store
from monograph.store.database import Connection
from monograph.store.filters import EVERYTHING, Allowed
from monograph.values import Effort, Hit, Origin
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.search import Query


@dataclass(frozen=True, slots=True)
class Portion:
    """How much is asked for.

    Parameters
    ----------
    k:
        Most hits.
    detail:
        The share of chunks among them, from 0 (summaries alone) to 1 (chunks alone); None takes what is nearest,
        whatever it is. Where both are asked for and there is too little of one, the other fills up.
    budget:
        Most tokens of all hits together, shared as ``detail`` says; a hit that would go over is passed over. None for
        no bound.
    """

    k: int
    detail: float | None = None
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class Indexes:
    """The vectors of chunks, and of summaries."""

    chunks: EcoVectorIndex
    summaries: EcoVectorIndex


def search(connection: Connection, indexes: Indexes, vector: Float32, portion: Portion, allowed: Allowed) -> list[Hit]:
    """The nearest chunks and summaries, best first. A summary is found only where all chunks under it are allowed."""
    near = dense.search(connection, indexes.chunks, vector, portion.k, allowed)
    over = search_summaries(connection, indexes.summaries, vector, portion.k, allowed)
    chosen = _chosen(near, over, portion)
    hits = _hits(connection, near, over, chosen)
    if portion.budget is not None:
        hits = _within(hits, portion.budget, portion.detail)
    return [
        Hit(one.chunk, one.score, rank, one.title, one.uri, one.metadata, one.origins, summary=one.summary)
        for rank, one in enumerate(hits)
    ]


def search_summaries(
    connection: Connection, index: EcoVectorIndex, vector: Float32, k: int, allowed: Allowed
) -> Ranking:
    """The k summaries of highest cosine, by node."""
    if not vector.any():
        return Ranking("tree", (), ())
    bits = None if allowed == EVERYTHING else index.allowed(connection, allowed)
    near = index.search(connection, vector, Query(k, bits))
    barred = set() if allowed == EVERYTHING else store.barred(connection, allowed)
    found = store.of_vectors(connection, near.items, barred)
    pairs = [(node, score) for memo, score in zip(near.items, near.scores, strict=True) for node in found[memo]][:k]
    effort = Effort(near.loads, near.compared, near.stopped)
    return Ranking("tree", tuple(node for node, _ in pairs), tuple(score for _, score in pairs), effort)


_Place = tuple[bool, int]
"""Whether it is a summary, and its place in that ranking."""


def _chosen(near: Ranking, over: Ranking, portion: Portion) -> list[_Place]:
    """Places in the two rankings, best first; of equal scores the chunk."""
    places = [(False, place) for place in range(len(near.rows))], [(True, place) for place in range(len(over.rows))]
    if portion.detail is not None:
        few = round(portion.detail * portion.k)
        many = portion.k - few
        if 0 < portion.detail < 1:
            few, many = few + max(0, many - len(places[1])), many + max(0, few - len(places[0]))
        places = places[0][:few], places[1][:many]
    scores = {False: near.scores, True: over.scores}
    return sorted([*places[0], *places[1]], key=lambda one: (-scores[one[0]][one[1]], *one))[: portion.k]


def _hits(connection: Connection, near: Ranking, over: Ranking, chosen: list[_Place]) -> list[Hit]:
    nodes = [over.rows[place] for summary, place in chosen if summary]
    found = summaries.load(connection, nodes)
    rows = store.load(connection, nodes)
    hits: list[Hit] = []
    for summary, place in chosen:
        ranking = over if summary else near
        row = ranking.rows[place]
        (one,) = chunks.load(connection, [rows[row].nearest or 0 if summary else row])
        origin = Origin(ranking.retriever, place, ranking.scores[place], ranking.effort)
        hits.append(
            Hit(
                one.chunk, ranking.scores[place], len(hits), one.title, one.uri, one.metadata, (origin,),
                summary=found[row] if summary else None,
            )
        )  # fmt: skip
    return hits


def _within(hits: list[Hit], budget: int, detail: float | None) -> list[Hit]:
    """The hits that fit, in order: each kind in its share of the tokens first, then any in what is left."""
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
