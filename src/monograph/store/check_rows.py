"""Rows that stand alone held against their checksums: what is remembered, codes of names, settings, planes."""

from __future__ import annotations

from collections.abc import Iterator

from monograph.store import check_names, check_notes, memo
from monograph.store.database import Connection
from monograph.values import Finding


def findings(connection: Connection) -> Iterator[Finding]:
    """The rows that are not what was stored, one finding a kind."""
    for kind, count in memo.count_wrong(connection).items():
        yield Finding("memo", f"{count} remembered values ({kind}) are not what was stored", repairable=True)
    wrong = check_names.wrong_codes(connection)
    if wrong:
        yield Finding("names", f"{len(wrong)} names have another code than was stored", repairable=True)
    yield from check_notes.findings(connection)
