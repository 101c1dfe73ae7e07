"""Entities by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from monograph.errors import NotFound
from monograph.explore.lookup import only
from monograph.explore.nodes import Node, Nodes
from monograph.explore.surface_forms import MOST_LOOKED_AT, entities
from monograph.graph.names import asked_keys, key_of, signature, title_of
from monograph.store import chunks, names, neighbours
from monograph.store.database import Connection, path_of
from monograph.values import Entity, Path, arguments

SUGGESTED = 5
_COMPARED = 500
_LEAST_ALIKE = 0.7


def find(connection: Connection, name: str) -> list[Node]:
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
    known = names.known(connection, asked_keys(name))
    for asked in asked_keys(name):
        if asked in known:
            return _shown(connection, known[asked].head)
    plain, qualifier = title_of(name)
    qualified = names.known(connection, [plain]).get(plain) if qualifier else None
    if qualified is not None:
        return [node for node in _shown(connection, qualified.head) if node.sense == qualifier] or _shown(
            connection, qualified.head
        )
    for look in (neighbours.with_words, neighbours.beginning, neighbours.containing):
        found = look(connection, key, SUGGESTED + 1)
        if len(found) == 1:
            return _shown(connection, found[0])
        if found:
            more = " and others" if len(found) > SUGGESTED else ""
            raise NotFound(
                f"{name!r} may be any of several in {path_of(connection)}",
                f"give the whole name: {_listed(connection, found[:SUGGESTED])}{more}",
            )
    raise NotFound(f"{path_of(connection)} names nothing like {name!r}", _mend(connection, key))


def most_named(connection: Connection, k: int, like: str = "") -> list[Entity]:
    """At most k entities, those that most chunks name first; with ``like`` only those with a name that contains it.

    Raises
    ------
    InputError
        If k is negative.
    """
    k = arguments.whole_number(k, "k", 0)
    if like and not key_of(like):
        return []
    nodes = Nodes(connection)
    heads = neighbours.most_named(connection, k, key_of(like))
    nodes.read_entities(heads, MOST_LOOKED_AT)
    found = entities(nodes, [node for head in heads for node in nodes.nodes_of(head)])
    return sorted(found, key=lambda one: (-one.chunks, one.name, one.id))[:k]


def of_document(connection: Connection, name: str, k: int) -> list[Entity]:
    """At most k entities that a document names, those that most of its chunks name first, then as they stand there.

    Raises
    ------
    NotFound
        If there is no such document.
    """
    k = arguments.whole_number(k, "k", 0)
    rows = chunks.rows_of_document(connection, only(connection, name).row)
    nodes = Nodes(connection)
    nodes.read(rows)
    named = Counter(node for row in rows for node in dict.fromkeys(one.node for one in nodes.seen.get(row, ())))
    shown = [node for node, _ in named.most_common(k)]
    nodes.read_entities({node.head for node in shown}, MOST_LOOKED_AT)
    return list(entities(nodes, shown))


def on_paths(connection: Connection, paths: Iterable[Path]) -> list[Entity]:
    """The entities that ways to chunks lead over, each once, in order, without those that are not known."""
    stations = {one.id: one.name for path in paths for one in path.nodes if one.kind == "entity"}
    known = names.known(connection, {key for name in stations.values() for key in asked_keys(name)})
    heads = list(dict.fromkeys(row.head for row in known.values()))
    nodes = Nodes(connection)
    nodes.read_entities(heads, MOST_LOOKED_AT)
    found = {one.id: one for one in entities(nodes, [Node(head) for head in heads])}
    return [found[one] for one in stations if one in found]


def _shown(connection: Connection, head: int) -> list[Node]:
    nodes = Nodes(connection)
    nodes.meet([head])
    if head in nodes.senses:
        nodes.read_entities([head])
    return nodes.nodes_of(head)


def _listed(connection: Connection, heads: Sequence[int]) -> str:
    """Entities as they are called, each once."""
    nodes = Nodes(connection)
    nodes.read_entities(heads, MOST_LOOKED_AT)
    called = entities(nodes, [Node(head) for head in heads])
    return ", ".join(dict.fromkeys(repr(one.name) for one in called))


def _mend(connection: Connection, key: str) -> str:
    """The names that are spelt most like a key, or where to see those that are there."""
    near = neighbours.spelt_alike(connection, key, signature(key), 3, _COMPARED)
    alike = {other: SequenceMatcher(None, key, other).ratio() for other in near}
    best = sorted((other for other in near if alike[other] >= _LEAST_ALIKE), key=lambda other: (-alike[other], other))
    if best:
        rows = names.known(connection, best[:SUGGESTED])
        return f"perhaps {_listed(connection, [rows[other].head for other in best[:SUGGESTED]])}"
    if names.count(connection)[0]:
        return f"monograph entities {path_of(connection)}"
    return f"it has no graph yet: monograph reextract {path_of(connection)}"
