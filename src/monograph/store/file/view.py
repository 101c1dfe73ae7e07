"""Views and snapshots of a file, as databases.

A view reads only the part of the file that a filter allows. A snapshot is a copy of the file in memory.

Each connection of a view has temporary tables and SQL views with the names of the file's tables, but only with rows of
the view. SQLite looks names up among temporary tables and views first, so every query reads only these rows. An
authorizer denies reading the file's own tables. Exceptions are the tables in ``_OPEN``: they have no texts of
documents, but, for example, counts of the chunks with a word, places of vectors, and settings.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Iterable
from contextlib import closing

import numpy as np

from monograph.errors import ClosedFile, StorageFull
from monograph.store.documents.filters import CompiledFilter
from monograph.store.file import encryption, settings
from monograph.store.file.database import Connection, Connector, Database, memory_connection, open_connection, uri_of
from monograph.store.file.errors import BUSY_SECONDS, translate_errors
from monograph.store.file.rows import column, lookup, scalar
from monograph.store.file.schema import BLOCK_BITS
from monograph.store.graph.graphs import NAMED
from monograph.values import ENTITY_KINDS

_TABLES = (
    "CREATE TEMP TABLE view_state (generation INTEGER NOT NULL)",
    "CREATE TEMP TABLE view_documents (document INTEGER PRIMARY KEY)",
    "CREATE TEMP TABLE view_chunks (chunk INTEGER PRIMARY KEY)",
    # Only files with all of their documents in the view: the bytes of other files have further texts.
    "CREATE TEMP TABLE view_sources (source INTEGER PRIMARY KEY)",
    # uses and persons count only the rows of the view. A name keeps its head only if that is in the view, too.
    """CREATE TEMP TABLE names (
        name INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, signature INTEGER NOT NULL, code BLOB,
        uses INTEGER NOT NULL, persons INTEGER NOT NULL, head INTEGER, reason TEXT, checksum INTEGER)""",
    "CREATE INDEX temp.view_names_by_head ON names(head) WHERE head IS NOT NULL",
    "CREATE INDEX temp.view_names_by_signature ON names(signature)",
    # A summary has no parent if its parent is not in the view. A chunk with a parent outside of the view is left out.
    """CREATE TEMP TABLE nodes (
        node INTEGER PRIMARY KEY, layer INTEGER NOT NULL, rank INTEGER NOT NULL, key BLOB NOT NULL, parent INTEGER,
        chunk INTEGER, gist INTEGER, vector INTEGER, nearest INTEGER)""",
    "CREATE INDEX temp.view_nodes_in_order ON nodes(layer, rank, key)",
    "CREATE INDEX temp.view_nodes_by_parent ON nodes(parent) WHERE parent IS NOT NULL",
    "CREATE INDEX temp.view_nodes_by_chunk ON nodes(chunk) WHERE chunk IS NOT NULL",
    "CREATE INDEX temp.view_nodes_by_vector ON nodes(vector) WHERE vector IS NOT NULL",
)
_SHADOWED_TABLES = (
    ("vectors", "chunk"), ("extractions", "chunk"), ("chunk_graphs", "chunk"), ("mentions", "chunk"),
    ("dirty_leaves", "chunk"), ("subjects", "document"), ("aliases", "document"), ("asserted_nodes", "document"),
    ("asserted_relations", "document"),
)  # fmt: skip
_SHADOW_VIEWS = (
    "CREATE TEMP VIEW documents AS SELECT * FROM main.documents WHERE document IN temp.view_documents",
    "CREATE TEMP VIEW chunks AS SELECT * FROM main.chunks WHERE chunk IN temp.view_chunks",
    # The unary plus (+) keeps SQLite from scanning the whole view for each row that another condition has found.
    f"CREATE TEMP VIEW texts AS SELECT * FROM main.texts WHERE block >> {BLOCK_BITS:d} IN temp.view_documents",  # noqa: S608
    "CREATE TEMP VIEW sources AS SELECT * FROM main.sources WHERE source IN temp.view_sources",
    *(
        f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE +{row} IN temp.view_{row}s"  # noqa: S608
        for table, row in _SHADOWED_TABLES
    ),
    # A view has no previous versions. A view of a snapshot has those of its moment as documents.
    *(f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} WHERE 0" for table in ("versions", "version_chunks")),  # noqa: S608
    """CREATE TEMP VIEW cannot_link AS SELECT * FROM main.cannot_link
        WHERE key IN (SELECT key FROM temp.names) AND full IN (SELECT key FROM temp.names)""",
)
_OPEN = frozenset(
    {
        # How the file was built; and derived values, which are found only by row number or by the hash of the inputs.
        "settings", "checksums", "roots", "memo", "trees", "dirty_segments", "unresolved",
        # Corpus statistics: words, in how many chunks they occur, and the lengths of chunks.
        "words", "words_data", "words_idx", "words_docsize", "words_config", "vocabulary", "lengths",
        "trigrams", "trigrams_data", "trigrams_idx", "trigrams_docsize", "trigrams_config",
        # Where vectors are stored, by memo row.
        "vector_indexes", "centroids", "clusters", "parts", "cluster_graphs", "placements", "dirty_placements", "codes",
        # SQLite's own.
        "sqlite_master", "sqlite_schema", "json_each",
    }
)  # fmt: skip
"""Tables of the file that a view may read directly."""

_PERSON = ENTITY_KINDS.index("person")


def limited(base: Database, allowed: CompiledFilter) -> Database:
    """Return a read-only database that shows only the documents of a view.

    ``base`` is the file, or a copy of it in memory. A document is in the view if the filter allows all of its chunks.
    """
    cached = (-1, "")  # The generation, and the documents of the view in it, as JSON; shared by all threads.

    def connect(_: bool) -> Connection:
        connection = base.connector.connect(True)
        for statement in (*_TABLES, *_SHADOW_VIEWS):
            connection.execute(statement)
        connection.set_authorizer(_authorize_view)
        return connection

    def begin(connection: Connection) -> None:
        nonlocal cached
        if base.connector.begin is not None:
            base.connector.begin(connection)
        generation = settings.generation(connection)
        if scalar(connection, "SELECT generation FROM temp.view_state") == generation:
            return
        connection.set_authorizer(lambda *_: sqlite3.SQLITE_OK)  # The view is collected from the whole file.
        try:
            current = cached  # Another thread may set it to another generation.
            if current[0] != generation:
                query = f"SELECT d.document FROM main.documents AS d WHERE {whole(allowed)} ORDER BY d.document"  # noqa: S608
                current = cached = generation, json.dumps(column(connection, query, *allowed.parameters))
            _fill(connection, *current)
        finally:
            connection.set_authorizer(_authorize_view)

    connector = Connector(connect, begin, base.connector.in_memory)
    return Database(base.path, create=False, read_only=True, key=base.raw_key, connector=connector)


def snapshot_in_memory(whole: Database) -> Database:
    """Copy an open file into memory, without encryption, and return the copy as a database.

    The memory of the copy is freed when the last connection to the copy is closed. The copy may still have text that is
    erased from the file later. So the first read after an erasure closes the copy and raises ClosedFile. Raises
    StorageFull if the copy does not fit into memory, where SQLite holds at most 1 GiB.
    """
    path, key, uri = whole.path, whole.raw_key, f"file:/monograph-{secrets.token_hex(16)}?vfs=memdb"

    def connect(_: bool) -> Connection:
        return memory_connection(encrypted=key is not None, uri=uri)

    def begin(_: Connection) -> None:
        with whole.read() as connection:
            if settings.count_of_erasures(connection) == times:
                return
        copy.close()
        raise ClosedFile(
            f"text of {path} was forgotten after this snapshot was opened",
            "open the snapshot again; in Python: archive.as_of(...)",
        )

    copy = Database(path, create=False, key=key, connector=Connector(connect, begin, in_memory=True))
    copy.read_only = False  # The copy can be written even if the file cannot.
    try:
        with translate_errors(path):
            copy_connection = copy.connection()
            if key is None:
                with closing(open_connection(path, None, read_only=True)) as source:
                    source.execute("VACUUM INTO ?", (uri,))
            else:
                # SQLCipher's VACUUM writes pages of another size than it declares, so the file is exported instead. A
                # read-only connection cannot write to attached databases, so this one is opened for writing; without
                # permission to write, SQLite opens the file for reading.
                source_uri = uri_of(path, read_only=True).replace("mode=ro", "mode=rw")
                with closing(encryption.connect(source_uri, key, uri=True, timeout=BUSY_SECONDS)) as source:
                    encryption.export(source, uri, None)
            times = settings.count_of_erasures(copy_connection)
    except BaseException as error:
        copy.close()
        if not isinstance(error, StorageFull):
            raise
        raise StorageFull(
            f"the snapshot of {path} does not fit into memory, where SQLite holds at most 1 GiB",
            "read a single document: monograph show FILE ID --as-of TIME; in Python: archive.document(id, as_of=...)",
        ) from error
    return copy


def _authorize_view(action: int, table: str | None, column: str | None, schema: str | None, view: str | None) -> int:
    """Authorizer of a view: allow the tables in ``_OPEN``; others only through the SQL view of the same name."""
    # Counting rows reads no column: the number of rows is all that other tables reveal.
    if action != sqlite3.SQLITE_READ or schema != "main" or not column or table in _OPEN or view == table:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


def _fill(connection: Connection, generation: int, documents: str) -> None:
    """Fill the temporary tables of a view, given the file's generation and a JSON list of the view's document rows."""
    for table in ("view_state", "view_documents", "view_chunks", "view_sources", "names", "nodes"):
        connection.execute(f"DELETE FROM temp.{table}")  # noqa: S608 - constants
    connection.execute("INSERT INTO temp.view_documents SELECT value FROM json_each(?)", (documents,))
    connection.execute("INSERT INTO temp.view_state VALUES (?)", (generation,))
    connection.execute(
        """INSERT INTO temp.view_chunks
        SELECT c.chunk FROM temp.view_documents AS d CROSS JOIN main.chunks AS c WHERE c.document = d.document"""
    )
    connection.execute(
        """INSERT INTO temp.view_sources
        SELECT DISTINCT d.source FROM temp.view_documents AS v CROSS JOIN main.documents AS d
        WHERE d.document = v.document AND d.source IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM main.documents AS o
            WHERE o.source = d.source AND o.document NOT IN temp.view_documents)"""
    )
    _fill_names(connection)
    _fill_nodes(connection)


def _fill_names(connection: Connection) -> None:
    """Fill the view's table of names, with counts of their uses within the view."""
    packed_query = "SELECT g.names FROM temp.view_chunks AS v CROSS JOIN main.chunk_graphs AS g WHERE g.chunk = v.chunk"
    mentions = np.frombuffer(b"".join(column(connection, packed_query)), dtype=NAMED)
    query = "SELECT s.name FROM temp.view_documents AS d CROSS JOIN main.subjects AS s WHERE s.document = d.document"
    subjects = np.array(column(connection, query), dtype=np.int32)
    rows, uses = np.unique(np.concatenate([mentions["name"], subjects]), return_counts=True)
    is_person = np.isin(mentions["kind"], _PERSON)
    person_rows, person_counts = np.unique(mentions["name"][is_person], return_counts=True)
    persons_per_row = np.zeros(len(rows), dtype=np.int64)
    persons_per_row[np.searchsorted(rows, person_rows)] = person_counts
    connection.executemany(
        """INSERT INTO temp.names SELECT name, key, signature, code, ?2, ?3, head, reason, checksum
        FROM main.names WHERE name = ?1""",
        zip(rows.tolist(), uses.tolist(), persons_per_row.tolist(), strict=True),
    )
    # Remove heads that are not in the view, and heads of abbreviations that no document of the view states: aliases
    # that other documents state must not be visible.
    connection.execute(
        """UPDATE temp.names SET head = NULL, reason = NULL WHERE head IS NOT NULL AND (
            head NOT IN (SELECT name FROM temp.names) OR (reason = 'abbreviation' AND NOT EXISTS (
                SELECT 1 FROM main.aliases AS a WHERE a.name = names.name AND a.full = names.head
                AND a.document IN temp.view_documents)))"""
    )


def _fill_nodes(connection: Connection) -> None:
    """Fill the table of tree nodes: the view's chunks, and the summaries that have only these chunks below them."""
    # A chunk that is listed in dirty_leaves may have an outdated node.
    connection.execute(
        """INSERT INTO temp.nodes SELECT n.* FROM temp.view_chunks AS v CROSS JOIN main.nodes AS n
        WHERE n.chunk = v.chunk AND NOT EXISTS (SELECT 1 FROM main.dirty_leaves AS u WHERE u.chunk = v.chunk)"""
    )
    added, layer = 1, 0
    while added > 0:
        added = connection.execute(
            """INSERT INTO temp.nodes SELECT n.* FROM main.nodes AS n
            WHERE n.node IN (SELECT parent FROM temp.nodes WHERE layer = ?) AND NOT EXISTS (
                SELECT 1 FROM main.nodes AS o
                WHERE o.parent = n.node AND o.node NOT IN (SELECT node FROM temp.nodes))""",
            (layer,),
        ).rowcount
        layer += 1
    # A chunk whose parent is not in the view must not appear as a root of the tree.
    connection.execute(
        """DELETE FROM temp.nodes
        WHERE layer = 0 AND parent IS NOT NULL AND parent NOT IN (SELECT node FROM temp.nodes)"""
    )
    connection.execute(
        """UPDATE temp.nodes SET parent = NULL
        WHERE parent IS NOT NULL AND parent NOT IN (SELECT node FROM temp.nodes)"""
    )


def whole(allowed: CompiledFilter) -> str:
    """Return the SQL condition that a document ``d`` is in a view: the filter allows all chunks of the document.

    The parameters of the condition are those of the filter. A document without chunks is in the view if its own
    metadata match the filter.
    """
    # A condition that is NULL counts as false.
    return f"""NOT EXISTS (SELECT 1 FROM (SELECT 1) LEFT JOIN main.chunks AS c ON c.document = d.document
        WHERE ({allowed.sql}) IS NOT TRUE)"""  # noqa: S608 - compiled conditions


def among(connection: Connection, allowed: CompiledFilter, rows: Iterable[int]) -> set[int]:
    """Return the rows of the given documents that are in the view of a filter."""
    tables = f"main.documents AS d WHERE d.document = w.value AND {whole(allowed)}"
    return {row for (row,) in lookup(connection, "d.document", tables, rows, *allowed.parameters)}


def outside(
    connection: Connection, allowed: CompiledFilter, documents: Iterable[str], chunks: Iterable[str]
) -> list[str]:
    """Return the ids of the given documents and chunks that are in the file but not in the view of a filter."""
    results = []
    for table, ids in (("documents", documents), ("chunks", chunks)):
        tables = f"""main.{table} AS own CROSS JOIN main.documents AS d
            WHERE own.id = w.value AND d.document = own.document AND NOT ({whole(allowed)})"""
        results += lookup(connection, "own.id", tables, ids, *allowed.parameters)
    return [name for (name,) in results]


def chunks_of(allowed: CompiledFilter, narrowed: CompiledFilter) -> CompiledFilter:
    """Return a filter for the chunks that are in the view of ``allowed`` and that the filter ``narrowed`` allows."""
    sql = f"({whole(allowed)}) AND ({narrowed.sql or 'TRUE'})"
    return CompiledFilter(sql, (*allowed.parameters, *narrowed.parameters))
