"""The integrity of every table against every other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import TypeAlias

from monograph.errors import MonographError
from monograph.regex import regex
from monograph.store.check import check_documents, check_graph
from monograph.store.documents import documents
from monograph.store.file import connections, schema
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE, is_index_fault, is_utf8, row_fault, sqlite_errors, sqlite_name
from monograph.store.graph import graphs
from monograph.store.graph.names import MOST_NAMES, code_size, without_code
from monograph.values import Finding

_PASSING = ("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_NOMEM", "SQLITE_INTERRUPT", "SQLITE_IOERR")
"""Errors that say nothing of the rows."""
_OF_INDEX = regex(r"fts5.*\b(words|trigrams)\b", re.IGNORECASE)

_QUERIES = (
    ("chunks", "chunks of documents that are not there", True,
     "SELECT count(*) FROM chunks WHERE document NOT IN (SELECT document FROM documents)"),
    ("chunks", "chunks that reach beyond their document's text", False,
     """SELECT count(*) FROM chunks JOIN documents USING (document)
        WHERE NOT (0 <= start AND start < "end" AND "end" <= characters)"""),
    ("vectors", "chunks without a vector", True,
     "SELECT count(*) FROM chunks WHERE chunk NOT IN (SELECT chunk FROM vectors)"),
    ("vectors", "vectors of chunks that are not there", True,
     "SELECT count(*) FROM vectors WHERE chunk NOT IN (SELECT chunk FROM chunks)"),
    ("vectors", "vectors whose value is not in the memo", True,
     "SELECT count(*) FROM vectors WHERE memo NOT IN (SELECT memo FROM memo)"),
    ("words", "chunks that are not in the index of words", True,
     "SELECT count(*) FROM chunks WHERE chunk NOT IN (SELECT id FROM words_docsize)"),
    ("words", "index rows of words without a chunk", True,
     "SELECT count(*) FROM words_docsize WHERE id NOT IN (SELECT chunk FROM chunks)"),
    ("trigrams", "chunks that are not in the index of trigrams", True,
     """SELECT count(*) FROM chunks WHERE chunk NOT IN (SELECT id FROM trigrams_docsize)
        AND NOT EXISTS (SELECT 1 FROM settings WHERE name = 'build' AND value LIKE '%"graph": false%')"""),
    ("trigrams", "index rows of trigrams without a chunk", True,
     "SELECT count(*) FROM trigrams_docsize WHERE id NOT IN (SELECT chunk FROM chunks)"),
    ("documents", "documents of files that are not known", True,
     "SELECT count(*) FROM documents WHERE source IS NOT NULL AND source NOT IN (SELECT source FROM sources)"),
)  # fmt: skip

_Schema: TypeAlias = dict[tuple[str, str], str | None]
"""What makes each table, index and trigger, by its type and name."""

_MADE_AGAIN = ("trigger", "index")
"""What holds nothing that is not in a table; triggers first, which may be why a table cannot be touched."""

_ALONE = "NOT EXISTS (SELECT 1 FROM apart AS other WHERE other.key = apart.full AND other.full = apart.key)"
_KNOWN = "apart.key IN (SELECT key FROM names) AND apart.full IN (SELECT key FROM names)"


def guarded(connection: Connection, table: str, part: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
    """A part of a check; where rows are such that it cannot be done, that is a finding."""
    try:
        yield from part()
    except MonographError as error:
        yield Finding(table, error.message, repairable=table not in ("file", "documents"))
    except sqlite_errors() as error:
        if sqlite_name(error).startswith(_PASSING):
            raise
        yield Finding(table, row_fault(connection, error) or str(error), repairable=table != "file")
    except UNDECODABLE as error:
        yield Finding(table, f"its rows contradict each other: {error!r}", repairable=True)


def of_file(connection: Connection) -> Iterator[Finding]:
    """What SQLite itself finds. Later ones, and SQLCipher, look into the inverted index as well, which is made anew."""
    try:
        broken = _integrity(connection, "20")
    except sqlite_errors() as error:
        if not is_index_fault(error):
            raise
        # Where FTS5 cannot even begin they look at nothing. What is wrong there the index itself tells.
        named = connection.execute(
            """SELECT '"' || replace(name, '"', '""') || '"' FROM sqlite_master WHERE type = 'table' AND rootpage > 0"""
        ).fetchall()
        broken = [fault for (name,) in named for fault in _integrity(connection, name)]
    for fault in broken:
        index = _OF_INDEX.search(fault)
        yield Finding("file" if index is None else index[1], fault, repairable=index is not None)


def _integrity(connection: Connection, what: str) -> list[str]:
    return [fault for (fault,) in connection.execute(f"PRAGMA integrity_check({what})") if fault != "ok"]


def of_tables(connection: Connection, dimension: int | None) -> Iterator[Finding]:
    """Rows that point to none, one finding a kind.

    Parameters
    ----------
    connection:
        A read transaction.
    dimension:
        The length every vector must have; None where the file holds none.
    """
    for table, fault, repairable, query in _QUERIES:
        (count,) = connection.execute(query).fetchone()
        if count:
            yield Finding(table, f"{count} {fault}", repairable)
    if dimension is not None:
        (count,) = connection.execute(
            "SELECT count(*) FROM vectors JOIN memo USING (memo) WHERE length(value) != ?", (4 * dimension,)
        ).fetchone()
        if count:
            yield Finding("vectors", f"{count} vectors that are not of length {dimension}", repairable=True)
        miscoded = len(wrong_codes(connection, code_size(dimension)))
        if miscoded:
            yield Finding("names", f"{miscoded} names have another code than was stored", repairable=True)
        uncoded = len(without_code(connection, graphs.embedded_keys(connection), code_size(dimension)))
        if uncoded:
            yield Finding("names", f"{uncoded} names without the signs of their embeddings", repairable=True)


def of_texts(connection: Connection) -> Iterator[Finding]:
    """Texts that have lost a part, or belong to nothing."""
    for row, characters in connection.execute("SELECT document, characters FROM documents").fetchall():
        if len(documents.titled(connection, row)[1]) != characters:
            name = documents.name_of(connection, row)
            yield Finding("texts", f"document {name!r} has lost a part of its text", False, check_documents.MEND)
    (count,) = connection.execute(
        "SELECT count(*) FROM texts WHERE block >> 24 NOT IN (SELECT document FROM documents)"
    ).fetchone()
    if count:
        yield Finding("texts", f"{count} blocks of text without a document", repairable=True)


def index_fault(connection: Connection) -> Finding | None:
    """Whether the inverted index contradicts itself. FTS5 checks in a write, so this needs a write transaction."""
    for table in ("words", "trigrams"):
        try:
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('integrity-check')")  # noqa: S608 - two constants
        except sqlite_errors() as error:
            return Finding(table, f"the index is damaged: {error}", repairable=True)
    return None


def drop_strays(connection: Connection) -> None:
    """Delete rows that belong to nothing, and cut off what a missing memo value left behind."""
    connection.execute("PRAGMA defer_foreign_keys = ON")
    connection.execute("DELETE FROM chunks WHERE document NOT IN (SELECT document FROM documents)")
    check_graph.drop_strays(connection)
    connection.execute("DELETE FROM vectors WHERE chunk NOT IN (SELECT chunk FROM chunks)")
    connection.execute("DELETE FROM vectors WHERE memo NOT IN (SELECT memo FROM memo)")
    connection.execute("DELETE FROM texts WHERE block >> 24 NOT IN (SELECT document FROM documents)")
    connection.execute(
        "UPDATE documents SET source = NULL WHERE source IS NOT NULL AND source NOT IN (SELECT source FROM sources)"
    )


def of_schema(connection: Connection) -> Iterator[Finding]:
    """What is missing of the schema, is too much, or is not as it was made."""
    held, wanted = _schema(connection), _new_schema(connection)
    for kind, name in sorted(held.keys() | wanted.keys()):
        if held.get((kind, name), "") != wanted.get((kind, name), ""):
            yield Finding("schema", f"the {kind} {name!r} is not as it was made", repairable=kind in _MADE_AGAIN)


def mend_schema(connection: Connection) -> None:
    """Make triggers and indexes anew that are not as they were made; tables stay as they are."""
    held, wanted = _schema(connection), _new_schema(connection)
    for kind in _MADE_AGAIN:
        wrong = [one for one in held.keys() | wanted.keys() if one[0] == kind and held.get(one) != wanted.get(one)]
        for _, name in wrong:
            quoted = name.replace('"', '""')
            if (kind, name) in held:
                connection.execute(f'DROP {kind} "{quoted}"')
        for one in wrong:
            if (statement := wanted.get(one)) is not None:
                connection.execute(statement)


def _schema(connection: Connection) -> _Schema:
    return {(kind, name): made for kind, name, made in connection.execute("SELECT type, name, sql FROM sqlite_master")}


def _new_schema(connection: Connection) -> _Schema:
    with closing(connections.in_memory(connection)) as made:
        schema.create_tables(made)
        return _schema(made)


def wrong_codes(connection: Connection, size: int) -> list[int]:
    """Rows of the names whose key or code is not what was stored; a code that is not of so many bytes is as if lost."""
    found = connection.execute(
        """SELECT name FROM names WHERE checksum NOT NULL AND length(code) = ?
        AND checksum != checksum(CAST(key AS BLOB), code)""",
        (size,),
    ).fetchall()
    return [int(row) for (row,) in found]


def forget_codes(connection: Connection, rows: Iterable[int]) -> None:
    """Forget the codes of some names."""
    asked = [(row,) for row in rows]
    connection.executemany("INSERT OR IGNORE INTO unresolved VALUES (?)", asked)
    connection.executemany("UPDATE names SET code = NULL, checksum = NULL WHERE name = ?", asked)


def with_other_signature(connection: Connection, signature: Callable[[str], int]) -> list[tuple[int, int]]:
    """(row, signature that it should have) of the names that have another than their key gives."""
    return [
        (int(row), wanted)
        for row, key, held in connection.execute("SELECT name, key, signature FROM names")
        if (wanted := signature(key)) != held
    ]


def sign(connection: Connection, signatures: Iterable[tuple[int, int]]) -> None:
    """Give names their signatures: (row, signature)."""
    connection.executemany("UPDATE names SET signature = ?2 WHERE name = ?1", signatures)


def drop_unusable(connection: Connection) -> None:
    """Forget names whose key is no UTF-8, for nothing is called so, and those whose number no chunk can hold.

    The graph must be made anew after it.
    """
    connection.execute("DELETE FROM names WHERE name NOT BETWEEN 0 AND ?", (MOST_NAMES - 1,))
    rows = connection.execute("SELECT name, CAST(key AS BLOB) FROM names").fetchall()
    connection.executemany("DELETE FROM names WHERE name = ?", [(row,) for row, key in rows if not is_utf8(key)])


def mend_apart(connection: Connection) -> None:
    """Let pairs that were set apart stand in both orders again, by the one of two rows that is right."""
    rows = connection.execute("SELECT CAST(key AS BLOB), CAST(full AS BLOB) FROM apart").fetchall()
    connection.executemany(
        "DELETE FROM apart WHERE CAST(key AS BLOB) = ? AND CAST(full AS BLOB) = ?",
        [pair for pair in rows if not all(map(is_utf8, pair))],
    )
    # Of two rows without the other order the one is wrong that says of a name what no document does.
    connection.execute(
        f"""DELETE FROM apart WHERE {_ALONE} AND NOT ({_KNOWN})
        AND EXISTS (SELECT 1 FROM apart WHERE {_ALONE} AND {_KNOWN})"""  # noqa: S608 - constants
    )
    connection.execute("INSERT OR IGNORE INTO apart SELECT full, key FROM apart")
