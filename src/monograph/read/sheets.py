"""Spreadsheets: reads XLSX with openpyxl, which provides number formats, and XLS, XLSB and ODS with calamine."""

from __future__ import annotations

import datetime
import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

from monograph.errors import SourceTooLarge
from monograph.read.compose import Composer
from monograph.read.package import unpacked
from monograph.read.pictures import Pictures, of_sheet
from monograph.read.rows import HEADER_WITHIN, Row, add_sheet, header_among, rows_of
from monograph.read.source import Items, SourceFile, needs, text_of
from monograph.read.table import ROWS_A_DOCUMENT
from monograph.regex import regex
from monograph.values import Place

_MOST_CELLS = 50_000_000
_QUOTED = regex(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|_.|\*.')
_CURRENCY = regex(r"[$€£¥]")


def read_xlsx(opened: SourceFile) -> Items:
    """Yield the documents of an XLSX workbook, one paragraph per row. For formulas, the stored results are read."""
    with needs("an Excel file", "documents"):
        import openpyxl
    book = openpyxl.load_workbook(io.BytesIO(opened.data), read_only=True, data_only=True, keep_links=False)
    try:
        with unpacked(opened) as archive:
            sheets = []
            for sheet in book.worksheets:
                sheet.reset_dimensions()  # The size that a sheet states may be wrong.
                table = ([shown(cell) for cell in row] for row in sheet.iter_rows())
                sheets.append(_Sheet(sheet.title, table, of_sheet(archive, sheet._worksheet_path.lstrip("/"))))
            yield from _documents(opened, "xlsx", sheets, text_of(book.properties.title))
    finally:
        book.close()


def read_others(opened: SourceFile) -> Items:
    """Yield the documents of an XLS, XLSB or ODS file, one paragraph per row."""
    with needs("a spreadsheet", "documents"):
        import python_calamine
    book = python_calamine.CalamineWorkbook.from_filelike(io.BytesIO(opened.data))
    try:
        sheets = []
        for name in book.sheet_names:
            sheet = book.get_sheet_by_name(name)
            if sheet.total_height * sheet.total_width > _MOST_CELLS:
                raise SourceTooLarge(f"its sheet {name!r} is {sheet.total_height:,} x {sheet.total_width:,} cells")
            sheets.append(_Sheet(name, ([_plain_text(value) for value in row] for row in sheet.iter_rows())))
        yield from _documents(opened, "spreadsheet", sheets, "")
    finally:
        book.close()


@dataclass(frozen=True, slots=True)
class _Sheet:
    """Sheet of a workbook.

    ``table`` has the cells of each row, as texts. ``pictures`` has, for each picture on the sheet, the row of the
    picture's upper edge, counted from 1, and the bytes of the picture's file.
    """

    name: str
    table: Iterable[Sequence[str]]
    pictures: Iterable[tuple[int, bytes]] = ()


def _documents(opened: SourceFile, form: str, sheets: Sequence[_Sheet], title: str) -> Items:
    """Yield a workbook as documents of at most ROWS_A_DOCUMENT rows each. Small sheets share a document."""
    composer, pictures = Composer(), Pictures(opened)
    count = part = 0
    for sheet in sheets:
        name = sheet.name
        rows = rows_of(sheet.table)
        first = list(islice(rows, HEADER_WITHIN))
        header = header_among(first)
        picture_rows = [
            Row(row_number, (words,)) for row_number, data in sheet.pictures if (words := pictures.words(data))
        ]
        if first or picture_rows:
            # The sheet's name becomes the heading of its chunks, and no chunk has rows of two sheets.
            composer.place(Place(0, sheet=name, row=(first or picture_rows)[0].number, boundary=True))
            composer.heading(1, name)
        block: list[Row]
        rows = (row for row in chain(first, rows) if row != header)
        # The pictures of the sheet before may have filled the document.
        while block := list(islice(rows, max(1, ROWS_A_DOCUMENT - count))):
            opened.check_time()
            add_sheet(composer, block, header, name)
            count += len(block)
            if count >= ROWS_A_DOCUMENT:
                yield from pictures.take()
                yield from _part(composer, opened, form, title, part)
                part, count, composer = part + 1, 0, Composer()
                composer.heading(1, name)
        # The words of pictures may exceed ROWS_A_DOCUMENT.
        add_sheet(composer, picture_rows, None, name)
        count += len(picture_rows)
    yield from pictures.take()
    if count:
        yield from _part(composer, opened, form, title, part)
    yield from pictures.problems(empty=not (count or part))


def _part(composer: Composer, opened: SourceFile, form: str, title: str, part: int) -> Items:
    title = title or opened.address.stem
    part_title = f"{title}, part {part + 1}" if part else title
    document = composer.document(opened, opened.metadata(form), part_title, f"part {part}" if part else "")
    if document is not None:
        yield document


def shown(cell: Any) -> str:
    """Return a cell's value as text: a number as its number format displays it, any other value without a format.

    For the supported formats see :func:`number`. The text of an empty cell is empty.
    """
    value = cell.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _plain_text(value)
    return number(value, cell.number_format or "General")


def number(value: float, code: str) -> str:
    """Return a number as ``code``, the cell's number format, displays it.

    Decimals, thousands, percent and currency are supported. In other formats the number is returned unformatted.
    """
    section = code.split(";")[1 if value < 0 and code.count(";") and code.split(";")[1].strip() else 0]
    literal = "".join(match.group(3) or match.group(1) or "" for match in _QUOTED.finditer(section))
    plain = _QUOTED.sub(lambda match: " " * len(match.group()), section)
    digits = re.search(r"[#0][#0,]*(?:\.([0#?]+))?", plain)
    if digits is None or "E" in plain or "/" in plain:
        return _plain_text(value)
    scaled = abs(value) * 100 if "%" in plain else abs(value)
    decimals = len(digits.group(1) or "")
    text = f"{scaled:,.{decimals}f}" if "," in digits.group() else f"{scaled:.{decimals}f}"
    currency = "".join(_CURRENCY.findall(plain)) + literal.strip()
    sign = "-" if value < 0 else ""
    at_start = bool(_CURRENCY.search(plain[: digits.start()]) or _QUOTED.search(section[: digits.start()]))
    body = f"{currency}{text}" if at_start else f"{text}{' ' if currency else ''}{currency}"
    return f"{sign}{body}{'%' if '%' in plain else ''}"


def _plain_text(value: Any) -> str:
    """Return the text of a cell's value, regardless of the cell's number format."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ", "seconds")
    return str(value)
