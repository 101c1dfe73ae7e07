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
"""Names of a sentence up to which each is linked to each."""

NEAR = 8
"""Names before and after it that a name of a more crowded sentence is linked to, in order of first mention."""


@dataclass(slots=True)
class Bond:
    """A link of two entities: chunks that name both in one sentence, and relations of models and callers.

    ``said`` has (chunk, strength, whether it leads from the entity of the smaller id to the other) of each relation;
    ``told`` has the (source, label, target) of what callers told of the two, and of each whether it leads so.
    """

    chunks: set[int] = field(default_factory=set)
    said: list[tuple[int, float, bool]] = field(default_factory=list)
    told: dict[tuple[str, str, str], bool] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AssertedLink:
    """A relation of two entities: (source, label, target) as a caller told it, and the rows of chunks that say it."""

    source: EntityNode
    target: EntityNode
    ends: tuple[str, str, str]
    chunks: frozenset[int]


class CooccurrenceGraph:
    """The bonds between the entities of the chunks that were read."""

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.bonds: dict[EntityNode, dict[EntityNode, Bond]] = {}

    def add(self, chunks: Iterable[int]) -> None:
        """Add the bonds that chunks hold; each chunk once."""
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
        """Add what callers told of some entities and of others."""
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
        """Return whether a name is a part of the other, as York is of New York: they always stand together."""
        first, second = f" {self.nodes.key(one)} ", f" {self.nodes.key(other)} "
        return first in second or second in first

    def surprise(self, one: EntityNode, other: EntityNode, bond: Bond) -> float:
        """Return ln(1 + p(both) / (p(one) p(other))): pointwise mutual information, softened to be above 0.

        The probabilities are shares of the chunks of the file; those of single entities are their names'. Plain
        pointwise mutual information would leave an entity that every chunk names without any link.
        """
        expected = self.nodes.count_name(one) * self.nodes.count_name(other)
        # What no chunk says, but a caller, counts as if one did.
        return log1p(max(len(bond.chunks), 1) * self.nodes.total / expected)

    def weight(self, one: EntityNode, other: EntityNode, bond: Bond) -> float:
        """Return the frequency of a link times its surprise; a chunk with a model's relation counts 1 + its strength.

        A relation that a caller told counts 1.
        """
        often = len(bond.chunks) + fsum(strength for _, strength, _ in bond.said) + len(bond.told)
        return often * self.surprise(one, other, bond)

    def bound_to(self, some: Iterable[EntityNode], passed: set[EntityNode]) -> dict[EntityNode, float]:
        """Return the heaviest weight with which any of some entities is bound to each that is not passed yet."""
        found: dict[EntityNode, float] = {}
        for one in some:
            for other, bond in self.bonds.get(one, {}).items():
                if other not in passed:
                    found[other] = max(found.get(other, 0.0), self.weight(one, other, bond))
        return found

    def among(self, some: Sequence[EntityNode]) -> Iterator[tuple[EntityNode, EntityNode, Bond]]:
        """Return the bonds among entities, each once."""
        place = {node: at for at, node in enumerate(some)}
        for one in some:
            for other, bond in self.bonds.get(one, {}).items():
                if other in place and place[one] < place[other]:
                    yield one, other, bond

    def links(self, some: Sequence[EntityNode]) -> list[tuple[EntityNode, EntityNode, Link]]:
        """Return the links among entities, heaviest first, each with its ends in the direction that a model gave it."""
        bonds = [self._directed(*bond) for bond in self.among(some)]
        told = {chunk for _, _, bond in bonds for chunk, _, _ in bond.said}
        places = self.nodes.state.places({chunk for _, _, bond in bonds for chunk in bond.chunks})
        relations = self._relations(sorted(told))
        found = [
            (source, target, self._link(source, target, bond, places, relations)) for source, target, bond in bonds
        ]
        return sorted(found, key=lambda one: (-one[2].weight, one[2].source, one[2].target))

    def _directed(self, one: EntityNode, other: EntityNode, bond: Bond) -> tuple[EntityNode, EntityNode, Bond]:
        """Return the entity of the smaller id first, unless relations lead the other way by their strength."""
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
        """Return the relations that a model found, by chunk, source and target."""
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
    """Return the entities that stand in one sentence; in crowded sentences only those near each other."""
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
    """Return the relations that were told of some entities and of others, which are met; none of an entity and itself.

    Of a homonym the plain name is meant.
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
