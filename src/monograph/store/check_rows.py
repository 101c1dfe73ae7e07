"""Rows that stand alone held against their checksums: what is remembered, settings, planes."""

from __future__ import annotations

from collections.abc import Iterator

from monograph.store import check_notes, costs, memo
from monograph.store.database import Connection
from monograph.store.names import MOST_NAMES
from monograph.store.vectors import MOST_ROWS
from monograph.values import Finding


def findings(connection: Connection) -> Iterator[Finding]:
    """The rows that are not what was stored, one finding a kind."""
    for kind, count in memo.count_wrong(connection).items():
        yield Finding("memo", f"{count} remembered values ({kind}) are not what was stored", repairable=True)
    for table, most, repairable in (("names", MOST_NAMES, True), ("memo", MOST_ROWS, False)):
        beyond = f"SELECT count(*) FROM {table} WHERE rowid NOT BETWEEN 0 AND ?"  # noqa: S608 - two constants
        (count,) = connection.execute(beyond, (most - 1,)).fetchone()
        if count:
            yield Finding(table, f"{count} rows are numbered beyond what others can name", repairable)
    yield from costs.findings(connection)
    yield from check_notes.findings(connection)
