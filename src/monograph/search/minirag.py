"""MiniRAG by the paper's own formulas (``Graph(faithful=True)``; Sec. 3.2, Eq. 2 and 3, errata corrected).

The candidates are the chunks of lexical and dense search: the paper's dense top k misses chunks that only words find.
Their order is the fused order of lexical, dense and path scores. The path score of a chunk is the highest product of a
path's score by Eq. 3 and the rarity of an entity that is on the path and in the chunk. In the paper, paths only filter
the chunks. Without the rarity, one frequent name links almost all chunks: the main person of a chat is in nearly all.

Answer nodes are entities of a kind that may answer the question. They are looked for among all entities read around the
starting nodes, not only among the starting nodes. Paths are followed by beam search, because there are too many to
follow all.

In the paper, k is both the radius around an edge and the number of paths that are kept. Here these are two numbers:
``RADIUS`` and ``Beam.kept``. The paper sets k to fifty. With a radius of fifty, every edge would reach its whole
connected component, and all edges would have the same relevance.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest

import numpy as np

from monograph.derive.extract.kinds import answer_kinds, nearest_kind
from monograph.errors import calling_model
from monograph.graph.names import key_of
from monograph.models import Embedder
from monograph.search import fusion, rerank, words
from monograph.search.entity_graph import Edge, EntityNeighbourhood, PathGraph, around
from monograph.search.fusion import POOL, highest, ranking
from monograph.search.graph import chunk_node
from monograph.search.query import Query
from monograph.search.question import Question, parse
from monograph.search.reader import Reader
from monograph.store.documents.filters import CompiledFilter
from monograph.values import ENTITY_KINDS, Float32, Hit, Path, PathNode


@dataclass(frozen=True, slots=True)
class Beam:
    """Options of the beam search for paths.

    ``length`` is the largest number of edges of a path: the paper's n. ``width`` is the number of best paths of each
    length that are extended. ``kept`` is the number of best paths that are kept for each starting node: the paper's k,
    as a number of paths.
    """

    length: int = 2
    width: int = 32
    kept: int = 10


@dataclass(frozen=True, slots=True)
class ScoredPath:
    """A path through the graph: the entities on it, in order, and its score by Eq. 3."""

    nodes: tuple[int, ...]
    score: float


@dataclass(frozen=True, slots=True)
class ReachedChunk:
    """A chunk that paths lead to: its path score, and the path that gives it.

    ``names`` has (row of a name, row of a chunk that contains it) of each entity on the path, up to the first one that
    the chunk names. ``score`` is the score of the path times the rarity of an entity: see the module's docstring.
    """

    score: float
    path_score: float
    names: tuple[tuple[int, int], ...]


MOST_ASKED = 32
"""Limit of a question's names that are looked up, the longest first."""

RADIUS = 2
"""Number of steps around an edge within which Eq. 2 counts starting and answer nodes."""

KEY_EDGES = 100
"""Number of edges that count in Eq. 3: those of the highest relevance by Eq. 2."""

BEAM = Beam()
"""Options of the search for paths from each starting node."""

ALIKE = 4
"""Number of stored names that are compared with each name of the question. They are the names whose embeddings are
nearest. The entity of such a name is a starting node if the cosine is at least LEAST_COSINE."""

PATH_WEIGHT = 0.4
"""Weight of the standardised path scores beside :data:`monograph.search.fusion.WEIGHTS`, chosen on the dev sets."""

SAMPLED = 256
"""Number of chunks from which :func:`type_pool` reads names: the first ones in order of id, which is as good as random.
"""

EXAMPLES = 5
"""Limit of the example names of one kind in :func:`type_pool`."""

LEAST_COSINE = 0.8
"""Least cosine between the embeddings of a stored name and of a name in the question, for the entity of the stored name
to be a starting node."""


def search(reader: Reader, query: Query) -> list[Hit]:
    """Return hits by MiniRAG's formulas: the candidates of lexical and dense search, reordered by path scores.

    The graph is read around the starting nodes, as far as paths and the neighbourhoods of Eq. 2 reach. Entities farther
    away do not count. A hit has a path if a path leads to it. If no path leads to any candidate, the hits are those of
    hybrid search.
    """
    vector, k = query.vector_by(reader), rerank.most(query)
    question, size = parse(reader, query), max(POOL, k)
    _, rankings = words.pool(reader, query, question.counts, size, vector)
    matches = words.matches(reader, query, question.counts, size)
    candidates = highest(reader, fusion.fuse(rankings, matches)[0])
    reached = _find_paths(reader, query, question, vector, candidates)
    if reached:
        _, dense = rankings
        cosines = dict(zip(dense.rows, dense.scores, strict=True))
        cosines |= _score_descriptions(reader, reader.models.embedder, reached, vector)
        rankings[1] = ranking(reader, "dense", cosines.items(), len(cosines), dense.effort)
        by_path = ranking(reader, "minirag", [(row, one.score) for row, one in reached.items()], len(reached))
        rankings.append(replace(by_path, is_exhaustive=True))
    scores, unfound = fusion.fuse(rankings, matches, {**fusion.WEIGHTS, "minirag": PATH_WEIGHT})
    best = highest(reader, scores, k)
    loaded, shown = reader.show(best, dict(name for row in best if row in reached for name in reached[row].names))
    hit_paths = {}
    for row in best:
        if row in reached and row in loaded:
            entities = [PathNode("entity", *shown[name]) for name, _ in reached[row].names]
            nodes = (PathNode("question", "", "question"), *entities, chunk_node(loaded[row]))
            hit_paths[row] = Path(nodes, reached[row].path_score)
    shares = dict(zip(best, fusion.shares_of([scores[row] for row in best], unfound), strict=True))
    origins = fusion.origins_of([*rankings, *matches], shares.keys())
    return rerank.hits(query, fusion.hits_of(loaded, scores, shares, origins, hit_paths))


def type_pool(reader: Reader, allowed: CompiledFilter) -> dict[str, list[str]]:
    """Return the kinds of entities that occur in a sample of chunks, each with the keys of its most frequent names.

    The kinds are in the order of :data:`monograph.values.ENTITY_KINDS`. The sample is the SAMPLED allowed chunks whose
    ids come first. Each kind has at most EXAMPLES names; equally frequent names are ordered by key.
    """
    counts: dict[str, Counter[int]] = {}
    for named, _ in reader.linked(reader.sample(SAMPLED, allowed)).values():
        for name, kind in zip(named["name"].tolist(), named["kind"].tolist(), strict=True):
            counts.setdefault(ENTITY_KINDS[kind], Counter())[name] += 1
    _, keys = reader.names.entities({name for names in counts.values() for name in names})
    pool = {}
    for kind in ENTITY_KINDS:
        names = counts.get(kind, Counter())
        if best := nsmallest(EXAMPLES, [(-count, keys[name]) for name, count in names.items()]):
            pool[kind] = [key for _, key in best]
    return pool


def _find_paths(
    reader: Reader, query: Query, question: Question, vector: Float32, candidates: Sequence[int]
) -> dict[int, ReachedChunk]:
    """Return the candidates that paths lead to, by row. ``candidates`` are rows, the most important first."""
    embedder = reader.models.embedder
    similarities = _find_starting_nodes(reader, embedder, question)
    if not similarities:
        return {}
    # Paths and edges that tie are ordered by the numbers of their entities.
    part = around(reader, similarities, max(RADIUS, BEAM.length), candidates, query.filter)
    starts = {part.number[entity]: similarity for entity, similarity in similarities.items() if entity in part.number}
    kinds = answer_kinds(question.text, query.answer_types) or nearest_kind(
        embedder, vector, type_pool(reader, query.filter)
    )
    answers = {entity for entity, kind in part.kinds.items() if kind in kinds}
    key = key_edges(edge_relevance(part.graph, starts.keys() | answers, RADIUS), KEY_EDGES)
    paths = [path for start in sorted(starts.items()) for path in best_paths(part.graph, start, key, answers, BEAM)]
    return _reach_chunks(paths, part, _measure_rarity(reader, part, question.counts.total))


def _find_starting_nodes(snapshot: Reader, embedder: Embedder, question: Question) -> dict[int, float]:
    """Return {starting entity: similarity to the question's names}: 1 if named, else the highest cosine."""
    asked_names = [named.name for named in question.names[:MOST_ASKED]]
    similarities = {name.head: 1.0 for name in asked_names}
    texts = list(dict.fromkeys([*(name.key for name in asked_names), *map(key_of, question.unknown)]))[:MOST_ASKED]
    if not texts:
        return similarities
    cosines: dict[int, float] = {}
    with calling_model(embedder.key):
        vectors = embedder.embed(texts, "document")
    for near_names in snapshot.names.like(vectors, ALIKE):
        for row, cosine in near_names:
            cosines[row] = max(cosine, cosines.get(row, 0.0))
    for row, name in snapshot.names.load(cosines).items():
        if cosines[row] >= LEAST_COSINE:
            similarities[name.head] = max(cosines[row], similarities.get(name.head, 0.0))
    return similarities


def _measure_rarity(reader: Reader, part: EntityNeighbourhood, total: int) -> dict[int, float]:
    """Return {entity: ln((number of chunks + 1) / (uses of the entity's names + 0.5))}, at least 0."""
    uses = {head: sum(name.uses for name in group) for head, group in reader.names.members(part.number).items()}
    return {entity: max(0.0, math.log((total + 1) / (uses.get(head, 0) + 0.5))) for head, entity in part.number.items()}


def _reach_chunks(
    paths: Sequence[ScoredPath], part: EntityNeighbourhood, rarity: Mapping[int, float]
) -> dict[int, ReachedChunk]:
    """Return the chunks that name an entity on a path, by row.

    Of equal products, the shortest path counts, then the path with the best score.
    """
    ordered = sorted(paths, key=lambda path: (len(path.nodes), -path.score, path.nodes))
    reached: dict[int, ReachedChunk] = {}
    for chunk, entities in part.named.items():
        best = -1.0
        for path in ordered:
            named = [index for index, node in enumerate(path.nodes) if node in entities]
            if named and (score := path.score * max(rarity[path.nodes[index]] for index in named)) > best:
                best = score
                names = tuple(part.written[node] for node in path.nodes[: named[0] + 1])
                reached[chunk] = ReachedChunk(score, path.score, names)
    return reached


def _score_descriptions(snapshot: Reader, embedder: Embedder, rows: Iterable[int], vector: Float32) -> dict[int, float]:
    """Return {row: cosine to the query vector} of chunks, each embedded with the descriptions of its mentions."""
    described = {}
    for row, descriptions in snapshot.descriptions(rows).items():
        if text := "\n".join(dict.fromkeys(filter(None, descriptions))):
            described[row] = text
    if not described:
        return {}
    titled = snapshot.titled_texts(described)
    texts = [
        "\n".join(filter(None, (title, text, description)))
        for (title, text), description in zip(titled, described.values(), strict=True)
    ]
    with calling_model(embedder.key):
        vectors = embedder.embed(texts, "document")
    return dict(zip(described, np.vecdot(vectors, vector).tolist(), strict=True))


def edge_relevance(graph: PathGraph, special: Collection[int], radius: int) -> dict[Edge, int]:
    """Return Eq. 2 for every edge: the number of special nodes within ``radius`` steps of either end of the edge.

    ``special`` has the starting nodes and the answer nodes. A node that is both counts once.
    """
    bit_of_node = {node: 1 << index for index, node in enumerate(sorted(set(special)))}
    reached = {node: bit_of_node.get(node, 0) for node in graph.neighbours}
    for _ in range(radius):
        wider = {}
        for node, neighbours in graph.neighbours.items():
            bits = reached[node]
            for other in neighbours:
                bits |= reached[other]
            wider[node] = bits
        if wider == reached:
            break
        reached = wider
    return {(first, second): (reached[first] | reached[second]).bit_count() for first, second in graph.edges()}


def key_edges(relevance: Mapping[Edge, int], most: int) -> dict[Edge, int]:
    """Return the relevance of the ``most`` edges with the highest relevance, by edge.

    Edges of relevance 0 are left out. Edges of equal relevance are ordered by their nodes.
    """
    telling = ((-value, edge) for edge, value in relevance.items() if value > 0)
    return {edge: -value for value, edge in nsmallest(most, telling)}


def best_paths(
    graph: PathGraph, start: tuple[int, float], key: Mapping[Edge, int], answers: Collection[int], beam: Beam
) -> list[ScoredPath]:
    """Return the paths from a starting node with the highest scores by Eq. 3. No path passes an entity twice.

    At most ``beam.kept`` paths are returned. Equal scores are ordered by length, then by nodes. The starting node by
    itself is a path too.
    ``start`` is (entity, its similarity to a name of the question, 0 or more).
    ``key`` has the relevance of the key edges.
    ``answers`` are the entities of a kind that may answer the question.
    """
    node, similarity = start
    # The sum in Eq. 3, negated: 1, the relevance of a path's key edges, and the number of answer nodes on it.
    level: list[tuple[int, tuple[int, ...]]] = [(-1 - (node in answers), (node,))]
    extended = list(level)
    for _ in range(beam.length):
        longer: list[tuple[int, tuple[int, ...]]] = []
        for value, nodes in nsmallest(beam.width, level):
            last = nodes[-1]
            for other in graph.neighbours[last]:
                if other not in nodes:
                    gain = key.get((last, other) if last < other else (other, last), 0) + (other in answers)
                    longer.append((value - gain, (*nodes, other)))
        level = nsmallest(max(beam.width, beam.kept), longer)
        extended += level
    best = nsmallest(beam.kept, ((value, len(nodes), nodes) for value, nodes in extended))
    return [ScoredPath(nodes, similarity * -value) for value, _, nodes in best]
