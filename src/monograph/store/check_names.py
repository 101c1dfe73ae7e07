"""Names held against their checksums and keys, and what of them can be mended where they stand."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from monograph.store.database import Connection
from monograph.store.names import MOST_NAMES
from monograph.store.unreadable import decodes

_ALONE = "NOT EXISTS (SELECT 1 FROM apart AS other WHERE other.key = apart.full AND other.full = apart.key)"
_KNOWN = "apart.key IN (SELECT key FROM names) AND apart.full IN (SELECT key FROM names)"


def wrong_codes(connection: Connection, size: int) -> list[int]:
    """Rows of the names whose key or code is not what was stored; a code that is not of so many bytes is as if lost."""
    found = connection.execute(
        """SELECT name FROM names WHERE checksum NOT NULL AND length(code) = ?
        AND checksum != checksum(CAST(key AS BLOB), code)""",
        (size,),
    )
    return [int(row) for (row,) in found]


def forget_codes(connection: Connection, rows: Iterable[int]) -> None:
    """Forget the codes of some names."""
    asked = [(row,) for row in rows]
    connection.executemany("INSERT OR IGNORE INTO unresolved VALUES (?)", asked)
    connection.executemany("UPDATE names SET code = NULL, checksum = NULL WHERE name = ?", asked)


def keys_of(connection: Connection, rows: Iterable[int]) -> list[str]:
    """The keys of names, by row."""
    found = connection.execute(
        "SELECT key FROM names WHERE name IN (SELECT value FROM json_each(?)) ORDER BY key", (json.dumps(list(rows)),)
    )
    return [str(key) for (key,) in found]


def with_other_signature(connection: Connection, signature: Callable[[str], int]) -> list[tuple[int, int]]:
    """(row, signature that it should have) of the names that have another than their key gives."""
    found = connection.execute("SELECT name, key, signature FROM names")
    return [(int(row), wanted) for row, key, held in found if (wanted := signature(key)) != held]


def sign(connection: Connection, signatures: Iterable[tuple[int, int]]) -> None:
    """Give names their signatures: (row, signature)."""
    connection.executemany("UPDATE names SET signature = ?2 WHERE name = ?1", signatures)


def drop_unusable(connection: Connection) -> None:
    """Forget names whose key is no UTF-8, for nothing is called so, and those whose number no chunk can hold.

    The graph must be made anew after it.
    """
    connection.execute("DELETE FROM names WHERE name NOT BETWEEN 0 AND ?", (MOST_NAMES - 1,))
    rows = connection.execute("SELECT name, CAST(key AS BLOB) FROM names").fetchall()
    connection.executemany("DELETE FROM names WHERE name = ?", [(row,) for row, key in rows if not decodes(key)])


def mend_apart(connection: Connection) -> None:
    """Let pairs that were set apart stand in both orders again, by the one of two rows that is right."""
    rows = connection.execute("SELECT CAST(key AS BLOB), CAST(full AS BLOB) FROM apart").fetchall()
    connection.executemany(
        "DELETE FROM apart WHERE CAST(key AS BLOB) = ? AND CAST(full AS BLOB) = ?",
        [pair for pair in rows if not all(map(decodes, pair))],
    )
    # Of two rows without the other order the one is wrong that says of a name what no document does.
    connection.execute(
        f"""DELETE FROM apart WHERE {_ALONE} AND NOT ({_KNOWN})
        AND EXISTS (SELECT 1 FROM apart WHERE {_ALONE} AND {_KNOWN})"""  # noqa: S608 - constants
    )
    connection.execute("INSERT OR IGNORE INTO apart SELECT full, key FROM apart")
