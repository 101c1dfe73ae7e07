"""Rows of a table as text: every row repeats the column names, so that it can be understood alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from monograph.read.compose import Composer
from monograph.regex import regex
from monograph.values import Place

HEADER_WITHIN = 50
"""Number of first rows that are searched for the header."""

_NUMBER = regex(r"[\s$€£¥+-]*[\d.,'\s]*\d[\d.,'\s]*[%$€£¥]?\s*|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")


@dataclass(frozen=True, slots=True)
class Row:
    """Row with text in at least one cell: its number in the table, from 1, and its cells."""

    number: int
    cells: tuple[str, ...]


def rows_of(table: Iterable[Sequence[str]]) -> Iterator[Row]:
    """Yield the rows that are not empty, with the white space in each cell collapsed to single spaces."""
    for number, cells in enumerate(table, start=1):
        row = tuple(" ".join(cell.split()) if cell else "" for cell in cells)
        if any(row):
            yield Row(number, row)


def header_among(rows: Sequence[Row]) -> Row | None:
    """Return the row that names the columns, or None.

    Only the first row with two or more filled cells can be the header; rows above it are titles. It is the header if
    none of these cells is a number or date, all of them differ, they fill more than half as many cells as the widest
    row, and it is not the last row.
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
    """Return a row as ``header: value; header: value``, without empty cells. A row above the header has values only."""
    if header is None or row.number < header.number:
        return "; ".join(cell for cell in row.cells if cell)
    names = chain(header.cells, iter(lambda: "", None))
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, row.cells, strict=False) if cell)


def add_table(composer: Composer, table: Iterable[Sequence[str]]) -> None:
    """Add a table within a text, one paragraph per row except the header."""
    rows = list(rows_of(table))
    header = header_among(rows[:HEADER_WITHIN])
    for row in rows:
        if row != header:
            composer.add(said(row, header))


def add_sheet(composer: Composer, rows: Iterable[Row], header: Row | None, sheet: str) -> None:
    """Add rows, without the header's, one paragraph per row with its place."""
    for row in rows:
        composer.place(Place(0, sheet=sheet, row=row.number))
        composer.add(said(row, header))
