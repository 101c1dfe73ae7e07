"""What could not be taken in, and when each folder was last looked through: rows of ``settings``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from monograph.errors import MonographError
from monograph.store.file import checksums, encryption
from monograph.store.file.database import Connection, decoding
from monograph.values import Problem

MOST = 100_000
"""Failures that are remembered."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed in a file on disk, which was found under a root.

    ``size`` in bytes and ``modified_ns`` (nanoseconds since 1970) are the file's when it was read; both are kept only
    where its problem has ``needs``, and are 0 otherwise.
    """

    file: str
    root: str
    problem: Problem
    size: int = 0
    modified_ns: int = 0


def load(connection: Connection) -> list[Failure]:
    """All failures that are remembered, in order of file."""
    with decoding(connection, "the setting 'failures'"):
        rows = json.loads(_get(connection, "failures", "[]"))
        listed = json.loads(_get(connection, "unread", "[]"))
        unread = {(uri, reason): state for uri, reason, *state in listed}
        found = []
        for file, root, uri, reason, mend in rows:
            needs, size, modified_ns = unread.get((uri, reason), ("", 0, 0))
            found.append(Failure(file, root, Problem(uri, reason, mend, needs), size, modified_ns))
        return found


def unread(connection: Connection) -> dict[str, tuple[int, int, str]]:
    """Files that cannot be read for want of a module: (bytes, time of change, module) when that was seen, by uri."""
    waiting = (one for one in load(connection) if one.problem.needs)
    return {one.file: (one.size, one.modified_ns, one.problem.needs) for one in waiting}


def save(connection: Connection, failures: Iterable[Failure]) -> None:
    """Remember these failures, and no others."""
    listed = list(failures)
    ordered = sorted({(one.file, one.root, one.problem.uri, one.problem.reason, one.problem.mend) for one in listed})
    waiting = [
        (one.problem.uri, one.problem.reason, one.problem.needs, one.size, one.modified_ns)
        for one in listed
        if one.problem.needs
    ]
    _keep(connection, "failures", json.dumps(ordered[:MOST], ensure_ascii=False))
    _keep(connection, "unread", json.dumps(sorted(waiting), ensure_ascii=False))


def synced(connection: Connection) -> dict[str, float]:
    """When each file or folder was last looked through, in seconds since 1970."""
    with decoding(connection, "the setting 'synced'"):
        return dict(json.loads(_get(connection, "synced", "{}")))


def save_synced(connection: Connection, times: Mapping[str, float]) -> None:
    """Remember when each was looked through."""
    _put(connection, "synced", json.dumps(times, ensure_ascii=False))


def drop(connection: Connection, root: str) -> None:
    """Remember nothing of a root any more."""
    save(connection, (one for one in load(connection) if one.root != root))
    save_synced(connection, {name: time for name, time in synced(connection).items() if name != root})


def _get(connection: Connection, name: str, default: str) -> str:
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return default if row is None else str(row[0])


def drop_unreadable(connection: Connection) -> None:
    """Forget when folders were looked through, where that cannot be read."""
    unreadable: tuple[type[Exception], ...] = (MonographError, *encryption.errors())
    try:
        synced(connection)
    except unreadable:
        connection.execute("DELETE FROM settings WHERE name = 'synced'")


def _put(connection: Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))


def _keep(connection: Connection, name: str, value: str) -> None:
    """Store what has a checksum, where it is another."""
    if _get(connection, name, "") != value:
        _put(connection, name, value)
        checksums.put(connection, f"settings/{name}", value)
