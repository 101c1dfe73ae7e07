"""Search through the tree: chunks and summaries of all layers side by side, by cosine.

EraRAG's collapsed search (Alg. 2 of Zhang et al. 2025), and its search of two shares: so much of what is asked for
from chunks, the rest from summaries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from monograph.derive.tokens import count_tokens
from monograph.search import rerank
from monograph.search.fusion import of_cosine
from monograph.search.ranking import Ranking, nearest
from monograph.search.snapshot import Snapshot
from monograph.search.strategy import Corpus, Named, Query
from monograph.store.documents.filters import Allowed
from monograph.values import Float32, Hit, Origin, arguments


@dataclass(frozen=True, slots=True)
class Tree(Named):
    """The chunks and the summaries that lie nearest to the query.

    Parameters
    ----------
    detail:
        The share of chunks among the hits, from 0 (summaries alone) to 1 (chunks alone); None takes what is nearest,
        whatever it is. Where both are asked for and there is too little of one, the other fills up.
    budget:
        Most tokens of all hits together, shared as ``detail`` says; a hit that would go over is passed over. None for
        no bound.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    detail: float | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        if self.detail is not None:
            object.__setattr__(self, "detail", arguments.share(self.detail, "detail"))
        if self.budget is not None:
            object.__setattr__(self, "budget", arguments.whole_number(self.budget, "budget", 0))

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """Scores are cosines. A summary is found only where all chunks under it are allowed.

        Raises
        ------
        InputError
            If the file has no tree.
        """
        with corpus.read() as snapshot:
            snapshot.require_tree()
            vector = corpus.vector_of(query)
            k = rerank.widened(corpus, query).k
            near = nearest(snapshot, vector, k, query.allowed)
            over = nearest_summaries(snapshot, vector, k, query.allowed)
            found = rerank.hits(corpus, query, _hits(snapshot, near, over, _chosen(near, over, k, self.detail)))
        if self.budget is not None:
            found = _within(found, self.budget, self.detail)
        return [replace(one, rank=rank) for rank, one in enumerate(found)]


def nearest_summaries(snapshot: Snapshot, vector: Float32, k: int, allowed: Allowed) -> Ranking:
    """The k summaries of highest cosine, by node; ties by key, which is a hash of what is summarized."""
    if not vector.any():
        return Ranking("tree", (), ())
    near = snapshot.nearest_summaries(vector, k, allowed)
    return Ranking("tree", tuple(node for node, _ in near.scored), tuple(one for _, one in near.scored), near.effort)


_Place = tuple[bool, int]
"""Whether it is a summary, and its place in that ranking."""


def _chosen(near: Ranking, over: Ranking, k: int, detail: float | None) -> list[_Place]:
    """Places in the two rankings, best first; of equal scores the chunk."""
    places = [(False, place) for place in range(len(near.rows))], [(True, place) for place in range(len(over.rows))]
    if detail is not None:
        few = round(detail * k)
        many = k - few
        if 0 < detail < 1:
            few, many = few + max(0, many - len(places[1])), many + max(0, few - len(places[0]))
        places = places[0][:few], places[1][:many]
    scores = {False: near.scores, True: over.scores}
    return sorted([*places[0], *places[1]], key=lambda one: (-scores[one[0]][one[1]], *one))[:k]


def _hits(snapshot: Snapshot, near: Ranking, over: Ranking, chosen: list[_Place]) -> list[Hit]:
    found = snapshot.summaries([over.rows[place] for summary, place in chosen if summary])
    wanted = (near.rows[place] for summary, place in chosen if not summary)
    read = snapshot.chunks(dict.fromkeys([*wanted, *(chunk for _, chunk in found.values())]))
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
                summary=found[row][0] if summary else None, relevance=of_cosine(ranking.scores[place]),
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
