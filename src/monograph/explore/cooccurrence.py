"""Links between entities that chunks name together, weighted by frequency and surprise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, log1p

from monograph.explore.entities import keys_in, named_by
from monograph.explore.nodes import ChunkName, EntityNode, Nodes
from monograph.graph.chunk_names import NO_SENTENCE
from monograph.graph.names import asked_keys
from monograph.store.graph import graphs, names
from monograph.values import Link, Relation

CROWDED = 24
"""Most names of a sentence of which each is linked to every other."""

NEAR = 8
"""Names before and after it, in order of first mention, to which a name of a more crowded sentence is linked."""


@dataclass(slots=True)
class Bond:
    """A link of two entities: chunks that name both in one sentence, and relations from models and callers.

    Parameters
    ----------
    chunks:
        Rows of the chunks.
    said:
        (chunk, strength, whether it leads from the entity of the smaller id to the other) of each relation that a model
        found.
    told:
        For each asserted relation (source, label, target), whether it leads from the entity of the smaller id to the
        other.
    """

    chunks: set[int] = field(default_factory=set)
    said: list[tuple[int, float, bool]] = field(default_factory=list)
    told: dict[tuple[str, str, str], bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AssertedLink:
    """An asserted relation of two entities.

    ``ends`` is (source id, label, target id) as the caller asserted it; ``chunks`` are rows of the chunks that it comes
    from.
    """

    source: EntityNode
    target: EntityNode
    ends: tuple[str, str, str]
    chunks: frozenset[int]


class CooccurrenceGraph:
    """Bonds between the entities of the chunks that were added."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.bonds: dict[EntityNode, dict[EntityNode, Bond]] = {}

    def add(self, chunks: Iterable[int]) -> None:
        """Add the bonds of chunks, which ``nodes`` must have read. Add each chunk only once."""
        for chunk in chunks:
            seen = self.nodes.seen[chunk]
            for one, other in _together(seen):
                if not self._within(one, other):
                    self._bond(one, other).chunks.add(chunk)
            for told in self.nodes.told[chunk]:
                source, target = seen[told.source].node, seen[told.target].node
                if source != target and told.strength > 0:
                    bond = self._bond(source, target)
                    bond.chunks.add(chunk)
                    bond.said.append((chunk, told.strength, self.nodes.id(source) < self.nodes.id(target)))

    def add_assertions(self, some: Iterable[EntityNode]) -> None:
        """Add the asserted relations between these entities and any others."""
        for one in asserted_links(self.nodes, some):
            bond = self._bond(one.source, one.target)
            bond.chunks |= one.chunks
            bond.told[one.ends] = self.nodes.id(one.source) < self.nodes.id(one.target)

    def _bond(self, one: EntityNode, other: EntityNode) -> Bond:
        bond = self.bonds.setdefault(one, {}).get(other)
        if bond is None:
            bond = self.bonds[one][other] = self.bonds.setdefault(other, {})[one] = Bond()
        return bond

    def _within(self, one: EntityNode, other: EntityNode) -> bool:
        """Return whether one name is part of the other, such as York of New York: these always occur together."""
        first, second = f" {self.nodes.key(one)} ", f" {self.nodes.key(other)} "
        return first in second or second in first

    def surprise(self, one: EntityNode, other: EntityNode, bond: Bond) -> float:
        """Return ln(1 + p(both) / (p(one) p(other))): pointwise mutual information, softened to be above 0.

        The probabilities are shares of the file's chunks; that of a single entity counts all chunks that have its name,
        in any sense. Plain pointwise mutual information would give no link to an entity that every chunk names.
        """
        expected = self.nodes.count_name(one) * self.nodes.count_name(other)
        # A link that only a caller asserted counts as if one chunk had it.
        return log1p(max(len(bond.chunks), 1) * self.nodes.total / expected)

    def weight(self, one: EntityNode, other: EntityNode, bond: Bond) -> float:
        """Return the frequency of a link times its surprise.

        The frequency is the number of chunks, plus the strength of each relation that a model found, plus 1 for each
        asserted relation.
        """
        often = len(bond.chunks) + fsum(strength for _, strength, _ in bond.said) + len(bond.told)
        return often * self.surprise(one, other, bond)

    def bound_to(self, some: Iterable[EntityNode], passed: set[EntityNode]) -> dict[EntityNode, float]:
        """Return the weight of the heaviest bond to any of ``some``, by entity, for entities not in ``passed``."""
        found: dict[EntityNode, float] = {}
        for one in some:
            for other, bond in self.bonds.get(one, {}).items():
                if other not in passed:
                    found[other] = max(found.get(other, 0.0), self.weight(one, other, bond))
        return found

    def among(self, some: Sequence[EntityNode]) -> Iterator[tuple[EntityNode, EntityNode, Bond]]:
        """Yield (entity, other entity, bond) for the bonds among entities, each once."""
        place = {node: at for at, node in enumerate(some)}
        for one in some:
            for other, bond in self.bonds.get(one, {}).items():
                if other in place and place[one] < place[other]:
                    yield one, other, bond

    def links(self, some: Sequence[EntityNode]) -> list[tuple[EntityNode, EntityNode, Link]]:
        """Return (source, target, link) of the links among entities, heaviest first.

        Source and target follow the direction of the relations: see :meth:`_directed`.
        """
        bonds = [self._directed(*bond) for bond in self.among(some)]
        told = {chunk for _, _, bond in bonds for chunk, _, _ in bond.said}
        places = self.nodes.state.places({chunk for _, _, bond in bonds for chunk in bond.chunks})
        relations = self._relations(sorted(told))
        found = [
            (source, target, self._link(source, target, bond, places, relations)) for source, target, bond in bonds
        ]
        return sorted(found, key=lambda one: (-one[2].weight, one[2].source, one[2].target))

    def _directed(self, one: EntityNode, other: EntityNode, bond: Bond) -> tuple[EntityNode, EntityNode, Bond]:
        """Return (source, target, bond): the smaller id first, unless the relations together lead the other way.

        Relations of models count by their strength, asserted ones count 1.
        """
        small, big = sorted((one, other), key=self.nodes.id)
        forward = fsum(strength if ahead else -strength for _, strength, ahead in bond.said)
        forward += sum(1 if ahead else -1 for ahead in bond.told.values())
        return (big, small, bond) if forward < 0 else (small, big, bond)

    def _link(
        self,
        source: EntityNode,
        target: EntityNode,
        bond: Bond,
        places: Mapping[int, graphs.ChunkPlace],
        relations: Mapping[tuple[int, EntityNode, EntityNode], list[Relation]],
    ) -> Link:
        def where(chunk: int) -> tuple[str, int]:
            return places[chunk].document_id, places[chunk].ordinal

        chunks = sorted(bond.chunks, key=where)
        written = [
            one
            for chunk in sorted({chunk for chunk, _, _ in bond.said}, key=where)
            for ends in ((source, target), (target, source))
            for one in relations.get((chunk, *ends), ())
        ]
        labels = sorted(label for _, label, _ in bond.told)
        return Link(
            source=self.nodes.id(source),
            target=self.nodes.id(target),
            weight=self.weight(source, target, bond),
            chunks=tuple(places[chunk].id for chunk in chunks),
            description="\n".join(dict.fromkeys(one.description for one in written if one.description)),
            keywords=tuple(dict.fromkeys([*(keyword for one in written for keyword in one.keywords), *labels])),
        )

    def _relations(self, chunks: Sequence[int]) -> dict[tuple[int, EntityNode, EntityNode], list[Relation]]:
        """Return the relations that a model found in chunks, by (chunk, source, target)."""
        values = self.nodes.state.extractions(chunks)
        found: dict[tuple[int, EntityNode, EntityNode], list[Relation]] = {}
        for chunk in chunks:
            keys = keys_in(self.nodes, chunk)
            seen = {one.name: one.node for one in self.nodes.seen[chunk]}
            for one in values[chunk].relations if chunk in values else ():
                ends = ((named_by(key, keys) for key in asked_keys(name)) for name in (one.source, one.target))
                source, target = (next((row for row in some if row is not None), None) for some in ends)
                if source is not None and target is not None:
                    found.setdefault((chunk, seen[source], seen[target]), []).append(one)
        return found


def _together(seen: Sequence[ChunkName]) -> Iterator[tuple[EntityNode, EntityNode]]:
    """Yield the pairs of entities that share a sentence; in crowded sentences only those near each other."""
    sentences: dict[int, dict[EntityNode, None]] = {}
    for one in seen:
        for sentence in {one.first, one.second} - {NO_SENTENCE}:
            sentences.setdefault(sentence, {})[one.node] = None
    for standing in sentences.values():
        some = list(standing)
        reach = len(some) if len(some) <= CROWDED else NEAR
        for place, node in enumerate(some):
            for other in some[place + 1 : place + 1 + reach]:
                yield node, other


def asserted_links(nodes: Nodes, some: Iterable[EntityNode]) -> Iterator[AssertedLink]:
    """Yield the asserted relations between the entities ``some`` and any others, which are loaded into ``nodes``.

    A relation of an entity to itself is left out. A name with homonyms means the entity of the plain name.
    """
    told = nodes.state.asserted_relations({member.key for node in some for member in nodes.members.get(node.head, ())})
    if not told.said:
        return
    known = names.known(nodes.state.names, {key for keys in told.called.values() for key in keys})
    nodes.meet({row.head for row in known.values()})
    for source_id, label, target_id, chunks in told.said:
        for source in _meant(told.called.get(source_id, ()), known):
            for target in _meant(told.called.get(target_id, ()), known):
                if source != target:
                    yield AssertedLink(source, target, (source_id, label, target_id), chunks)


def _meant(keys: Iterable[str], known: dict[str, names.NameRow]) -> list[EntityNode]:
    return [EntityNode(head) for head in sorted({known[key].head for key in keys if key in known})]
