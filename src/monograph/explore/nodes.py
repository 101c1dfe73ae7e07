"""Chunks as nodes of the graph: their names as entities, with homonyms kept apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum, log1p

from monograph.dates.span import TimeSpan
from monograph.explore.graph_state import GraphState
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
    """A name in a chunk.

    Parameters
    ----------
    node:
        The entity.
    name:
        Row of the name.
    first, second:
        Numbers of the first two sentences that contain it; NO_SENTENCE for no second.
    kind:
        Place of its kind in ENTITY_KINDS.
    """

    node: EntityNode
    name: int
    first: int
    second: int
    kind: int


@dataclass(frozen=True, slots=True)
class ChunkRelation:
    """A model's relation in a chunk: positions of its ends among the chunk's names, and its strength."""

    source: int
    target: int
    strength: float


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
        self.told: dict[int, tuple[ChunkRelation, ...]] = {}
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
        found = names.members(self.state.names, fresh)
        rows = {one.row: head for head, some in found.items() for one in some}
        self.names.update((one.row, one) for some in found.values() for one in some)
        self.members.update((head, found.get(head, [])) for head in fresh)
        titled: dict[int, list[graphs.Titled]] = {}
        for one in self.state.titled(rows):
            titled.setdefault(one.entity, []).append(one)
        self.titled.update(titled)
        self.senses.update(senses(self.state, titled))
        self._counts.update(self.state.chunk_counts(rows))

    def read_entities(self, heads: Iterable[int], most: int = MOST_READ) -> list[int]:
        """Read the chunks of entities, and return the rows of those that were not read before, ascending.

        ``most`` limits the chunks of each entity that is not a homonym.
        """
        fresh = {head for head in heads if head not in self.chunks}
        self.meet(fresh)
        rows = {one.row: head for head in fresh for one in self.members[head]}
        chosen = self.state.chunks_naming(rows, MOST_READ)
        self.chunks.update(
            (head, some if head in self.senses else some[:most])
            for head, some in ((head, chosen.get(head, [])) for head in fresh)
        )
        return self.read({chunk for head in fresh for chunk in self.chunks[head]})

    def read_titled(self, heads: Iterable[int]) -> list[int]:
        """Add the entities that only titles name to the first sentence of their documents' first chunks.

        Call this before these entities are read otherwise. Returns the rows of the chunks that were not read before.
        """
        asked = list(heads)
        self.meet(asked)
        only = [head for head in asked if not self._counts.get(head) and head not in self.chunks]
        about = {
            one.document: EntityNode(head, one.qualifier if head in self.senses else "")
            for head in only
            for one in self.titled.get(head, ())
        }
        rows = self.state.first_chunks(about, graphs.SUBJECT_CHUNKS)
        fresh = self.read(chunk for some in rows.values() for chunk in some)
        for document in sorted(rows):
            node = about[document]
            standing = ChunkName(node, node.head, 0, NO_SENTENCE, ENTITY_KINDS.index("name"))
            for chunk in rows[document]:
                if chunk in self.seen:
                    self.seen[chunk] += (standing,)
                    self.chunks.setdefault(node.head, []).append(chunk)
        return fresh

    def read(self, chunks: Iterable[int]) -> list[int]:
        """Read chunks, and return the rows of those that were not read before, ascending."""
        fresh = sorted(chunk for chunk in set(chunks) if chunk not in self.seen)
        held = self.state.linked(fresh)
        rows = {int(name) for some, _ in held.values() for name in some["name"]}
        loaded = names.load(self.state.names, rows - self.names.keys())
        self.names.update(loaded)
        self.meet({one.head for one in loaded.values()})
        places = self.state.places(held)
        for chunk, (some, links) in held.items():
            records = some.tolist()
            nodes = self._nodes([name for name, *_ in records], places[chunk].document)
            self.seen[chunk] = tuple(ChunkName(node, *record) for node, record in zip(nodes, records, strict=True))
            self.told[chunk] = tuple(ChunkRelation(*link) for link in links.tolist())
        return [chunk for chunk in fresh if chunk in self.seen]

    def _nodes(self, rows: list[int], document: int) -> list[EntityNode]:
        heads = {row: self.names[row].head for row in rows}
        found = []
        for row in rows:
            known, sense = self.senses.get(heads[row]), ""
            if known is not None:
                beside = {other: self._rarity(other) for other in rows if heads[other] != heads[row]}
                sense = meant(known, document, beside)
            found.append(EntityNode(heads[row], sense))
        return found

    def _rarity(self, name: int) -> float:
        return log1p(self.total / max(self.names[name].uses, 1))

    def count(self, node: EntityNode) -> int:
        """Return the number of chunks that name an entity; for a homonym only the chunks that were read count."""
        if node.head not in self.senses:
            return self._counts.get(node.head, 0)
        return len(self.chunks_of(node))

    def seen_when(self, wanted: Iterable[EntityNode]) -> dict[EntityNode, TimeSpan]:
        """Return the time span of the documents that name each entity; entities without one are left out.

        For a homonym only the chunks that were read count.
        """
        asked = list(wanted)
        rows = {one.row: node.head for node in asked for one in self.members.get(node.head, ())}
        plain = self.state.seen({row: head for row, head in rows.items() if head not in self.senses})
        found = {}
        for node in asked:
            told = plain.get(node.head)
            if node.head in self.senses:
                told = self.state.seen_in(self.chunks_of(node))
            if told is not None:
                found[node] = told
        return found

    def count_name(self, node: EntityNode) -> int:
        """Return the number of chunks that have the name of an entity, in any sense, at least 1."""
        return max(self._counts.get(node.head, 0), 1)

    def chunks_of(self, node: EntityNode) -> list[int]:
        """Return the chunks chosen for an entity; for a homonym only those in which the name has this sense."""
        chosen = self.chunks.get(node.head, [])
        if node.head not in self.senses:
            return chosen
        return [chunk for chunk in chosen if any(one.node == node for one in self.seen.get(chunk, ()))]

    def nodes_of(self, head: int) -> list[EntityNode]:
        """Return an entity as shown to users: one node or, for a homonym, one for each sense.

        A homonym's plain name is included only if a title or a chunk uses it.
        """
        if head not in self.senses:
            return [EntityNode(head)]
        qualifiers = {one.qualifier for one in self.senses[head]}
        plain = EntityNode(head)
        senses = [EntityNode(head, qualifier) for qualifier in sorted(qualifiers - {""})]
        return [plain, *senses] if "" in qualifiers or self.chunks_of(plain) else senses

    def key(self, node: EntityNode) -> str:
        """Return the key of an entity's head."""
        return self.names[node.head].key if node.head in self.names else ""

    def id(self, node: EntityNode) -> str:
        """Return the id of an entity, a hash of its key and, for a homonym, of the qualifier."""
        found = self._ids.get(node)
        if found is None:
            key = self.key(node)
            found = self._ids[node] = content_id("entity", key, node.sense) if node.sense else entity_id(key)
        return found


@dataclass(frozen=True, slots=True)
class Sense:
    """One meaning of a name that has several.

    Parameters
    ----------
    qualifier:
        Key of the part in parentheses of the documents' titles; empty for the plain name.
    documents:
        Rows of the documents whose titles name it with that qualifier.
    names:
        Rows of the names in the first chunks of these documents.
    """

    qualifier: str
    documents: frozenset[int]
    names: frozenset[int]


def senses(state: GraphState, titled: Mapping[int, Sequence[graphs.Titled]]) -> dict[int, list[Sense]]:
    """Return the senses of entities that titles give several qualifiers, in order of qualifier, by the entity's head.

    Other entities are left out.

    Parameters
    ----------
    state:
        The graph.
    titled:
        The documents whose titles name each entity, by the row of its head.
    """
    several = {entity: some for entity, some in titled.items() if len({one.qualifier for one in some}) > 1}
    if not several:
        return {}
    rows = state.first_chunks({one.document for some in several.values() for one in some}, graphs.SUBJECT_CHUNKS)
    named = state.linked({chunk for some in rows.values() for chunk in some})
    found: dict[int, list[Sense]] = {}
    for entity, some in several.items():
        for qualifier in sorted({one.qualifier for one in some}):
            documents = frozenset(one.document for one in some if one.qualifier == qualifier)
            chunks = [chunk for document in documents for chunk in rows.get(document, ()) if chunk in named]
            names = frozenset(int(name) for chunk in chunks for name in named[chunk][0]["name"])
            found.setdefault(entity, []).append(Sense(qualifier, documents, names))
    return found


def meant(known: Collection[Sense], document: int, beside: Mapping[int, float]) -> str:
    """Return the qualifier of the sense in which a chunk uses a name.

    A document about exactly one of the senses means that one. Any other chunk means the sense whose documents share
    most names with the chunk. It is empty for the plain name, or if no sense is nearest.

    Parameters
    ----------
    known:
        The senses of the name.
    document:
        Row of the chunk's document.
    beside:
        Weight of each other name of the chunk, by row: the rarer the name, the higher.
    """
    own = [one for one in known if document in one.documents]
    if len(own) == 1:
        return own[0].qualifier
    shares = [(fsum(beside[name] for name in one.names & beside.keys()), one.qualifier) for one in own or known]
    most = max(share for share, _ in shares)
    best = [qualifier for share, qualifier in shares if share == most]
    return best[0] if most > 0 and len(best) == 1 else ""
