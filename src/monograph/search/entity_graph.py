"""The part of the entity graph around the entities of a question, loaded into memory.

Entities and chunks are identified by row. Limits, such as ENTITIES and CHUNKS, keep the part small. Equally
frequent entities are chosen in order of key, and chunks in order of id. So two files of the same documents give the
same part, although they have different row numbers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from struct import Struct
from typing import TypeAlias

from monograph.graph.chunk_names import NO_SENTENCE
from monograph.search.reader import Reader
from monograph.store.documents.filters import CompiledFilter
from monograph.values import ENTITY_KINDS

MOST_TOGETHER = 64
"""Limit of entities in one sentence that are linked to each other. A sentence with more entities is taken for a list,
and its entities are not linked."""

HUB = 2_000
"""The chunks that contain a name are looked up only if the name has at most this many uses.

A use is a chunk that mentions the name, or a document about it. If a name has more uses, only favoured chunks that
contain the name are read: see :func:`around`.
"""

ENTITIES = 400
"""Limit of the number of entities that are loaded, starting entities included. Starting entities are loaded even beyond
this limit."""

NEIGHBOURS = 12
"""Limit of the number of neighbours that one entity adds: the neighbours linked to the entity in the most chunks."""

CHUNKS = 8
"""Limit of the number of chunks that are read for one entity: first its favoured chunks (see :func:`around`), then
others in order of id."""

_NAMED = Struct("<iBBB")
"""Layout of a :data:`monograph.store.graph.graphs.NAMED` record: name, first and second sentence, kind."""

Edge: TypeAlias = tuple[int, int]
"""The two entities that an edge connects, given as numbers of :class:`EntityNeighbourhood`, the lower number first."""


@dataclass(frozen=True, slots=True)
class PathGraph:
    """Undirected graph of entities: for each entity, the numbers of its neighbours, ascending.

    For the numbers see :class:`EntityNeighbourhood`.
    """

    neighbours: Mapping[int, tuple[int, ...]]

    def edges(self) -> list[Edge]:
        """Return every edge once, as (lower number, higher number), in ascending order."""
        return sorted(
            (entity, neighbour)
            for entity, neighbours in self.neighbours.items()
            for neighbour in neighbours
            if entity < neighbour
        )


def graph_of(nodes: Iterable[int], pairs: Iterable[tuple[int, int]]) -> PathGraph:
    """Return the graph of the given nodes, with an edge for each pair of different nodes.

    Pairs may be in either order, and may repeat. Every node of a pair must be in ``nodes``.
    """
    neighbours: dict[int, set[int]] = {node: set() for node in nodes}
    for first, second in pairs:
        if first != second:
            neighbours[first].add(second)
            neighbours[second].add(first)
    return PathGraph({node: tuple(sorted(neighbours[node])) for node in sorted(neighbours)})


@dataclass(frozen=True, slots=True, eq=False)
class EntityNeighbourhood:
    """Entities around some starting entities. The entities are numbered from 0, in the order of their keys.

    ``graph`` links two entities if a chunk names both in one sentence, or if a language model found a relation between
    them in a chunk.
    ``kinds`` has the kind that most of the chunks give to each entity.
    ``written`` has, for each entity, (row of one of its names, row of a chunk that contains the name).
    ``named`` has the entities that each favoured chunk names, by the row of the chunk: see :func:`around`.
    ``number`` has the number of each entity by the entity's row. In all other fields an entity is given as its number.
    """

    graph: PathGraph
    kinds: Mapping[int, str]
    written: Mapping[int, tuple[int, int]]
    named: Mapping[int, frozenset[int]]
    number: Mapping[int, int]


def around(
    snapshot: Reader, starts: Iterable[int], hops: int, favoured: Sequence[int], allowed: CompiledFilter
) -> EntityNeighbourhood:
    """Return the entities that at most ``hops`` links in allowed chunks connect to the starting entities.

    ``starts`` are the rows of the starting entities. Starting entities that no allowed chunk names are left out.
    ``favoured`` are the rows of allowed chunks, the most important first. They are read before all other chunks.
    """
    reader = _AroundReader(snapshot, allowed)
    reader.read(favoured)
    for chunk in favoured:
        for entity in set(reader.entities(chunk)):
            reader.favoured[entity].append(chunk)
    starts = set(starts)
    reader.meet(starts)
    frontier = sorted(starts, key=reader.key)
    inside = set(frontier)
    edges: list[tuple[int, int]] = []
    for _ in range(hops):
        links = reader.expand(frontier)
        room = max(0, ENTITIES - len(inside))
        frontier = list(dict.fromkeys(other for _, other in links if other not in inside))[:room]
        inside.update(frontier)
        edges += links
    kinds, written = reader.kinds(inside)
    number = {row: index for index, row in enumerate(sorted(kinds, key=reader.key))}
    kept = [(number[entity], number[other]) for entity, other in edges if entity in number and other in number]
    return EntityNeighbourhood(
        graph_of(number.values(), kept),
        {number[row]: kind for row, kind in kinds.items()},
        {number[row]: occurrence for row, occurrence in written.items()},
        {chunk: frozenset(number[row] for row in reader.entities(chunk) if row in number) for chunk in favoured},
        number,
    )


@dataclass(slots=True, eq=False)
class _ChunkNames:
    """Names of a chunk in order of first mention, the links between them, and the entity of each name."""

    records: list[tuple[int, int, int, int]]
    links: list[tuple[int, int, float]]
    entities: list[int]

    def neighbours(self, entity: int) -> set[int]:
        """Return the entities that share a sentence or a relation with an entity; may include the entity itself."""
        sentences = set()
        for named, (_, first, second, _) in zip(self.entities, self.records, strict=True):
            if named == entity:
                sentences.add(first)
                if second != NO_SENTENCE:
                    sentences.add(second)
        neighbours: set[int] = set()
        for sentence in sentences:
            together = {
                other
                for other, (_, first, second, _) in zip(self.entities, self.records, strict=True)
                if first == sentence or second == sentence != NO_SENTENCE
            }
            if 1 < len(together) <= MOST_TOGETHER:
                neighbours |= together
        for source, target, _ in self.links:
            source_entity, target_entity = self.entities[source], self.entities[target]
            if source_entity == entity:
                neighbours.add(target_entity)
            if target_entity == entity:
                neighbours.add(source_entity)
        return neighbours


@dataclass(slots=True, eq=False)
class _AroundReader:
    """Loader of the entities around starting entities, with all data read so far.

    An entity is given as the row of its head, the name that stands for it.
    ``heads`` has the head of each name, by the row of the name.
    ``keys`` has the key of each name and each head, by row.
    ``chunks`` has the names of each chunk that was read, by the row of the chunk.
    ``favoured`` has the rows of the favoured chunks that name each entity: see :func:`around`.
    """

    snapshot: Reader
    allowed: CompiledFilter
    heads: dict[int, int] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    chunks: dict[int, _ChunkNames] = field(default_factory=dict)
    favoured: defaultdict[int, list[int]] = field(default_factory=lambda: defaultdict(list))

    def read(self, wanted: Iterable[int]) -> None:
        """Read those of the wanted chunks that were not read before. ``wanted`` are the rows of the chunks."""
        linked = self.snapshot.linked([chunk for chunk in dict.fromkeys(wanted) if chunk not in self.chunks])
        lists = {
            # Many times faster than the array's tolist().
            chunk: (list(_NAMED.iter_unpack(records.tobytes())), links.tolist())
            for chunk, (records, links) in linked.items()
        }
        self.meet({record[0] for records, _ in lists.values() for record in records})
        heads = self.heads
        for chunk, (records, links) in lists.items():
            self.chunks[chunk] = _ChunkNames(records, links, [heads.get(record[0], record[0]) for record in records])

    def meet(self, names: Iterable[int]) -> None:
        """Load the entity of each name, and the keys of the names and entities."""
        heads, keys = self.snapshot.names.entities(set(names).difference(self.heads))
        self.heads.update(heads)
        self.keys.update(keys)

    def key(self, entity: int) -> str:
        """Return the key of an entity; empty if the entity was not loaded."""
        return self.keys.get(entity, "")

    def entities(self, chunk: int) -> Sequence[int]:
        """Return the entity of each name of a chunk, in the order of the names; empty if the chunk was not read."""
        return self.chunks[chunk].entities if chunk in self.chunks else ()

    def expand(self, entities: Sequence[int]) -> list[tuple[int, int]]:
        """Return (entity, neighbour) pairs, at most NEIGHBOURS per entity, the pair linked in the most chunks first."""
        chunks_by_entity = self._choose_chunks(entities)
        self.read(chunk for chunks in chunks_by_entity.values() for chunk in chunks)
        keys = self.keys
        ranked: list[tuple[int, str, str, int, int]] = []
        for entity, chunks in chunks_by_entity.items():
            together: dict[int, int] = {}
            for chunk in chunks:
                if chunk in self.chunks:
                    for other in self.chunks[chunk].neighbours(entity):
                        together[other] = together.get(other, 0) + 1
            together.pop(entity, None)
            key = keys.get(entity, "")
            links = sorted((-number, key, keys.get(other, ""), entity, other) for other, number in together.items())
            ranked += links[:NEIGHBOURS]
        return [(entity, other) for *_, entity, other in sorted(ranked)]

    def _choose_chunks(self, entities: Sequence[int]) -> dict[int, list[int]]:
        """Return the rows of the chunks to read for each entity, at most CHUNKS for each."""
        members = self.snapshot.names.members(entities)
        rare = [name.row for names in members.values() for name in names if name.uses <= HUB]
        mentions = self.snapshot.mentions(rare, self.allowed)
        chosen = {entity: self.favoured.get(entity, [])[:CHUNKS] for entity in entities}
        remaining = {
            entity: {chunk for name in members.get(entity, ()) for chunk in mentions.get(name.row, ())} - {*chunks}
            for entity, chunks in chosen.items()
            if len(chunks) < CHUNKS
        }
        ids = self.snapshot.ids(set().union(*remaining.values()))
        for entity, chunks in remaining.items():
            chosen[entity] += sorted(chunks, key=ids.__getitem__)[: CHUNKS - len(chosen[entity])]
        return chosen

    def kinds(self, entities: Iterable[int]) -> tuple[dict[int, str], dict[int, tuple[int, int]]]:
        """Return ({entity: most frequent kind}, {entity: (row of a name, row of a chunk with the name)})."""
        counts: dict[int, dict[int, int]] = {entity: {} for entity in entities}
        written: dict[int, tuple[int, int]] = {}
        for chunk, chunk_names in self.chunks.items():
            for entity, (name, _, _, kind) in zip(chunk_names.entities, chunk_names.records, strict=True):
                kind_counts = counts.get(entity)
                if kind_counts is not None:
                    if not kind_counts:
                        written[entity] = (name, chunk)
                    kind_counts[kind] = kind_counts.get(kind, 0) + 1
        # Of equally frequent kinds, the first in ENTITY_KINDS is taken.
        kinds = {row: ENTITY_KINDS[min(counts[row], key=lambda kind: (-counts[row][kind], kind))] for row in written}
        return kinds, written
