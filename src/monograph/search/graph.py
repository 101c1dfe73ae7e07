"""Graph search: follows the default walk along the graph, and returns hits, each with a readable path.

The walk goes from chunk to chunk over the names that they share: see :mod:`monograph.search.walk`.

After the walk, a search may use pseudo-relevance feedback. The most probable passage often names an entity that
the question does not name. For example, a passage about a film names its director. If the question and this passage are
embedded together, as one text, the vector is near to the passage about the director. Feedback is used only if the
embedder is a model that reads words in context. If an embedder only averages the word vectors of both texts, the graph
finds the passage about the director better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph import telemetry
from monograph.graph.evidence import COVERED
from monograph.search import fusion, rerank, walk, words
from monograph.search.fusion import POOL, Ranking, highest, ranking
from monograph.search.reader import WalkRequest
from monograph.values import Origin, Path, PathNode

if TYPE_CHECKING:
    from monograph.search.query import Query
    from monograph.search.question import Question
    from monograph.search.reader import Reader
    from monograph.search.walk import Walk
    from monograph.store.documents.chunks import LoadedChunk
    from monograph.values import Float32, Hit

READ = 3
"""Number of most probable chunks that are embedded together with the question."""

EXCERPT = 250
"""Number of characters, from the beginning of a chunk, that are embedded together with the question."""

LONGEST = 4
"""Limit of the links of a path. Of a longer path, only the last links before the hit are shown."""

SHOWN = 40
"""Number of characters that a path shows of a chunk whose document has no title."""


def search(reader: Reader, query: Query, question: Question) -> list[Hit]:
    """Return at most ``query.k`` hits of the default walk along the graph, best first.

    ``question`` is the parsed text of the query.
    """
    pool = max(POOL, query.k)
    if query.vector is None:
        vector, *_ = vectors = reader.models.embed([query.text, *question.clauses])
        clause_vectors = vectors[1:]
    else:
        vector, clause_vectors = query.vector, reader.models.embed(question.clauses)
    entities = reader.names.members({named.name.head for named in question.names})
    names = dict.fromkeys([named.name.row for named in question.names])
    for members in entities.values():
        names.update(dict.fromkeys([name.row for name in members]))
    request = WalkRequest(names, question.words, clause_vectors)
    candidates, rankings = words.pool(reader, query, question.counts, pool, vector, request)
    matches = words.matches(reader, query, question.counts, pool)
    weighted = [(retrieved, fusion.WEIGHTS[retrieved.retriever]) for retrieved in fusion.with_zeros(rankings)]
    walk_state = walk.walk(reader, question, entities, weighted, candidates, query.filter)
    in_context: dict[int, float] = {}
    if getattr(reader.models.embedder, "contextual", False) is True:
        context_ranking = feedback(reader, query.text, walk_state.scores.chances(), reader.models.embed)
        rankings.append(context_ranking)
        in_context = dict(zip(context_ranking.rows, context_ranking.scores, strict=True))
    # Among the chunks without a match, only the first k can be among the k best.
    most = None if sum([len(ranked.rows) for ranked in matches]) else query.k
    head = walk.head(walk_state, in_context, most)
    first = rerank.NOTHING
    if query.reranker is not None:
        first = rerank.chunks(reader, query, head.by_probability())
    ordered = walk.in_order(walk_state, head.put(first), most)
    return _rank_hits(query.k, walk_state, ordered, rankings, matches, first)


@telemetry.traced("monograph.search.context")
def feedback(
    reader: Reader, question: str, chances: Mapping[int, float], embed: Callable[[Sequence[str]], Float32]
) -> Ranking:
    """Rank the most probable chunks by pseudo-relevance feedback.

    The question is embedded together with the beginning of each of the READ most probable chunks, which gives READ
    vectors. The score of a chunk is the highest of its cosines to these vectors. At most
    :data:`monograph.graph.evidence.COVERED` chunks are ranked. Chunks without a stored vector are left out.
    ``chances`` has the probability that a chunk is evidence, by the chunk's row. ``embed`` returns float32 (n,
    dimension) for n texts, with rows of unit length.
    """
    best = highest(reader, chances, COVERED)
    texts = [text[:EXCERPT] for _, text in reader.titled_texts(best[:READ])]
    cosines: dict[int, float] = {}
    if texts:
        together = embed([f"{question} {text}" for text in texts])
        rows, each = reader.cosines(best, together)
        cosines = {row: float(max(values)) for row, *values in zip(rows.tolist(), *each, strict=True)}
    return ranking(reader, "feedback", cosines.items(), COVERED)


def _rank_hits(
    k: int,
    walk_state: Walk,
    ordered: Sequence[tuple[int, float]],
    rankings: Sequence[Ranking],
    matches: Sequence[Ranking],
    first: rerank.RerankedHead,
) -> list[Hit]:
    """Return the k best hits among a walk's chunks and word-for-word matches. ``first`` are the reranked chunks."""
    matched = {row for ranked in matches for row in ranked.rows}
    values = fusion.add_lifts(dict(ordered), matches)
    ranks = {row: rank for rank, (row, _) in enumerate(ordered)}
    # A chunk that the walk did not reach has a match but no rank.
    candidates = matched.union([row for row, _ in ordered[: k + len(matched)]])
    ids = walk_state.snapshot.ids(matched - ranks.keys()) if matched else {}
    keys = sorted([(-values[row], ranks.get(row, len(ranks)), ids.get(row, ""), row) for row in candidates])
    best = [row for *_, row in keys[:k]]
    chances = {row: walk_state.scores.chance(row) for row in best}
    evidence = dict(chances)
    # A reranker put these chunks into a new order.
    if first.rows:
        evidence |= first.reassign_values({row: walk_state.scores.chance(row) for row in first.rows})
    for ranked in matches:
        for row, score in zip(ranked.rows, ranked.scores, strict=True):
            if row in evidence:
                evidence[row] = max(score, evidence[row])
    origins = fusion.origins_of([*rankings, *matches, first.ranking], set(best))
    for row in best:
        if row in ranks:
            origins[row] = (Origin("graph", ranks[row], chances[row]), *origins.get(row, ()))
    relevance = dict(zip(best, fusion.shares_of([evidence[row] for row in best]), strict=True))
    loaded, paths = _load_paths(walk_state, best)
    return fusion.hits_of(loaded, values, relevance, origins, paths)


def _load_paths(walk_state: Walk, best: Sequence[int]) -> tuple[dict[int, LoadedChunk], dict[int, Path]]:
    """Return (loaded chunks, most probable path to each chunk that was reached over the graph), both by chunk row."""
    ways = {row: way for row in best if (way := _find_way(walk_state, row)) is not None}
    where: dict[int, int] = {}
    for way in ways.values():
        where.update(way.links)
    for way in ways.values():
        if way.head in walk_state.asked:
            where[walk_state.asked[way.head]] = way.head
    needed = {*best, *[way.head for way in ways.values()]}
    loaded, shown = walk_state.snapshot.show(sorted(needed), where)
    paths = {}
    for row, way in ways.items():
        if row in loaded and way.head in loaded:
            asked_name = walk_state.asked.get(way.head)
            nodes = [PathNode("question", "", "question")]
            if asked_name is not None:
                nodes.append(PathNode("entity", *shown[asked_name]))
            elif way.head != row:
                nodes.append(chunk_node(loaded[way.head]))
            for name, _ in way.links:
                if nodes[-1].name != shown[name][1]:
                    nodes.append(PathNode("entity", *shown[name]))
            paths[row] = Path((*nodes, chunk_node(loaded[row])), way.chance)
    return loaded, paths


@dataclass(frozen=True, slots=True)
class _Way:
    """Path to a chunk in the graph.

    ``head`` is the row of the first chunk on the path. ``links`` has, for each step of the path, (row of the name that
    the step follows, row of the chunk that the step leaves). ``chance`` is the probability of the path.
    """

    head: int
    links: tuple[tuple[int, int], ...]
    chance: float


def _find_way(walk_state: Walk, row: int) -> _Way | None:
    """Return the best path to a chunk; None if the chunk is not in ``asked`` and is as probable without links."""
    links: list[tuple[int, int]] = []
    current, chance = row, walk_state.scores.own(row)
    passed = {row}
    while len(links) < LONGEST:
        chances, through = walk_state.scores.to(current)
        if not chances:
            break
        (start,) = highest(walk_state.snapshot, chances, 1)
        if chances[start] <= walk_state.scores.own(current) or start in passed:
            break
        chance = chance if links else chances[start]
        links.insert(0, (through[start], start))
        passed.add(start)
        current = start
    return _Way(current, tuple(links), chance) if links or current in walk_state.asked else None


def chunk_node(one: LoadedChunk) -> PathNode:
    """Return the last node of a path: a chunk, with its document's title.

    If the document has no title, the node has the first SHOWN characters of the chunk's text.
    """
    text = one.title or " ".join(one.chunk.text[:SHOWN].split())
    return PathNode("chunk", one.chunk.id, text)
