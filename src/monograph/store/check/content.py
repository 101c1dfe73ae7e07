"""Rules for content: documents, files, previous versions and assertions.

Content cannot be derived from other rows of the file, so a repair cannot restore texts that are lost.
"""

# ruff: noqa: S608 - every statement is made of constants

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial

from monograph.store import versions
from monograph.store.check.rules import DELETE, CheckedRows, Rule
from monograph.store.documents import chunks, documents
from monograph.store.file.checksums import checksum
from monograph.store.file.errors import UNDECODABLE, is_utf8
from monograph.store.file.rows import integer, loaded_object
from monograph.store.graph.assertions import STORED, TABLES, AssertionOrigin, imply_node

_ADD_AGAIN = "remove it, then sync or add it again"
_DOCUMENT_TEXTS = (
    ("documents", "document = ?", ("id", "uri", "title", "metadata", "sections")),
    ("chunks", "document = ?", ("id", "metadata", "merged")),
    ("texts", "block >> 24 = ?", ("text",)),
)
"""(table, SQL condition for the rows of one document, columns of text) of each table with texts of documents."""

# Documents.


def _make_readable(checked: CheckedRows) -> None:
    """Make texts and JSON of damaged documents decodable, so that values can be derived from these documents again."""
    connection = checked.connection
    for row in sorted(checked.damaged):
        characters = integer(connection, "SELECT characters FROM documents WHERE document = ?", row)
        for table, condition, columns in _DOCUMENT_TEXTS:
            for column in columns:
                query = f"SELECT rowid, CAST({column} AS BLOB) FROM {table} WHERE {condition} AND {column} IS NOT NULL"
                for number, value in connection.execute(query, (row,)).fetchall():
                    text = value.decode("utf-8", "replace")
                    if table == "texts" and not is_utf8(value):
                        before = (number - documents.blocks_of(row)[0]) * documents.BLOCK_CHARACTERS
                        # The block keeps its length, so that the positions of the text in later blocks do not change.
                        length = min(documents.BLOCK_CHARACTERS, characters - before)
                        text = text[:length].ljust(length, "\ufffd")
                    if column in _JSON:
                        try:
                            _JSON[column](text)
                        except UNDECODABLE:
                            damaged = json.dumps({"damaged": text}, ensure_ascii=False)
                            text = "[]" if column == "sections" else damaged
                    if text.encode() != value:
                        # The document stays damaged, and a check still reports it.
                        connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (text, number))


_JSON: dict[str, Callable[[str], object]] = {
    "metadata": loaded_object,
    "merged": loaded_object,
    "sections": documents.loaded_sections,
}
"""Names of the columns that hold JSON, and the function that decodes each of these columns."""

_MISNUMBERED = """SELECT place, block FROM (
        SELECT block, document << 24 | row_number() OVER (PARTITION BY document ORDER BY block) - 1 AS place
        FROM texts JOIN documents ON document = block >> 24
        WHERE document NOT IN (SELECT value FROM json_each(:broken)))
    WHERE place != block ORDER BY block"""
"""Query for (right value, stored value) of wrong numbers of text blocks, in undamaged documents."""


def _find_wrong_merged(checked: CheckedRows) -> Iterator[tuple[str | None, int]]:
    """Yield (right value, chunk row) of the chunks of undamaged documents whose column ``merged`` is wrong."""
    rows = checked.connection.execute(
        """SELECT chunk, d.document, d.metadata, c.metadata, merged
        FROM chunks AS c JOIN documents AS d USING (document) WHERE c.metadata != '{}' OR merged IS NOT NULL"""
    ).fetchall()
    for row, document, document_metadata, chunk_metadata, merged in rows:
        if document not in checked.damaged:
            expected = chunks.merged_metadata(loaded_object(document_metadata), loaded_object(chunk_metadata))
            if expected != merged:
                yield expected, row


def _find_wrong_dates(checked: CheckedRows, *, is_found_again: bool) -> Iterator[tuple[int | None, ...]]:
    """Derive the dates of documents with wrong dates: yield (dated, dated_until, dated_by, document row)."""
    for row, since, stored, modified_ns in checked.connection.execute(
        """SELECT document, valid_from, dates_checksum, modified_ns FROM documents LEFT JOIN sources USING (source)
        WHERE dates_checksum IS NOT checksum(valid_from, dated, dated_until, dated_by)"""
    ).fetchall():
        if row not in checked.damaged:
            document = documents.load(checked.connection, documents.by_number(checked.connection, row))
            of_chunks = (loaded.chunk.metadata for loaded in chunks.of_document(checked.connection, row))
            dated = documents.date_columns((document.metadata, *of_chunks), document.title, document.text)
            if dated[0] is None and isinstance(modified_ns, int) and modified_ns >= 0:
                dated = (modified_ns // 10**9, modified_ns // 10**9, documents.BY_FILE)
            # With is_found_again, documents whose derived dates match the checksum; without it, the others.
            if is_found_again == (stored == checksum(since, *dated)):
                yield *dated, row


def _find_wrong_lengths(checked: CheckedRows) -> Iterator[tuple[int]]:
    """Yield the row of each damaged document whose text does not have the length in the column ``characters``."""
    for row, characters in checked.execute("SELECT document, characters FROM documents"):
        if row in checked.damaged and len(documents.titled(checked.connection, row)[1]) != characters:
            yield (row,)


DOCUMENTS = (
    Rule("documents", "the content of document {!r} does not match its checksum",
         lambda checked: [documents.name_of(checked.connection, row) for row in sorted(checked.damaged)],
         _make_readable, _ADD_AGAIN),
    Rule("texts", "{} documents whose text has the wrong length", _find_wrong_lengths, None, _ADD_AGAIN),
    Rule("texts", "{} text blocks with a wrong number", _MISNUMBERED,
         "UPDATE texts SET block = ? WHERE block = ?"),
    Rule("texts", "{} text blocks without a document",
         "block >> 24 NOT IN (SELECT document FROM documents)", DELETE),
    Rule("chunks", "{} chunks that reach beyond their document's text",
         """SELECT 1 FROM chunks JOIN documents USING (document)
         WHERE NOT (0 <= start AND start < "end" AND "end" <= characters)"""),
    Rule("chunks", "{} chunks of missing documents",
         "document NOT IN (SELECT document FROM documents)", DELETE),
    Rule("chunks", "{} chunks whose merged metadata is wrong",
         _find_wrong_merged, "UPDATE chunks SET merged = ? WHERE chunk = ?"),
    Rule("documents", "{} documents whose stored date is wrong", partial(_find_wrong_dates, is_found_again=True),
         "UPDATE documents SET dated = ?, dated_until = ?, dated_by = ? WHERE document = ?"),
    Rule("documents", "{} documents whose date or start of validity does not match its checksum",
         partial(_find_wrong_dates, is_found_again=False)),
    Rule("documents", "{} current documents with an end of validity",
         "valid_until IS NOT NULL", "SET valid_until = NULL"),
)  # fmt: skip

# Files, compared with the uris of their documents.

_BEGINS = "substr(CAST(d.uri AS BLOB), 1, length(CAST(s.uri AS BLOB))) = CAST(s.uri AS BLOB)"
_UNKNOWN = "source IS NOT NULL AND source NOT IN (SELECT source FROM sources)"
_RENAMED = f"s.source IN (SELECT source FROM documents AS d WHERE d.source = s.source AND NOT {_BEGINS})"
_BELOW = "(t.uri = r.name OR substr(t.uri, 1, length(r.name) + 1) = r.name || '/')"

_FIND_SOURCES = (
    f"""UPDATE OR IGNORE sources AS s
    SET source = (SELECT min(source) FROM documents AS d WHERE {_UNKNOWN} AND {_BEGINS})
    WHERE source NOT IN (SELECT source FROM documents WHERE source IS NOT NULL)
    AND EXISTS (SELECT 1 FROM documents AS d WHERE {_UNKNOWN} AND {_BEGINS})""",
    f"""UPDATE documents AS d
    SET source = (SELECT source FROM sources AS s WHERE {_BEGINS} ORDER BY length(uri) DESC)
    WHERE source IS NOT NULL AND EXISTS (SELECT 1 FROM sources AS s WHERE {_BEGINS})
    AND NOT EXISTS (SELECT 1 FROM sources AS s WHERE s.source = d.source AND {_BEGINS})""",
    f"UPDATE documents SET source = NULL WHERE {_UNKNOWN}",
    f"""UPDATE OR IGNORE sources AS s SET uri = (
        SELECT CAST(substr(CAST(d.uri AS BLOB), 1, length(CAST(s.uri AS BLOB))) AS TEXT) FROM documents AS d
        WHERE d.source = s.source ORDER BY length(d.uri)) WHERE {_RENAMED}""",
)
"""Statements that link documents to their files by uri. Documents without a stored file are unlinked."""
SOURCES = (
    Rule("documents", "{} documents of unknown files", _UNKNOWN, _FIND_SOURCES),
    Rule("sources", "{} files whose uri is not that of their documents",
         f"SELECT 1 FROM sources AS s WHERE {_RENAMED}", _FIND_SOURCES),
    Rule("sources", "{} files that are not in their root",
         f"NOT EXISTS (SELECT 1 FROM roots AS r WHERE r.name = t.root AND {_BELOW})",
         f"SET root = coalesce((SELECT name FROM roots AS r WHERE {_BELOW} ORDER BY length(name) DESC), root)"),
)  # fmt: skip

# Previous versions.

VERSIONS = (
    Rule("versions", "a previous version of document {} does not match its checksum",
         lambda checked: (f"{name!r} (row {row})" for row, name in versions.wrong(checked.connection)), None,
         "restore the file from a copy, or delete the version: monograph forget FILE ID --versions-before DATE"),
    Rule("version_chunks", "{} chunks of missing previous versions",
         "version NOT IN (SELECT version FROM versions)", DELETE),
    *(Rule("version_chunks", f"{{}} chunks of previous versions whose {column} is not in the memo",
           f"{column} IS NOT NULL AND {column} NOT IN (SELECT memo FROM memo)", f"SET {column} = NULL")
      for column in ("vector", "extraction")),
)  # fmt: skip

# Assertions.

_TEXTS = ("id", "label", "name", "key", "properties", "source", "target")

# Checksums are computed from the bytes of texts, because a damaged text may be no UTF-8.
_FAILS_CHECKSUM = {
    table: "checksum IS NOT checksum({})".format(
        ", ".join(f"CAST({column} AS BLOB)" if column in _TEXTS else column for column in columns.split(", "))
    )
    for table, columns in TABLES.items()
}
_ARE_SOUND = " AND ".join(f"NOT EXISTS (SELECT 1 FROM {table} WHERE {_FAILS_CHECKSUM[table]})" for table in TABLES)
_IS_STRAY = """(document IS NOT NULL AND document NOT IN (SELECT document FROM documents) OR chunk IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM chunks AS c WHERE c.chunk = t.chunk AND c.document IS t.document))"""
_MISSING_ENDS = " UNION ".join(
    f"""SELECT r.{end}, r.document, r.chunk FROM asserted_relations AS r WHERE {_ARE_SOUND} AND NOT EXISTS (
    SELECT 1 FROM asserted_nodes AS n WHERE n.id = r.{end} AND n.document IS r.document AND n.chunk IS r.chunk)"""
    for end in ("source", "target")
)
"""Query for (id of a missing node, document and chunk of its relation); empty if any assertion is damaged."""
_IS_OBJECT = "iif(json_valid(CAST(properties AS TEXT)), json_type(CAST(properties AS TEXT)), '') = 'object'"
_IS_VECTOR = f"typeof(embedding) IN ('null', 'blob') AND length(coalesce(embedding, x'')) % {STORED.itemsize} = 0"


def assertions(key_of: Callable[[str], str]) -> tuple[Rule, ...]:
    """Return the rules for assertions.

    ``key_of`` returns the comparison key of a name. It is needed to store a missing node at the end of a relation.
    """

    def imply(checked: CheckedRows) -> None:
        for name, *origin in checked.connection.execute(_MISSING_ENDS).fetchall():
            imply_node(checked.connection, name, key_of(name), AssertionOrigin(*origin))

    rules = []
    for table, columns in TABLES.items():
        name, fails = table.replace("_", " "), _FAILS_CHECKSUM[table]
        missing = f"{_IS_STRAY} AND NOT {fails}"
        texts = [column for column in columns.split(", ") if column in _TEXTS]
        tests = [f"typeof({column}) = 'text' AND is_utf8(CAST({column} AS BLOB))" for column in texts]
        tests += [_IS_OBJECT, *([_IS_VECTOR] if "embedding" in columns else ())]
        rules += [
            Rule(table, f"{{}} {name} do not match their checksum", fails, None, "add them again, or remove them"),
            Rule(table, f"{{}} {name} cannot be read", f"NOT ({' AND '.join(tests)})", DELETE),
            Rule(table, f"{{}} {name} whose chunk or document is missing", missing, DELETE),
        ]
    last = Rule("asserted_nodes", "{} nodes at the ends of asserted relations are missing", _MISSING_ENDS, imply)
    return (*rules, last)
