"""MiniRAG's search by its own formulas (Sec. 3.2), where its errata are mended: see :mod:`monograph.graph.paths`.

Of the chunks that the dense search gives, those stay that name an entity on one of the best paths, in order of their
similarity to the query. Answer nodes are looked for in all that was read around the starting nodes, not only among
these; and paths are followed by a beam, for all of them would be too many.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate

from monograph.derive.extract.answer_kinds import answer_kinds, nearest_kind
from monograph.errors import calling_model
from monograph.graph.names import key_of
from monograph.graph.paths import Beam, ScoredPath, best_paths, edge_relevance, key_edges
from monograph.models import Embedder
from monograph.search.entity_graph import Surroundings, around
from monograph.search.paths import SHOWN
from monograph.search.question import Question
from monograph.search.ranking import Ranking, ranking
from monograph.search.reader import Reader
from monograph.store.documents.filters import Allowed
from monograph.values import Float32, Path, PathNode, inner_products

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


@dataclass(frozen=True, slots=True, eq=False)
class FormulaQuery:
    """A question, its vector (dimension,), and what a language model says its answer is, if one was asked."""

    question: Question
    vector: Float32
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class FormulaResult:
    """Chunks, best first, and the way to each by row.

    Where the question names no entity that leads to any of the chunks, they are the dense search's, and have no way.
    """

    ranking: Ranking
    ways: Mapping[int, ScoredPath] = field(default_factory=dict)
    written: Mapping[int, tuple[int, int]] = field(default_factory=dict)


def search(
    snapshot: Reader,
    embedder: Embedder,
    asked: FormulaQuery,
    pool: Ranking,
    allowed: Allowed,
) -> FormulaResult:
    """Those of the pool that the best paths lead to, in order of similarity.

    The graph is read as far around the starting nodes as paths or the neighbourhoods of Eq. 2 reach: what lies farther
    is not counted.

    Parameters
    ----------
    snapshot:
        What is searched.
    embedder:
        That of its vectors.
    asked:
        The question.
    pool:
        The dense search's chunks, all of them allowed.
    allowed:
        Which chunks may be passed on the way.
    """
    starts = _starting_nodes(snapshot, embedder, asked.question)
    if not starts or not pool.rows:
        return FormulaResult(pool)
    hops = max(RADIUS, BEAM.length)
    # Paths and edges that tie go by the numbers of their entities.
    part, number = around(snapshot, starts, hops, pool.rows, allowed).numbered()
    starts = {number[entity]: similarity for entity, similarity in starts.items() if entity in number}
    kinds = answer_kinds(asked.question.text, asked.types) or nearest_kind(embedder, asked.vector)
    answers = {entity for entity, kind in part.kinds.items() if kind in kinds}
    relevance = edge_relevance(part.graph, starts.keys() | answers, RADIUS)
    key = key_edges(relevance, KEY_EDGES)
    paths = [path for start in sorted(starts.items()) for path in best_paths(part.graph, start, key, answers, BEAM)]
    ways = _ways(paths, part)
    if not ways:
        return FormulaResult(pool)
    cosines = dict(zip(pool.rows, pool.scores, strict=True))
    scores = {row: cosines[row] for row in ways} | _with_descriptions(snapshot, embedder, ways, asked.vector)
    return FormulaResult(ranking(snapshot, "minirag", scores.items(), len(scores)), ways, part.written)


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


def to_chunks(snapshot: Reader, found: FormulaResult, rows: Iterable[int]) -> dict[int, Path]:
    """The way from the question to each of some chunks, by row; what the dense search gave has none."""
    ways = {row: found.ways[row] for row in rows if row in found.ways}
    passed = {node: found.written[node] for way in ways.values() for node in way.nodes}
    loaded, shown = snapshot.show(ways, dict(passed.values()))
    result = {}
    for row, way in ((row, way) for row, way in ways.items() if row in loaded):
        entities = (PathNode("entity", *shown[passed[node][0]]) for node in way.nodes)
        end = loaded[row]
        title = end.title or " ".join(end.chunk.text[:SHOWN].split())
        nodes = (PathNode("question", "", "question"), *entities, PathNode("chunk", end.chunk.id, title))
        result[row] = Path(nodes, way.score)
    return result


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
    cosines = inner_products(made, vector)
    return dict(zip(described, cosines.tolist(), strict=True))
