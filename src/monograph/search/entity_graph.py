"""The part of the entity graph around some entities, read from the file into memory.

Entities and chunks are known by row, and chosen among by key and by id: of the same documents the same part is read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nsmallest

from monograph.graph.chunk_names import NO_SENTENCE
from monograph.graph.paths import EntityGraph, graph_of
from monograph.store import chunks, graphs, names
from monograph.store.database import Connection
from monograph.store.filters import Allowed
from monograph.values import ENTITY_KINDS

MOST_TOGETHER = 64
"""Names of one sentence that are linked to each other; a sentence of more is a list."""

HUB = 2_000
"""A name of more uses is looked for in the favoured chunks only."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much is read.

    Parameters
    ----------
    entities:
        Most of all together; the starts count too, and are always in.
    neighbours:
        Most that one entity brings in: those that most chunks name beside it.
    chunks:
        Most of one entity that are read: the favoured ones first, then in order of id.
    """

    entities: int = 400
    neighbours: int = 12
    chunks: int = 8


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """Entities around some starts.

    Parameters
    ----------
    graph:
        Linked are entities that some chunk names in one sentence, or that a model linked.
    kinds:
        Of each entity, as most of the chunks read take it.
    written:
        (row of its name, chunk that has it) of each entity.
    named:
        The entities of each favoured chunk.
    keys:
        Of each entity.
    """

    graph: EntityGraph
    kinds: Mapping[int, str]
    written: Mapping[int, tuple[int, int]]
    named: Mapping[int, frozenset[int]]
    keys: Mapping[int, str]

    def numbered(self) -> tuple[Surroundings, dict[int, int]]:
        """The same with entities numbered in the order of their keys; and the number of each by row."""
        number = {row: place for place, row in enumerate(sorted(self.kinds, key=self.keys.__getitem__))}
        part = Surroundings(
            graph_of(number.values(), ((number[one], number[other]) for one, other in self.graph.edges())),
            {number[row]: kind for row, kind in self.kinds.items()},
            {number[row]: place for row, place in self.written.items()},
            {chunk: frozenset(number[row] for row in some if row in number) for chunk, some in self.named.items()},
            {number[row]: self.keys[row] for row in number},
        )
        return part, number


def around(
    connection: Connection,
    starts: Iterable[int],
    hops: int,
    favoured: Sequence[int],
    allowed: Allowed,
    bounds: Bounds,
) -> Surroundings:
    """Read what lies around entities.

    Parameters
    ----------
    connection:
        A read transaction.
    starts:
        Rows of entities; one that no allowed chunk names is left out.
    hops:
        How far.
    favoured:
        Chunks that are allowed, the most telling first.
    allowed:
        Which chunks may link.
    bounds:
        How much.
    """
    reader = _Reader(connection, favoured, allowed, bounds)
    reader.read(favoured)
    reader.meet(starts)
    frontier = sorted(set(starts), key=reader.key)
    inside = set(frontier)
    edges: list[tuple[int, int]] = []
    for _ in range(hops):
        links = reader.expand(frontier)
        room = max(0, bounds.entities - len(inside))
        frontier = list(dict.fromkeys(other for _, other in links if other not in inside))[:room]
        inside.update(frontier)
        edges += links
    kinds, written = reader.known(inside)
    kept = [(one, other) for one, other in edges if one in kinds and other in kinds]
    named = {chunk: frozenset(reader.beside.get(chunk, ())) for chunk in favoured}
    return Surroundings(graph_of(kinds, kept), kinds, written, named, {one: reader.key(one) for one in kinds})


@dataclass(slots=True, eq=False)
class _Reader:
    """What was read so far.

    By chunk: ``records`` are (entity, its name's row, its kind) in order of first mention; ``beside`` has, by entity,
    those that stand in a sentence with it or are linked to it. ``heads`` are entities by name, ``keys`` those of names.
    """

    connection: Connection
    favoured: Sequence[int]
    allowed: Allowed
    bounds: Bounds
    heads: dict[int, int] = field(default_factory=dict)
    keys: dict[int, str] = field(default_factory=dict)
    beside: dict[int, dict[int, set[int]]] = field(default_factory=dict)
    records: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict)

    def read(self, wanted: Iterable[int]) -> None:
        """Read chunks that were not."""
        held = graphs.linked(self.connection, [chunk for chunk in dict.fromkeys(wanted) if chunk not in self.beside])
        rows = {row for records, _ in held.values() for row in records["name"].tolist()}
        loaded = names.load(self.connection, rows.difference(self.heads))
        self.heads.update((row, one.head) for row, one in loaded.items())
        self.keys.update((row, one.key) for row, one in loaded.items())
        self.meet(one.head for one in loaded.values())
        for chunk, (records, links) in held.items():
            self._add(chunk, records.tolist(), links.tolist())

    def meet(self, entities: Iterable[int]) -> None:
        """Learn the keys of entities."""
        unknown = set(entities) - self.keys.keys()
        if unknown:
            self.keys.update((row, one.key) for row, one in names.load(self.connection, unknown).items())

    def key(self, entity: int) -> str:
        """The key of an entity."""
        return self.keys.get(entity, "")

    def _add(self, chunk: int, records: list[tuple[int, ...]], links: list[tuple[int, int, float]]) -> None:
        entities = [self.heads.get(name, name) for name, *_ in records]
        sentences: dict[int, set[int]] = {}
        for entity, (_, first, second, _) in zip(entities, records, strict=True):
            sentences.setdefault(first, set()).add(entity)
            if second != NO_SENTENCE:
                sentences.setdefault(second, set()).add(entity)
        beside: dict[int, set[int]] = {entity: set() for entity in entities}
        for together in sentences.values():
            if 1 < len(together) <= MOST_TOGETHER:
                for entity in together:
                    beside[entity] |= together
        for source, target, _ in links:
            beside[entities[source]].add(entities[target])
            beside[entities[target]].add(entities[source])
        self.beside[chunk] = beside
        self.records[chunk] = [
            (entity, name, kind) for entity, (name, _, _, kind) in zip(entities, records, strict=True)
        ]

    def expand(self, entities: Sequence[int]) -> list[tuple[int, int]]:
        """(entity, another) for the neighbours that entities bring in; those of most chunks first."""
        wanted = self._chunks_of(entities)
        self.read(chunk for some in wanted.values() for chunk in some)
        found: list[tuple[int, str, str, int, int]] = []
        for entity, some in wanted.items():
            together: Counter[int] = Counter()
            for chunk in some:
                together.update(self.beside.get(chunk, {}).get(entity, ()))
            del together[entity]
            links = ((-number, self.key(entity), self.key(other), entity, other) for other, number in together.items())
            found += nsmallest(self.bounds.neighbours, links)
        return [(entity, other) for *_, entity, other in sorted(found)]

    def _chunks_of(self, entities: Sequence[int]) -> dict[int, list[int]]:
        """The chunks to read of each entity."""
        members = names.members(self.connection, entities)
        rare = [one.row for some in members.values() for one in some if one.uses <= HUB]
        mentions = graphs.mentions(self.connection, rare, self.allowed)
        others = {
            entity: {chunk for one in members.get(entity, ()) for chunk in mentions.get(one.row, ())}
            for entity in entities
        }
        found = {
            entity: [chunk for chunk in self.favoured if entity in self.beside.get(chunk, ())][: self.bounds.chunks]
            for entity in entities
        }
        left = {
            entity: others[entity].difference(some) for entity, some in found.items() if len(some) < self.bounds.chunks
        }
        ids = chunks.ids(self.connection, set().union(*left.values()))
        for entity, some in left.items():
            found[entity] += nsmallest(self.bounds.chunks - len(found[entity]), some, key=ids.__getitem__)
        return found

    def known(self, entities: Iterable[int]) -> tuple[dict[int, str], dict[int, tuple[int, int]]]:
        """(kind that most chunks give it, of several the one that tells most; (name, chunk) read first) by entity."""
        counts = {entity: Counter[int]() for entity in entities}
        written: dict[int, tuple[int, int]] = {}
        for chunk, some in self.records.items():
            for entity, name, kind in some:
                if entity in counts:
                    counts[entity][kind] += 1
                    written.setdefault(entity, (name, chunk))
        kinds = {one: ENTITY_KINDS[min(counts[one], key=lambda kind: (-counts[one][kind], kind))] for one in written}
        return kinds, written
