"""The inverted index held against the text: what FTS5 holds, and what it holds when the same texts are put in anew.

Both are brought to a few numbers that do not depend on the order of terms or chunks, so that neither is held in memory:
the texts are indexed a part at a time, and their numbers added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from monograph.store.documents import chunks, documents
from monograph.store.file import connections
from monograph.store.file.checksums import checksum
from monograph.store.file.database import Connection
from monograph.store.file.errors import sqlite_errors
from monograph.store.file.schema import INVERTED_INDEX, LENGTHS
from monograph.store.words import terms
from monograph.values import Finding

TABLES = ("words", "trigrams")
CHUNKS_AT_ONCE = 2_048
"""Chunks that are indexed anew together."""
_PRIME = (1 << 61) - 1
_VERSION = 4
"""Of FTS5's own format."""
_TOTALS = 1
"""The row of FTS5's data that counts rows and words."""
_PLACE = "(doc * 1000003 + COALESCE(offset, 0) * 2 + (COALESCE(col, '') = 'title')) & 1073741823"
"""A number for where a term stands; the sum of 2^33 of them is no more than SQLite can hold."""


_LookUp: TypeAlias = Callable[[Connection, str], Iterator[tuple[str, int, int]]]


@dataclass(frozen=True, slots=True)
class Held:
    """What an index holds: sums over terms and where they stand, and over chunks and their lengths; FTS5's totals."""

    terms: int = 0
    lengths: int = 0
    totals: tuple[int, ...] = ()

    def __add__(self, other: Held) -> Held:
        """What two indexes of different chunks hold together."""
        totals = (one + another for one, another in zip_longest(self.totals, other.totals, fillvalue=0))
        return Held((self.terms + other.terms) % _PRIME, (self.lengths + other.lengths) % _PRIME, tuple(totals))


def findings(connection: Connection) -> Iterator[Finding]:
    """What of the inverted index is not as the texts of the chunks imply; all of it can be made anew."""
    wanted, config = _wanted(connection)
    for table in TABLES:
        try:
            held, said = _held(connection, table, _as_searches), _config(connection, table)
        except sqlite_errors() as error:
            yield Finding(table, f"the index is damaged: {error}", repairable=True)
            continue
        if said != config[table]:
            yield Finding(table, "the index is of another format", repairable=True)
        if held != wanted[table]:
            yield Finding(table, "the index does not hold what the texts say", repairable=True)
    if not terms.lengths_are_right(connection):
        yield Finding("lengths", "they are not those of the inverted index", repairable=True)


def rebuild(connection: Connection) -> None:
    """Make the inverted index anew from the texts, whatever state it is in."""
    with closing(connections.in_memory(connection)) as empty:
        for statement in INVERTED_INDEX:
            empty.execute(statement)
        for table in TABLES:
            # What of it says how it is to be read comes first, or nothing of it can be touched.
            connection.execute(f"DELETE FROM {table}_config")  # noqa: S608
            connection.execute(f"INSERT INTO {table}_config VALUES ('version', {_VERSION})")  # noqa: S608
            connection.execute(f"DELETE FROM {table}_data")  # noqa: S608
            rows = empty.execute(f"SELECT id, block FROM {table}_data").fetchall()  # noqa: S608
            connection.executemany(f"INSERT INTO {table}_data VALUES (?, ?)", rows)  # noqa: S608
            connection.execute(f"DROP TABLE {table}")
    for statement in INVERTED_INDEX:
        connection.execute(statement)
    connection.execute("DELETE FROM lengths")
    terms.add(connection, entries(connection), trigrams=terms.has_trigrams(connection))


def index_anew(connection: Connection) -> None:
    """Empty a sound inverted index, and fill it from the texts."""
    terms.clear(connection)
    terms.add(connection, entries(connection), trigrams=terms.has_trigrams(connection))


def _wanted(connection: Connection) -> tuple[dict[str, Held], dict[str, dict[bytes, int]]]:
    """What each table must hold, and its configuration."""
    found = dict.fromkeys(TABLES, Held())
    whole = terms.has_trigrams(connection)
    config: dict[str, dict[bytes, int]] = {}
    for part in _parts(connection):
        with closing(connections.in_memory(connection)) as made:
            for statement in (*INVERTED_INDEX, LENGTHS):
                made.execute(statement)
            made.execute("BEGIN")
            terms.add(made, part, trigrams=whole)
            if not whole:
                held = terms.with_trigrams(connection, [one.chunk for one in part])
                terms.add_trigrams(made, [one for one in part if one.chunk in held])
            for table in TABLES:
                found[table] += _held(made, table, _at_once)
                config[table] = _config(made, table)
    return found, config


def _parts(connection: Connection) -> Iterator[list[terms.Entry]]:
    """All chunks as the index is to hold them, some at a time; at the end, or where there are none, an empty part."""
    part: list[terms.Entry] = []
    for entry in entries(connection):
        part.append(entry)
        if len(part) == CHUNKS_AT_ONCE:
            yield part
            part = []
    yield part


def entries(connection: Connection) -> Iterator[terms.Entry]:
    """What the index is to hold, chunk by chunk; of texts that are no UTF-8, what can be read."""
    for row in documents.numbers(connection):
        yield from entries_of(connection, row)


def entries_of(connection: Connection, document: int) -> Iterator[terms.Entry]:
    """What the index is to hold of a document, by its row."""
    title, text = documents.titled(connection, document)
    for chunk, start, end in chunks.spans_of(connection, document):
        yield terms.Entry(chunk, title, text[max(start, 0) : max(end, 0)])


@contextmanager
def _instances(connection: Connection, table: str) -> Iterator[str]:
    """A view of every place where a term of an index stands, while it is needed."""
    connection.execute(f"CREATE VIRTUAL TABLE temp.{table}_places USING fts5vocab(main, {table}, instance)")
    try:
        yield f"temp.{table}_places"
    finally:
        connection.execute(f"DROP TABLE temp.{table}_places")


def _held(connection: Connection, table: str, look_up: _LookUp) -> Held:
    with _instances(connection, table) as places:
        found = sum(checksum(term) * (count * 1_000_003 + place) for term, count, place in look_up(connection, places))
    lengths = sum(checksum(*row) for row in connection.execute(f"SELECT id, sz FROM {table}_docsize"))  # noqa: S608
    row = connection.execute(f"SELECT block FROM {table}_data WHERE id = {_TOTALS}").fetchone()  # noqa: S608
    totals = [] if row is None else list(terms.varints(row[0]))
    while totals and not totals[-1]:
        totals.pop()  # An index that was emptied counts nothing, where a new one has nothing to count.
    return Held(found % _PRIME, lengths % _PRIME, tuple(totals))


def _as_searches(connection: Connection, places: str) -> Iterator[tuple[str, int, int]]:
    """(term, how often it stands in the index, sum of where), each looked up, which goes by other rows than reading."""
    query = f"SELECT count(*), COALESCE(sum({_PLACE}), 0) FROM {places} WHERE term = ?"  # noqa: S608
    for (term,) in connection.execute(f"SELECT DISTINCT term FROM {places}"):  # noqa: S608
        yield (term, *connection.execute(query, (term,)).fetchone())


def _at_once(connection: Connection, places: str) -> Iterator[tuple[str, int, int]]:
    """The same, read from one end to the other."""
    # In the order of terms that the view has: nothing is sorted.
    return connection.execute(f"SELECT term, count(*), sum({_PLACE}) FROM {places} GROUP BY term")  # noqa: S608


def _config(connection: Connection, table: str) -> dict[bytes, int]:
    return dict(connection.execute(f"SELECT CAST(k AS BLOB), v FROM {table}_config"))  # noqa: S608
