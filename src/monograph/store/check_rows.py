"""Rows that stand alone held against their checksums: what is remembered, settings, planes."""

from __future__ import annotations

from collections.abc import Iterator

from monograph.store import check_notes, memo
from monograph.store.database import Connection
from monograph.values import Finding


def findings(connection: Connection) -> Iterator[Finding]:
    """The rows that are not what was stored, one finding a kind."""
    for kind, count in memo.count_wrong(connection).items():
        yield Finding("memo", f"{count} remembered values ({kind}) are not what was stored", repairable=True)
    yield from check_notes.findings(connection)
