"""Settings, roots and other rows that are the only one of their kind, held against what is noted of them.

A byte changed in a row, in its name or in the note is put right by the checksum: of all that a changed byte can have
been, only what was stored has that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from monograph.store import checksums, failures, settings
from monograph.store.checksums import checksum
from monograph.store.clusters import SPACES
from monograph.store.database import Connection
from monograph.values import Finding

_Parts: TypeAlias = tuple[bytes | int, ...]

_MOST_BYTES = 2_048
"""Of longer values no byte is looked for: it would take seconds."""
_SETTING, _ROOT = "settings/", "roots/"
_ROWS = (
    (_SETTING, "SELECT CAST(name AS BLOB), CAST(value AS BLOB) FROM settings"),
    (_ROOT, "SELECT root, CAST(name AS BLOB), CAST(place AS BLOB) FROM roots"),
    (
        "vector_indexes/",
        f"""SELECT space, dimension, CAST(design AS BLOB), CAST(calibration AS BLOB) FROM vector_indexes
        WHERE space IN {SPACES}""",  # noqa: S608 - constants
    ),
    ("trees", "SELECT '', planes FROM trees"),
)


def findings(connection: Connection) -> Iterator[Finding]:
    """The rows that are lost, or not what was stored, and the counter of commits where it counts no more.

    Raises DamagedFile where it cannot be read when folders were looked through.
    """
    rows, notes = _rows(connection), _notes(connection)
    for name in _wrong(rows, notes):
        setting = name.removeprefix(_SETTING)
        nameless = name not in rows and setting not in settings.KEPT
        mended = nameless or setting in settings.FOUND_AGAIN or not name.startswith((_SETTING, _ROOT))
        mended = mended or _right(rows, notes, name) is not None
        table = "checksums" if nameless else name.partition("/")[0]
        yield Finding(
            table, f"{setting!r} is not what was stored", mended, "" if mended else settings.MENDS.get(setting, "")
        )
    counter = rows.get(_SETTING + settings.GENERATION, (b"",))[0]
    if not bytes(counter).isdigit():
        yield Finding("settings", f"{settings.GENERATION!r} is no number", repairable=True)
    failures.synced(connection)


def mend(connection: Connection) -> None:
    """Put right what a checksum says how to, and forget what is found out again."""
    rows, notes = _rows(connection), _notes(connection)
    for name in _wrong(rows, notes):
        setting = name.removeprefix(_SETTING)
        right = _right(rows, notes, name)
        if right is not None:
            _put(connection, rows, *right)
        if (name not in rows and setting not in settings.KEPT) or (right is None and setting in settings.FOUND_AGAIN):
            _forget(connection, name)
    settings.count_anew(connection)
    failures.drop_unreadable(connection)


def _wrong(rows: Mapping[str, _Parts], notes: Mapping[str, int]) -> list[str]:
    return [name for name, note in notes.items() if name not in rows or checksum(*rows[name]) != note]


def _right(rows: Mapping[str, _Parts], notes: Mapping[str, int], name: str) -> tuple[str, _Parts] | None:
    """The name of a row and what it is to hold, for a note that does not fit; None where that cannot be known."""
    if name in rows:
        if checksums.differ_by_a_byte(notes[name], checksum(*rows[name])):
            return name, rows[name]
        was = before(rows[name], notes[name])
        return None if was is None else (name, was)
    # The note or the row has lost its name.
    other = next((one for one in rows.keys() - notes.keys() if checksum(*rows[one]) == notes[name]), None)
    if other is None:
        return None
    return (name if name.removeprefix(_SETTING) in settings.KEPT else other), rows[other]


def before(parts: _Parts, note: int) -> _Parts | None:
    """What a row was before one byte of it was changed; None where more was."""
    for at, part in enumerate(parts):
        if isinstance(part, bytes) and len(part) <= _MOST_BYTES:
            for one in _neighbours(part):
                made = (*parts[:at], one, *parts[at + 1 :])
                if checksum(*made) == note:
                    return made
    return None


def _neighbours(data: bytes) -> Iterator[bytes]:
    """All that differs from some bytes in one of them."""
    for at, byte in enumerate(data):
        head, tail = data[:at], data[at + 1 :]
        yield from (head + bytes((other,)) + tail for other in range(256) if other != byte)


def _put(connection: Connection, rows: Mapping[str, _Parts], name: str, parts: _Parts) -> None:
    """Store a row as it was, and note it."""
    if name.startswith(_SETTING):
        setting = name.removeprefix(_SETTING)
        if name not in rows:
            _drop_nameless(connection, parts)
        connection.execute("INSERT OR REPLACE INTO settings VALUES (?, CAST(? AS TEXT))", (setting, *parts))
    elif name.startswith(_ROOT):
        connection.execute(
            "UPDATE roots SET name = CAST(? AS TEXT), place = CAST(? AS TEXT) WHERE root = ?",
            (*parts, int(name.removeprefix(_ROOT))),
        )
    checksums.put(connection, name, *parts)


def _drop_nameless(connection: Connection, parts: _Parts) -> None:
    """Drop the setting of that value whose name is none."""
    for name, *value in connection.execute("SELECT CAST(name AS BLOB), CAST(value AS BLOB) FROM settings").fetchall():
        if tuple(value) == parts and _said(name) not in (*settings.KEPT, settings.GENERATION):
            connection.execute("DELETE FROM settings WHERE CAST(name AS BLOB) = ?", (name,))


def _forget(connection: Connection, name: str) -> None:
    """Drop a note, and the setting that it is of."""
    if name.startswith(_SETTING):
        connection.execute("DELETE FROM settings WHERE name = ?", (name.removeprefix(_SETTING),))
    connection.executemany(
        "DELETE FROM checksums WHERE CAST(name AS BLOB) = ?",
        [(held,) for held in _names(connection) if _said(held) == name],
    )


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
