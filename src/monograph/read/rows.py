"""Rows of a table as text: every row repeats the column names, so that it can be understood alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from monograph.read.compose import Composer
from monograph.regex import regex
from monograph.values import Place

HEADER_WITHIN = 50
"""Number of rows at the beginning of a table in which the header is searched."""

_NUMBER = regex(r"[\s$€£¥+-]*[\d.,'\s]*\d[\d.,'\s]*[%$€£¥]?\s*|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*")


@dataclass(frozen=True, slots=True)
class Row:
    """Row of a table with text in at least one cell. ``number`` counts all rows of the table from 1."""

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

    Only the first row with two or more filled cells can be the header. Rows above this row are titles. The row is the
    header if all of the following hold:

    - no filled cell of the row is a number or a date;
    - all filled cells of the row differ;
    - the row has more than half as many filled cells as the row with the most filled cells;
    - the row is not the last of ``rows``.
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


def format_row(row: Row, header: Row | None) -> str:
    """Return a row as one line: ``name: value; name: value``. Empty cells are left out.

    The names are the cells of the header. If there is no header, or the row is above the header, the line has only
    values.
    """
    if header is None or row.number < header.number:
        return "; ".join(cell for cell in row.cells if cell)
    names = chain(header.cells, iter(lambda: "", None))
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, row.cells, strict=False) if cell)


def add_table(composer: Composer, table: Iterable[Sequence[str]]) -> None:
    """Add a table inside a text document: one paragraph per row. The header gets no paragraph."""
    rows = list(rows_of(table))
    header = header_among(rows[:HEADER_WITHIN])
    for row in rows:
        if row != header:
            composer.add(format_row(row, header))


def add_sheet(composer: Composer, rows: Iterable[Row], header: Row | None, sheet: str) -> None:
    """Add one paragraph for each row. The paragraph's place is the sheet and the row.

    ``rows`` must not contain the header. ``header`` is only used for the names of the columns.
    """
    for row in rows:
        composer.place(Place(0, sheet=sheet, row=row.number))
        composer.add(format_row(row, header))
