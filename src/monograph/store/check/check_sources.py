"""Files held against the documents that were read from them, and against the roots that they lie in."""

from __future__ import annotations

from collections.abc import Iterator

from monograph.store.file.database import Connection
from monograph.values import Finding

_OF_OTHER_NAME = """s.source IN (SELECT source FROM documents AS d
    WHERE d.source = s.source AND substr(CAST(d.uri AS BLOB), 1, length(CAST(s.uri AS BLOB))) != CAST(s.uri AS BLOB))"""
_BELOW = "(s.uri = r.name OR substr(s.uri, 1, length(r.name) + 1) = r.name || '/')"
_OF_OTHER_ROOT = f"NOT EXISTS (SELECT 1 FROM roots AS r WHERE r.name = s.root AND {_BELOW})"  # noqa: S608 - a constant
_LOST = "SELECT DISTINCT source FROM documents WHERE source NOT NULL AND source NOT IN (SELECT source FROM sources)"


def findings(connection: Connection) -> Iterator[Finding]:
    """What is not as documents and roots say, one finding a kind."""
    for fault, condition in (
        ("files that their documents call otherwise", _OF_OTHER_NAME),
        ("files of a root that they do not lie in", _OF_OTHER_ROOT),
    ):
        (count,) = connection.execute(f"SELECT count(*) FROM sources AS s WHERE {condition}").fetchone()  # noqa: S608
        if count:
            yield Finding("sources", f"{count} {fault}", repairable=True)


def mend(connection: Connection) -> None:
    """Give files the names, roots and numbers back by which documents know them.

    Where a file is lost its documents are of none: they stay until someone removes them.
    """
    connection.execute(
        f"""UPDATE OR IGNORE sources AS s SET uri = (
            SELECT CAST(substr(CAST(d.uri AS BLOB), 1, length(CAST(s.uri AS BLOB))) AS TEXT) FROM documents AS d
            WHERE d.source = s.source ORDER BY length(d.uri) LIMIT 1)
        WHERE {_OF_OTHER_NAME}"""  # noqa: S608 - a constant
    )
    connection.execute(
        f"""UPDATE sources AS s SET root = (
            SELECT r.name FROM roots AS r WHERE {_BELOW} ORDER BY length(r.name) DESC LIMIT 1)
        WHERE {_OF_OTHER_ROOT} AND EXISTS (SELECT 1 FROM roots AS r WHERE {_BELOW})"""  # noqa: S608 - constants
    )
    for (number,) in connection.execute(_LOST).fetchall():
        found = connection.execute(
            """SELECT source FROM sources AS s WHERE source NOT IN (SELECT source FROM documents WHERE source NOT NULL)
            AND EXISTS (SELECT 1 FROM documents WHERE source = ? AND substr(uri, 1, length(s.uri)) = s.uri)
            ORDER BY length(uri) DESC""",
            (number,),
        ).fetchone()
        if found is None:
            connection.execute("UPDATE documents SET source = NULL WHERE source = ?", (number,))
        else:
            connection.execute("UPDATE sources SET source = ? WHERE source = ?", (number, *found))
