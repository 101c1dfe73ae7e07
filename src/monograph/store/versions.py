"""Rows of ``versions``: previous versions of documents that were replaced or removed.

Previous versions are in tables of their own, so that searches, lists and counts do not include them. The memo keeps the
vectors and extractions of their chunks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from monograph.dates.span import FIRST, LAST
from monograph.errors import InputError
from monograph.store import tree
from monograph.store.documents import documents
from monograph.store.file import checksums, settings
from monograph.store.file.database import Connection
from monograph.store.file.errors import damaged, decoding, path_of
from monograph.store.file.rows import column, integer, loaded_object, lookup
from monograph.values import Chunk, Document, Valid, Version

DAY = 86_400
"""Number of seconds that a file's clock may be ahead.

A write is refused if the clock is more than this ahead of the last write, and also of this machine's clock.
"""


@dataclass(frozen=True, slots=True)
class VersionEnding:
    """How a write transaction ends versions of documents, in a file that keeps previous versions.

    ``moment`` is the time at which the current versions end and the next versions begin, in seconds since 1970. If
    ``forgotten`` is True, the current versions are not kept, and the documents' previous versions are deleted.
    """

    moment: int
    forgotten: bool = False


def ending(connection: Connection, clock: Callable[[], float] | None, *, forgotten: bool) -> VersionEnding | None:
    """Return when and how a write transaction ends versions of documents; None if ``clock`` is None.

    ``clock`` returns the time in seconds since 1970. A file that keeps no previous versions has no clock. For
    ``forgotten`` see :class:`VersionEnding`. The times in a file never go back: if the clock is behind the latest
    stored time, the second after the latest stored time is used. Raises InputError if the clock's time is out of range,
    or is more than a day ahead of both the latest stored time and this machine's clock.
    """
    if clock is None:
        return None
    query = """SELECT max(coalesce((SELECT max(valid_from) FROM documents WHERE valid_from IS NOT NULL), ?1),
            coalesce((SELECT max(valid_until) FROM versions), ?1))"""
    last, now = integer(connection, query, FIRST), clock()
    if not FIRST <= now <= LAST:
        raise InputError(f"the clock says {now!r}, which is not a valid time", "return seconds since 1970")
    if now > max(last, time.time()) + DAY:
        raise InputError(
            f"the clock says {now:.0f}, more than a day ahead of the last write and of this machine's clock",
            "correct the clock: the times in a file never go back",
        )
    return VersionEnding(int(now) if int(now) >= last else min(last + 1, LAST), forgotten)


def end(connection: Connection, row: documents.DocumentRow, ending: VersionEnding | None) -> None:
    """Store the current version of a document as a previous version, before the document is replaced or removed.

    Do nothing if ``ending`` is None. If ``ending.forgotten`` is True, delete all previous versions of the document
    instead. A version that begins and ends in the same second is not stored, because it was not valid at the end of any
    second.
    """
    if ending is None:
        return
    if ending.forgotten:
        drop(connection, _select_numbers(connection, "id = ?", row.id))
        return
    since = row.valid.since if row.valid is not None else FIRST
    if since >= ending.moment:
        return
    text = documents.text(connection, row.row, 0, row.characters)
    version = integer(connection, "SELECT max(version) FROM versions") + 1
    connection.execute(
        """INSERT INTO versions SELECT ?1, id, ?2, ?3, uri, title, metadata, sections, sha256, characters, dated,
        dated_until, dated_by, ?4, checksum, checksum(?2, ?3, dated, dated_until, dated_by)
        FROM documents WHERE document = ?5""",
        (version, since, ending.moment, text, row.row),
    )
    connection.execute(
        """INSERT INTO version_chunks SELECT ?1, c.ordinal, c.id, c.start, c."end", c.metadata, v.memo, e.memo
        FROM chunks AS c LEFT JOIN vectors AS v USING (chunk) LEFT JOIN extractions AS e USING (chunk)
        WHERE c.document = ?2""",
        (version, row.row),
    )


def drop(connection: Connection, numbers: Sequence[int]) -> None:
    """Delete previous versions by row number."""
    parameters = [(number,) for number in numbers]
    connection.executemany("DELETE FROM version_chunks WHERE version = ?", parameters)
    connection.executemany("DELETE FROM versions WHERE version = ?", parameters)


def numbers_of(connection: Connection, name: str, second: int | None = None) -> list[int]:
    """Return the rows of the previous versions of a document, oldest first.

    ``name`` is the document's id, or its uri if no previous version has the id ``name``. With ``second`` (counted from
    1970), only versions are returned that were valid at the end of this second.
    """
    column = "id" if _select_numbers(connection, "id = ?", name) else "uri"
    if second is None:
        return _select_numbers(connection, f"{column} = ?", name)
    return _select_numbers(connection, f"{_VALID_AT} AND {column} = ?2", second, name)


def ended_by(connection: Connection, second: int) -> list[int]:
    """Return the rows of the previous versions that ended in ``second`` or earlier, oldest first."""
    return _select_numbers(connection, "valid_until <= ?", second)


def valid_at(connection: Connection, second: int) -> list[int]:
    """Return the rows of the previous versions that were valid at the end of ``second``, oldest first."""
    return _select_numbers(connection, _VALID_AT, second)


def incomplete_at(connection: Connection, second: int, *, graph: bool) -> list[int]:
    """Return the rows of previous versions that were valid at the end of ``second`` and are incomplete, oldest first.

    A version is incomplete if one of its chunks has no vector or, with ``graph``, no extraction.
    """
    is_incomplete = f"""EXISTS (SELECT 1 FROM version_chunks AS c
        WHERE c.version = versions.version AND (c.vector IS NULL OR ({graph:d} AND c.extraction IS NULL)))"""  # noqa: S608
    return _select_numbers(connection, f"{_VALID_AT} AND {is_incomplete}", second)


def versions_under(connection: Connection, root: str) -> dict[int, str]:
    """Return the previous versions of documents from a root: {version row: document id}.

    A version is from a root if its uri is ``root``, or begins with ``root`` and a slash.
    """
    return dict(
        connection.execute(
            "SELECT version, id FROM versions WHERE uri = ?1 OR substr(uri, 1, length(?1) + 1) = ?1 || '/'", (root,)
        )
    )


_VALID_AT = "valid_from <= ?1 AND ?1 < valid_until"


def _select_numbers(connection: Connection, condition: str, *values: str | int) -> list[int]:
    query = f"SELECT version FROM versions WHERE {condition} ORDER BY valid_from, version"  # noqa: S608 - constants
    return column(connection, query, *values)


def last_change(connection: Connection, second: int) -> int:
    """Return the latest second, not after ``second``, in which a document was added, changed or removed.

    Only recorded changes count. If no change is recorded, return the first second of year 1, the least time that
    Python's dates can express.
    """
    query = """SELECT max(coalesce((SELECT max(valid_from) FROM documents WHERE valid_from <= ?1), ?2),
            coalesce((SELECT max(valid_from) FROM versions WHERE valid_from <= ?1), ?2),
            coalesce((SELECT max(valid_until) FROM versions WHERE valid_until <= ?1), ?2))"""
    return integer(connection, query, second, FIRST)


def listed(connection: Connection, numbers: Iterable[int]) -> list[Version]:
    """Return previous versions without their texts, in the order of the given rows.

    Raises DamagedFile if the times at which a version begins and ends are missing or out of range.
    """
    columns = "v.version, v.id, v.title, v.uri, v.characters, v.valid_from, v.valid_until"
    versions = []
    for row, *fields, since, until in lookup(connection, columns, "versions AS v WHERE v.version = w.value", numbers):
        _, valid = documents.loaded_times(None, None, None, since, until)
        if valid is None:
            raise damaged(path_of(connection), f"row {row} of versions has no valid times")
        name, title, uri, characters = fields
        versions.append(Version(name, title, uri, characters, valid))
    return versions


@dataclass(frozen=True, slots=True)
class PreviousVersion:
    """A previous version of a document, with its chunks in reading order.

    ``document`` has the version's text, and ``sha256`` the hash of all inputs of the document. ``valid`` has the
    second in which the version began, and the second in which it ended. ``given`` has one value for each chunk: the
    packed vector that a caller supplied, or None if no caller supplied one. ``dated`` has the columns of the
    document's date.
    """

    document: Document
    sha256: bytes
    valid: Valid
    chunks: tuple[Chunk, ...]
    given: tuple[bytes | None, ...]
    dated: documents.Dates


def load(connection: Connection, numbers: Iterable[int]) -> Iterator[PreviousVersion]:
    """Yield previous versions with their texts, in the order of the given rows.

    Raises DamagedFile if a version cannot be read.
    """
    for number in numbers:
        with decoding(connection, f"row {number} of versions"):
            name, uri, title, metadata, sections, sha256, characters, text, *times = connection.execute(
                """SELECT id, uri, title, metadata, sections, sha256, characters, text, dated, dated_until, dated_by,
                valid_from, valid_until FROM versions WHERE version = ?""",
                (number,),
            ).fetchone()
            date, valid = documents.loaded_times(*times)
            if valid is None:
                raise ValueError("it has no valid times")
            row = documents.DocumentRow(number, name, None, uri, title, sha256, characters, date, valid)
            document = documents.made_of(row, text, metadata, sections)
            chunks, given = [], []
            for chunk_id, ordinal, start, stop, chunk_metadata, value in connection.execute(
                """SELECT c.id, c.ordinal, c.start, c."end", c.metadata,
                    CASE WHEN m.key = given_vector_key(m.value) THEN m.value END
                FROM version_chunks AS c LEFT JOIN memo AS m ON m.memo = c.vector WHERE c.version = ?
                ORDER BY c.ordinal""",
                (number,),
            ):
                if not 0 <= start < stop <= len(text):
                    raise ValueError(f"its chunk {chunk_id!r} has an invalid span, {start} to {stop}")
                chunks.append(
                    Chunk(chunk_id, name, text[start:stop], start, stop, ordinal, loaded_object(chunk_metadata))
                )
                given.append(value)
            version = PreviousVersion(
                document, sha256, valid, tuple(chunks), tuple(given), (times[0], times[1], times[2])
            )
        yield version


def mark(connection: Connection, versions: Iterable[PreviousVersion]) -> None:
    """Copy the validity and the dates of previous versions to the documents with the same ids.

    Use it for a snapshot: a copy of the file in which these previous versions were stored as documents again.
    """
    connection.executemany(
        """UPDATE documents SET valid_from = ?1, valid_until = ?2, dated = ?3, dated_until = ?4, dated_by = ?5,
        dates_checksum = checksum(?1, ?3, ?4, ?5) WHERE id = ?6""",
        ((version.valid.since, version.valid.until, *version.dated, version.document.id) for version in versions),
    )


def clear(connection: Connection) -> None:
    """Delete all previous versions."""
    connection.execute("DELETE FROM version_chunks")
    connection.execute("DELETE FROM versions")


def drop_vectors(connection: Connection) -> None:
    """Remove the vectors of the chunks of all previous versions, because the file has another embedder.

    Vectors that callers supplied are removed, too. The checksum of a version covers its supplied vectors. So a version
    with supplied vectors gets a new checksum, but only if its old checksum was right: damage must stay visible.
    """
    query = "SELECT DISTINCT version FROM version_chunks JOIN memo ON memo = vector WHERE key = given_vector_key(value)"
    sound = [version for version in column(connection, query) if is_sound(connection, version)]
    connection.execute("UPDATE version_chunks SET vector = NULL")
    seals = ((_compute_checksum(connection, version), version) for version in sound)
    connection.executemany("UPDATE versions SET checksum = ? WHERE version = ?", seals)


def drop_extractions(connection: Connection) -> None:
    """Remove the extractions of the chunks of all previous versions, because the file has another extractor."""
    connection.execute("UPDATE version_chunks SET extraction = NULL")


def _compute_checksum(connection: Connection, number: int) -> int:
    """Compute the checksum of a previous version's content, as it is computed for a current document."""
    query = f"SELECT {documents.SEALED}, CAST(text AS BLOB) FROM versions WHERE version = ?"  # noqa: S608
    *fields, text = connection.execute(query, (number,)).fetchone()
    chunks_query = f"""SELECT {documents.SEALED_CHUNK} FROM version_chunks AS c LEFT JOIN memo AS m ON m.memo = c.vector
        WHERE c.version = ? ORDER BY c.ordinal"""  # noqa: S608 - a constant
    return documents.content_checksum(fields, text, connection.execute(chunks_query, (number,)).fetchall())


def is_sound(connection: Connection, number: int) -> bool:
    """Return whether the content and the dates of a previous version match their checksums."""
    stored, *dates = connection.execute(
        """SELECT checksum, dates_checksum, checksum(valid_from, valid_until, dated, dated_until, dated_by)
        FROM versions WHERE version = ?""",
        (number,),
    ).fetchone()
    return bool(stored == _compute_checksum(connection, number) and dates[0] == dates[1])


def wrong(connection: Connection) -> Iterator[tuple[int, str]]:
    """Yield (version row, document id) of each previous version that does not match its checksums.

    Bytes of an id that are no UTF-8 are replaced by U+FFFD.
    """
    for row, name in connection.execute("SELECT version, CAST(id AS BLOB) FROM versions ORDER BY version").fetchall():
        if not is_sound(connection, row):
            yield row, bytes(name).decode("utf-8", "replace")


def assign(connection: Connection, number: int, memo_rows: Iterable[tuple[int, int | None, int | None]]) -> None:
    """Store the memo rows of the vectors and extractions of the chunks of a previous version.

    ``number`` is the row of the version. ``memo_rows`` has for each chunk: (ordinal of the chunk, memo row of its
    vector, memo row of its extraction). If a memo row is None, the stored one is kept.
    """
    connection.executemany(
        """UPDATE version_chunks SET vector = coalesce(?3, vector), extraction = coalesce(?4, extraction)
        WHERE version = ?1 AND ordinal = ?2""",
        ((number, *values) for values in memo_rows),
    )


def drop_unsupported(connection: Connection) -> None:
    """Delete the tree of summaries and all previous versions from a file, and turn both off in its settings.

    A shelf supports neither. So this is done to a copy of a file that becomes a shard.
    """
    tree.clear(connection)
    connection.execute("DELETE FROM settings WHERE name = 'summarizer'")
    checksums.drop(connection, "settings/summarizer")
    built = settings.load(connection)
    if built is not None and built.history:
        clear(connection)
        settings.save(connection, replace(built, history=False))
