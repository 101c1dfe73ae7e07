"""The tables of a .mono file.

``PRAGMA application_id`` is "MONO", ``PRAGMA user_version`` the number of the file's format.
"""

from __future__ import annotations

import sqlite3

APPLICATION_ID = int.from_bytes(b"MONO", "big")
PAGE_SIZE = 16_384
"""Number of bytes of a database page.

Compared with pages of 64 KB, a blob of 96 KB is read as fast, and a small write takes a quarter of the time
(benchmarks/pages.py).
"""

FORMAT = 1
"""Number of the file format that this version of Monograph writes."""

BLOCK_BITS = 24
"""Number of low bits, in the row number of a text block, that hold the block's position in its text. The bits above
them hold the row number of the document."""
MOST_DOCUMENTS = 1 << (63 - BLOCK_BITS)
"""Row numbers of documents are below this limit. Higher ones would leave no row numbers for their text blocks."""


def format_of(connection: sqlite3.Connection) -> int:
    """Return the format number of a file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def create_tables(connection: sqlite3.Connection) -> None:
    """Create every table, index and trigger in an empty file, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in FORMAT_1:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {FORMAT:d}")
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


INVERTED_INDEX = (
    # The inverted index, one row a chunk. Contentless: the text is stored once, in texts. Marks (M*) count as
    # parts of words; otherwise words in Hindi and Arabic would be split at every vowel sign.
    """CREATE VIRTUAL TABLE words USING fts5(
        title, text, content='', tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co M*'")""",
    "CREATE VIRTUAL TABLE trigrams USING fts5(text, content='', detail=none, tokenize='trigram')",
)


# Number of words of each chunk, uint16, 2,000 chunks a row: block = chunk / 2000. 0: no chunk; 65535: so many or more.
LENGTHS = "CREATE TABLE lengths (block INTEGER PRIMARY KEY, counts BLOB NOT NULL)"

FORMAT_1 = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "INSERT INTO settings VALUES ('generation', '0')",
    # Checksums of single rows; name is settings/NAME or roots/ROOT.
    "CREATE TABLE checksums (name TEXT PRIMARY KEY, checksum INTEGER NOT NULL) WITHOUT ROWID",
    # place is a path, absolute or relative to the file's folder. described is the key of the describer that last saw
    # the pictures below it. synced is the time of its last complete sync, in seconds since 1970.
    """CREATE TABLE roots (
        root INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, place TEXT NOT NULL,
        follow_links INTEGER NOT NULL DEFAULT 0, described TEXT NOT NULL DEFAULT '', synced REAL NOT NULL DEFAULT 0)""",
    # Problems with files on disk. needs is a missing module that would read the file; only then size and modified_ns
    # are those of the file, else 0.
    """CREATE TABLE failures (
        file TEXT NOT NULL, root TEXT NOT NULL, uri TEXT NOT NULL, reason TEXT NOT NULL, hint TEXT NOT NULL,
        needs TEXT NOT NULL, size INTEGER NOT NULL, modified_ns INTEGER NOT NULL,
        PRIMARY KEY (file, root, uri, reason, hint)) WITHOUT ROWID""",
    # Files on disk, in the state in which they were last read. A file may have many documents.
    """CREATE TABLE sources (
        source INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, root TEXT NOT NULL,
        sha256 BLOB NOT NULL, size INTEGER NOT NULL, modified_ns INTEGER NOT NULL)""",
    # sha256 is the hash of all inputs of the document; if it is equal, the document is unchanged. checksum covers the
    # content, without row, source and dates (store.documents.documents.content_checksum), and is stored with it.
    # dated and dated_until are the first and last second, since 1970, of the document's date; dated_by is the origin
    # of the date (0 its metadata, 1 its text, 2 its file). All three are NULL if there is no date.
    # valid_from is the second in which this version was stored; NULL if the file keeps no previous versions.
    # valid_until is set only in a snapshot: the second in which this version ended. dates_checksum covers valid_from,
    # dated, dated_until and dated_by.
    """CREATE TABLE documents (
        document INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source INTEGER REFERENCES sources,
        uri TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL, sections TEXT NOT NULL,
        sha256 BLOB NOT NULL, characters INTEGER NOT NULL, checksum INTEGER, dated INTEGER,
        dated_until INTEGER, dated_by INTEGER, valid_from INTEGER, valid_until INTEGER, dates_checksum INTEGER)""",
    "CREATE INDEX documents_by_source ON documents(source)",
    "CREATE INDEX documents_by_uri ON documents(uri)",
    # Only dates from the documents themselves, not from their files.
    "CREATE INDEX documents_by_date ON documents(dated_until) WHERE dated_by != 2",
    "CREATE INDEX documents_by_beginning ON documents(valid_from) WHERE valid_from IS NOT NULL",
    # Texts of documents in blocks: block = document << 24 | ordinal. A chunk is read without the whole text.
    "CREATE TABLE texts (block INTEGER PRIMARY KEY, text TEXT NOT NULL)",
    # merged is the document's metadata updated with the chunk's; NULL if that equals one of the two.
    """CREATE TABLE chunks (
        chunk INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, document INTEGER NOT NULL REFERENCES documents,
        ordinal INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
        metadata TEXT NOT NULL, merged TEXT)""",
    "CREATE INDEX chunks_by_document ON chunks(document, ordinal)",
    # Derived values, each stored once under the hash of its inputs. checksum covers kind, key and value.
    """CREATE TABLE memo (
        memo INTEGER PRIMARY KEY, kind TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
        tokens INTEGER NOT NULL, checksum INTEGER, UNIQUE (kind, key))""",
    "CREATE TABLE vectors (chunk INTEGER PRIMARY KEY REFERENCES chunks, memo INTEGER NOT NULL REFERENCES memo)",
    "CREATE INDEX vectors_by_memo ON vectors(memo)",
    *INVERTED_INDEX,
    LENGTHS,
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)",
    # Vector indexes: space 1 is that of chunks, 2 that of summaries. version changes with every change of the index,
    # structure with every change of the centroids. checksum covers dimension, design and calibration.
    """CREATE TABLE vector_indexes (
        space INTEGER PRIMARY KEY, dimension INTEGER NOT NULL, design TEXT NOT NULL, calibration TEXT NOT NULL,
        version INTEGER NOT NULL, structure INTEGER NOT NULL, checksum INTEGER NOT NULL)""",
    # Loaded into memory by a search: the codes of all centroids and, in the graph design, a graph of them.
    "CREATE TABLE centroids (space INTEGER PRIMARY KEY, body BLOB NOT NULL, graph BLOB)",
    # size is the number of valid entries, dead that of deleted entries that still take room. AUTOINCREMENT: a number
    # is never used twice, so new clusters are stored after all older ones.
    """CREATE TABLE clusters (
        cluster INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, size INTEGER NOT NULL, dead INTEGER NOT NULL,
        centroid BLOB NOT NULL)""",
    "CREATE INDEX clusters_by_space ON clusters(space)",
    # The two parts of a cluster: 2 * cluster is the folded part, 2 * cluster + 1 holds the entries added since.
    "CREATE TABLE parts (part INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE cluster_graphs (cluster INTEGER PRIMARY KEY, graph BLOB NOT NULL)",
    # The clusters of the vector of a memo row. first is 0 for a zero vector, second is 0 if there is no second cluster.
    """CREATE TABLE placements (
        space INTEGER NOT NULL, memo INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL,
        PRIMARY KEY (space, memo)) WITHOUT ROWID""",
    # Codes by which vectors are compared once compact codes have chosen candidates: place = space << 32 | memo.
    "CREATE TABLE codes (place INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    # Memo rows whose placement may be out of date. Triggers fill the table, so that no writer can forget to.
    """CREATE TABLE dirty_placements (
        space INTEGER NOT NULL, memo INTEGER NOT NULL, PRIMARY KEY (space, memo)) WITHOUT ROWID""",
    """CREATE TRIGGER vectors_added AFTER INSERT ON vectors BEGIN
        INSERT OR IGNORE INTO dirty_placements VALUES (1, NEW.memo); END""",
    """CREATE TRIGGER vectors_removed AFTER DELETE ON vectors BEGIN
        INSERT OR IGNORE INTO dirty_placements VALUES (1, OLD.memo); END""",
    """CREATE TRIGGER vectors_changed AFTER UPDATE OF memo ON vectors BEGIN
        INSERT OR IGNORE INTO dirty_placements VALUES (1, OLD.memo), (1, NEW.memo); END""",
    # The memo row of the extraction of each chunk.
    "CREATE TABLE extractions (chunk INTEGER PRIMARY KEY REFERENCES chunks, memo INTEGER NOT NULL REFERENCES memo)",
    "CREATE INDEX extractions_by_memo ON extractions(memo)",
    # An entity is a name without a head, with all names whose head it is. uses is the number of rows of mentions and
    # subjects; persons that of chunks in which the name is a person's. code holds the signs of the name's embedding;
    # unused names are kept for it. checksum covers key and code, and is NULL without a code.
    """CREATE TABLE names (
        name INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, signature INTEGER NOT NULL, code BLOB,
        uses INTEGER NOT NULL, persons INTEGER NOT NULL, head INTEGER, reason TEXT, checksum INTEGER)""",
    "CREATE INDEX names_by_signature ON names(signature)",
    "CREATE INDEX names_by_head ON names(head) WHERE head IS NOT NULL",
    # Entity–chunk edges by name; chunk_graphs has the same edges by chunk.
    "CREATE TABLE mentions (name INTEGER NOT NULL, chunk INTEGER NOT NULL, PRIMARY KEY (name, chunk)) WITHOUT ROWID",
    # document: that of the chunk. words: uint32 hashes, ascending. names: (int32 name, uint8 first sentence, uint8
    # second sentence, uint8 kind). links: relations found by a model, (uint16 source, uint16 target, float16 strength);
    # source and target are positions in names.
    """CREATE TABLE chunk_graphs (
        chunk INTEGER PRIMARY KEY REFERENCES chunks, document INTEGER NOT NULL, words BLOB NOT NULL,
        names BLOB NOT NULL, links BLOB NOT NULL)""",
    # Names that a document is about: its title has the name (by_title = 1), or its text begins with it.
    """CREATE TABLE subjects (
        name INTEGER NOT NULL, document INTEGER NOT NULL, by_title INTEGER NOT NULL, qualifier TEXT NOT NULL,
        PRIMARY KEY (name, document)) WITHOUT ROWID""",
    "CREATE INDEX subjects_by_document ON subjects(document)",
    # Documents that state a short form of a full name.
    """CREATE TABLE aliases (
        name INTEGER NOT NULL, full INTEGER NOT NULL, document INTEGER NOT NULL,
        PRIMARY KEY (name, full, document)) WITHOUT ROWID""",
    "CREATE INDEX aliases_by_document ON aliases(document)",
    # Pairs of keys that must not be merged into one entity, each in both orders.
    "CREATE TABLE cannot_link (key TEXT NOT NULL, full TEXT NOT NULL, PRIMARY KEY (key, full)) WITHOUT ROWID",
    # Names whose heads may be out of date. Single names are marked: a new name in a large group changes few heads.
    # New names are marked by store.graph.names.add, which stores many at once: a trigger for each would take longer
    # than storing the names.
    "CREATE TABLE unresolved (name INTEGER PRIMARY KEY)",
    """CREATE TRIGGER name_use_changed AFTER UPDATE OF uses, persons ON names
        WHEN (OLD.uses = 0) != (NEW.uses = 0) OR (OLD.persons = 0) != (NEW.persons = 0) BEGIN
        INSERT OR IGNORE INTO unresolved VALUES (NEW.name); END""",
    """CREATE TRIGGER subject_added AFTER INSERT ON subjects BEGIN
        INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE name = NEW.name; END""",
    """CREATE TRIGGER subject_removed AFTER DELETE ON subjects BEGIN
        INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE name = OLD.name; END""",
    """CREATE TRIGGER alias_added AFTER INSERT ON aliases BEGIN
        INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE name = NEW.name; END""",
    """CREATE TRIGGER alias_removed AFTER DELETE ON aliases BEGIN
        INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE name = OLD.name; END""",
    # Nodes of the tree: chunks (layer 0) and summaries, each layer in the order of rank. gist and vector are the memo
    # rows of a summary and of its embedding. nearest is the chunk below the summary whose vector is nearest to the
    # summary's, chosen layer by layer.
    """CREATE TABLE nodes (
        node INTEGER PRIMARY KEY, layer INTEGER NOT NULL, rank INTEGER NOT NULL, key BLOB NOT NULL, parent INTEGER,
        chunk INTEGER, gist INTEGER REFERENCES memo, vector INTEGER REFERENCES memo, nearest INTEGER)""",
    "CREATE UNIQUE INDEX nodes_in_order ON nodes(layer, rank, key)",
    "CREATE INDEX nodes_by_parent ON nodes(parent) WHERE parent IS NOT NULL",
    "CREATE UNIQUE INDEX nodes_by_chunk ON nodes(chunk) WHERE chunk IS NOT NULL",
    "CREATE INDEX nodes_by_key ON nodes(key) WHERE layer > 0",
    "CREATE INDEX nodes_by_gist ON nodes(gist) WHERE gist IS NOT NULL",
    "CREATE INDEX nodes_by_vector ON nodes(vector) WHERE vector IS NOT NULL",
    # One row; none if the file has no tree. version changes with every change of the nodes.
    "CREATE TABLE trees (tree INTEGER PRIMARY KEY, version INTEGER NOT NULL)",
    # Chunks whose node may be out of date. Triggers fill the table, so that no writer can forget to.
    "CREATE TABLE dirty_leaves (chunk INTEGER PRIMARY KEY)",
    """CREATE TRIGGER leaf_added AFTER INSERT ON vectors WHEN EXISTS (SELECT 1 FROM trees) BEGIN
        INSERT OR IGNORE INTO dirty_leaves VALUES (NEW.chunk); END""",
    """CREATE TRIGGER leaf_removed AFTER DELETE ON vectors WHEN EXISTS (SELECT 1 FROM trees) BEGIN
        INSERT OR IGNORE INTO dirty_leaves VALUES (OLD.chunk); END""",
    """CREATE TRIGGER leaf_changed AFTER UPDATE OF memo ON vectors WHEN EXISTS (SELECT 1 FROM trees) BEGIN
        INSERT OR IGNORE INTO dirty_leaves VALUES (NEW.chunk); END""",
    # Ranks at which nodes were added or removed since their layer was divided into segments.
    """CREATE TABLE dirty_segments (
        layer INTEGER NOT NULL, rank INTEGER NOT NULL, PRIMARY KEY (layer, rank)) WITHOUT ROWID""",
    """CREATE TRIGGER node_added AFTER INSERT ON nodes BEGIN
        INSERT OR IGNORE INTO dirty_segments VALUES (NEW.layer, NEW.rank); END""",
    """CREATE TRIGGER node_removed AFTER DELETE ON nodes BEGIN
        INSERT OR IGNORE INTO dirty_segments VALUES (OLD.layer, OLD.rank); END""",
    # Space 2 is the vector index of summaries.
    """CREATE TRIGGER summary_added AFTER INSERT ON nodes WHEN NEW.vector IS NOT NULL BEGIN
        INSERT OR IGNORE INTO dirty_placements VALUES (2, NEW.vector); END""",
    """CREATE TRIGGER summary_removed AFTER DELETE ON nodes WHEN OLD.vector IS NOT NULL BEGIN
        INSERT OR IGNORE INTO dirty_placements VALUES (2, OLD.vector); END""",
    # Nodes and relations asserted by callers: a row for each chunk or document that they come from (both NULL if there
    # is none). implied is 1 for a node that only a relation names; key is the comparison key of the node's name.
    """CREATE TABLE asserted_nodes (
        assertion INTEGER PRIMARY KEY, id TEXT NOT NULL, document INTEGER, chunk INTEGER, label TEXT NOT NULL,
        name TEXT NOT NULL, key TEXT NOT NULL, properties TEXT NOT NULL, embedding BLOB, implied INTEGER NOT NULL,
        checksum INTEGER NOT NULL)""",
    "CREATE INDEX asserted_nodes_by_id ON asserted_nodes(id)",
    "CREATE INDEX asserted_nodes_by_key ON asserted_nodes(key)",
    "CREATE INDEX asserted_nodes_by_document ON asserted_nodes(document) WHERE document IS NOT NULL",
    "CREATE INDEX asserted_nodes_by_chunk ON asserted_nodes(chunk) WHERE chunk IS NOT NULL",
    """CREATE TABLE asserted_relations (
        assertion INTEGER PRIMARY KEY, source TEXT NOT NULL, label TEXT NOT NULL, target TEXT NOT NULL,
        document INTEGER, chunk INTEGER, properties TEXT NOT NULL, checksum INTEGER NOT NULL)""",
    "CREATE INDEX asserted_relations_by_source ON asserted_relations(source)",
    "CREATE INDEX asserted_relations_by_target ON asserted_relations(target)",
    "CREATE INDEX asserted_relations_by_document ON asserted_relations(document) WHERE document IS NOT NULL",
    "CREATE INDEX asserted_relations_by_chunk ON asserted_relations(chunk) WHERE chunk IS NOT NULL",
    # Ledger of model calls for this file: one row for each day (UTC), model and purpose.
    """CREATE TABLE costs (
        day TEXT NOT NULL, model TEXT NOT NULL, purpose TEXT NOT NULL, calls INTEGER NOT NULL,
        tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, PRIMARY KEY (day, model, purpose)) WITHOUT ROWID""",
    # Previous versions of documents, valid from second valid_from until just before valid_until. Searches never read
    # them. checksum is that of the document; dates_checksum covers valid_from, valid_until and the three date columns.
    """CREATE TABLE versions (
        version INTEGER PRIMARY KEY, id TEXT NOT NULL, valid_from INTEGER NOT NULL, valid_until INTEGER NOT NULL,
        uri TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL, sections TEXT NOT NULL, sha256 BLOB NOT NULL,
        characters INTEGER NOT NULL, dated INTEGER, dated_until INTEGER, dated_by INTEGER, text TEXT NOT NULL,
        checksum INTEGER NOT NULL, dates_checksum INTEGER NOT NULL)""",
    "CREATE INDEX versions_by_id ON versions(id, valid_from)",
    "CREATE INDEX versions_by_uri ON versions(uri)",
    "CREATE INDEX versions_by_end ON versions(valid_until)",
    # Chunks of previous versions, and the memo rows of their vectors and extractions, which the memo keeps for them.
    """CREATE TABLE version_chunks (
        version INTEGER NOT NULL, ordinal INTEGER NOT NULL, id TEXT NOT NULL, start INTEGER NOT NULL,
        "end" INTEGER NOT NULL, metadata TEXT NOT NULL, vector INTEGER, extraction INTEGER,
        PRIMARY KEY (version, ordinal)) WITHOUT ROWID""",
    "CREATE INDEX version_chunks_by_vector ON version_chunks(vector) WHERE vector IS NOT NULL",
    "CREATE INDEX version_chunks_by_extraction ON version_chunks(extraction) WHERE extraction IS NOT NULL",
)
