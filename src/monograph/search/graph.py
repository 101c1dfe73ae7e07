"""Search along the graph of what is named together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph.models import reads_context
from monograph.search import feedback, fusion, hits, minirag, paths, rerank, walk, words
from monograph.search.fusion import share
from monograph.search.question import parse
from monograph.search.ranking import nearest, pool_size
from monograph.search.reader import WalkRequest
from monograph.values import Origin

if TYPE_CHECKING:
    from monograph.search.query import Query
    from monograph.search.question import Question
    from monograph.search.ranking import Ranking
    from monograph.search.reader import Reader
    from monograph.search.walk import Walk
    from monograph.values import Hit


def by_walk(reader: Reader, query: Query, question: Question) -> list[Hit]:
    """Search along the graph; ``question`` is the query, parsed."""
    pool = pool_size(query.k)
    if query.vector is None:
        vector, *_ = made = reader.models.embed([query.text, *question.clauses])
        clause_vectors = made[1:]
    else:
        vector, clause_vectors = query.vector, reader.models.embed(question.clauses)
    entities = reader.names.members({one.name.head for one in question.names})
    names = dict.fromkeys(
        [one.name.row for one in question.names] + [one.row for some in entities.values() for one in some]
    )
    asked = WalkRequest(names, question.words, clause_vectors)
    found_pool, rankings = words.pool(reader, query, question.counts, pool, vector, asked)
    matches = words.matches(reader, query, question.counts, pool)
    weighted = [(one, fusion.WEIGHTS[one.retriever]) for one in fusion.with_zeros(rankings)]
    found = walk.walk(reader, question, entities, weighted, found_pool, query.filter)
    in_context = feedback.NOTHING
    if reads_context(reader.models.embedder):
        in_context = feedback.nearest(reader, query.text, found.scores.chances(), reader.models.embed)
    # Of what has no match only the first k may be among the best.
    most = None if any(one.rows for one in matches) else query.k
    head = walk.head(found, dict(zip(in_context.rows, in_context.scores, strict=True)), most)
    first = rerank.chunks(reader, query, head.by_chance())
    ordered = walk.in_order(found, head.put(first), most)
    return _hits(query.k, found, ordered, _Rankings([*rankings, in_context], matches, first))


def by_formulas(reader: Reader, query: Query) -> list[Hit]:
    """Search by MiniRAG's formulas."""
    vector, k = query.vector_by(reader), rerank.most(query)
    asked = minirag.FormulaQuery(parse(reader, query), vector, query.answer_types)
    pool = nearest(reader, vector, pool_size(k), query.filter)
    found = minirag.search(reader, reader.models.embedder, asked, pool, query.filter)
    fused = fusion.best(reader, fusion.cosines(found.ranking), k)
    loaded, _ = reader.show([one.row for one in fused])
    ways = minirag.to_chunks(reader, found, (one.row for one in fused))
    return rerank.hits(query, hits.of(loaded, fused, ways))


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
    chances = {row: found.scores.chance(row) for row in best}
    evidence = chances | others.first.handed_on({row: found.scores.chance(row) for row in others.first.rows})
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
