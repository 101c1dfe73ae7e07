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
from monograph.graph.names import asked_keys, key_of, mention_key, signature, title_of
from monograph.store.graph import names
from monograph.values import ENTITY_KINDS, Entity, Path, arguments

SUGGESTED = 5
_COMPARED = 500
_LEAST_ALIKE = 0.7


def find(state: GraphState, name: str) -> list[EntityNode]:
    """Return the entity that a name means; for a homonym all its senses, or the one whose qualifier the name has.

    The qualifier is in parentheses after the name. If no chunk has the name as it is given, it may be a part of one: as
    whole words, else as a beginning, else as any part.

    Raises
    ------
    NotFound
        If no name fits, or several entities do; the hint names some.
    """
    key = key_of(arguments.text(name, "a name"))
    if not key:
        raise NotFound(f"{name!r} contains no word that can be a name", "give a name as texts write it")
    known = names.known(state.names, asked_keys(name))
    for asked in asked_keys(name):
        if asked in known:
            return _shown(state, known[asked].head)
    plain, qualifier = title_of(name)
    qualified = names.known(state.names, [plain]).get(plain) if qualifier else None
    if qualified is not None:
        return [node for node in _shown(state, qualified.head) if node.sense == qualifier] or _shown(
            state, qualified.head
        )
    found = names.with_name_like(state.names, key, SUGGESTED + 1)
    if len(found) == 1:
        return _shown(state, found[0])
    if found:
        more = " and others" if len(found) > SUGGESTED else ""
        raise NotFound(
            f"{name!r} matches several names in {state.place}",
            f"give the whole name: {_listed(state, found[:SUGGESTED])}{more}",
        )
    raise NotFound(f"{state.place} contains no name like {name!r}", _hint(state, key))


def most_named(state: GraphState, k: int, like: str = "") -> list[Entity]:
    """Return at most k entities, those that most chunks name first.

    With ``like``, only entities with a name that contains it.

    Raises
    ------
    InputError
        If k is negative.
    """
    k = arguments.whole_number(k, "k", 0)
    if like and not key_of(like):
        return []
    nodes = Nodes(state)
    heads = names.most_named(state.names, k, key_of(like))
    nodes.read_entities(heads, MOST_LOOKED_AT)
    found = entities(nodes, [node for head in heads for node in nodes.nodes_of(head)])
    return sorted(found, key=lambda one: (-one.chunks, one.name, one.id))[:k]


def of_document(state: GraphState, name: str, k: int) -> list[Entity]:
    """Return at most k entities of a document: those that most of its chunks name first, then in reading order.

    Raises
    ------
    InputError
        If k is negative.
    NotFound
        If there is no such document, or several have that uri.
    """
    k = arguments.whole_number(k, "k", 0)
    rows = state.chunks_of(name)
    nodes = Nodes(state)
    nodes.read(rows)
    named = Counter(node for row in rows for node in dict.fromkeys(one.node for one in nodes.seen.get(row, ())))
    shown = [node for node, _ in named.most_common(k)]
    nodes.read_entities({node.head for node in shown}, MOST_LOOKED_AT)
    return list(entities(nodes, shown))


def on_paths(state: GraphState, paths: Iterable[Path]) -> list[Entity]:
    """Return the known entities on the paths to chunks, each once, in order of the paths."""
    stations = {one.id: one.name for path in paths for one in path.nodes if one.kind == "entity"}
    known = names.known(state.names, {key for name in stations.values() for key in asked_keys(name)})
    heads = list(dict.fromkeys(row.head for row in known.values()))
    nodes = Nodes(state)
    nodes.read_entities(heads, MOST_LOOKED_AT)
    found = {one.id: one for one in entities(nodes, [EntityNode(head) for head in heads])}
    return [found[one] for one in stations if one in found]


def _shown(state: GraphState, head: int) -> list[EntityNode]:
    nodes = Nodes(state)
    nodes.meet([head])
    if head in nodes.senses:
        nodes.read_entities([head])
    return nodes.nodes_of(head)


def _listed(state: GraphState, heads: Sequence[int]) -> str:
    """Return the names of entities, quoted and separated by commas, each once."""
    nodes = Nodes(state)
    nodes.read_entities(heads, MOST_LOOKED_AT)
    called = entities(nodes, [EntityNode(head) for head in heads])
    return ", ".join(dict.fromkeys(repr(one.name) for one in called))


def _hint(state: GraphState, key: str) -> str:
    """Return the names that are spelt most like a key, or the command that lists the names."""
    near = names.spelt_alike(state.names, key, signature(key), 3, _COMPARED)
    alike = {other: SequenceMatcher(None, key, other).ratio() for other in near}
    best = sorted((other for other in near if alike[other] >= _LEAST_ALIKE), key=lambda other: (-alike[other], other))
    if best:
        rows = names.known(state.names, best[:SUGGESTED])
        return f"perhaps {_listed(state, [rows[other].head for other in best[:SUGGESTED]])}"
    if names.count(state.names)[0]:
        return f"monograph entities {state.place}"
    return f"it has no graph yet: monograph reextract {state.place}"


MOST_LOOKED_AT = 64
"""Most chunks of an entity that are read to find how its name is written."""


@dataclass(slots=True)
class Forms:
    """Spellings of an entity, counted by chunks.

    Parameters
    ----------
    full:
        For each name, by its row: number of chunks with each written form.
    short:
        Number of chunks with each (short form, row of the full name that it means).
    kinds:
        Number of chunks with each kind, by its place in ENTITY_KINDS.
    """

    full: dict[int, Counter[str]] = field(default_factory=dict)
    short: Counter[tuple[str, int]] = field(default_factory=Counter)
    kinds: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Writing:
    """A written form of a name in a chunk; ``short`` if it is a last or first name that means a full name."""

    chunk: int
    node: EntityNode
    name: int
    form: str
    short: bool


def entities(nodes: Nodes, wanted: Iterable[EntityNode]) -> list[Entity]:
    """Return the values of entities whose chunks were read, in the order given.

    The name of an entity is the form that most of at most MOST_LOOKED_AT of its chunks write; on a tie the head's name
    wins, then the first by alphabet. A homonym has its qualifier after its name.
    """
    asked = list(wanted)
    looked_at = {node: nodes.chunks_of(node)[:MOST_LOOKED_AT] for node in asked}
    found = forms(nodes, looked_at)
    seen = nodes.seen_when(asked)
    return [_entity(nodes, node, found[node], seen.get(node)) for node in asked]


def forms(nodes: Nodes, looked_at: Mapping[EntityNode, Sequence[int]]) -> dict[EntityNode, Forms]:
    """Return the spellings of each entity in the chunks given for it."""
    found = {node: Forms() for node in looked_at}
    asked = {(node, chunk) for node, some in looked_at.items() for chunk in some}
    for node, chunk in asked:
        found[node].kinds.update(one.kind for one in nodes.seen[chunk] if one.node == node)
    for one in writings(nodes, sorted({chunk for _, chunk in asked})):
        if (one.node, one.chunk) in asked and one.short:
            found[one.node].short[one.form, one.name] += 1
        elif (one.node, one.chunk) in asked:
            found[one.node].full.setdefault(one.name, Counter())[one.form] += 1
    return found


def writings(nodes: Nodes, rows: Sequence[int]) -> Iterator[Writing]:
    """Yield each distinct written form of each name in chunks that were read."""
    for row, extracted in nodes.state.extractions(rows).items():
        keys = keys_in(nodes, row)
        seen = {one.name: one.node for one in nodes.seen[row]}
        ways = dict.fromkeys((" ".join(one.name.split()), one.kind) for one in extracted.mentions)
        told = set()
        for form, kind in ways:
            key = mention_key(form, kind)
            name = named_by(key, keys, short=kind in ("person", "name"))
            if name is not None and (name, form) not in told:
                told.add((name, form))
                yield Writing(row, seen[name], name, form, nodes.names[name].key != key)


def keys_in(nodes: Nodes, chunk: int) -> dict[str, int]:
    """Return the rows of the names of a chunk, by key."""
    return {nodes.names[one.name].key: one.name for one in nodes.seen[chunk] if one.name in nodes.names}


def named_by(key: str, keys: Mapping[str, int], *, short: bool = True) -> int | None:
    """Return the row of the name that a key means; None if there is none.

    It is the name with that key or, with ``short``, a name of which the key is the first or last word.
    """
    if key in keys:
        return keys[key]
    if short and key and " " not in key:
        return next((row for full, row in keys.items() if is_short_form(key, full)), None)
    return None


def _entity(nodes: Nodes, node: EntityNode, written: Forms, seen: TimeSpan | None) -> Entity:
    named = _in_order(nodes, node, written)
    count = nodes.count(node)
    homonym = node.head in nodes.senses
    about = [one for one in nodes.titled.get(node.head, ()) if not homonym or one.qualifier == node.sense]
    kinds = sorted(written.kinds, key=lambda kind: (-written.kinds[kind], kind))
    name = named[0] if named else title_or_key(nodes, node, nodes.key(node))
    qualified = f"{name} ({node.sense})" if node.sense else name
    names = [*named, *(form for (form, _), _ in _by_number(written.short))]
    return Entity(
        id=nodes.id(node),
        name=qualified,
        kind=ENTITY_KINDS[kinds[0]] if kinds else "name",
        names=tuple(dict.fromkeys(names or [name])),
        chunks=count,
        documents=tuple(dict.fromkeys(one.id for one in about)),
        first_seen="" if seen is None else seen.first_day,
        last_seen="" if seen is None else seen.last_day,
    )


def _in_order(nodes: Nodes, node: EntityNode, written: Forms) -> list[str]:
    """Return one form of each name of an entity, the most frequent first; names that no chunk writes come last."""
    ranked = []
    for one in nodes.members.get(node.head, ()):
        ways = _by_number(written.full.get(one.row, Counter()))
        if ways:
            ranked.append((-sum(written.full[one.row].values()), one.row != node.head, one.key, ways[0][0]))
        elif not node.sense:
            ranked.append((0, one.row != node.head, one.key, title_or_key(nodes, node, one.key)))
    return [form for *_, form in sorted(ranked)]


def _by_number(counted: Counter[Any]) -> list[tuple[Any, int]]:
    return sorted(counted.items(), key=lambda pair: (-pair[1], pair[0]))


def title_or_key(nodes: Nodes, node: EntityNode, key: str) -> str:
    """Return the form of a name in a title; if no title has it, its key."""
    titles = (one.title.partition(" (")[0] for one in nodes.titled.get(node.head, ()))
    return next((title for title in titles if key_of(title) == key), key)
