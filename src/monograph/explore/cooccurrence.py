"""Links between entities that occur in the same sentence, weighted by frequency and mutual information."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import fsum, log1p

from monograph.explore.entities import keys_in, named_by
from monograph.explore.nodes import ChunkName, EntityNode, Nodes
from monograph.graph.chunk_names import NO_SENTENCE
from monograph.graph.names import lookup_keys
from monograph.store.graph import graphs, names
from monograph.values import Link, Relation

CROWDED = 24
"""Largest number of names in a sentence for which each name is linked to every other name in the sentence."""

NEAR = 8
"""In a sentence with more names than CROWDED, each name is linked to this many names before it and after it. The names
are in order of first mention."""


@dataclass(slots=True)
class EntityLink:
    """A link between two entities, also called a bond, with the chunks and relations that it comes from.

    ``chunks`` are the rows of the chunks that name both entities in one sentence or state a relation between them.
    ``relations`` has (chunk row, strength, direction) for each relation that a language model found.
    ``asserted`` has the direction of each relation that a caller asserted. Its keys are (id of the source node, label,
    id of the target node).
    A direction is true if the relation goes from the entity with the smaller id to the entity with the larger id.
    """

    chunks: set[int] = field(default_factory=set)
    relations: list[tuple[int, float, bool]] = field(default_factory=list)
    asserted: dict[tuple[str, str, str], bool] = field(default_factory=dict)


class CooccurrenceGraph:
    """Bonds (links between two entities) that come from chunks and from asserted relations.

    ``bonds[one][other]`` is the bond of two entities, and is the same object as ``bonds[other][one]``.
    """

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.bonds: dict[EntityNode, dict[EntityNode, EntityLink]] = {}

    def add(self, chunks: Iterable[int]) -> None:
        """Add the bonds between the entities that occur together in chunks.

        ``chunks`` are rows of chunks that ``nodes`` has read. Add each chunk only once.
        """
        for chunk in chunks:
            chunk_names = self.nodes.seen[chunk]
            for first, second in _pair_entities(chunk_names):
                one, other = f" {self.nodes.key(first)} ", f" {self.nodes.key(second)} "
                # A name that is part of the other, such as York of New York, always occurs together with it.
                if one not in other and other not in one:
                    self._get_bond(first, second).chunks.add(chunk)
            for relation in self.nodes.relations[chunk]:
                source, target = chunk_names[relation.source].node, chunk_names[relation.target].node
                if source != target and relation.strength > 0:
                    bond = self._get_bond(source, target)
                    bond.chunks.add(chunk)
                    bond.relations.append((chunk, relation.strength, self.nodes.id(source) < self.nodes.id(target)))

    def add_assertions(self, some: Iterable[EntityNode]) -> None:
        """Add the asserted relations from or to the given entities.

        The entities at the other ends of the relations are loaded into ``nodes``. A relation from an entity to itself
        is left out. If an asserted name is a homonym, the relation is added to the entity without a qualifier.
        """
        members = self.nodes.members
        asserted = self.nodes.state.asserted_relations(
            {name.key for node in some for name in members.get(node.head, ())}
        )
        if not asserted.relations:
            return
        name_rows = names.known(self.nodes.state.names, {key for keys in asserted.called.values() for key in keys})
        self.nodes.meet({row.head for row in name_rows.values()})
        for source_id, label, target_id, chunks in asserted.relations:
            sources, targets = (
                sorted({name_rows[key].head for key in asserted.called.get(end, ()) if key in name_rows})
                for end in (source_id, target_id)
            )
            for source, target in product(map(EntityNode, sources), map(EntityNode, targets)):
                if source != target:
                    bond = self._get_bond(source, target)
                    bond.chunks |= chunks
                    bond.asserted[source_id, label, target_id] = self.nodes.id(source) < self.nodes.id(target)

    def _get_bond(self, node: EntityNode, other: EntityNode) -> EntityLink:
        bond = self.bonds.setdefault(node, {}).get(other)
        if bond is None:
            bond = self.bonds[node][other] = self.bonds.setdefault(other, {})[node] = EntityLink()
        return bond

    def surprise(self, one: EntityNode, other: EntityNode, bond: EntityLink) -> float:
        """Return the surprise of a bond, ln(1 + p(both) / (p(one) p(other))).

        This is pointwise mutual information, but with 1 added inside the logarithm, so that the result is above 0.
        Without the 1, a link to an entity that every chunk names would have no weight.

        Each p is a share of the file's chunks. p(both) counts the bond's chunks. p(one) and p(other) count the chunks
        that contain the entity's name in any sense.
        """
        expected = self.nodes.count_name(one) * self.nodes.count_name(other)
        # A link that only a caller asserted counts as if one chunk had it.
        return log1p(max(len(bond.chunks), 1) * self.nodes.total / expected)

    def weight(self, one: EntityNode, other: EntityNode, bond: EntityLink) -> float:
        """Return the weight of a bond: its frequency times its surprise.

        The frequency is the number of the bond's chunks, plus the strength of each relation that a language model
        found, plus 1 for each asserted relation.
        """
        often = len(bond.chunks) + fsum(strength for _, strength, _ in bond.relations) + len(bond.asserted)
        return often * self.surprise(one, other, bond)

    def bound_to(self, some: Iterable[EntityNode], passed: set[EntityNode]) -> dict[EntityNode, float]:
        """Return the entities that have a bond to one of the entities ``some``, each with a weight.

        The weight is that of the entity's heaviest bond to ``some``. Entities in ``passed`` are left out.
        """
        weights: dict[EntityNode, float] = {}
        for entity in some:
            for other, bond in self.bonds.get(entity, {}).items():
                if other not in passed:
                    weights[other] = max(weights.get(other, 0.0), self.weight(entity, other, bond))
        return weights

    def links(self, some: Sequence[EntityNode]) -> list[tuple[EntityNode, EntityNode, Link]]:
        """Return (source, target, link) of each link between two of the given entities, heaviest first.

        Source and target follow the direction of the relations: see :meth:`_direct`.
        """
        position = {node: index for index, node in enumerate(some)}
        bonds = [
            self._direct(entity, other, bond)
            for entity in some
            for other, bond in self.bonds.get(entity, {}).items()
            if other in position and position[entity] < position[other]
        ]
        described = {chunk for _, _, bond in bonds for chunk, _, _ in bond.relations}
        places = self.nodes.state.places({chunk for _, _, bond in bonds for chunk in bond.chunks})
        relations = self._load_relations(sorted(described))
        result = [
            (source, target, self._build_link(source, target, bond, places, relations))
            for source, target, bond in bonds
        ]
        return sorted(result, key=lambda entry: (-entry[2].weight, entry[2].source, entry[2].target))

    def _direct(
        self, node: EntityNode, other: EntityNode, bond: EntityLink
    ) -> tuple[EntityNode, EntityNode, EntityLink]:
        """Return (source, target, bond): the entity with the smaller id first, unless most relations lead to it."""
        small, big = sorted((node, other), key=self.nodes.id)
        forward = fsum(strength if ahead else -strength for _, strength, ahead in bond.relations)
        forward += sum(1 if ahead else -1 for ahead in bond.asserted.values())
        return (big, small, bond) if forward < 0 else (small, big, bond)

    def _build_link(
        self,
        source: EntityNode,
        target: EntityNode,
        bond: EntityLink,
        places: Mapping[int, graphs.ChunkPlace],
        relations: Mapping[tuple[int, EntityNode, EntityNode], list[Relation]],
    ) -> Link:
        def position(chunk: int) -> tuple[str, int]:
            return places[chunk].document_id, places[chunk].ordinal

        chunks = sorted(bond.chunks, key=position)
        written = [
            relation
            for chunk in sorted({chunk for chunk, _, _ in bond.relations}, key=position)
            for ends in ((source, target), (target, source))
            for relation in relations.get((chunk, *ends), ())
        ]
        labels = sorted(label for _, label, _ in bond.asserted)
        return Link(
            source=self.nodes.id(source),
            target=self.nodes.id(target),
            weight=self.weight(source, target, bond),
            chunks=tuple(places[chunk].id for chunk in chunks),
            description="\n".join(dict.fromkeys(relation.description for relation in written if relation.description)),
            keywords=tuple(
                dict.fromkeys([*(keyword for relation in written for keyword in relation.keywords), *labels])
            ),
        )

    def _load_relations(self, chunks: Sequence[int]) -> dict[tuple[int, EntityNode, EntityNode], list[Relation]]:
        """Return the relations that a language model found in chunks, by (chunk row, source entity, target entity)."""
        values = self.nodes.state.extractions(chunks)
        by_ends: dict[tuple[int, EntityNode, EntityNode], list[Relation]] = {}
        for chunk in chunks:
            keys = keys_in(self.nodes, chunk)
            node_by_name = {name.name: name.node for name in self.nodes.seen[chunk]}
            for relation in values[chunk].relations if chunk in values else ():
                ends = (
                    (named_by(key, keys) for key in lookup_keys(name)) for name in (relation.source, relation.target)
                )
                source, target = (next((row for row in candidates if row is not None), None) for candidates in ends)
                if source is not None and target is not None:
                    by_ends.setdefault((chunk, node_by_name[source], node_by_name[target]), []).append(relation)
        return by_ends


def _pair_entities(chunk_names: Sequence[ChunkName]) -> Iterator[tuple[EntityNode, EntityNode]]:
    """Yield the pairs of entities that share a sentence; in a crowded sentence, only those near each other."""
    sentences: dict[int, dict[EntityNode, None]] = {}
    for name in chunk_names:
        for sentence in {name.first, name.second} - {NO_SENTENCE}:
            sentences.setdefault(sentence, {})[name.node] = None
    for entities in sentences.values():
        ordered = list(entities)
        reach = len(ordered) if len(ordered) <= CROWDED else NEAR
        for index, node in enumerate(ordered):
            for other in ordered[index + 1 : index + 1 + reach]:
                yield node, other
