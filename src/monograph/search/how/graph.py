"""Search along the graph of what is named together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from monograph.search import feedback, fusion, hits, minirag, paths, rerank, walk, words
from monograph.search.fusion import share
from monograph.search.question import counted, take_apart
from monograph.search.ranking import nearest, pool_size
from monograph.search.snapshot import Opening, Pooling, Walking
from monograph.search.strategy import Named
from monograph.values import Origin

if TYPE_CHECKING:
    from monograph.search.question import Question
    from monograph.search.ranking import Ranking
    from monograph.search.snapshot import Snapshot
    from monograph.search.strategy import Corpus, Query
    from monograph.search.walk import Walk
    from monograph.values import Hit


@dataclass(frozen=True, slots=True)
class Graph(Named):
    """From what words, meaning and the question's names give, hop by hop to what is named together with it.

    Parameters
    ----------
    faithful:
        Search by MiniRAG's own formulas instead, which keep of the dense search's chunks those that the best paths
        through the graph lead to. The model, if the file was opened with one, is asked once of which types the answer
        may be.
    """

    needs_graph: ClassVar[bool] = True

    faithful: bool = False

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """Every hit that the graph led to has the path to it; by MiniRAG's formulas there may be fewer than k."""
        if self.faithful:
            return by_formulas(corpus, query)
        with corpus.read() as snapshot:
            snapshot.expect(Opening(query.text, query.allowed, counted))
            return by_walk(corpus, snapshot, query, take_apart(snapshot, query.text))


def by_walk(corpus: Corpus, snapshot: Snapshot, query: Query, question: Question) -> list[Hit]:
    """Search along the graph for a query that is taken apart already."""
    pool = pool_size(query.k)
    if query.vector is None:
        vector, *_ = made = corpus.embed([query.text, *question.clauses])
        clause_vectors = made[1:]
    else:
        vector, clause_vectors = query.vector, corpus.embed(question.clauses)
    heads = [one.name.head for one in question.names]
    snapshot.expect(Pooling(pool, query.allowed, vector, Walking(clause_vectors, heads, question.words)))
    rankings = [
        words.bm25(snapshot, query.text, pool, query.allowed, question.frequencies),
        nearest(snapshot, vector, pool, query.allowed),
    ]
    matches = words.matches(snapshot, query.text, pool, query.allowed)
    weighted = [(one, fusion.WEIGHTS[one.retriever]) for one in fusion.with_zeros(rankings)]
    found = walk.walk(snapshot, question, weighted, clause_vectors, query.allowed)
    in_context = feedback.NOTHING
    if corpus.reads_context():
        in_context = feedback.nearest(snapshot, query.text, found.reckoning.chances(), corpus.embed)
    # Of what has no match only the first k may be among the best.
    most = None if any(one.rows for one in matches) else query.k
    head = walk.head(found, dict(zip(in_context.rows, in_context.scores, strict=True)), most)
    first = rerank.chunks(corpus, snapshot, query.text, head.by_chance())
    ordered = walk.in_order(found, head.put(first), most)
    return _hits(query.k, found, ordered, _Rankings([*rankings, in_context], matches, first))


def by_formulas(corpus: Corpus, query: Query) -> list[Hit]:
    """Search by MiniRAG's formulas."""
    types = corpus.answer_types(query.text)
    asked_for, query = query, rerank.widened(corpus, query)
    with corpus.read() as snapshot:
        vector = corpus.vector_of(query)
        asked = minirag.Request(take_apart(snapshot, query.text), vector, types)
        pool = nearest(snapshot, vector, pool_size(query.k), query.allowed)
        found = minirag.search(snapshot, corpus.embedder(), asked, pool, query.allowed)
        fused = fusion.best(snapshot, fusion.cosines(found.ranking), query.k)
        loaded = snapshot.chunks(one.row for one in fused)
        ways = minirag.to_chunks(snapshot, found, (one.row for one in fused))
        return rerank.hits(corpus, asked_for, hits.of(loaded, fused, ways))


@dataclass(frozen=True, slots=True)
class _Rankings:
    """What else scored chunks: retrievers, matches word for word, and a reranker."""

    retrievers: Sequence[Ranking]
    matches: Sequence[Ranking]
    first: rerank.Reordered


def _hits(k: int, found: Walk, ordered: Sequence[tuple[int, float]], others: _Rankings) -> list[Hit]:
    """The k best of what a walk put in order, those with matches word for word above all others."""
    matches = others.matches
    matched = {row for one in matches for row in one.rows}
    values = fusion.lifted(dict(ordered), matches)
    ranks = {row: rank for rank, (row, _) in enumerate(ordered)}
    # What the walk did not come by has a match, and no rank.
    may_be = matched.union(row for row, _ in ordered[: k + len(matched)])
    ids = found.snapshot.ids(matched - ranks.keys()) if matched else {}
    best = sorted(may_be, key=lambda row: (-values[row], ranks.get(row, len(ranks)), ids.get(row, "")))[:k]
    chances = {row: found.reckoning.chance(row) for row in best}
    evidence = chances | others.first.handed_on({row: found.reckoning.chance(row) for row in others.first.rows})
    for one in matches:
        evidence.update(
            (row, max(score, evidence[row])) for row, score in zip(one.rows, one.scores, strict=True) if row in evidence
        )
    origins = fusion.origins_of([*others.retrievers, *matches, others.first.ranking], set(best))
    fused = [
        fusion.Fused(
            row,
            values[row],
            (Origin("graph", ranks[row], chances[row]), *origins.get(row, ())) if row in ranks else origins[row],
            share(evidence[row], evidence[best[0]]),
        )
        for row in best
    ]
    loaded, ways = paths.to_chunks(found, best)
    return hits.of(loaded, fused, ways)
