"""Rows by many keys at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

_ASKED_AT_ONCE = 500


def select(
    connection: sqlite3.Connection, query: str, keys: Sequence[bytes | str | int], *before: object
) -> Iterator[tuple[Any, ...]]:
    """The rows of a query that ends with ``IN``, for some keys; ``before`` are parameters that come before them."""
    for first in range(0, len(keys), _ASKED_AT_ONCE):
        some = keys[first : first + _ASKED_AT_ONCE]
        yield from connection.execute(f"{query} ({','.join('?' * len(some))})", (*before, *some))
