"""Numbers for rows that are made in memory before they are written."""

from __future__ import annotations

from typing import Literal

from monograph.store.file.checksums import MOST_DOCUMENTS
from monograph.store.file.database import Connection, path_of
from monograph.store.file.unreadable import damaged

_COLUMNS = {"documents": "document", "chunks": "chunk", "names": "name", "memo": "memo"}
_MOST = 1 << 62
_ROOM = 1 << 32
"""How many documents may be numbered after one that was asked for."""


def next_row(connection: Connection, table: Literal["documents", "chunks", "names", "memo"]) -> int:
    """One above the highest, as SQLite itself numbers rows; to be asked for in a write transaction.

    Raises
    ------
    DamagedFile
        If there is no room above: no file that was only written to comes near.
    """
    column = _COLUMNS[table]
    (highest,) = connection.execute(f"SELECT max({column}) FROM {table}").fetchone()  # noqa: S608 - constants
    if highest is not None and highest >= (MOST_DOCUMENTS - _ROOM if table == "documents" else _MOST):
        raise damaged(path_of(connection), f"row {highest} of {table} is higher than rows can be")
    return int(highest or 0) + 1
