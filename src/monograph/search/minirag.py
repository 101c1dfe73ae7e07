"""MiniRAG by the paper's own formulas (``Graph(faithful=True)``; Sec. 3.2, Eq. 2 and 3, errata corrected).

Of the chunks that the dense search gives, those stay that name an entity on one of the best paths, in order of their
similarity to the query. Answer nodes are looked for in all that was read around the starting nodes, not only among
these; and paths are followed by a beam, for all of them would be too many.

The paper's k is both how far around an edge is looked and how many paths are kept. Here ``RADIUS`` is the one,
``Beam.kept`` the other: fifty steps around an edge are all that it hangs together with, and tell no two edges apart.
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
from monograph.search.entity_graph import Edge, PathGraph, Surroundings, around
from monograph.search.fusion import POOL, cosine_hits, hits_of, nearest, origins_of, ranking
from monograph.search.graph import chunk_node
from monograph.search.query import Query
from monograph.search.question import Question, parse
from monograph.search.reader import Reader
from monograph.values import Float32, Hit, Path, PathNode


@dataclass(frozen=True, slots=True)
class Beam:
    """Options for the search of paths.

    Parameters
    ----------
    length:
        Most edges of a path: the paper's n.
    width:
        Paths of each length that are followed further, the best ones. With a width above their number all are.
    kept:
        Best paths of each start: the paper's k, as a number of paths.
    """

    length: int = 2
    width: int = 32
    kept: int = 10


@dataclass(frozen=True, slots=True)
class ScoredPath:
    """Entities in the order they are passed, and the path's score."""

    nodes: tuple[int, ...]
    score: float


MOST_ASKED = 32
"""Names of a question that are looked at, the longest first."""

RADIUS = 2
"""Steps around an edge within which Eq. 2 counts."""

KEY_EDGES = 100
"""Edges of highest relevance that count in Eq. 3."""

BEAM = Beam()
"""Length, width and number of the paths of each starting node."""

ALIKE = 4
"""Names nearest in meaning to each name of the question, itself among them, whose entities are starting nodes."""

LEAST_COSINE = 0.8
"""Of the name's embedding to the question's name, to be one of them."""


def search(reader: Reader, query: Query) -> list[Hit]:
    """Search by MiniRAG's formulas: the chunks of the dense search that the best paths lead to, by similarity.

    The graph is read as far around the starting nodes as paths or the neighbourhoods of Eq. 2 reach: what lies farther
    is not counted. Where the question names no entity that leads to any of the chunks, the hits are the dense search's,
    and have no way.
    """
    vector, k, embedder = query.vector_by(reader), rerank.most(query), reader.models.embedder
    question = parse(reader, query)
    pool = nearest(reader, vector, max(POOL, k), query.filter)
    starts = _starting_nodes(reader, embedder, question)
    if not starts or not pool.rows:
        return rerank.hits(query, cosine_hits(reader, pool, k))
    hops = max(RADIUS, BEAM.length)
    # Paths and edges that tie go by the numbers of their entities.
    part, number = around(reader, starts, hops, pool.rows, query.filter).numbered()
    starts = {number[entity]: similarity for entity, similarity in starts.items() if entity in number}
    kinds = answer_kinds(question.text, query.answer_types) or nearest_kind(embedder, vector)
    answers = {entity for entity, kind in part.kinds.items() if kind in kinds}
    relevance = edge_relevance(part.graph, starts.keys() | answers, RADIUS)
    key = key_edges(relevance, KEY_EDGES)
    paths = [path for start in sorted(starts.items()) for path in best_paths(part.graph, start, key, answers, BEAM)]
    ways = _ways(paths, part)
    if not ways:
        return rerank.hits(query, cosine_hits(reader, pool, k))
    cosines = dict(zip(pool.rows, pool.scores, strict=True))
    scores = {row: cosines[row] for row in ways} | _with_descriptions(reader, embedder, ways, vector)
    found = ranking(reader, "minirag", scores.items(), k)
    passed = {node: part.written[node] for row in found.rows for node in ways[row].nodes}
    loaded, shown = reader.show(found.rows, dict(passed.values()))
    shares = {row: min(1.0, max(0.0, scores[row])) for row in found.rows}
    told = {}
    for row in found.rows:
        if row in loaded:
            entities = [PathNode("entity", *shown[passed[node][0]]) for node in ways[row].nodes]
            nodes = (PathNode("question", "", "question"), *entities, chunk_node(loaded[row]))
            told[row] = Path(nodes, ways[row].score)
    return rerank.hits(query, hits_of(loaded, scores, shares, origins_of([found], shares.keys()), told))


def _starting_nodes(snapshot: Reader, embedder: Embedder, question: Question) -> dict[int, float]:
    """Entities by row, and how similar each is to a name of the question; 1 for one that has that name."""
    known = [one.name for one in question.names[:MOST_ASKED]]
    found = {name.head: 1.0 for name in known}
    texts = list(dict.fromkeys([*(name.key for name in known), *map(key_of, question.unknown)]))[:MOST_ASKED]
    if not texts:
        return found
    cosines: dict[int, float] = {}
    with calling_model(embedder.key):
        vectors = embedder.embed(texts, "document")
    for some in snapshot.names.like(vectors, ALIKE):
        for one in some:
            cosines[one.name] = max(one.cosine, cosines.get(one.name, 0.0))
    for row, name in snapshot.names.load(cosines).items():
        if cosines[row] >= LEAST_COSINE:
            found[name.head] = max(cosines[row], found.get(name.head, 0.0))
    return found


def _ways(paths: Iterable[ScoredPath], part: Surroundings) -> dict[int, ScoredPath]:
    """The shortest way to each favoured chunk, as far as the first entity on it that the chunk names; ties by score."""
    naming: dict[int, list[int]] = {}
    for chunk, some in part.named.items():
        for entity in some:
            naming.setdefault(entity, []).append(chunk)
    ends = {(len(nodes), -path.score, nodes) for path in paths for nodes in accumulate((node,) for node in path.nodes)}
    found: dict[int, ScoredPath] = {}
    for _, score, nodes in sorted(ends):
        for chunk in naming.get(nodes[-1], ()):
            found.setdefault(chunk, ScoredPath(nodes, -score))
    return found


def _with_descriptions(snapshot: Reader, embedder: Embedder, rows: Iterable[int], vector: Float32) -> dict[int, float]:
    """Similarity of the query to each chunk that has descriptions, and to these; a chunk's own vector says the rest."""
    described = {}
    for row, descriptions in snapshot.descriptions(rows).items():
        said = dict.fromkeys(filter(None, descriptions))
        if said:
            described[row] = "\n".join(said)
    if not described:
        return {}
    titled = snapshot.titled_texts(described)
    texts = [
        "\n".join(filter(None, (title, text, said)))
        for (title, text), said in zip(titled, described.values(), strict=True)
    ]
    with calling_model(embedder.key):
        made = embedder.embed(texts, "document")
    cosines = np.vecdot(made, vector)
    return dict(zip(described, cosines.tolist(), strict=True))


def edge_relevance(graph: PathGraph, special: Collection[int], radius: int) -> dict[Edge, int]:
    """Eq. 2 for every edge: how many special nodes lie within ``radius`` steps of either of its ends.

    Parameters
    ----------
    graph:
        What is walked.
    special:
        Starting and answer nodes; one that is both counts once.
    radius:
        Steps, 0 or more.
    """
    places = {node: 1 << place for place, node in enumerate(sorted(set(special)))}
    near = {node: places.get(node, 0) for node in graph.neighbours}
    for _ in range(radius):
        wider = {}
        for node, some in graph.neighbours.items():
            bits = near[node]
            for other in some:
                bits |= near[other]
            wider[node] = bits
        if wider == near:
            break
        near = wider
    return {(one, other): (near[one] | near[other]).bit_count() for one, other in graph.edges()}


def key_edges(relevance: Mapping[Edge, int], most: int) -> dict[Edge, int]:
    """The edges of highest relevance, above 0 and at most ``most``; ties by the edge."""
    telling = ((-value, edge) for edge, value in relevance.items() if value > 0)
    return {edge: -value for value, edge in nsmallest(most, telling)}


def best_paths(
    graph: PathGraph,
    start: tuple[int, float],
    key: Mapping[Edge, int],
    answers: Collection[int],
    beam: Beam,
) -> list[ScoredPath]:
    """The paths from a start that score highest by Eq. 3, and pass no entity twice.

    Parameters
    ----------
    graph:
        What is walked.
    start:
        An entity, and how similar it is to the question's: 0 or more.
    key:
        Relevance of the key edges: see :func:`key_edges`.
    answers:
        Entities of a kind that answers the question.
    beam:
        How far, how widely, and how many.

    Returns
    -------
    Highest first; ties by length, then by nodes. The start alone is a path too.
    """
    node, similarity = start
    # The sum in Eq. 3, negated: 1, the relevance of a path's key edges, and the number of answer nodes on it.
    level: list[tuple[int, tuple[int, ...]]] = [(-1 - (node in answers), (node,))]
    found = list(level)
    for _ in range(beam.length):
        longer: list[tuple[int, tuple[int, ...]]] = []
        for value, nodes in nsmallest(beam.width, level):
            last = nodes[-1]
            for other in graph.neighbours[last]:
                if other not in nodes:
                    gain = key.get((last, other) if last < other else (other, last), 0) + (other in answers)
                    longer.append((value - gain, (*nodes, other)))
        level = nsmallest(max(beam.width, beam.kept), longer)
        found += level
    best = nsmallest(beam.kept, ((value, len(nodes), nodes) for value, nodes in found))
    return [ScoredPath(nodes, similarity * -value) for value, _, nodes in best]
