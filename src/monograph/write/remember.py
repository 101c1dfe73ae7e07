"""What was derived, into the memo: at once, or with the documents that need it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from monograph.store.file import memo
from monograph.store.file.database import Database

NOTHING: Mapping[bytes, bytes] = MappingProxyType({})


def remember(
    database: Database, kind: str, values: Sequence[tuple[bytes, bytes, int]], waiting: dict[bytes, bytes] | None
) -> None:
    """Remember (key, value, tokens) in a transaction of their own; those that may wait go into ``waiting``."""
    if waiting is not None:
        waiting.update((key, value) for key, value, _ in values)
    elif values:
        with database.write() as connection:
            memo.put(connection, kind, values)
