"""The schema of a file held against that of a new one: SQLite takes what a damaged one says for what was meant."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TypeAlias

from monograph.store import connections, schema
from monograph.store.database import Connection
from monograph.values import Finding

_Schema: TypeAlias = dict[tuple[str, str], str | None]
"""What makes each table, index and trigger, by its type and name."""

_MADE_AGAIN = ("trigger", "index")
"""What holds nothing that is not in a table; triggers first, which may be why a table cannot be touched."""


def findings(connection: Connection) -> Iterator[Finding]:
    """What is missing of the schema, is too much, or is not as it was made."""
    held, wanted = _schema(connection), _new_schema(connection)
    for kind, name in sorted(held.keys() | wanted.keys()):
        if held.get((kind, name), "") != wanted.get((kind, name), ""):
            yield Finding("schema", f"the {kind} {name!r} is not as it was made", repairable=kind in _MADE_AGAIN)


def mend(connection: Connection) -> None:
    """Make triggers and indexes anew that are not as they were made; tables stay as they are."""
    held, wanted = _schema(connection), _new_schema(connection)
    for kind in _MADE_AGAIN:
        wrong = [one for one in held.keys() | wanted.keys() if one[0] == kind and held.get(one) != wanted.get(one)]
        for _, name in wrong:
            quoted = name.replace('"', '""')
            if (kind, name) in held:
                connection.execute(f'DROP {kind} "{quoted}"')
        for one in wrong:
            if (statement := wanted.get(one)) is not None:
                connection.execute(statement)


def _schema(connection: Connection) -> _Schema:
    return {(kind, name): made for kind, name, made in connection.execute("SELECT type, name, sql FROM sqlite_master")}


def _new_schema(connection: Connection) -> _Schema:
    with closing(connections.in_memory(connection)) as made:
        schema.migrate(made)
        return _schema(made)
