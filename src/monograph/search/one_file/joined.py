"""Entities that callers joined by what they told, read out of one file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from monograph.store.file.database import Connection
from monograph.store.graph import assertions, names

MOST_TOLD = 25
"""An entity that relations join to more others is not followed to them: it says little of any."""


def told_of(connection: Connection, some: Iterable[names.NameRow]) -> set[int]:
    """Rows of those of some names that relations join to others."""
    if assertions.is_empty(connection):
        return set()
    rows = {one.key: one.row for one in some}
    return {rows[key] for key in assertions.joined(connection, rows, MOST_TOLD)}


def others(connection: Connection, members: Mapping[int, Sequence[names.NameRow]]) -> dict[int, list[names.NameRow]]:
    """The names of the entities that relations join to some, those of each head, by its row."""
    if assertions.is_empty(connection):
        return {}
    joined = assertions.joined(connection, [name.key for some in members.values() for name in some], MOST_TOLD)
    known = names.known(connection, {key for some in joined.values() for key in some})
    named = names.members(connection, {one.head for one in known.values()})
    found = {}
    for head, some in members.items():
        keys = (key for name in some for key in joined.get(name.key, ()))
        heads = dict.fromkeys(known[key].head for key in keys if key in known)
        beyond = [name for other in heads if other != head for name in named.get(other, ())]
        if beyond:
            found[head] = beyond
    return found
