"""The ledger: what models were asked for a file, by day, model and purpose."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from monograph.spending import Asked, Spent
from monograph.values import LedgerEntry

NO_ENTRY = """date(day) IS NOT day OR typeof(model) != 'text' OR typeof(purpose) != 'text'
    OR typeof(calls) != 'integer' OR typeof(tokens_in) != 'integer' OR typeof(tokens_out) != 'integer'
    OR min(calls, tokens_in, tokens_out) < 0"""
"""A row that no version of Monograph writes."""


def add(connection: sqlite3.Connection, spent: Mapping[Asked, Spent]) -> None:
    """Enter what was spent."""
    connection.executemany(
        """INSERT INTO costs VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,
        tokens_in = tokens_in + excluded.tokens_in, tokens_out = tokens_out + excluded.tokens_out""",
        (
            (asked.day, asked.model, asked.purpose, one.calls, one.tokens_in, one.tokens_out)
            for asked, one in spent.items()
        ),
    )


def every(connection: sqlite3.Connection) -> list[LedgerEntry]:
    """Return what was spent, by day, model and purpose."""
    found = connection.execute(
        """SELECT CAST(day AS TEXT), CAST(model AS TEXT), CAST(purpose AS TEXT), CAST(calls AS INTEGER),
        CAST(tokens_in AS INTEGER), CAST(tokens_out AS INTEGER) FROM costs ORDER BY day, model, purpose"""
    ).fetchall()
    return [LedgerEntry(*row) for row in found]
