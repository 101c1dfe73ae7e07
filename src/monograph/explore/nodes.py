"""Chunks as nodes of the graph: their names as entities, with homonyms kept apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log1p

from monograph.dates.span import TimeSpan
from monograph.explore.graph_state import GraphState
from monograph.graph.build import Linked
from monograph.graph.chunk_names import NO_SENTENCE
from monograph.graph.names import entity_id
from monograph.store.graph import graphs, names
from monograph.values import ENTITY_KINDS, content_id

MOST_READ = 512
"""Most chunks of one entity that are read."""


@dataclass(frozen=True, slots=True)
class EntityNode:
    """An entity as shown to users: the row of its head, and a homonym's qualifier, empty for the plain name."""

    head: int
    sense: str = ""


@dataclass(frozen=True, slots=True)
class ChunkName:
    """A name in a chunk: its entity, its row, and the place of its kind in ENTITY_KINDS.

    ``first`` and ``second`` are the numbers of the first two sentences that contain it; NO_SENTENCE for no second.
    """

    node: EntityNode
    name: int
    first: int
    second: int
    kind: int


class Nodes:
    """Cache of the parts of a graph that were read. Each chunk is read once.

    For an entity in more than MOST_READ chunks, those of documents about it are read first, then those with the first
    ids (see :func:`monograph.store.graph.graphs.chunks_naming`): the same in every file of the same documents.

    Attributes
    ----------
    seen, told:
        Names of each chunk, in order of first mention, and a model's relations in it, by chunk row.
    chunks:
        Chunks chosen for each entity that was read, by the row of its head.
    names:
        All names that were loaded, by row.
    members:
        Names of each loaded entity, by the row of its head.
    senses:
        Senses of each loaded entity that is a homonym, by the row of its head.
    titled:
        Documents whose titles name each loaded entity, by the row of its head.
    """

    def __init__(self, state: GraphState) -> None:
        self.state = state
        self.total = state.total()
        self.seen: dict[int, tuple[ChunkName, ...]] = {}
        self.told: dict[int, tuple[Linked, ...]] = {}
        self.chunks: dict[int, list[int]] = {}
        self.names: dict[int, names.NameRow] = {}
        self.members: dict[int, list[names.NameRow]] = {}
        self.senses: dict[int, list[Sense]] = {}
        self.titled: dict[int, list[graphs.Titled]] = {}
        self._counts: dict[int, int] = {}
        self._ids: dict[EntityNode, str] = {}

    def meet(self, heads: Iterable[int]) -> None:
        """Load entities: their names, the documents about them, and the number of chunks that name them."""
        fresh = {head for head in heads if head not in self.members}
        members = names.members(self.state.names, fresh)
        rows = {name.row: head for head, group in members.items() for name in group}
        self.names.update((name.row, name) for group in members.values() for name in group)
        self.members.update((head, members.get(head, [])) for head in fresh)
        titled: dict[int, list[graphs.Titled]] = {}
        for entry in self.state.titled(rows):
            titled.setdefault(entry.entity, []).append(entry)
        self.titled.update(titled)
        self.senses.update(senses(self.state, titled))
        self._counts.update(self.state.chunk_counts(rows))

    def read_entities(self, heads: Iterable[int], most: int = MOST_READ) -> list[int]:
        """Read the chunks of entities, at most ``most`` of each that is no homonym; return rows like :meth:`read`."""
        fresh = {head for head in heads if head not in self.chunks}
        self.meet(fresh)
        rows = {name.row: head for head in fresh for name in self.members[head]}
        chosen = self.state.chunks_naming(rows, MOST_READ)
        self.chunks.update(
            (head, chunks if head in self.senses else chunks[:most])
            for head, chunks in ((head, chosen.get(head, [])) for head in fresh)
        )
        return self.read({chunk for head in fresh for chunk in self.chunks[head]})

    def read_titled(self, heads: Iterable[int]) -> list[int]:
        """Add the entities that only titles name to the first sentence of their documents' first chunks.

        Call this before these entities are read otherwise. Returns rows as :meth:`read` does.
        """
        head_list = list(heads)
        self.meet(head_list)
        titled_only = [head for head in head_list if not self._counts.get(head) and head not in self.chunks]
        node_by_document = {
            entry.document: EntityNode(head, entry.qualifier if head in self.senses else "")
            for head in titled_only
            for entry in self.titled.get(head, ())
        }
        rows = self.state.first_chunks(node_by_document, graphs.SUBJECT_CHUNKS)
        fresh = self.read(chunk for chunks in rows.values() for chunk in chunks)
        for document in sorted(rows):
            node = node_by_document[document]
            chunk_name = ChunkName(node, node.head, 0, NO_SENTENCE, ENTITY_KINDS.index("name"))
            for chunk in rows[document]:
                if chunk in self.seen:
                    self.seen[chunk] += (chunk_name,)
                    self.chunks.setdefault(node.head, []).append(chunk)
        return fresh

    def read(self, chunks: Iterable[int]) -> list[int]:
        """Read chunks, and return the rows of those that were not read before, ascending."""
        fresh = sorted(chunk for chunk in set(chunks) if chunk not in self.seen)
        linked = self.state.linked(fresh)
        rows = {int(name) for name_records, _ in linked.values() for name in name_records["name"]}
        loaded = names.load(self.state.names, rows - self.names.keys())
        self.names.update(loaded)
        self.meet({name.head for name in loaded.values()})
        places = self.state.places(linked)
        for chunk, (name_records, links) in linked.items():
            records = name_records.tolist()
            heads = {row: self.names[row].head for row, *_ in records}
            nodes = []
            for row, *_ in records:
                sense = ""
                if heads[row] in self.senses:
                    rarity = {
                        other: log1p(self.total / max(self.names[other].uses, 1))
                        for other, head in heads.items()
                        if head != heads[row]
                    }
                    sense = meant(self.senses[heads[row]], places[chunk].document, rarity)
                nodes.append(EntityNode(heads[row], sense))
            self.seen[chunk] = tuple(ChunkName(node, *record) for node, record in zip(nodes, records, strict=True))
            self.told[chunk] = tuple(Linked(*link) for link in links.tolist())
        return [chunk for chunk in fresh if chunk in self.seen]

    def count(self, node: EntityNode) -> int:
        """Return the number of chunks that name an entity; for a homonym only the chunks that were read count."""
        if node.head not in self.senses:
            return self._counts.get(node.head, 0)
        return len(self.chunks_of(node))

    def seen_when(self, wanted: Iterable[EntityNode]) -> dict[EntityNode, TimeSpan]:
        """Return the known time spans of the documents that name each entity; of a homonym, in the read chunks."""
        nodes = list(wanted)
        rows = {name.row: node.head for node in nodes for name in self.members.get(node.head, ())}
        plain = self.state.seen({row: head for row, head in rows.items() if head not in self.senses})
        spans = {}
        for node in nodes:
            span = plain.get(node.head)
            if node.head in self.senses:
                span = self.state.seen_in(self.chunks_of(node))
            if span is not None:
                spans[node] = span
        return spans

    def count_name(self, node: EntityNode) -> int:
        """Return the number of chunks that have the name of an entity, in any sense, at least 1."""
        return max(self._counts.get(node.head, 0), 1)

    def chunks_of(self, node: EntityNode) -> list[int]:
        """Return the chunks chosen for an entity; for a homonym only those in which the name has this sense."""
        chosen = self.chunks.get(node.head, [])
        if node.head not in self.senses:
            return chosen
        return [chunk for chunk in chosen if any(name.node == node for name in self.seen.get(chunk, ()))]

    def nodes_of(self, head: int) -> list[EntityNode]:
        """Return an entity as shown to users: one node or, for a homonym, one for each sense.

        A homonym's plain name is included only if a title or a chunk uses it.
        """
        if head not in self.senses:
            return [EntityNode(head)]
        qualifiers = {sense.qualifier for sense in self.senses[head]}
        plain = EntityNode(head)
        senses = [EntityNode(head, qualifier) for qualifier in sorted(qualifiers - {""})]
        return [plain, *senses] if "" in qualifiers or self.chunks_of(plain) else senses

    def key(self, node: EntityNode) -> str:
        """Return the key of an entity's head."""
        return self.names[node.head].key if node.head in self.names else ""

    def id(self, node: EntityNode) -> str:
        """Return the id of an entity, a hash of its key and, for a homonym, of the qualifier."""
        identifier = self._ids.get(node)
        if identifier is None:
            key = self.key(node)
            identifier = self._ids[node] = content_id("entity", key, node.sense) if node.sense else entity_id(key)
        return identifier


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of a name that has several.

    ``qualifier`` is the key of the part in parentheses of the documents' titles; empty for the plain name.
    ``documents`` are those whose titles name it so, ``names`` the names in their first chunks, as rows.
    """

    qualifier: str
    documents: frozenset[int]
    names: frozenset[int]


def senses(state: GraphState, titled: Mapping[int, Sequence[graphs.Titled]]) -> dict[int, list[Sense]]:
    """Return the senses of entities that titles give several qualifiers, in order of qualifier, by the entity's head.

    ``titled`` has the documents whose titles name each entity, by the row of its head.
    """
    several = {entity: entries for entity, entries in titled.items() if len({entry.qualifier for entry in entries}) > 1}
    if not several:
        return {}
    rows = state.first_chunks(
        {entry.document for entries in several.values() for entry in entries}, graphs.SUBJECT_CHUNKS
    )
    named = state.linked({chunk for chunk_rows in rows.values() for chunk in chunk_rows})
    result: dict[int, list[Sense]] = {}
    for entity, entries in several.items():
        for qualifier in sorted({entry.qualifier for entry in entries}):
            documents = frozenset(entry.document for entry in entries if entry.qualifier == qualifier)
            chunks = [chunk for document in documents for chunk in rows.get(document, ()) if chunk in named]
            names = frozenset(int(name) for chunk in chunks for name in named[chunk][0]["name"])
            result.setdefault(entity, []).append(Sense(qualifier, documents, names))
    return result


def meant(known: Collection[Sense], document: int, beside: Mapping[int, float]) -> str:
    """Return the qualifier of the sense in which a chunk uses a name.

    A document about exactly one of the senses means that one. Any other chunk means the sense whose documents share
    most names with the chunk. It is empty for the plain name, or if no sense is nearest.

    ``document`` is the row of the chunk's document; ``beside`` has the weight of each other name of the chunk, by row:
    the rarer the name, the higher.
    """
    matching = [sense for sense in known if document in sense.documents]
    if len(matching) == 1:
        return matching[0].qualifier
    shares = [
        (fsum(beside[name] for name in sense.names & beside.keys()), sense.qualifier) for sense in matching or known
    ]
    most = max(share for share, _ in shares)
    best = [qualifier for share, qualifier in shares if share == most]
    return best[0] if most > 0 and len(best) == 1 else ""
