"""Entities by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from monograph.errors import NotFound
from monograph.explore.nodes import Node, Nodes
from monograph.explore.surface_forms import MOST_LOOKED_AT, entities
from monograph.explore.surroundings import Surroundings
from monograph.graph.names import asked_keys, key_of, signature, title_of
from monograph.store.graph import names, neighbours
from monograph.values import Entity, Path, arguments

SUGGESTED = 5
_COMPARED = 500
_LEAST_ALIKE = 0.7


def find(around: Surroundings, name: str) -> list[Node]:
    """The entity that a name means; of a homonym every sense, unless the name has its qualifier in parentheses.

    A name that no chunk has as it is given may be a part of one: whole words first, then a beginning, then any part.

    Raises
    ------
    NotFound
        If no name fits, or several entities do; the mend names some.
    """
    key = key_of(arguments.text(name, "a name"))
    if not key:
        raise NotFound(f"{name!r} has no word that a name could have", "give a name as a text writes it")
    known = names.known(around.names, asked_keys(name))
    for asked in asked_keys(name):
        if asked in known:
            return _shown(around, known[asked].head)
    plain, qualifier = title_of(name)
    qualified = names.known(around.names, [plain]).get(plain) if qualifier else None
    if qualified is not None:
        return [node for node in _shown(around, qualified.head) if node.sense == qualifier] or _shown(
            around, qualified.head
        )
    found = neighbours.with_name_like(around.names, key, SUGGESTED + 1)
    if len(found) == 1:
        return _shown(around, found[0])
    if found:
        more = " and others" if len(found) > SUGGESTED else ""
        raise NotFound(
            f"{name!r} may be any of several in {around.place}",
            f"give the whole name: {_listed(around, found[:SUGGESTED])}{more}",
        )
    raise NotFound(f"{around.place} names nothing like {name!r}", _mend(around, key))


def most_named(around: Surroundings, k: int, like: str = "") -> list[Entity]:
    """At most k entities, those that most chunks name first; with ``like`` only those with a name that contains it.

    Raises
    ------
    InputError
        If k is negative.
    """
    k = arguments.whole_number(k, "k", 0)
    if like and not key_of(like):
        return []
    nodes = Nodes(around)
    heads = neighbours.most_named(around.names, k, key_of(like))
    nodes.read_entities(heads, MOST_LOOKED_AT)
    found = entities(nodes, [node for head in heads for node in nodes.nodes_of(head)])
    return sorted(found, key=lambda one: (-one.chunks, one.name, one.id))[:k]


def of_document(around: Surroundings, name: str, k: int) -> list[Entity]:
    """At most k entities that a document names, those that most of its chunks name first, then as they stand there.

    Raises
    ------
    NotFound
        If there is no such document.
    """
    k = arguments.whole_number(k, "k", 0)
    rows = around.chunks_of(name)
    nodes = Nodes(around)
    nodes.read(rows)
    named = Counter(node for row in rows for node in dict.fromkeys(one.node for one in nodes.seen.get(row, ())))
    shown = [node for node, _ in named.most_common(k)]
    nodes.read_entities({node.head for node in shown}, MOST_LOOKED_AT)
    return list(entities(nodes, shown))


def on_paths(around: Surroundings, paths: Iterable[Path]) -> list[Entity]:
    """The entities that ways to chunks lead over, each once, in order, without those that are not known."""
    stations = {one.id: one.name for path in paths for one in path.nodes if one.kind == "entity"}
    known = names.known(around.names, {key for name in stations.values() for key in asked_keys(name)})
    heads = list(dict.fromkeys(row.head for row in known.values()))
    nodes = Nodes(around)
    nodes.read_entities(heads, MOST_LOOKED_AT)
    found = {one.id: one for one in entities(nodes, [Node(head) for head in heads])}
    return [found[one] for one in stations if one in found]


def _shown(around: Surroundings, head: int) -> list[Node]:
    nodes = Nodes(around)
    nodes.meet([head])
    if head in nodes.senses:
        nodes.read_entities([head])
    return nodes.nodes_of(head)


def _listed(around: Surroundings, heads: Sequence[int]) -> str:
    """Entities as they are called, each once."""
    nodes = Nodes(around)
    nodes.read_entities(heads, MOST_LOOKED_AT)
    called = entities(nodes, [Node(head) for head in heads])
    return ", ".join(dict.fromkeys(repr(one.name) for one in called))


def _mend(around: Surroundings, key: str) -> str:
    """The names that are spelt most like a key, or where to see those that are there."""
    near = neighbours.spelt_alike(around.names, key, signature(key), 3, _COMPARED)
    alike = {other: SequenceMatcher(None, key, other).ratio() for other in near}
    best = sorted((other for other in near if alike[other] >= _LEAST_ALIKE), key=lambda other: (-alike[other], other))
    if best:
        rows = names.known(around.names, best[:SUGGESTED])
        return f"perhaps {_listed(around, [rows[other].head for other in best[:SUGGESTED]])}"
    if names.count(around.names)[0]:
        return f"monograph entities {around.place}"
    return f"it has no graph yet: monograph reextract {around.place}"
