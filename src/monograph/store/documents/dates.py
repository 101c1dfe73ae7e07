"""Dates of documents: columns of ``documents`` that follow from the document, or else from its file.

No checksum covers them: a check compares them with what they follow from.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, TypeAlias

from monograph.dates.dating import FILE, HEAD, TOLD_BY, Dated, date_of
from monograph.dates.span import FIRST, LAST, Span
from monograph.store.file.checksums import blocks_of
from monograph.values import Document, Valid

Columns: TypeAlias = tuple[int | None, int | None, int | None]
"""dated, dated_until, dated_by."""

_UNDATED: Columns = (None, None, None)
_BY_FILE = TOLD_BY.index(FILE)
TOLD = f"d.dated_by != {_BY_FILE:d}"
"""SQL condition that the date of a document ``d`` follows from the document itself."""
_SECOND = 1_000_000_000
_LATEST = (2**63 - 1) // _SECOND


def columns(document: Document) -> Columns:
    """Return the date columns of a document, as far as its date follows from the document itself."""
    told = (document.metadata, *(passage.metadata for passage in document.passages))
    return _columns(date_of(told, document.title, document.text))


def _columns(dated: Dated | None) -> Columns:
    return _UNDATED if dated is None else (dated.when.first, dated.when.last, TOLD_BY.index(dated.told_by))


def span(first: Any, last: Any) -> Span | None:
    """Return the span of two stored seconds; None if they are no span."""
    if not (isinstance(first, int) and isinstance(last, int) and FIRST <= first <= last <= LAST):
        return None
    return Span(first, last)


def loaded(first: Any, last: Any, told_by: Any) -> Dated | None:
    """Return the date of a document from its columns; None if they are no date."""
    when = span(first, last)
    if when is None or not isinstance(told_by, int) or not 0 <= told_by < len(TOLD_BY):
        return None
    return Dated(when, TOLD_BY[told_by])


def valid(since: Any, until: Any) -> Valid | None:
    """Return the time in which a document is valid from its columns; None if it is not known, or no time."""
    if not isinstance(since, int) or not FIRST <= since <= LAST:
        return None
    if until is not None and not (isinstance(until, int) and since < until <= LAST):
        return None
    return Valid(since, until)


def newest(connection: sqlite3.Connection) -> int | None:
    """Return the last second of all dates that follow from documents themselves; None if there are none."""
    (last,) = connection.execute(f"SELECT max(d.dated_until) FROM documents AS d WHERE {TOLD}").fetchone()  # noqa: S608
    return last if isinstance(last, int) and FIRST <= last <= LAST else None


def follow_file(connection: sqlite3.Connection, source: int) -> None:
    """Set the dates of a file's documents that have no date of their own to that of the file; both are stored."""
    row = connection.execute("SELECT modified_ns FROM sources WHERE source = ?", (source,)).fetchone()
    second = row[0] // _SECOND if row is not None and isinstance(row[0], int) else -1
    if 0 <= second <= LAST:
        connection.execute(
            """UPDATE documents SET dated = ?2, dated_until = ?2, dated_by = ?3
            WHERE source = ?1 AND (dated IS NULL OR dated_by = ?3) AND dated IS NOT ?2""",
            (source, second, _BY_FILE),
        )


def rebuild(connection: sqlite3.Connection) -> None:
    """Set the dates of all documents again.

    A document has the date of its file twice: if the two agree and the file has another, that of the file was changed.
    """
    connection.execute(
        """UPDATE sources SET modified_ns = d.dated * ?2 FROM documents AS d
        WHERE d.source = sources.source AND d.dated_by = ?1 AND typeof(d.dated) = 'integer' AND d.dated = d.dated_until
            AND sources.modified_ns >= 0 AND d.dated BETWEEN 0 AND ?3 AND sources.modified_ns / ?2 != d.dated""",
        (_BY_FILE, _SECOND, _LATEST),
    )
    dated = [(*wanted, row) for wanted, row in wrong(connection)]
    connection.executemany("UPDATE documents SET dated = ?, dated_until = ?, dated_by = ? WHERE document = ?", dated)


def wrong(connection: sqlite3.Connection) -> Iterator[tuple[Columns, int]]:
    """Yield (the columns that it should have, row) of the documents with another date than they or their files tell."""
    for row, first, last, told_by, title, metadata, changed in connection.execute(
        """SELECT d.document, d.dated, d.dated_until, d.dated_by, CAST(d.title AS BLOB), CAST(d.metadata AS BLOB),
            s.modified_ns
        FROM documents AS d LEFT JOIN sources AS s USING (source)"""
    ):
        chunks = "SELECT CAST(metadata AS BLOB) FROM chunks WHERE document = ? ORDER BY ordinal"
        dated = date_of((_object(one) for (one,) in chain([(metadata,)], connection.execute(chunks, (row,)))), "", "")
        if dated is None:
            (block,) = connection.execute(
                "SELECT (SELECT CAST(text AS BLOB) FROM texts WHERE block BETWEEN ? AND ? ORDER BY block LIMIT 1)",
                blocks_of(row),
            ).fetchone()
            dated = date_of((), _text(title), _text(block)[:HEAD])
        stored, own = (first, last, told_by), _columns(dated)
        wanted = own
        if own == _UNDATED:
            is_known = isinstance(changed, int) and 0 <= changed // _SECOND <= LAST
            if is_known or (isinstance(first, int) and told_by == _BY_FILE):
                second = changed // _SECOND if is_known else first
                wanted = (second, second, _BY_FILE)
        if stored not in (own, wanted):
            yield wanted, row


def _object(stored: bytes) -> Mapping[str, Any]:
    """Return an object of JSON; an empty one if the bytes are none, which another check reports."""
    try:
        found = json.loads(stored)
    except (ValueError, TypeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _text(stored: bytes | None) -> str:
    return (stored or b"").decode("utf-8", "replace")
