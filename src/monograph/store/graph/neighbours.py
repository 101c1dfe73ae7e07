"""The graph from the side of entities: their names, the chunks that name them, the documents that are about them.

An entity is identified by the row of its head. ``members`` are heads by the row of each name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from monograph.dates.span import TimeSpan
from monograph.store.documents import documents
from monograph.store.file.database import Connection

_ENTITIES = """(SELECT COALESCE(h.head, n.head, n.name) AS entity, n.key AS key, n.uses AS uses
    FROM names AS n LEFT JOIN names AS h ON h.name = n.head WHERE n.uses > 0)"""


@dataclass(frozen=True, slots=True)
class Titled:
    """A document whose title names an entity; the qualifier is the part of the title in parentheses."""

    entity: int
    document: int
    id: str
    title: str
    qualifier: str


@dataclass(frozen=True, slots=True)
class Place:
    """The document of a chunk, and the chunk's place in it."""

    id: str
    document: int
    document_id: str
    title: str
    ordinal: int


def count_nodes(connection: Connection) -> int:
    """Return the number of chunks in the graph."""
    (count,) = connection.execute("SELECT count(*) FROM chunk_graphs").fetchone()
    return int(count)


def most_named(connection: Connection, k: int, like: str = "") -> list[int]:
    """Return at most k entities, the most used first; with ``like`` only those with a key that contains it."""
    found = connection.execute(
        f"""SELECT entity FROM {_ENTITIES} GROUP BY entity
        HAVING max(instr(key, ?1)) > 0 OR ?1 = '' ORDER BY sum(uses) DESC, min(key) LIMIT ?2""",  # noqa: S608
        (like, k),
    ).fetchall()
    return [int(row) for (row,) in found]


def with_name_like(connection: Connection, key: str, most: int) -> list[int]:
    """Return at most ``most`` entities with a name like a key, the most used first.

    These are the entities with a name that has the key as whole words; if there are none, those with a name that begins
    with it; else those with a name that contains it.
    """
    for condition in ("instr(' ' || key || ' ', ' ' || ? || ' ') > 0", "instr(key, ?) = 1", "instr(key, ?) > 0"):
        found = connection.execute(
            f"""SELECT entity FROM {_ENTITIES} WHERE {condition}
            GROUP BY entity ORDER BY sum(uses) DESC, min(key) LIMIT ?""",  # noqa: S608 - constants
            (key, most),
        ).fetchall()
        if found:
            return [int(row) for (row,) in found]
    return []


def spelt_alike(connection: Connection, key: str, signature: int, letters: int, most: int) -> list[str]:
    """Return at most ``most`` keys of names in use that share the signature or the first letters, most used first."""
    found = connection.execute(
        """SELECT key FROM names WHERE uses > 0 AND (signature = ? OR substr(key, 1, ?) = ?)
        ORDER BY uses DESC, key LIMIT ?""",
        (signature, letters, key[:letters], most),
    ).fetchall()
    return [str(name) for (name,) in found]


def chunk_counts(connection: Connection, members: Mapping[int, int]) -> dict[int, int]:
    """Return the number of chunks that name each entity."""
    return dict(
        connection.execute(
            """SELECT f.value, count(DISTINCT m.chunk) FROM json_each(?) AS f CROSS JOIN mentions AS m
            WHERE m.name = CAST(f.key AS INTEGER) GROUP BY f.value""",
            (json.dumps(members),),
        )
    )


def seen(connection: Connection, members: Mapping[int, int]) -> dict[int, TimeSpan]:
    """Return the time span of the documents that name each entity; those without a date of their own do not count."""
    if documents.newest(connection) is None:
        return {}
    found = connection.execute(
        f"""SELECT f.value, min(d.dated), max(d.dated_until) FROM json_each(?) AS f CROSS JOIN mentions AS m
        CROSS JOIN chunks AS c CROSS JOIN documents AS d
        WHERE m.name = CAST(f.key AS INTEGER) AND c.chunk = m.chunk AND d.document = c.document AND {documents.TOLD}
        GROUP BY f.value""",  # noqa: S608 - a constant
        (json.dumps(members),),
    ).fetchall()
    spans = ((entity, documents.loaded_span(first, last)) for entity, first, last in found)
    return {entity: one for entity, one in spans if one is not None}


def seen_in(connection: Connection, chunks: Iterable[int]) -> TimeSpan | None:
    """Return the time span of the documents of some chunks, as :func:`seen` does."""
    first, last = connection.execute(
        f"""SELECT min(d.dated), max(d.dated_until) FROM json_each(?) AS f CROSS JOIN chunks AS c
        CROSS JOIN documents AS d WHERE c.chunk = f.value AND d.document = c.document AND {documents.TOLD}""",  # noqa: S608
        (json.dumps(list(chunks)),),
    ).fetchone()
    return documents.loaded_span(first, last)


def chunks_naming(connection: Connection, members: Mapping[int, int], most: int) -> list[tuple[int, int, str, int]]:
    """Return (entity, 0 for a chunk of a document about it, else 1, id, chunk), in this order, ``most`` of each entity.

    Ids are hashes, so the choice is as good as random, and the same in every file of the same documents.
    """
    return connection.execute(
        """WITH named AS (
            SELECT f.value AS entity, c.chunk AS chunk, c.id AS id, max(EXISTS (
                SELECT 1 FROM subjects AS s WHERE s.name = m.name AND s.document = c.document)) AS about
            FROM json_each(?) AS f CROSS JOIN mentions AS m CROSS JOIN chunks AS c
            WHERE m.name = CAST(f.key AS INTEGER) AND c.chunk = m.chunk GROUP BY 1, 2)
        SELECT entity, 1 - about, id, chunk FROM (
            SELECT entity, about, id, chunk, row_number() OVER (
                PARTITION BY entity ORDER BY about DESC, id) AS place FROM named)
        WHERE place <= ? ORDER BY entity, place""",
        (json.dumps(members), most),
    ).fetchall()


def titled(connection: Connection, members: Mapping[int, int]) -> list[Titled]:
    """Return the documents whose titles name entities, in order of id."""
    found = connection.execute(
        """SELECT f.value, s.document, d.id, d.title, s.qualifier
        FROM json_each(?) AS f CROSS JOIN subjects AS s CROSS JOIN documents AS d
        WHERE s.name = CAST(f.key AS INTEGER) AND s.by_title AND d.document = s.document ORDER BY d.id, s.qualifier""",
        (json.dumps(members),),
    ).fetchall()
    return [Titled(*row) for row in found]


def first_chunks(connection: Connection, documents: Iterable[int], most: int) -> dict[int, list[int]]:
    """Return the first chunks of documents, at most ``most`` of each."""
    found: dict[int, list[int]] = {}
    for document, chunk in connection.execute(
        """SELECT c.document, c.chunk FROM json_each(?) AS d CROSS JOIN chunks AS c
        WHERE c.document = d.value AND c.ordinal < ? ORDER BY c.document, c.ordinal""",
        (json.dumps(list(documents)), most),
    ):
        found.setdefault(document, []).append(chunk)
    return found


def places(connection: Connection, chunks: Iterable[int]) -> dict[int, Place]:
    """Return the places of chunks, by row."""
    found = connection.execute(
        """SELECT c.chunk, c.id, c.document, d.id, d.title, c.ordinal FROM json_each(?) AS w
        CROSS JOIN chunks AS c CROSS JOIN documents AS d WHERE c.chunk = w.value AND d.document = c.document""",
        (json.dumps(list(chunks)),),
    ).fetchall()
    return {row[0]: Place(*row[1:]) for row in found}


def all_nodes(connection: Connection) -> list[int]:
    """Return the chunks in the graph, ascending."""
    return [int(row) for (row,) in connection.execute("SELECT chunk FROM chunk_graphs ORDER BY chunk")]


def stated(connection: Connection, keys: Sequence[str]) -> list[tuple[str, str, str, str]]:
    """Return (title, id, short key, full key) of the documents that state a short name (of ``keys``), in order."""
    return connection.execute(
        """SELECT d.title, d.id, s.key, f.key FROM aliases AS a
        JOIN names AS s ON s.name = a.name JOIN names AS f ON f.name = a.full JOIN documents AS d USING (document)
        WHERE ?1 = '[]' OR s.key IN (SELECT value FROM json_each(?1)) ORDER BY d.title, d.id""",
        (json.dumps(list(keys), ensure_ascii=False),),
    ).fetchall()


def stating(given: Iterable[tuple[str, str, str, str]]) -> dict[tuple[str, str], list[str]]:
    """Return titles, or ids, of the documents that state a short name, by (short key, full key), of :func:`stated`."""
    found: dict[tuple[str, str], list[str]] = {}
    for title, name, short, full in given:
        found.setdefault((short, full), []).append(title or name)
    return found
