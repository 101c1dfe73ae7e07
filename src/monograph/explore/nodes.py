"""Chunks as nodes of the graph: their names as entities, with homonyms kept apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log1p

from monograph.dates.span import TimeSpan
from monograph.explore.graph_state import GraphState
from monograph.graph.build import ExtractedRelation
from monograph.graph.chunk_names import NO_SENTENCE
from monograph.graph.names import entity_id
from monograph.store.graph import graphs, names
from monograph.values import ENTITY_KINDS, content_id

MOST_READ = 512
"""Most chunks that are read of one entity."""


@dataclass(frozen=True, slots=True)
class EntityNode:
    """An entity as it is shown to users. If its name has several senses, each sense is a node of its own.

    ``head`` is the row of the entity's head, the name that stands for the entity. ``sense`` is the qualifier of a
    homonym, as in *Mercury (planet)*. It is empty for the plain name and for an entity that is no homonym.
    """

    head: int
    sense: str = ""


@dataclass(frozen=True, slots=True)
class ChunkName:
    """A name in a chunk.

    ``node`` is the entity of the name, ``name`` the row of the name, and ``kind`` the position of its kind in
    ENTITY_KINDS. ``first`` and ``second`` are the numbers of the first two sentences that contain the name; ``second``
    is NO_SENTENCE if only one sentence contains it.
    """

    node: EntityNode
    name: int
    first: int
    second: int
    kind: int


class Nodes:
    """Cache of the parts of a graph that were read. Each chunk is read once.

    At most MOST_READ of the chunks that name an entity are read: first the chunks of documents about the entity, then
    the chunks with the lowest ids (see :func:`monograph.store.graph.graphs.chunks_naming`). Files with the same
    documents give the same chunks.

    The head of an entity is the name that stands for it. An entity is identified by the row of its head.

    Attributes
    ----------
    seen:
        Names of each chunk that was read, in order of first mention, by the chunk's row.
    relations:
        Relations that a language model found in each chunk that was read, by the chunk's row.
    chunks:
        Rows of the chunks that were read for each entity, by the row of the entity's head.
    names:
        All names that were loaded, by row.
    members:
        Names of each loaded entity, by the row of the entity's head.
    senses:
        Senses of each loaded entity that is a homonym, by the row of the entity's head.
    titled:
        Documents whose titles name each loaded entity, by the row of the entity's head.
    """

    def __init__(self, state: GraphState) -> None:
        self.state = state
        self.total = state.total()
        self.seen: dict[int, tuple[ChunkName, ...]] = {}
        self.relations: dict[int, tuple[ExtractedRelation, ...]] = {}
        self.chunks: dict[int, list[int]] = {}
        self.names: dict[int, names.NameRow] = {}
        self.members: dict[int, list[names.NameRow]] = {}
        self.senses: dict[int, list[Meaning]] = {}
        self.titled: dict[int, list[graphs.TitledDocument]] = {}
        self._counts: dict[int, int] = {}
        self._ids: dict[EntityNode, str] = {}

    def meet(self, heads: Iterable[int]) -> None:
        """Load entities: their names, the documents whose titles name them, and the numbers of chunks that name them.

        ``heads`` are the rows of the entities' heads (the names that stand for the entities). Entities that were loaded
        before are skipped.
        """
        fresh = {head for head in heads if head not in self.members}
        members = names.members(self.state.names, fresh)
        rows = {name.row: head for head, group in members.items() for name in group}
        self.names.update((name.row, name) for group in members.values() for name in group)
        self.members.update((head, members.get(head, [])) for head in fresh)
        titled: dict[int, list[graphs.TitledDocument]] = {}
        for entry in self.state.titled(rows):
            titled.setdefault(entry.entity, []).append(entry)
        self.titled.update(titled)
        self.senses.update(senses(self.state, titled))
        self._counts.update(self.state.chunk_counts(rows))

    def read_entities(self, heads: Iterable[int], most: int = MOST_READ) -> list[int]:
        """Read the chunks of entities, and return the rows of the chunks that were not read before, ascending.

        ``heads`` are the rows of the entities' heads (the names that stand for the entities). At most ``most`` chunks
        of each entity are read. For a homonym ``most`` is ignored: at most MOST_READ chunks are read, to find its
        senses. Entities that were read before are skipped.
        """
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
        """Read the first chunks of documents whose titles alone name an entity, and add the entity to these chunks.

        The entity is added as if the first sentence of each chunk named it. ``heads`` are the rows of the entities'
        heads (the names that stand for the entities). Entities that a chunk names, and entities that
        :meth:`read_entities` has read, are skipped. So call this method before :meth:`read_entities`. It returns the
        rows of the chunks that were not read before, ascending.
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
        """Read chunks, and return the rows of the chunks that were not read before, ascending.

        Chunks that are not in the graph are left out.
        """
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
                    sense = qualifier_of(self.senses[heads[row]], places[chunk].document, rarity)
                nodes.append(EntityNode(heads[row], sense))
            self.seen[chunk] = tuple(ChunkName(node, *record) for node, record in zip(nodes, records, strict=True))
            self.relations[chunk] = tuple(ExtractedRelation(*link) for link in links.tolist())
        return [chunk for chunk in fresh if chunk in self.seen]

    def count(self, node: EntityNode) -> int:
        """Return the number of chunks that name an entity. For a homonym, only chunks that were read count."""
        if node.head not in self.senses:
            return self._counts.get(node.head, 0)
        return len(self.chunks_of(node))

    def seen_when(self, wanted: Iterable[EntityNode]) -> dict[EntityNode, TimeSpan]:
        """Return the time span of the documents that name each entity; entities without a dated document are left out.

        For a homonym, only the documents of chunks that were read count.
        """
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
        """Return the number of chunks that contain the name of an entity, in any of its senses; at least 1."""
        return max(self._counts.get(node.head, 0), 1)

    def chunks_of(self, node: EntityNode) -> list[int]:
        """Return the rows of the chunks that were read for an entity (see :attr:`chunks`).

        For a homonym, only the chunks are returned in which the name has the sense of ``node``.
        """
        chosen = self.chunks.get(node.head, [])
        if node.head not in self.senses:
            return chosen
        return [chunk for chunk in chosen if any(name.node == node for name in self.seen.get(chunk, ()))]

    def nodes_of(self, head: int) -> list[EntityNode]:
        """Return an entity as it is shown to users: one node or, for a homonym, one node for each sense.

        The plain name of a homonym gets a node only if a title or a chunk uses it.
        """
        if head not in self.senses:
            return [EntityNode(head)]
        qualifiers = {sense.qualifier for sense in self.senses[head]}
        plain = EntityNode(head)
        senses = [EntityNode(head, qualifier) for qualifier in sorted(qualifiers - {""})]
        return [plain, *senses] if "" in qualifiers or self.chunks_of(plain) else senses

    def key(self, node: EntityNode) -> str:
        """Return the key of the name that stands for an entity; empty if this name was not loaded."""
        return self.names[node.head].key if node.head in self.names else ""

    def id(self, node: EntityNode) -> str:
        """Return the id of an entity: a hash of the entity's key and, for a sense of a homonym, of its qualifier."""
        identifier = self._ids.get(node)
        if identifier is None:
            key = self.key(node)
            identifier = self._ids[node] = content_id("entity", key, node.sense) if node.sense else entity_id(key)
        return identifier


@dataclass(frozen=True, slots=True)
class Meaning:
    """One meaning of a name that has several meanings.

    ``qualifier`` is the key of the part in parentheses in the titles of documents, as in *Mercury (planet)*. It is
    empty for titles without parentheses.
    ``documents`` are the rows of the documents whose titles have the name with this qualifier.
    ``names`` are the rows of the names in the first chunks of these documents.
    """

    qualifier: str
    documents: frozenset[int]
    names: frozenset[int]


def senses(state: GraphState, titled: Mapping[int, Sequence[graphs.TitledDocument]]) -> dict[int, list[Meaning]]:
    """Return the senses of each entity that is a homonym, in order of qualifier, by the row of the entity's head.

    An entity is a homonym if titles have its name with several qualifiers, or with and without one. All other entities
    are left out. ``titled`` has the documents whose titles name each entity, by the row of the entity's head.
    """
    several = {entity: entries for entity, entries in titled.items() if len({entry.qualifier for entry in entries}) > 1}
    if not several:
        return {}
    rows = state.first_chunks(
        {entry.document for entries in several.values() for entry in entries}, graphs.SUBJECT_CHUNKS
    )
    named = state.linked({chunk for chunk_rows in rows.values() for chunk in chunk_rows})
    result: dict[int, list[Meaning]] = {}
    for entity, entries in several.items():
        for qualifier in sorted({entry.qualifier for entry in entries}):
            documents = frozenset(entry.document for entry in entries if entry.qualifier == qualifier)
            chunks = [chunk for document in documents for chunk in rows.get(document, ()) if chunk in named]
            names = frozenset(int(name) for chunk in chunks for name in named[chunk][0]["name"])
            result.setdefault(entity, []).append(Meaning(qualifier, documents, names))
    return result


def qualifier_of(known: Collection[Meaning], document: int, beside: Mapping[int, float]) -> str:
    """Return the qualifier of the sense in which a chunk uses a name.

    If the chunk's document is about exactly one of the ``known`` senses, the chunk uses this sense. If the document is
    about several senses, only these are compared; if it is about none, all are. The score of a sense is the total
    weight of the names that the chunk shares with the sense's documents. The chunk uses the sense with the highest
    score. The qualifier is empty for the plain name, for equal highest scores, and if no name is shared.

    ``document`` is the row of the chunk's document. ``beside`` has the weight of each other name in the chunk, by the
    row of the name; rare names have high weights.
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
