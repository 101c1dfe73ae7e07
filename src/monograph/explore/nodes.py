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
"""Chunks of one entity that are read."""


@dataclass(frozen=True, slots=True)
class EntityNode:
    """An entity as it is shown: the row of its head, and the qualifier of a homonym, empty for the plain name."""

    head: int
    sense: str = ""


@dataclass(frozen=True, slots=True)
class ChunkName:
    """A name in a chunk: the entity, the name's row, its first two sentences, and its kind's place in KINDS."""

    node: EntityNode
    name: int
    first: int
    second: int
    kind: int


@dataclass(frozen=True, slots=True)
class ChunkRelation:
    """A model's relation in a chunk: places of its ends among the chunk's names, and its strength."""

    source: int
    target: int
    strength: float


class Nodes:
    """Cache of the parts of a graph that were read. Each chunk is read once.

    An entity in more than MOST_READ chunks is read in those of documents about it, then in those whose ids come
    first (see :func:`monograph.store.graph.graphs.chunks_naming`): the same in every file of the same documents.

    Attributes
    ----------
    seen, told:
        Names, in order of first mention, and a model's relations, by chunk row.
    chunks:
        Chunks that were chosen for each entity that was read, by the row of its head.
    names:
        Every name that was met, by row.
    senses:
        Of the homonyms that were met.
    titled:
        The documents whose titles name each entity that was met.
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
        """Learn of entities what they are called, what documents are about them, and how many chunks name them."""
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
        """Read the chunks of entities, at most so many of each that is no homonym; returns those not read before."""
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
        """Let entities that titles name, and no chunk, stand in the first sentence of their documents' first chunks.

        To be called before these are read otherwise; returns the chunks that were not read before.
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
        """Read chunks; returns those that were not read before, ascending."""
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
        """Return the number of chunks that name an entity; for a homonym only of those that were read."""
        if node.head not in self.senses:
            return self._counts.get(node.head, 0)
        return len(self.chunks_of(node))

    def seen_when(self, wanted: Iterable[EntityNode]) -> dict[EntityNode, TimeSpan]:
        """Return the time spans of the documents that name entities; for a homonym only of chunks that were read."""
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
        """Return the number of chunks that have the name of an entity, in any sense."""
        return max(self._counts.get(node.head, 0), 1)

    def chunks_of(self, node: EntityNode) -> list[int]:
        """Return the chunks chosen for an entity that mean it."""
        chosen = self.chunks.get(node.head, [])
        if node.head not in self.senses:
            return chosen
        return [chunk for chunk in chosen if any(one.node == node for one in self.seen.get(chunk, ()))]

    def nodes_of(self, head: int) -> list[EntityNode]:
        """Return an entity as it is shown: of a homonym every sense, and the plain name where something means it."""
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
        """Return the id of an entity: made from its name, and of a homonym from the qualifier too."""
        found = self._ids.get(node)
        if found is None:
            key = self.key(node)
            found = self._ids[node] = content_id("entity", key, node.sense) if node.sense else entity_id(key)
        return found


@dataclass(frozen=True, slots=True)
class Sense:
    """One of the things of a name.

    Parameters
    ----------
    qualifier:
        What the titles of its documents have in parentheses; empty for the plain name.
    documents:
        Rows of the documents whose titles name it so.
    names:
        Rows of the names in the first chunks of these.
    """

    qualifier: str
    documents: frozenset[int]
    names: frozenset[int]


def senses(state: GraphState, titled: Mapping[int, Sequence[graphs.Titled]]) -> dict[int, list[Sense]]:
    """Return the senses, by qualifier, of entities that titles qualify in several ways; the others are left out.

    Parameters
    ----------
    state:
        The graph.
    titled:
        The documents whose titles name each entity.
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
    """Return the qualifier of the sense in which a chunk uses a name; empty for the plain name, or if none is nearest.

    A document about one of the senses means that one. Any other chunk means the sense whose documents have most of the
    names that it has too.

    Parameters
    ----------
    known:
        The senses of the name.
    document:
        The chunk's.
    beside:
        How much each other name of the chunk counts, by row: the rarer, the more.
    """
    own = [one for one in known if document in one.documents]
    if len(own) == 1:
        return own[0].qualifier
    shares = [(fsum(beside[name] for name in one.names & beside.keys()), one.qualifier) for one in own or known]
    most = max(share for share, _ in shares)
    best = [qualifier for share, qualifier in shares if share == most]
    return best[0] if most > 0 and len(best) == 1 else ""
