"""What callers told of things, read: the rows that tell of a node, or of a relation, are laid over each other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from monograph.store.documents.documents import loaded_object
from monograph.store.file.database import Connection
from monograph.store.file.keyed import select
from monograph.store.file.stored_json import text
from monograph.store.graph.told_changes import STORED, Ends
from monograph.values import Float32, Told, ToldNode, ToldRelation

_ORIGIN = """COALESCE((SELECT c.id FROM chunks AS c WHERE c.chunk = t.chunk),
    (SELECT d.id FROM documents AS d WHERE d.document = t.document))"""


Row: TypeAlias = tuple[Any, ...]
"""What one origin says, and its number: they stand in the order in which they were told, over many files too."""


def nodes(connection: Connection, ids: Sequence[str] | None = None) -> dict[str, ToldNode]:
    """Nodes by id, in the order in which they were first told: all of them, or some."""
    read = f"SELECT t.told, t.id, t.label, t.name, t.properties, t.embedding, t.implied, {_ORIGIN} FROM told_nodes AS t"  # noqa: S608
    if ids is None:
        rows = connection.execute(read).fetchall()
    else:
        rows = list(select(connection, f"{read} WHERE t.id IN", list(dict.fromkeys(ids))))
    by_id: dict[str, list[Row]] = {}
    for row in sorted(rows, key=_number):
        by_id.setdefault(row[1], []).append(row)
    return {name: _node(text(name), some) for name, some in by_id.items()}


def _number(row: Row) -> int:
    return int(row[0])


def _node(name: str, rows: Sequence[Row]) -> ToldNode:
    """A node of all that was told of it: what was told later is laid over, and what is only implied under."""
    label, called, embedding = "", "", None
    properties: dict[str, Any] = {}
    for _, _, of, said, held, packed, _, _ in sorted(rows, key=lambda row: (-row[6], row[0])):
        label, called = text(of), text(said)
        properties |= loaded_object(held)
        if packed is not None:
            embedding = np.frombuffer(packed, dtype=STORED).astype(np.float32)
    return ToldNode(name, called, label, properties, embedding, _said_by(row[-1] for row in rows))


def _said_by(names: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name is not None))


def relations(connection: Connection, ids: Sequence[str] | None = None) -> tuple[ToldRelation, ...]:
    """Relations in the order in which they were first told: all of them, or those that lead from or to some nodes."""
    read = f"SELECT t.told, t.source, t.label, t.target, t.properties, {_ORIGIN} FROM told_relations AS t"  # noqa: S608
    if ids is None:
        rows = connection.execute(read).fetchall()
    else:
        asked = list(dict.fromkeys(ids))
        ends = ("source", "target")
        rows = list({row for end in ends for row in select(connection, f"{read} WHERE t.{end} IN", asked)})
    by_ends: dict[Ends, list[Row]] = {}
    for row in sorted(rows, key=_number):
        by_ends.setdefault(Ends(*row[1:4]), []).append(row)
    return tuple(_relation(ends, some) for ends, some in by_ends.items())


def _relation(ends: Ends, rows: Sequence[Row]) -> ToldRelation:
    properties: dict[str, Any] = {}
    for row in rows:
        properties |= loaded_object(row[4])
    return ToldRelation(
        text(ends.source), text(ends.label), text(ends.target), properties, _said_by(row[-1] for row in rows)
    )


def each(connection: Connection) -> Iterator[ToldNode | ToldRelation]:
    """Yield what each origin says by itself, nodes first, in the order in which it was told, without implied nodes."""
    rows = connection.execute(
        f"""SELECT t.told, t.id, t.label, t.name, t.properties, t.embedding, t.implied, {_ORIGIN}
        FROM told_nodes AS t WHERE NOT t.implied ORDER BY t.told"""  # noqa: S608 - constants
    )
    yield from (_node(text(row[1]), [row]) for row in rows)
    rows = connection.execute(
        f"""SELECT t.told, t.source, t.label, t.target, t.properties, {_ORIGIN}
        FROM told_relations AS t ORDER BY t.told"""  # noqa: S608 - constants
    )
    yield from (_relation(Ends(*row[1:4]), [row]) for row in rows)


def around(connection: Connection, ids: Sequence[str] | None = None) -> Told:
    """Some nodes, or all, the relations that lead from or to them, and the nodes at the other ends."""
    found = relations(connection, ids)
    return Told(nodes(connection, with_ends(ids, found)), found)


def with_ends(ids: Sequence[str] | None, found: Iterable[ToldRelation]) -> list[str] | None:
    """Some nodes, and those that relations lead from and to; None if all are asked for."""
    if ids is None:
        return None
    return list(dict.fromkeys((*ids, *(end for one in found for end in (one.source, one.target)))))


def by_keys(connection: Connection, keys: Iterable[str]) -> dict[str, set[str]]:
    """Keys of the names of nodes, by id, for the nodes of which a name has one of some keys."""
    asked = list(dict.fromkeys(keys))
    return keys_of(connection, list({name for (name,) in select(connection, _WITH_KEY, asked)}))


_WITH_KEY = "SELECT id FROM told_nodes WHERE key IN"


def keys_of(connection: Connection, ids: Sequence[str]) -> dict[str, set[str]]:
    """Keys of the names of some nodes, by id."""
    found: dict[str, set[str]] = {}
    for name, key in select(connection, "SELECT id, key FROM told_nodes WHERE id IN", ids):
        found.setdefault(name, set()).add(key)
    return found


def joined(connection: Connection, keys: Iterable[str], most: int) -> dict[str, list[str]]:
    """Keys of names that relations join to those of some keys, in order, by key.

    What has more relations than ``most`` with others is joined to nothing by them.
    """
    asked = set(keys)
    called = by_keys(connection, asked)
    found: dict[str, set[str]] = {}
    if not called:
        return {}
    ends = [(one.source, one.target) for one in relations(connection, list(called)) if one.source != one.target]
    called |= keys_of(connection, list({end for pair in ends for end in pair if end not in called}))
    for one, other in (*ends, *((target, source) for source, target in ends)):
        for key in called.get(one, set()) & asked:
            found.setdefault(key, set()).update(called.get(other, set()) - {key})
    return {key: sorted(some) for key, some in found.items() if len(some) <= most}


def embeddings(connection: Connection, dimension: int) -> tuple[list[str], Float32]:
    """(ids, embeddings) of the nodes that have an embedding of so many values, float32 (n, dimension), in order of id.

    Of several that were told of one node the last counts.
    """
    rows = connection.execute("SELECT told, id, embedding FROM told_nodes WHERE embedding IS NOT NULL")
    held = {name: packed for _, name, packed in sorted(rows, key=_number)}
    fitting = {name: packed for name, packed in sorted(held.items()) if len(packed) == dimension * STORED.itemsize}
    made = np.frombuffer(b"".join(fitting.values()), dtype=STORED).reshape(len(fitting), dimension)
    return list(fitting), made.astype(np.float32)
