"""CSV and TSV files of any size."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain, islice

from monograph.read.compose import Composer, clean
from monograph.read.rows import HEADER_WITHIN, add_sheet, header_among, rows_of
from monograph.read.source import Items, SourceFile
from monograph.read.text import encoding_of
from monograph.values import Problem

ROWS_A_DOCUMENT = 10_000
"""Limit of rows per document. A longer table becomes several documents, so that it is never in memory as a whole."""

_DELIMITERS = ",;\t|"
_LONGEST_CELL = 1_000_000
_SAMPLED_LINES = 30


def read_table(opened: SourceFile) -> Items:
    """Yield the rows of a table in documents of ROWS_A_DOCUMENT rows. The text is decoded line by line.

    Every row repeats the column names of the header.
    """
    delimiter = delimiter_of(list(islice(_lines(opened.data), _SAMPLED_LINES)))
    csv.field_size_limit(_LONGEST_CELL)
    rows = rows_of(csv.reader(_lines(opened.data), delimiter=delimiter))
    first = list(islice(rows, HEADER_WITHIN))
    header = header_among(first)
    rows = (row for row in chain(first, rows) if row != header)
    part = 0
    is_empty = True
    while block := list(islice(rows, ROWS_A_DOCUMENT)):
        opened.check_time()
        composer = Composer()
        add_sheet(composer, block, header, "")
        title = f"{opened.address.stem}, from row {block[0].number:,}" if part else opened.address.stem
        document = composer.document(opened, opened.metadata("csv"), title, f"part {part}" if part else "")
        if document is not None:
            is_empty = False
            yield document
        part += 1
    if is_empty:
        yield Problem(opened.address.uri, "it is empty: nothing to index")


def _lines(data: bytes) -> Iterator[str]:
    """Yield the lines of a text file. They are decoded one by one, and the bytes are not copied."""
    encoding, mark = encoding_of(data)
    buffer = io.BytesIO(data)
    buffer.seek(mark)
    for line in io.TextIOWrapper(buffer, encoding, errors="replace", newline=""):
        yield clean(line) if not line.isprintable() else line


def delimiter_of(sample: Sequence[str]) -> str:
    """Return the delimiter of a table, judged by ``sample``, some of its lines.

    The best delimiter divides the largest share of the lines into the same number of cells, at least two. Between
    equal shares, the delimiter that gives more cells is returned. If none divides a line, a comma is returned.
    """
    best, best_score = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in csv.reader(sample, delimiter=delimiter) if row)
        width, count = max(widths.items(), key=lambda item: (item[0] > 1, item[1]), default=(1, 0))
        if width > 1 and (count / widths.total(), width) > best_score:
            best, best_score = delimiter, (count / widths.total(), width)
    return best
