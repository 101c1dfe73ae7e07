"""The tables of a .mono file.

``PRAGMA application_id`` is "MONO", ``PRAGMA user_version`` the number of the file's format.
"""

from __future__ import annotations

import sqlite3

APPLICATION_ID = int.from_bytes(b"MONO", "big")
PAGE_SIZE = 16_384
"""Bytes; a 96 KB blob reads as fast as with 64 KB pages, and a small write costs a quarter (benchmarks/pages.py)."""

FORMAT = 1
"""The number of the file format."""

BLOCK_BITS = 24
"""A block of text is numbered by its document's row and, in so many bits, by its place there."""
MOST_DOCUMENTS = 1 << (63 - BLOCK_BITS)
"""Rows of documents are below: those of higher ones have no numbers left for blocks."""


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
    # The inverted index, one row a chunk. Contentless: the text is stored once, in texts. Marks (M*) belong to
    # words, or Hindi and Arabic would fall apart at every vowel sign.
    """CREATE VIRTUAL TABLE words USING fts5(
        title, text, content='', tokenize = "unicode61 remove_diacritics 2 categories 'L* N* Co M*'")""",
    "CREATE VIRTUAL TABLE trigrams USING fts5(text, content='', detail=none, tokenize='trigram')",
)


# Words of each chunk, 2,000 a row: block = chunk / 2000, uint16 each, 0 where there is none, 65535 for so many or more.
LENGTHS = "CREATE TABLE lengths (block INTEGER PRIMARY KEY, counts BLOB NOT NULL)"

FORMAT_1 = (
    "CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "INSERT INTO settings VALUES ('generation', '0')",
    # Of single rows: settings/NAME, roots/ROOT.
    "CREATE TABLE checksums (name TEXT PRIMARY KEY, checksum INTEGER NOT NULL) WITHOUT ROWID",
    # place is absolute, or relative to the file's folder.
    # described is the key of the describer that last saw its pictures, synced when it was last synced as a whole.
    """CREATE TABLE roots (
        root INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, place TEXT NOT NULL,
        follow_links INTEGER NOT NULL DEFAULT 0, described TEXT NOT NULL DEFAULT '', synced REAL NOT NULL DEFAULT 0)""",
    # Problems with files on disk. size and modified_ns are the file's if it cannot be read without the module needs.
    """CREATE TABLE failures (
        file TEXT NOT NULL, root TEXT NOT NULL, uri TEXT NOT NULL, reason TEXT NOT NULL, hint TEXT NOT NULL,
        needs TEXT NOT NULL, size INTEGER NOT NULL, modified_ns INTEGER NOT NULL,
        PRIMARY KEY (file, root, uri, reason, hint)) WITHOUT ROWID""",
    # A file on disk, as it was when it was last read. One file may hold many documents.
    """CREATE TABLE sources (
        source INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE, root TEXT NOT NULL,
        sha256 BLOB NOT NULL, size INTEGER NOT NULL, modified_ns INTEGER NOT NULL)""",
    # sha256 is the hash of all that the document is made of; equal hashes mean nothing to do. checksum is of its
    # content, without its row, source and dates (store.documents.documents.content_checksum), and set with it.
    # dated and dated_until are the first and last second, since 1970, that the document may be from; dated_by says
    # what tells it (0 its metadata, 1 its text, 2 its file). NULL where nothing does.
    # valid_from is the second since which the file has the document as it is; NULL where the file keeps no former
    # versions. A snapshot has in valid_until the second until which the document stood. dates_checksum is of
    # valid_from, dated, dated_until and dated_by.
    """CREATE TABLE documents (
        document INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, source INTEGER REFERENCES sources,
        uri TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL, sections TEXT NOT NULL,
        sha256 BLOB NOT NULL, characters INTEGER NOT NULL, checksum INTEGER, dated INTEGER,
        dated_until INTEGER, dated_by INTEGER, valid_from INTEGER, valid_until INTEGER, dates_checksum INTEGER)""",
    "CREATE INDEX documents_by_source ON documents(source)",
    "CREATE INDEX documents_by_uri ON documents(uri)",
    # Of those that tell it themselves.
    "CREATE INDEX documents_by_date ON documents(dated_until) WHERE dated_by != 2",
    "CREATE INDEX documents_by_beginning ON documents(valid_from) WHERE valid_from IS NOT NULL",
    # A document's text in blocks: block = document << 24 | ordinal. A chunk is read without its whole document.
    "CREATE TABLE texts (block INTEGER PRIMARY KEY, text TEXT NOT NULL)",
    # merged is the document's metadata with the chunk's laid over it; NULL where that is the one or the other.
    """CREATE TABLE chunks (
        chunk INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, document INTEGER NOT NULL REFERENCES documents,
        ordinal INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL,
        metadata TEXT NOT NULL, merged TEXT)""",
    "CREATE INDEX chunks_by_document ON chunks(document, ordinal)",
    # Everything derived, once, under the hash of what it was derived from. checksum is of kind, key and value.
    """CREATE TABLE memo (
        memo INTEGER PRIMARY KEY, kind TEXT NOT NULL, key BLOB NOT NULL, value BLOB NOT NULL,
        tokens INTEGER NOT NULL, checksum INTEGER, UNIQUE (kind, key))""",
    "CREATE TABLE vectors (chunk INTEGER PRIMARY KEY REFERENCES chunks, memo INTEGER NOT NULL REFERENCES memo)",
    "CREATE INDEX vectors_by_memo ON vectors(memo)",
    *INVERTED_INDEX,
    LENGTHS,
    "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(words, row)",
    # What a vector belongs to: space 1 is chunks, 2 is summaries. version is another number after every change,
    # structure after every change of the centroids.
    """CREATE TABLE vector_indexes (
        space INTEGER PRIMARY KEY, dimension INTEGER NOT NULL, design TEXT NOT NULL, calibration TEXT NOT NULL,
        version INTEGER NOT NULL, structure INTEGER NOT NULL, checksum INTEGER NOT NULL)""",
    # What a search holds in memory: codes of all centroids, and in the graph design a graph of them.
    "CREATE TABLE centroids (space INTEGER PRIMARY KEY, body BLOB NOT NULL, graph BLOB)",
    # size counts what is alive, dead what is struck out and still takes room. A number is never used twice: what is
    # new stands behind all that was there before.
    """CREATE TABLE clusters (
        cluster INTEGER PRIMARY KEY AUTOINCREMENT, space INTEGER NOT NULL, size INTEGER NOT NULL, dead INTEGER NOT NULL,
        centroid BLOB NOT NULL)""",
    "CREATE INDEX clusters_by_space ON clusters(space)",
    # part = 2 * cluster for what was folded, and 2 * cluster + 1 for what came since.
    "CREATE TABLE parts (part INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    "CREATE TABLE cluster_graphs (cluster INTEGER PRIMARY KEY, graph BLOB NOT NULL)",
    # Where the vector in a memo row is found; first is 0 for one that has no direction, second where there is none.
    """CREATE TABLE placements (
        space INTEGER NOT NULL, memo INTEGER NOT NULL, first INTEGER NOT NULL, second INTEGER NOT NULL,
        PRIMARY KEY (space, memo)) WITHOUT ROWID""",
    # The code that a vector of an index is compared by after compact ones: place = space << 32 | memo.
    "CREATE TABLE codes (place INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    # Memo rows whose placement may be out of date. Triggers fill it, so that no writer can forget to.
    "CREATE TABLE unplaced (space INTEGER NOT NULL, memo INTEGER NOT NULL, PRIMARY KEY (space, memo)) WITHOUT ROWID",
    """CREATE TRIGGER vectors_added AFTER INSERT ON vectors BEGIN
        INSERT OR IGNORE INTO unplaced VALUES (1, NEW.memo); END""",
    """CREATE TRIGGER vectors_removed AFTER DELETE ON vectors BEGIN
        INSERT OR IGNORE INTO unplaced VALUES (1, OLD.memo); END""",
    """CREATE TRIGGER vectors_changed AFTER UPDATE OF memo ON vectors BEGIN
        INSERT OR IGNORE INTO unplaced VALUES (1, OLD.memo), (1, NEW.memo); END""",
    # What an extractor found in a chunk lies in the memo, as a vector does.
    "CREATE TABLE extractions (chunk INTEGER PRIMARY KEY REFERENCES chunks, memo INTEGER NOT NULL REFERENCES memo)",
    "CREATE INDEX extractions_by_memo ON extractions(memo)",
    # An entity is a name without a head, and all names whose head it is. uses counts rows of mentions and subjects;
    # persons the chunks that take it for a person's; a name of no use is remembered for its code, the signs of its
    # embedding; checksum, where there is a code, is of key and code.
    """CREATE TABLE names (
        name INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, signature INTEGER NOT NULL, code BLOB,
        uses INTEGER NOT NULL, persons INTEGER NOT NULL, head INTEGER, reason TEXT, checksum INTEGER)""",
    "CREATE INDEX names_by_signature ON names(signature)",
    "CREATE INDEX names_by_head ON names(head) WHERE head IS NOT NULL",
    # Entity–chunk edges, from the name's side; from the chunk's side they are in chunk_graphs.
    "CREATE TABLE mentions (name INTEGER NOT NULL, chunk INTEGER NOT NULL, PRIMARY KEY (name, chunk)) WITHOUT ROWID",
    # document: the chunk's. words: uint32 hashes, ascending. names: (int32 name, uint8 two sentences, uint8 kind).
    # links: a model's relations, (uint16 source, uint16 target, float16 strength), places among the names.
    """CREATE TABLE chunk_graphs (
        chunk INTEGER PRIMARY KEY REFERENCES chunks, document INTEGER NOT NULL, words BLOB NOT NULL,
        names BLOB NOT NULL, links BLOB NOT NULL)""",
    # What a document is about, by its title or because it begins with the name.
    """CREATE TABLE subjects (
        name INTEGER NOT NULL, document INTEGER NOT NULL, by_title INTEGER NOT NULL, qualifier TEXT NOT NULL,
        PRIMARY KEY (name, document)) WITHOUT ROWID""",
    "CREATE INDEX subjects_by_document ON subjects(document)",
    # Where a document says that a short name stands for a full one.
    """CREATE TABLE aliases (
        name INTEGER NOT NULL, full INTEGER NOT NULL, document INTEGER NOT NULL,
        PRIMARY KEY (name, full, document)) WITHOUT ROWID""",
    "CREATE INDEX aliases_by_document ON aliases(document)",
    # Keys that someone said are not one entity.
    "CREATE TABLE apart (key TEXT NOT NULL, full TEXT NOT NULL, PRIMARY KEY (key, full)) WITHOUT ROWID",
    # Names whose heads may be out of date, one by one: a name that comes to a large group changes few heads in it. New
    # names come many at once, in one place (store.names.add), which marks them: a trigger that fires for each takes
    # longer than the names themselves.
    "CREATE TABLE unresolved (name INTEGER PRIMARY KEY)",
    """CREATE TRIGGER name_lives AFTER UPDATE OF uses, persons ON names
        WHEN (OLD.uses = 0) != (NEW.uses = 0) OR (OLD.persons = 0) != (NEW.persons = 0) BEGIN
        INSERT OR IGNORE INTO unresolved VALUES (NEW.name); END""",
    """CREATE TRIGGER subject_came AFTER INSERT ON subjects BEGIN
        INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE name = NEW.name; END""",
    """CREATE TRIGGER subject_went AFTER DELETE ON subjects BEGIN
        INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE name = OLD.name; END""",
    """CREATE TRIGGER alias_came AFTER INSERT ON aliases BEGIN
        INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE name = NEW.name; END""",
    """CREATE TRIGGER alias_went AFTER DELETE ON aliases BEGIN
        INSERT OR IGNORE INTO unresolved SELECT name FROM names WHERE name = OLD.name; END""",
    # Chunks (layer 0) and summaries, each layer in the order of rank. gist and vector are memo rows of a summary and
    # its embedding; nearest is the chunk under it whose vector is nearest to its own, found from layer to layer.
    """CREATE TABLE nodes (
        node INTEGER PRIMARY KEY, layer INTEGER NOT NULL, rank INTEGER NOT NULL, key BLOB NOT NULL, parent INTEGER,
        chunk INTEGER, gist INTEGER REFERENCES memo, vector INTEGER REFERENCES memo, nearest INTEGER)""",
    "CREATE UNIQUE INDEX nodes_in_order ON nodes(layer, rank, key)",
    "CREATE INDEX nodes_by_parent ON nodes(parent) WHERE parent IS NOT NULL",
    "CREATE UNIQUE INDEX nodes_by_chunk ON nodes(chunk) WHERE chunk IS NOT NULL",
    "CREATE INDEX nodes_by_key ON nodes(key) WHERE layer > 0",
    "CREATE INDEX nodes_by_gist ON nodes(gist) WHERE gist IS NOT NULL",
    "CREATE INDEX nodes_by_vector ON nodes(vector) WHERE vector IS NOT NULL",
    # One row, or none where the file has no tree; version is another number after every change of the nodes.
    """CREATE TABLE trees (
        tree INTEGER PRIMARY KEY, planes BLOB NOT NULL, version INTEGER NOT NULL, checksum INTEGER NOT NULL)""",
    # Chunks whose node may be out of date. Triggers fill it, so that no writer can forget to.
    "CREATE TABLE unplanted (chunk INTEGER PRIMARY KEY)",
    """CREATE TRIGGER planted AFTER INSERT ON vectors WHEN EXISTS (SELECT 1 FROM trees) BEGIN
        INSERT OR IGNORE INTO unplanted VALUES (NEW.chunk); END""",
    """CREATE TRIGGER uprooted AFTER DELETE ON vectors WHEN EXISTS (SELECT 1 FROM trees) BEGIN
        INSERT OR IGNORE INTO unplanted VALUES (OLD.chunk); END""",
    """CREATE TRIGGER replanted AFTER UPDATE OF memo ON vectors WHEN EXISTS (SELECT 1 FROM trees) BEGIN
        INSERT OR IGNORE INTO unplanted VALUES (NEW.chunk); END""",
    # Where nodes came or went since the segments of their layer were cut.
    "CREATE TABLE uncut (layer INTEGER NOT NULL, rank INTEGER NOT NULL, PRIMARY KEY (layer, rank)) WITHOUT ROWID",
    """CREATE TRIGGER node_came AFTER INSERT ON nodes BEGIN
        INSERT OR IGNORE INTO uncut VALUES (NEW.layer, NEW.rank); END""",
    """CREATE TRIGGER node_went AFTER DELETE ON nodes BEGIN
        INSERT OR IGNORE INTO uncut VALUES (OLD.layer, OLD.rank); END""",
    # The index of summaries is space 2.
    """CREATE TRIGGER summary_came AFTER INSERT ON nodes WHEN NEW.vector IS NOT NULL BEGIN
        INSERT OR IGNORE INTO unplaced VALUES (2, NEW.vector); END""",
    """CREATE TRIGGER summary_went AFTER DELETE ON nodes WHEN OLD.vector IS NOT NULL BEGIN
        INSERT OR IGNORE INTO unplaced VALUES (2, OLD.vector); END""",
    # Assertions of callers about nodes and relations, a row for each chunk or document that they come from (both NULL
    # where there is none). implied is 1 for a node that only a relation names; key is that of its name.
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
    # What models were asked for this file and what it took, a row a day of UTC, model and purpose.
    """CREATE TABLE costs (
        day TEXT NOT NULL, model TEXT NOT NULL, purpose TEXT NOT NULL, calls INTEGER NOT NULL,
        tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, PRIMARY KEY (day, model, purpose)) WITHOUT ROWID""",
    # A document as it stood from valid_from on, until just before valid_until. Nothing that is searched leads here.
    # checksum is that of the document; dates_checksum is of the five dates.
    """CREATE TABLE versions (
        version INTEGER PRIMARY KEY, id TEXT NOT NULL, valid_from INTEGER NOT NULL, valid_until INTEGER NOT NULL,
        uri TEXT NOT NULL, title TEXT NOT NULL, metadata TEXT NOT NULL, sections TEXT NOT NULL, sha256 BLOB NOT NULL,
        characters INTEGER NOT NULL, dated INTEGER, dated_until INTEGER, dated_by INTEGER, text TEXT NOT NULL,
        checksum INTEGER NOT NULL, dates_checksum INTEGER NOT NULL)""",
    "CREATE INDEX versions_by_id ON versions(id, valid_from)",
    "CREATE INDEX versions_by_uri ON versions(uri)",
    "CREATE INDEX versions_by_end ON versions(valid_until)",
    # Its chunks, and the memo rows of what was made of them, which are kept for it.
    """CREATE TABLE version_chunks (
        version INTEGER NOT NULL, ordinal INTEGER NOT NULL, id TEXT NOT NULL, start INTEGER NOT NULL,
        "end" INTEGER NOT NULL, metadata TEXT NOT NULL, vector INTEGER, extraction INTEGER,
        PRIMARY KEY (version, ordinal)) WITHOUT ROWID""",
    "CREATE INDEX version_chunks_by_vector ON version_chunks(vector) WHERE vector IS NOT NULL",
    "CREATE INDEX version_chunks_by_extraction ON version_chunks(extraction) WHERE extraction IS NOT NULL",
)
