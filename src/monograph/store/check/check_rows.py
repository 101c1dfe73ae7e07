"""Rows that stand alone held against their checksums: what is remembered, settings, roots, planes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from monograph.store.documents import roots
from monograph.store.file import costs, memo, settings
from monograph.store.file.checksums import checksum
from monograph.store.file.database import Connection
from monograph.store.graph.names import MOST_NAMES
from monograph.store.vectors.clusters import SPACES
from monograph.store.vectors.vectors import MOST_ROWS
from monograph.values import Finding

_Parts: TypeAlias = tuple[bytes | int, ...]

_SETTING, _ROOT = "settings/", "roots/"
_ROWS = (
    (_SETTING, "SELECT CAST(name AS BLOB), CAST(value AS BLOB) FROM settings"),
    (_ROOT, "SELECT root, CAST(name AS BLOB), CAST(place AS BLOB), follow_links FROM roots"),
    (
        "vector_indexes/",
        f"""SELECT space, dimension, CAST(design AS BLOB), CAST(calibration AS BLOB) FROM vector_indexes
        WHERE space IN {SPACES}""",  # noqa: S608 - constants
    ),
    ("trees", "SELECT '', planes FROM trees"),
)


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
    yield from _of_notes(connection)


def _of_notes(connection: Connection) -> Iterator[Finding]:
    """Find settings, roots and the like that are lost or not what was stored, and a counter that is no number."""
    rows, notes = _rows(connection), _notes(connection)
    for name in _wrong(rows, notes):
        setting = name.removeprefix(_SETTING)
        nameless = name not in rows and setting not in settings.KEPT
        mended = nameless or setting in settings.FOUND_AGAIN or not name.startswith((_SETTING, _ROOT))
        table = "checksums" if nameless else name.partition("/")[0]
        yield Finding(
            table, f"{setting!r} is not what was stored", mended, "" if mended else settings.MENDS.get(setting, "")
        )
    counter = rows.get(_SETTING + settings.GENERATION, (b"",))[0]
    if not bytes(counter).isdigit():
        yield Finding("settings", f"{settings.GENERATION!r} is no number", repairable=True)
    if roots.has_unreadable(connection):
        yield Finding("failures", "what failed in files, or when they were synced, cannot be read", repairable=True)


def mend(connection: Connection) -> None:
    """Forget settings that are found out again, and notes of rows that are not there."""
    rows, notes = _rows(connection), _notes(connection)
    for name in _wrong(rows, notes):
        setting = name.removeprefix(_SETTING)
        if (name not in rows and setting not in settings.KEPT) or setting in settings.FOUND_AGAIN:
            # Drop a note, and the setting that it is of.
            if name.startswith(_SETTING):
                connection.execute("DELETE FROM settings WHERE name = ?", (name.removeprefix(_SETTING),))
            connection.executemany(
                "DELETE FROM checksums WHERE CAST(name AS BLOB) = ?",
                [(held,) for held in _names(connection) if _said(held) == name],
            )
    settings.count_anew(connection)
    roots.drop_unreadable(connection)


def _wrong(rows: Mapping[str, _Parts], notes: Mapping[str, int]) -> list[str]:
    return [name for name, note in notes.items() if name not in rows or checksum(*rows[name]) != note]


def _notes(connection: Connection) -> dict[str, int]:
    return {
        _said(name): note for name, note in connection.execute("SELECT CAST(name AS BLOB), checksum FROM checksums")
    }


def _names(connection: Connection) -> list[bytes]:
    return [name for (name,) in connection.execute("SELECT CAST(name AS BLOB) FROM checksums")]


def _said(name: bytes | int | str) -> str:
    return name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else str(name)


def _rows(connection: Connection) -> dict[str, _Parts]:
    """All rows of which something is noted, by the name of the note."""
    return {kind + _said(name): tuple(parts) for kind, query in _ROWS for name, *parts in connection.execute(query)}
