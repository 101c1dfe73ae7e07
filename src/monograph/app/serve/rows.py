"""Rows of a table as readers write them, ``name: value; name: value``, found again among paragraphs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]

_NAME = re.compile(r"(?:\A|; )([^:;\n]{1,80}): ")
_LEAST = 2
"""Values that a row has at least, and rows that a table has."""


@dataclass(slots=True)
class Table:
    """Rows that follow each other: where each name stood first, and where each value of each row stands."""

    names: dict[str, Span] = field(default_factory=dict)
    rows: list[dict[str, Span]] = field(default_factory=list)

    def takes(self, row: dict[str, tuple[Span, Span]]) -> bool:
        """Take a row, if it is of this table; the first row always is."""
        if self.rows and len(self.names.keys() & row.keys()) < _LEAST:
            return False
        for name, (where, _) in row.items():
            self.names.setdefault(name, where)
        self.rows.append({name: value for name, (_, value) in row.items()})
        return True


def row_of(text: str, start: int, end: int) -> dict[str, tuple[Span, Span]]:
    """(where it stands, where its value stands) of every name in a row; nothing where the paragraph is none."""
    paragraph = text[start:end]
    found = list(_NAME.finditer(paragraph))
    if "\n" in paragraph or len(found) < _LEAST or found[0].start():
        return {}
    ends = [*(one.start() for one in found[1:]), len(paragraph)]
    named = {
        one[1]: ((start + one.start(1), start + one.end(1)), (start + one.end(), start + last))
        for one, last in zip(found, ends, strict=True)
    }
    return named if len(named) == len(found) else {}


def table_at(text: str, paragraphs: Sequence[Span], first: int) -> tuple[Table, int]:
    """The table that a paragraph begins, and how many paragraphs are of it; none where fewer than two rows are."""
    table = Table()
    for number in range(first, len(paragraphs)):
        row = row_of(text, *paragraphs[number])
        if not row or not table.takes(row):
            break
    return table, len(table.rows) if len(table.rows) >= _LEAST else 0
