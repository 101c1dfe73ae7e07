"""MiniRAG by the paper's own formulas (``Graph(faithful=True)``; Sec. 3.2, Eq. 2 and 3, errata corrected).

The hits are chunks of the dense search that name an entity on one of the best paths. They are ordered by their
similarity to the query. Answer nodes are entities of a kind that may answer the question. They are looked for among all
entities read around the starting nodes, not only among the starting nodes. Paths are followed by beam search, because
there are too many to follow all.

In the paper, k is both the radius around an edge and the number of paths that are kept. Here these are two numbers:
``RADIUS`` and ``Beam.kept``. The paper sets k to fifty. With a radius of fifty, every edge would reach its whole
connected component, and all edges would have the same relevance.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from itertools import accumulate

import numpy as np

from monograph.derive.extract.kinds import answer_kinds, nearest_kind
from monograph.errors import calling_model
from monograph.graph.names import key_of
from monograph.models import Embedder
from monograph.search import rerank
from monograph.search.entity_graph import Edge, EntityNeighbourhood, PathGraph, around
from monograph.search.fusion import POOL, cosine_hits, hits_of, nearest, origins_of, ranking
from monograph.search.graph import chunk_node
from monograph.search.query import Query
from monograph.search.question import Question, parse
from monograph.search.reader import Reader
from monograph.values import Float32, Hit, Path, PathNode


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

LEAST_COSINE = 0.8
"""Least cosine between the embeddings of a stored name and of a name in the question, for the entity of the stored name
to be a starting node."""


def search(reader: Reader, query: Query) -> list[Hit]:
    """Return hits by MiniRAG's formulas: the chunks of the dense search that the best paths reach, by similarity.

    The graph is read around the starting nodes, as far as paths and the neighbourhoods of Eq. 2 reach. Entities farther
    away do not count. If no entity of the question leads to any chunk of the dense search, the hits are those of the
    dense search, without paths.
    """
    vector, k, embedder = query.vector_by(reader), rerank.most(query), reader.models.embedder
    question = parse(reader, query)
    pool = nearest(reader, vector, max(POOL, k), query.filter, stop=query.stop)
    starts = _find_starting_nodes(reader, embedder, question)
    if not starts or not pool.rows:
        return rerank.hits(query, cosine_hits(reader, pool, k))
    hops = max(RADIUS, BEAM.length)
    # Paths and edges that tie are ordered by the numbers of their entities.
    part = around(reader, starts, hops, pool.rows, query.filter)
    starts = {part.number[entity]: similarity for entity, similarity in starts.items() if entity in part.number}
    kinds = answer_kinds(question.text, query.answer_types) or nearest_kind(embedder, vector)
    answers = {entity for entity, kind in part.kinds.items() if kind in kinds}
    relevance = edge_relevance(part.graph, starts.keys() | answers, RADIUS)
    key = key_edges(relevance, KEY_EDGES)
    paths = [path for start in sorted(starts.items()) for path in best_paths(part.graph, start, key, answers, BEAM)]
    shortest_paths = _find_shortest_paths(paths, part)
    if not shortest_paths:
        return rerank.hits(query, cosine_hits(reader, pool, k))
    cosines = dict(zip(pool.rows, pool.scores, strict=True))
    scores = {row: cosines[row] for row in shortest_paths}
    scores |= _score_descriptions(reader, embedder, shortest_paths, vector)
    ranked = ranking(reader, "minirag", scores.items(), k)
    occurrences = {node: part.written[node] for row in ranked.rows for node in shortest_paths[row].nodes}
    loaded, shown = reader.show(ranked.rows, dict(occurrences.values()))
    shares = {row: min(1.0, max(0.0, scores[row])) for row in ranked.rows}
    hit_paths = {}
    for row in ranked.rows:
        if row in loaded:
            entities = [PathNode("entity", *shown[occurrences[node][0]]) for node in shortest_paths[row].nodes]
            nodes = (PathNode("question", "", "question"), *entities, chunk_node(loaded[row]))
            hit_paths[row] = Path(nodes, shortest_paths[row].score)
    return rerank.hits(query, hits_of(loaded, scores, shares, origins_of([ranked], shares.keys()), hit_paths))


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


def _find_shortest_paths(paths: Iterable[ScoredPath], part: EntityNeighbourhood) -> dict[int, ScoredPath]:
    """Return {row of a chunk: shortest path to the chunk}; of equally short paths, the path with the best score."""
    naming: dict[int, list[int]] = {}
    for chunk, entities in part.named.items():
        for entity in entities:
            naming.setdefault(entity, []).append(chunk)
    # A path to a chunk ends at the first entity on the path that the chunk names.
    ends = {(len(nodes), -path.score, nodes) for path in paths for nodes in accumulate((node,) for node in path.nodes)}
    shortest: dict[int, ScoredPath] = {}
    for _, score, nodes in sorted(ends):
        for chunk in naming.get(nodes[-1], ()):
            shortest.setdefault(chunk, ScoredPath(nodes, -score))
    return shortest


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
