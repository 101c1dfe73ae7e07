"""Entities by name, in their most frequent spelling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from monograph.dates.span import TimeSpan
from monograph.errors import NotFound
from monograph.explore.graph_state import GraphState
from monograph.explore.nodes import EntityNode, Nodes
from monograph.graph.chunk_names import is_short_form
from monograph.graph.names import key_of, lookup_keys, mention_key, signature, title_of
from monograph.store.graph import names
from monograph.values import ENTITY_KINDS, Entity, Path, arguments

SUGGESTED = 5
_COMPARED = 500
_LEAST_ALIKE = 0.7


def find(state: GraphState, name: str) -> list[EntityNode]:
    """Return the entity that a name means; for a homonym, its senses.

    If the name has a qualifier in parentheses, as in *Mercury (planet)*, only the sense with this qualifier is
    returned. If there is no such sense, all senses are returned.

    If no entity has the name, the only entity with a longer name is returned. The longer name contains the given name
    as whole words, else begins with it, else contains it. Raises NotFound if no entity, or more than one, has such a
    longer name. The hint suggests similar names if there are any.
    """
    key = key_of(arguments.text(name, "a name"))
    if not key:
        raise NotFound(f"{name!r} contains no word that can be a name", "give a name as texts write it")
    rows = names.known(state.names, lookup_keys(name))
    for asked_key in lookup_keys(name):
        if asked_key in rows:
            return _load_nodes(state, rows[asked_key].head)
    plain, qualifier = title_of(name)
    qualified = names.known(state.names, [plain]).get(plain) if qualifier else None
    if qualified is not None:
        nodes = _load_nodes(state, qualified.head)
        return [node for node in nodes if node.sense == qualifier] or nodes
    heads = names.with_name_like(state.names, key, SUGGESTED + 1)
    if len(heads) == 1:
        return _load_nodes(state, heads[0])
    if heads:
        more = " and others" if len(heads) > SUGGESTED else ""
        raise NotFound(
            f"{name!r} matches several names in {state.place}",
            f"give the whole name: {_list_names(state, heads[:SUGGESTED])}{more}",
        )
    raise NotFound(f"{state.place} contains no name like {name!r}", _suggest(state, key))


def most_named(state: GraphState, k: int, like: str = "") -> list[Entity]:
    """Return at most k entities, in descending order of the number of chunks that name them.

    With ``like``, only entities with a name that contains this text are returned. Raises InputError if k is negative.
    """
    k = arguments.whole_number(k, "k", 0)
    if like and not key_of(like):
        return []
    nodes = Nodes(state)
    heads = names.most_named(state.names, k, key_of(like))
    nodes.read_entities(heads, MOST_LOOKED_AT)
    result = entities(nodes, [node for head in heads for node in nodes.nodes_of(head)])
    return sorted(result, key=lambda entity: (-entity.chunks, entity.name, entity.id))[:k]


def of_document(state: GraphState, name: str, k: int) -> list[Entity]:
    """Return at most k entities of a document, in descending order of the number of its chunks that name them.

    Entities with equal numbers are in reading order. ``name`` is the id or uri of the document. Raises InputError if k
    is negative. Raises NotFound if no document, or more than one, has that id or uri.
    """
    k = arguments.whole_number(k, "k", 0)
    rows = state.chunks_of(name)
    nodes = Nodes(state)
    nodes.read(rows)
    counted = Counter(node for row in rows for node in dict.fromkeys(name.node for name in nodes.seen.get(row, ())))
    shown = [node for node, _ in counted.most_common(k)]
    nodes.read_entities({node.head for node in shown}, MOST_LOOKED_AT)
    return list(entities(nodes, shown))


def entities_on_paths(state: GraphState, paths: Iterable[Path]) -> list[Entity]:
    """Return the entities on the paths to hits, each once, in the order in which the paths name them.

    Entities that the graph does not know are left out.
    """
    stations = {node.id: node.name for path in paths for node in path.nodes if node.kind == "entity"}
    rows = names.known(state.names, {key for name in stations.values() for key in lookup_keys(name)})
    heads = list(dict.fromkeys(row.head for row in rows.values()))
    nodes = Nodes(state)
    nodes.read_entities(heads, MOST_LOOKED_AT)
    by_id = {entity.id: entity for entity in entities(nodes, [EntityNode(head) for head in heads])}
    return [by_id[entity_id] for entity_id in stations if entity_id in by_id]


def _load_nodes(state: GraphState, head: int) -> list[EntityNode]:
    nodes = Nodes(state)
    nodes.meet([head])
    if head in nodes.senses:
        nodes.read_entities([head])
    return nodes.nodes_of(head)


def _list_names(state: GraphState, heads: Sequence[int]) -> str:
    """Return names of entities, quoted, separated by commas, each once. ``heads`` are the rows of their heads."""
    nodes = Nodes(state)
    nodes.read_entities(heads, MOST_LOOKED_AT)
    listed = entities(nodes, [EntityNode(head) for head in heads])
    return ", ".join(dict.fromkeys(repr(entity.name) for entity in listed))


def _suggest(state: GraphState, key: str) -> str:
    """Return a hint: names spelt like a key; if there are none, a command that lists entities or builds the graph."""
    similar = names.similar_keys(state.names, key, signature(key), 3, _COMPARED)
    ratios = {other: SequenceMatcher(None, key, other).ratio() for other in similar}
    ranked = sorted((-ratio, other) for other, ratio in ratios.items() if ratio >= _LEAST_ALIKE)
    if best := [other for _, other in ranked[:SUGGESTED]]:
        rows = names.known(state.names, best)
        return f"perhaps {_list_names(state, [rows[other].head for other in best])}"
    if names.count(state.names)[0]:
        return f"monograph entities {state.place}"
    return f"it has no graph yet: monograph reextract {state.place}"


MOST_LOOKED_AT = 64
"""Most chunks of an entity that are read to find its most frequent spelling."""


@dataclass(slots=True)
class Spellings:
    """Spellings and kinds of an entity, each with the number of chunks that have it.

    ``full`` is {row of a name: {spelling of the name: number of chunks}}. ``short`` is {(last or first name, row of the
    full name that it means): number of chunks}. ``kinds`` is {position of the kind in ENTITY_KINDS: number of chunks}.
    """

    full: dict[int, Counter[str]] = field(default_factory=dict)
    short: Counter[tuple[str, int]] = field(default_factory=Counter)
    kinds: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Spelling:
    """A spelling of a name in a chunk.

    ``chunk`` is the row of the chunk, ``node`` the entity, ``name`` the row of the name, and ``form`` the spelling.
    ``short`` is true if the spelling is a last or first name that means the full name.
    """

    chunk: int
    node: EntityNode
    name: int
    form: str
    short: bool


def entities(nodes: Nodes, wanted: Iterable[EntityNode]) -> list[Entity]:
    """Return the given nodes as :class:`~monograph.values.Entity` objects, in the given order.

    The chunks of the nodes must have been read. An entity gets its most frequent name, in the most frequent spelling of
    that name. Names and spellings are counted in at most MOST_LOOKED_AT chunks of the entity. Of equally frequent
    names, the head (the name that stands for the entity) is first. Other ties are broken by alphabetical order. For a
    homonym, the qualifier is added after the name.
    """
    node_list = list(wanted)
    looked_at = {node: nodes.chunks_of(node)[:MOST_LOOKED_AT] for node in node_list}
    spellings = spellings_of(nodes, looked_at)
    spans = nodes.seen_when(node_list)
    return [_build_entity(nodes, node, spellings[node], spans.get(node)) for node in node_list]


def spellings_of(nodes: Nodes, looked_at: Mapping[EntityNode, Sequence[int]]) -> dict[EntityNode, Spellings]:
    """Return the spellings and kinds of each entity, counted in its chunks.

    ``looked_at`` has the rows of the chunks to count, by entity. These chunks must have been read.
    """
    result = {node: Spellings() for node in looked_at}
    pairs = {(node, chunk) for node, chunk_rows in looked_at.items() for chunk in chunk_rows}
    for node, chunk in pairs:
        result[node].kinds.update(name.kind for name in nodes.seen[chunk] if name.node == node)
    for writing in iterate_spellings(nodes, sorted({chunk for _, chunk in pairs})):
        if (writing.node, writing.chunk) in pairs and writing.short:
            result[writing.node].short[writing.form, writing.name] += 1
        elif (writing.node, writing.chunk) in pairs:
            result[writing.node].full.setdefault(writing.name, Counter())[writing.form] += 1
    return result


def iterate_spellings(nodes: Nodes, rows: Sequence[int]) -> Iterator[Spelling]:
    """Yield the spellings of the names in each chunk, without repeats in a chunk. The chunks must have been read."""
    for row, extracted in nodes.state.extractions(rows).items():
        keys = keys_in(nodes, row)
        node_by_name = {chunk_name.name: chunk_name.node for chunk_name in nodes.seen[row]}
        written = dict.fromkeys((" ".join(mention.name.split()), mention.kind) for mention in extracted.mentions)
        yielded = set()
        for form, kind in written:
            key = mention_key(form, kind)
            name = named_by(key, keys, short=kind in ("person", "name"))
            if name is not None and (name, form) not in yielded:
                yielded.add((name, form))
                yield Spelling(row, node_by_name[name], name, form, nodes.names[name].key != key)


def keys_in(nodes: Nodes, chunk: int) -> dict[str, int]:
    """Return the row of each name of a chunk, by the name's key."""
    rows = [chunk_name.name for chunk_name in nodes.seen[chunk]]
    return {nodes.names[row].key: row for row in rows if row in nodes.names}


def named_by(key: str, keys: Mapping[str, int], *, short: bool = True) -> int | None:
    """Return the row of the name in a chunk that a key means; None if no name fits.

    ``keys`` has the rows of the chunk's names, by key. A name fits if its key is ``key``. If there is no such name and
    ``short`` is true, a name fits if its first or last word is ``key``.
    """
    if key in keys:
        return keys[key]
    if short and key and " " not in key:
        return next((row for full, row in keys.items() if is_short_form(key, full)), None)
    return None


def _build_entity(nodes: Nodes, node: EntityNode, written: Spellings, span: TimeSpan | None) -> Entity:
    named = _order_names(nodes, node, written)
    count = nodes.count(node)
    homonym, titled = node.head in nodes.senses, nodes.titled.get(node.head, ())
    documents = [document.id for document in titled if not homonym or document.qualifier == node.sense]
    kinds = sorted(written.kinds, key=lambda kind: (-written.kinds[kind], kind))
    name = named[0] if named else title_or_key(nodes, node, nodes.key(node))
    qualified = f"{name} ({node.sense})" if node.sense else name
    names = [*named, *(form for (form, _), _ in _sort_by_count(written.short))]
    return Entity(
        id=nodes.id(node),
        name=qualified,
        kind=ENTITY_KINDS[kinds[0]] if kinds else "name",
        names=tuple(dict.fromkeys(names or [name])),
        chunks=count,
        documents=tuple(dict.fromkeys(documents)),
        first_seen="" if span is None else span.first_day,
        last_seen="" if span is None else span.last_day,
    )


def _order_names(nodes: Nodes, node: EntityNode, written: Spellings) -> list[str]:
    """Return one spelling of each name of an entity, the most frequent name first; names that no chunk has are last."""
    ranked = []
    for name_row in nodes.members.get(node.head, ()):
        forms = written.full.get(name_row.row, Counter())
        if forms:
            form = _sort_by_count(forms)[0][0]
            ranked.append((-forms.total(), name_row.row != node.head, name_row.key, form))
        elif not node.sense:
            ranked.append((0, name_row.row != node.head, name_row.key, title_or_key(nodes, node, name_row.key)))
    return [form for *_, form in sorted(ranked)]


def _sort_by_count(counted: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))


def title_or_key(nodes: Nodes, node: EntityNode, key: str) -> str:
    """Return the spelling of a name in a title of a document; if no title has the name, its key."""
    titles = (document.title.partition(" (")[0] for document in nodes.titled.get(node.head, ()))
    return next((title for title in titles if key_of(title) == key), key)
