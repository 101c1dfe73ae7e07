"""Rows of a shelf's catalogue (names of all shards) and contents files (hashes of a shard's documents)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from typing import Any, TypeAlias

from monograph.store.documents import documents
from monograph.store.file.database import Connection
from monograph.store.file.rows import scalar, select
from monograph.store.graph import names
from monograph.store.words import terms

Rows: TypeAlias = Sequence[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Totals:
    """Counts of one shard, and the date of its newest document.

    ``words`` is the number of words in all chunks.
    ``newest`` is the last second of the newest document's date, in seconds since 1970; None if no document has a date.
    Dates that were taken from the time of a file do not count.
    """

    documents: int
    chunks: int
    words: int
    newest: int | None


@dataclass(frozen=True, slots=True)
class Share:
    """Names and counts of one shard. If it is loaded from a catalogue: names and counts of all shards.

    ``names`` has a row for each name whose uses are above 0 or that is in ``aliases``, in order of key. The values:

    - key: the form in which names are compared;
    - signature: a number that the spellings of one name have in common (:func:`monograph.graph.names.signature`);
    - code: one bit for the sign of each value of the name's embedding, as bytes; None without an embedding;
    - uses: number of chunks that mention the name, plus number of documents that are about the name;
    - persons: number of chunks in which the name is a person's;
    - whether a document is about the name.

    ``aliases`` has (key of the short name, key of the full name) for each short name that a document defines, in order
    of the keys. ``totals`` has one item for each shard.
    """

    names: Rows
    aliases: Rows
    totals: Sequence[Totals]


def load_share(connection: Connection) -> Share:
    """Return the names and counts of a shard. For a catalogue, return the names and counts of all its shards."""
    names_query = """SELECT key, signature, code, uses, persons,
        EXISTS (SELECT 1 FROM subjects AS s WHERE s.name = n.name) FROM names AS n
        WHERE uses > 0 OR name IN (SELECT name FROM aliases UNION SELECT full FROM aliases) ORDER BY key"""
    aliases_query = """SELECT DISTINCT n.key, f.key FROM aliases AS a JOIN names AS n USING (name)
        JOIN names AS f ON f.name = a.full ORDER BY n.key, f.key"""
    shared, aliases = (connection.execute(query).fetchall() for query in (names_query, aliases_query))
    return Share(shared, aliases, load_totals(connection))


def load_totals(connection: Connection) -> list[Totals]:
    """Return the counts of each shard of a catalogue, in order; for another file, a list with its own counts."""
    stored = scalar(connection, "SELECT value FROM settings WHERE name = 'shards'")
    if stored is None:
        return [Totals(documents.count(connection), *terms.totals(connection), documents.newest(connection))]
    return [Totals(*counts) for counts in json.loads(stored)]


def store_shares(connection: Connection, shares: Iterable[Share]) -> None:
    """Store the names and counts of all shards in a catalogue that has no names yet.

    ``shares`` are in the order of the shards. The counts ``uses`` and ``persons`` of a name are summed over the shards.
    The name's ``code``, the signs of its embedding, is taken from the first shard that has a code for the name. The
    rows of ``subjects`` and ``aliases`` have 0 as document, because the catalogue has no documents.
    """
    connection.execute("CREATE TEMP TABLE shares (shard, key, signature, code, uses, persons, is_subject)")
    connection.execute("CREATE TEMP TABLE stated (key, full)")
    totals: list[Totals] = []
    for shard, share in enumerate(shares):
        totals += share.totals
        connection.executemany(f"INSERT INTO shares VALUES ({shard}, ?, ?, ?, ?, ?, ?)", share.names)  # noqa: S608
        connection.executemany("INSERT INTO stated VALUES (?, ?)", share.aliases)
    totals_json = json.dumps([astuple(counts) for counts in totals])
    connection.execute("INSERT OR REPLACE INTO settings VALUES ('shards', ?)", (totals_json,))
    # SQLite takes the column code from the row with the minimum.
    rows = connection.execute(
        """SELECT key, signature, code, sum(uses), sum(persons), min(iif(code IS NULL, NULL, shard))
        FROM shares GROUP BY key ORDER BY key"""
    ).fetchall()
    new, uses = list[names.NewName](), names.NameCounts()
    for row, (key, signature, code, use_count, person_count, _) in enumerate(rows, start=1):
        new.append(names.NewName(row, key, signature, code))
        uses.uses[row], uses.persons[row] = use_count, person_count
    names.add(connection, new, uses)
    connection.execute(
        """INSERT INTO subjects (name, document, by_title, qualifier)
        SELECT name, 0, 1, '' FROM names WHERE key IN (SELECT key FROM shares WHERE is_subject)"""
    )
    connection.execute(
        """INSERT INTO aliases (name, full, document) SELECT DISTINCT n.name, f.name, 0
        FROM stated AS s JOIN names AS n USING (key) JOIN names AS f ON f.key = s.full"""
    )
    connection.execute("DROP TABLE shares")
    connection.execute("DROP TABLE stated")


def copy_documents(source: Connection, target: Connection) -> None:
    """Store the ids, uris and hashes of all documents of one file in another file, without their texts."""
    target.executemany(
        """INSERT INTO documents (id, uri, title, metadata, sections, sha256, characters, checksum)
        VALUES (?, ?, '', '{}', '[]', ?, 0, ?)""",
        source.execute("SELECT id, uri, sha256, checksum FROM documents ORDER BY document"),
    )


def document_hashes(connection: Connection, ids: Sequence[str] | None = None) -> dict[str, bytes]:
    """Return {id: hash} of all documents, or of documents with the given ids; unknown ids are left out."""
    if ids is None:
        return dict(connection.execute("SELECT id, sha256 FROM documents"))
    return dict(select(connection, "SELECT id, sha256 FROM documents WHERE id IN", ids))


def documents_digest(connection: Connection) -> bytes:
    """Return a SHA-256 digest of the ids and hashes of all documents."""
    digest = hashlib.sha256()
    for name, sha256 in connection.execute("SELECT id, sha256 FROM documents ORDER BY id"):
        digest.update(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest() + sha256)
    return digest.digest()
