"""Rows of a table as text: every row says what its values mean, so that each can be read alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from monograph.read.compose import Composer
from monograph.regex import regex
from monograph.values import Place

HEADER_WITHIN = 50
"""Rows among which the header is looked for."""

_NUMBER = regex(r"[\s$€£¥+-]*[\d.,'\s]*\d[\d.,'\s]*[%$€£¥]?\s*|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")


@dataclass(frozen=True, slots=True)
class Row:
    """A row with a text in it: its number, counted from 1, and its cells."""

    number: int
    cells: tuple[str, ...]


def rows_of(table: Iterable[Sequence[str]]) -> Iterator[Row]:
    """The rows that are not empty, each cell on one line."""
    for number, cells in enumerate(table, start=1):
        row = tuple(" ".join(cell.split()) if cell else "" for cell in cells)
        if any(row):
            yield Row(number, row)


def header_among(rows: Sequence[Row]) -> Row | None:
    """The row that names the columns: the first with two words or more, all of its cells words, and as wide as most.

    Lines above it are titles. A table whose widest row comes before it, or that has numbers there, has no header.
    """
    width = max((sum(map(bool, row.cells)) for row in rows), default=0)
    for row in rows:
        filled = [cell for cell in row.cells if cell]
        if len(filled) < 2:
            continue
        words = not any(_NUMBER.fullmatch(cell) for cell in filled)
        return (
            row if words and len(set(filled)) == len(filled) and 2 * len(filled) > width and row != rows[-1] else None
        )
    return None


def said(row: Row, header: Row | None) -> str:
    """A row as ``header: value; header: value``, empty cells left out; a row above the header as it is."""
    if header is None or row.number < header.number:
        return "; ".join(cell for cell in row.cells if cell)
    names = chain(header.cells, iter(lambda: "", None))
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, row.cells, strict=False) if cell)


def add_table(composer: Composer, table: Iterable[Sequence[str]]) -> None:
    """Add a table that stands within a text, all its rows one paragraph each."""
    rows = list(rows_of(table))
    header = header_among(rows[:HEADER_WITHIN])
    for row in rows:
        if row != header:
            composer.add(said(row, header))


def add_sheet(composer: Composer, rows: Iterable[Row], header: Row | None, sheet: str) -> None:
    """Add rows, without that of the header, with their places."""
    for row in rows:
        composer.place(Place(0, sheet=sheet, row=row.number))
        composer.add(said(row, header))
