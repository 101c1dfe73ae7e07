"""CSV and TSV, as large as they may be."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterator
from itertools import chain, islice

from monograph.ingest.read.compose import Composer
from monograph.ingest.read.rows import HEADER_WITHIN, Row, add_sheet, header_among, rows_of
from monograph.ingest.read.source import Items, Opened
from monograph.ingest.read.text import decoded

ROWS_A_DOCUMENT = 10_000
"""A longer table becomes several documents, so that none has to be held whole."""

_DELIMITERS = ",;\t|"
_LONGEST_CELL = 1_000_000


def read_table(opened: Opened) -> Items:
    """The rows of a table, 10,000 a document."""
    text = yield from decoded(opened)
    if not text:
        return
    csv.field_size_limit(_LONGEST_CELL)
    lines = (line.replace("\0", "") for line in io.StringIO(text))
    yield from documents_of(opened, rows_of(csv.reader(lines, delimiter=delimiter_of(text))), "csv")


def documents_of(opened: Opened, rows: Iterator[Row], form: str) -> Items:
    """Rows as documents, each with the header's names in every row."""
    first = list(islice(rows, HEADER_WITHIN))
    header = header_among(first)
    rows = chain(first, rows)
    for part in range(10**9):
        some = list(islice(rows, ROWS_A_DOCUMENT))
        if not some:
            return
        opened.check_time()
        composer = Composer()
        add_sheet(composer, some, header, "")
        title = opened.address.stem if not part else f"{opened.address.stem}, from row {some[0].number:,}"
        document = composer.document(opened, opened.metadata(form), title, f"part {part}" if part else "")
        if document is not None:
            yield document


def delimiter_of(text: str) -> str:
    """What stands between the cells: what comes equally often, and most often, in the first lines."""
    sample = "".join(islice(io.StringIO(text), 30))
    best, most = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        widths = Counter(len(row) for row in csv.reader(io.StringIO(sample), delimiter=delimiter) if row)
        width, count = max(widths.items(), key=lambda item: (item[0] > 1, item[1]), default=(1, 0))
        if width > 1 and (count / widths.total(), width) > most:
            best, most = delimiter, (count / widths.total(), width)
    return best
