"""Rows of ``versions``: documents as they stood before they were replaced or removed.

They lie apart from all that is searched, listed and counted: whoever reads the tables of the present reads the present.
What was made of their chunks stays in the memo for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from monograph.dates.span import FIRST, LAST
from monograph.errors import InputError
from monograph.store.documents import dates, documents
from monograph.store.file import checksums, settings
from monograph.store.file.database import Connection
from monograph.store.file.errors import damaged, decoding, path_of
from monograph.store.file.rows import loaded_object
from monograph.store.tree import tree
from monograph.values import Chunk, Document, Valid, Version

DAY = 86_400
"""Seconds that a clock may be ahead of the last write, and of this machine's clock."""

_EVER = 1 << 40
"""A second after every moment."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What becomes of a document's state that ends, in a file that keeps such.

    Parameters
    ----------
    moment:
        The second, since 1970, in which it ends and the next one begins.
    forgotten:
        Whether it is to be forgotten, and all former ones of the document with it.
    """

    moment: int
    forgotten: bool = False


def ending(connection: Connection, clock: Callable[[], float] | None, *, forgotten: bool) -> Ending | None:
    """What a write transaction does with the states that it ends; None where the file keeps none.

    The moments of a file never go back: where the clock does, the second after the last one is taken. Raises InputError
    if it tells no second, or one that is more than a day ahead of the last write and of this machine's clock.
    """
    if clock is None:
        return None
    (last,) = connection.execute(
        """SELECT max(coalesce((SELECT max(valid_from) FROM documents WHERE valid_from IS NOT NULL), ?1),
            coalesce((SELECT max(valid_until) FROM versions), ?1))""",
        (FIRST,),
    ).fetchone()
    now = clock()
    if not FIRST <= now <= LAST:
        raise InputError(f"the clock says {now!r}, which is no second of a calendar", "count seconds since 1970")
    if now > max(last, time.time()) + DAY:
        raise InputError(
            f"the clock says {now:.0f}, more than a day ahead of the last write and of this machine's clock",
            "correct it: the moments of a file never go back",
        )
    return Ending(int(now) if int(now) >= last else min(last + 1, LAST), forgotten)


def end(connection: Connection, row: documents.Row, found: Ending | None) -> None:
    """Keep a document's state that is about to be replaced or removed, or forget all that it had.

    One that stood for less than a second is not kept: it is of no moment that can be asked for.
    """
    if found is None:
        return
    if found.forgotten:
        drop(connection, _numbers(connection, "id = ?", row.id))
        return
    since = row.valid.since if row.valid is not None else FIRST
    if since >= found.moment:
        return
    text = documents.text(connection, row.row, 0, row.characters)
    (last,) = connection.execute("SELECT max(version) FROM versions").fetchone()
    number = int(last or 0) + 1
    connection.execute(
        """INSERT INTO versions SELECT ?1, id, ?2, ?3, uri, title, metadata, sections, sha256, characters, dated,
        dated_until, dated_by, ?4, checksum, checksum(?2, ?3, dated, dated_until, dated_by)
        FROM documents WHERE document = ?5""",
        (number, since, found.moment, text, row.row),
    )
    connection.execute(
        """INSERT INTO version_chunks SELECT ?1, c.ordinal, c.id, c.start, c."end", c.metadata, v.memo, e.memo
        FROM chunks AS c LEFT JOIN vectors AS v USING (chunk) LEFT JOIN extractions AS e USING (chunk)
        WHERE c.document = ?2""",
        (number, row.row),
    )


def drop(connection: Connection, numbers: Sequence[int]) -> None:
    """Take out some former states."""
    wanted = [(number,) for number in numbers]
    connection.executemany("DELETE FROM version_chunks WHERE version = ?", wanted)
    connection.executemany("DELETE FROM versions WHERE version = ?", wanted)


def numbers_of(connection: Connection, name: str, second: int | None = None) -> list[int]:
    """Rows of the former states of a document, or else of those of a uri, oldest first.

    With a second only what stood at its end.
    """
    which = "id" if _numbers(connection, "id = ?", name) else "uri"
    if second is None:
        return _numbers(connection, f"{which} = ?", name)
    return _numbers(connection, f"{which} = ?1 AND valid_from <= ?2 AND ?2 < valid_until", name, second)


def ended_by(connection: Connection, second: int) -> list[int]:
    """Rows of the former states that had ended by a second."""
    return _numbers(connection, "valid_until <= ?", second)


def standing_at(connection: Connection, second: int) -> list[int]:
    """Rows of the former states that stood at the end of a second."""
    return _numbers(connection, "valid_from <= ?1 AND ?1 < valid_until", second)


def below(connection: Connection, root: str) -> dict[int, str]:
    """The former states of what was read from a root, by row: the ids of their documents."""
    return dict(
        connection.execute(
            "SELECT version, id FROM versions WHERE uri = ?1 OR substr(uri, 1, length(?1) + 1) = ?1 || '/'", (root,)
        )
    )


def _numbers(connection: Connection, which: str, *values: str | int) -> list[int]:
    query = f"SELECT version FROM versions WHERE {which} ORDER BY valid_from, version"  # noqa: S608 - constants
    return [int(number) for (number,) in connection.execute(query, values)]


def last_change(connection: Connection, second: int) -> int:
    """The last second, up to one, in which a document came, changed or went; of what is kept of that."""
    (last,) = connection.execute(
        """SELECT max(coalesce((SELECT max(valid_from) FROM documents WHERE valid_from <= ?1), ?2),
            coalesce((SELECT max(valid_from) FROM versions WHERE valid_from <= ?1), ?2),
            coalesce((SELECT max(valid_until) FROM versions WHERE valid_until <= ?1), ?2))""",
        (second, FIRST),
    ).fetchone()
    return int(last)


def listed(connection: Connection, numbers: Iterable[int]) -> list[Version]:
    """Former states, in the order asked for. Raises DamagedFile if one tells no time."""
    found = []
    for number in numbers:
        name, title, uri, characters, since, until = connection.execute(
            "SELECT id, title, uri, characters, valid_from, valid_until FROM versions WHERE version = ?", (number,)
        ).fetchone()
        valid = dates.valid(since, until)
        if valid is None:
            raise damaged(path_of(connection), f"row {number} of versions tells no time")
        found.append(Version(name, title, uri, characters, valid))
    return found


@dataclass(frozen=True, slots=True)
class Former:
    """A former state of a document: as it stood, with its chunks in reading order.

    ``given`` has the vectors that came with chunks, packed, None for one that was made of the text; ``dated`` are the
    columns of that name.
    """

    document: Document
    sha256: bytes
    valid: Valid
    chunks: tuple[Chunk, ...]
    given: tuple[bytes | None, ...]
    dated: dates.Columns


def load(connection: Connection, numbers: Iterable[int]) -> Iterator[Former]:
    """Former states, in the order asked for. Raises DamagedFile if one cannot be read."""
    for number in numbers:
        with decoding(connection, f"row {number} of versions"):
            former = _former(connection, number)
        yield former


def _former(connection: Connection, number: int) -> Former:
    name, since, until, uri, title, metadata, sections, sha256, characters, text, *dated = connection.execute(
        """SELECT id, valid_from, valid_until, uri, title, metadata, sections, sha256, characters, text, dated,
        dated_until, dated_by FROM versions WHERE version = ?""",
        (number,),
    ).fetchone()
    if len(text) != characters:
        raise ValueError(f"{len(text):,} of the {characters:,} characters of its text are there")
    valid = dates.valid(since, until)
    if valid is None:
        raise ValueError("it tells no time")
    document = Document(
        text=text,
        id=name,
        title=title,
        uri=uri,
        metadata=loaded_object(metadata),
        sections=documents.loaded_sections(sections),
        date=dates.loaded(*dated),
        valid=valid,
    )
    chunks, given = [], []
    for own, ordinal, start, stop, said, value in connection.execute(
        """SELECT c.id, c.ordinal, c.start, c."end", c.metadata,
            CASE WHEN m.key = given_key(m.value) THEN m.value END
        FROM version_chunks AS c LEFT JOIN memo AS m ON m.memo = c.vector WHERE c.version = ? ORDER BY c.ordinal""",
        (number,),
    ):
        if not 0 <= start < stop <= len(text):
            raise ValueError(f"its chunk {own!r} reaches from {start} to {stop}")
        chunks.append(Chunk(own, name, text[start:stop], start, stop, ordinal, loaded_object(said)))
        given.append(value)
    columns = (dated[0], dated[1], dated[2])
    return Former(document, sha256, valid, tuple(chunks), tuple(given), columns)


def mark(connection: Connection, some: Iterable[Former]) -> None:
    """Date documents that stand in a copy as they once did."""
    connection.executemany(
        """UPDATE documents SET valid_from = ?1, valid_until = ?2, dated = ?3, dated_until = ?4, dated_by = ?5,
        dates_checksum = checksum(?1) WHERE id = ?6""",
        ((one.valid.since, one.valid.until, *one.dated, one.document.id) for one in some),
    )


def clear(connection: Connection) -> None:
    """Take out all former states."""
    connection.execute("DELETE FROM version_chunks")
    connection.execute("DELETE FROM versions")


def drop_vectors(connection: Connection) -> None:
    """Let go the vectors of former chunks, of a model that the file has no more, and those that came with them."""
    found = connection.execute(
        """SELECT DISTINCT version FROM version_chunks JOIN memo ON memo = vector WHERE key = given_key(value)"""
    ).fetchall()
    sound = [number for (number,) in found if is_sound(connection, number)]
    connection.execute("UPDATE version_chunks SET vector = NULL")
    seals = ((_checksum(connection, number), number) for number in sound)
    connection.executemany("UPDATE versions SET checksum = ? WHERE version = ?", seals)


def drop_extractions(connection: Connection) -> None:
    """Let go what another model found in former chunks than the file has now."""
    connection.execute("UPDATE version_chunks SET extraction = NULL")


def _checksum(connection: Connection, number: int) -> int:
    """Return the checksum of a former state's content: that of its document, when it stood."""
    *own, text = connection.execute(
        """SELECT CAST(id AS BLOB), CAST(uri AS BLOB), CAST(title AS BLOB), CAST(metadata AS BLOB),
        CAST(sections AS BLOB), sha256, characters, CAST(text AS BLOB) FROM versions WHERE version = ?""",
        (number,),
    ).fetchone()
    chunks = connection.execute(
        f"""SELECT CAST(c.id AS BLOB), c.ordinal, c.start, c."end", CAST(c.metadata AS BLOB), {checksums.GIVEN}
        FROM version_chunks AS c LEFT JOIN memo AS m ON m.memo = c.vector
        WHERE c.version = ? ORDER BY c.ordinal""",  # noqa: S608 - a constant
        (number,),
    ).fetchall()
    return checksums.of_content(own, text, chunks)


def is_sound(connection: Connection, number: int) -> bool:
    """Return whether a former state is as it was stored."""
    stored, *dates = connection.execute(
        """SELECT checksum, dates_checksum, checksum(valid_from, valid_until, dated, dated_until, dated_by)
        FROM versions WHERE version = ?""",
        (number,),
    ).fetchone()
    return bool(stored == _checksum(connection, number) and dates[0] == dates[1])


def wrong(connection: Connection) -> Iterator[int]:
    """Yield the rows of the former states that are not what was stored."""
    for (number,) in connection.execute("SELECT version FROM versions ORDER BY version").fetchall():
        if not is_sound(connection, number):
            yield number


def name_of(connection: Connection, number: int) -> str:
    """The id of a former state's document, whatever its bytes are."""
    (name,) = connection.execute("SELECT CAST(id AS BLOB) FROM versions WHERE version = ?", (number,)).fetchone()
    return bytes(name).decode("utf-8", "replace")


def lacking(connection: Connection, second: int, *, graph: bool) -> list[int]:
    """Return rows of previous versions, valid at a second, that lack a vector or, if asked, an extraction."""
    found = connection.execute(
        """SELECT version FROM versions AS v WHERE valid_from <= ?1 AND ?1 < valid_until AND EXISTS (
            SELECT 1 FROM version_chunks AS c
            WHERE c.version = v.version AND (c.vector IS NULL OR (?2 AND c.extraction IS NULL)))""",
        (second, graph),
    ).fetchall()
    return [int(number) for (number,) in found]


def assign(connection: Connection, number: int, made: Iterable[tuple[int, int | None, int | None]]) -> None:
    """Note where what was made of a former state's chunks is remembered: (ordinal, vector, extraction)."""
    connection.executemany(
        """UPDATE version_chunks SET vector = coalesce(?3, vector), extraction = coalesce(?4, extraction)
        WHERE version = ?1 AND ordinal = ?2""",
        ((number, *one) for one in made),
    )


def moment_of(found: Ending | None) -> int | None:
    """The second in which what is stored begins; None in a file that keeps no former versions."""
    return None if found is None else found.moment


def drop_unsupported(connection: Connection) -> None:
    """Delete the tree of summaries and the former versions, and have the file keep neither from now on."""
    tree.clear(connection)
    connection.execute("DELETE FROM settings WHERE name = 'summarizer'")
    checksums.drop(connection, "settings/summarizer")
    built = settings.load(connection)
    if built is not None and built.history:
        drop(connection, ended_by(connection, _EVER))
        settings.save(connection, replace(built, history=False))
