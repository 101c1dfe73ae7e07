"""What could not be taken in, and when each folder was last looked through: rows of ``settings``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from monograph.store.database import Connection, decoding
from monograph.values import Problem

MOST = 10_000
"""Failures that are remembered."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What failed in a file on disk, which was found under a root."""

    file: str
    root: str
    problem: Problem


def load(connection: Connection) -> list[Failure]:
    """All failures that are remembered, in order of file."""
    with decoding(connection, "the setting 'failures'"):
        rows = json.loads(_get(connection, "failures", "[]"))
        return [Failure(file, root, Problem(*problem)) for file, root, *problem in rows]


def save(connection: Connection, failures: Iterable[Failure]) -> None:
    """Remember these failures, and no others."""
    ordered = sorted({(one.file, one.root, one.problem.uri, one.problem.reason, one.problem.mend) for one in failures})
    _put(connection, "failures", json.dumps(ordered[:MOST], ensure_ascii=False))


def synced(connection: Connection) -> dict[str, float]:
    """When each file or folder was last looked through, in seconds since 1970."""
    with decoding(connection, "the setting 'synced'"):
        return dict(json.loads(_get(connection, "synced", "{}")))


def save_synced(connection: Connection, times: Mapping[str, float]) -> None:
    """Remember when each was looked through."""
    _put(connection, "synced", json.dumps(times, ensure_ascii=False))


def _get(connection: Connection, name: str, default: str) -> str:
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return default if row is None else str(row[0])


def _put(connection: Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))
