"""The contents of a file without row numbers, so that two files can be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from monograph import Monograph
from monograph.store.file.database import Connection
from monograph.store.graph import graphs
from monograph.store.graph.extractions import documents_lacking
from monograph.values import ENTITY_KINDS
from support.trees import tree_of

CONTENTS = {
    "sources": "SELECT uri, root, sha256, size, modified_ns FROM sources",
    "documents": """SELECT d.id, s.uri, d.uri, title, metadata, sections, d.sha256, characters
        FROM documents AS d LEFT JOIN sources AS s USING (source)""",
    "texts": "SELECT d.id, block & 16777215, text FROM texts LEFT JOIN documents AS d ON document = block >> 24",
    "chunks": """SELECT c.id, d.id, ordinal, start, "end", c.metadata, merged
        FROM chunks AS c LEFT JOIN documents AS d USING (document)""",
    "memo": "SELECT kind, key, value, tokens, checksum FROM memo",
    "vectors": "SELECT c.id, m.key FROM vectors LEFT JOIN chunks AS c USING (chunk) LEFT JOIN memo AS m USING (memo)",
    "extractions": """SELECT c.id, m.key FROM extractions LEFT JOIN chunks AS c USING (chunk)
        LEFT JOIN memo AS m USING (memo)""",
    "names": """SELECT n.key, n.signature, n.code, n.uses, n.persons, n.checksum,
        CASE WHEN n.uses > 0 THEN h.key END, CASE WHEN n.uses > 0 THEN n.reason END
        FROM names AS n LEFT JOIN names AS h ON h.name = n.head""",
    "mentions": """SELECT c.id, n.key FROM mentions LEFT JOIN chunks AS c USING (chunk)
        LEFT JOIN names AS n USING (name)""",
    "subjects": """SELECT n.key, d.id, by_title, qualifier FROM subjects LEFT JOIN names AS n USING (name)
        LEFT JOIN documents AS d USING (document)""",
    "aliases": """SELECT n.key, f.key, d.id FROM aliases AS a LEFT JOIN names AS n ON n.name = a.name
        LEFT JOIN names AS f ON f.name = a.full LEFT JOIN documents AS d USING (document)""",
    "placements": "SELECT space, m.kind, m.key FROM placements LEFT JOIN memo AS m USING (memo)",
    "unplaced": "SELECT * FROM unplaced",
    "unresolved": "SELECT * FROM unresolved",
    "unplanted": "SELECT * FROM unplanted",
    "vocabulary": "SELECT term, doc, cnt FROM vocabulary",
    "words": "SELECT c.id, sz FROM words_docsize LEFT JOIN chunks AS c ON c.chunk = words_docsize.id",
    "trigrams": "SELECT c.id, sz FROM trigrams_docsize LEFT JOIN chunks AS c ON c.chunk = trigrams_docsize.id",
}
"""What is stored, by table, without numbers of rows."""


def traces(monograph: Monograph) -> dict[str, Any]:
    """Chunks with their vectors, terms, the graph and the tree, without row numbers."""
    with monograph._file.database.read() as connection:
        terms = sorted(connection.execute("SELECT term, doc, cnt FROM vocabulary"))
        placed = connection.execute("SELECT count(*) FROM vectors").fetchone()[0]
    stored = monograph.fetch(vectors=True)
    return {
        "chunks": sorted((one.chunk.id, one.chunk.document_id, one.chunk.text) for one in stored),
        "vectors": sorted((one.chunk.id, one.vector.tobytes()) for one in stored if one.vector is not None),
        "placed": placed,
        "terms": terms,
        "graph": graph_of(monograph),
        "tree": tree_of(monograph),
        "faults": monograph.check(),
    }


def contents(connection: Connection) -> dict[str, list[tuple[object, ...]]]:
    found = {table: sorted(connection.execute(query), key=repr) for table, query in CONTENTS.items()}
    keys = dict(connection.execute("SELECT name, key FROM names"))
    nodes = connection.execute("SELECT c.id, words, names, links FROM chunk_graphs LEFT JOIN chunks AS c USING (chunk)")
    found["chunk_graphs"] = sorted(
        (
            (
                name,
                words,
                tuple(
                    (keys[row], first, second, ENTITY_KINDS[kind])
                    for row, first, second, kind in np.frombuffer(named, dtype=graphs.NAMED).tolist()
                ),
                links,
            )
            for name, words, named, links in nodes
        ),
        key=repr,
    )
    return found


def graph_of(monograph: Monograph) -> dict[str, Any]:
    """The whole graph by keys and ids, without row numbers."""
    with monograph._file.database.read() as connection:
        key = dict(connection.execute("SELECT name, key FROM names"))
        chunk = dict(connection.execute("SELECT chunk, id FROM chunks"))
        document = dict(connection.execute("SELECT document, id FROM documents"))
        nodes = {
            chunk[row]: (words, [(key[name], first, second, kind) for name, first, second, kind in
                                 np.frombuffer(some, dtype=graphs.NAMED).tolist()], links)
            for row, words, some, links in connection.execute("SELECT chunk, words, names, links FROM chunk_graphs")
        }  # fmt: skip
        return {
            "nodes": nodes,
            "mentions": sorted((key[n], chunk[c]) for n, c in connection.execute("SELECT name, chunk FROM mentions")),
            "subjects": sorted(
                (key[n], document[d], by_title, qualifier)
                for n, d, by_title, qualifier in connection.execute(
                    "SELECT name, document, by_title, qualifier FROM subjects"
                )
            ),
            "aliases": sorted(
                (key[n], key[f], document[d])
                for n, f, d in connection.execute("SELECT name, full, document FROM aliases")
            ),
            "names": sorted(
                (k, uses, persons, key.get(head), reason)
                for k, uses, persons, head, reason in connection.execute(
                    "SELECT key, uses, persons, head, reason FROM names WHERE uses > 0"
                )
            ),
            "codes": sorted(connection.execute("SELECT key, code FROM names WHERE uses > 0")),
        }


def documents_without_graph(monograph: Monograph) -> tuple[int, int]:
    """Documents whose part of the graph, and documents whose trigrams, are not built."""
    with monograph._file.database.read() as connection:
        return len(documents_lacking(connection, "graph")), len(documents_lacking(connection, "trigrams"))


def compacted_contents(monograph: Monograph) -> dict[str, list[tuple[object, ...]]]:
    """What a file holds, without what is remembered of what is gone."""
    monograph.compact()
    with monograph._file.database.read() as connection:
        return contents(connection)


def graph_rows(monograph: Monograph) -> dict[str, object]:
    """All that the graph's tables say, without row numbers, of names that live."""
    with monograph._file.database.read() as connection:
        keys = dict(connection.execute("SELECT name, key FROM names"))
        ids = dict(connection.execute("SELECT chunk, id FROM chunks"))
        documents = dict(connection.execute("SELECT document, id FROM documents"))
        rows = {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in
                ("names", "mentions", "chunk_graphs", "subjects", "aliases", "apart", "unresolved")}  # fmt: skip
    return {
        "names": {
            name: (signature, code, uses, persons, keys.get(head), reason)
            for _, name, signature, code, uses, persons, head, reason, _ in rows["names"]
            if uses
        },
        "mentions": {(keys[name], ids[chunk]) for name, chunk in rows["mentions"]},
        "chunks": {
            ids[chunk]: (
                documents[document],
                words,
                [(keys[one[0]], *one[1:]) for one in np.frombuffer(some, graphs.NAMED).tolist()],
                links,
            )
            for chunk, document, words, some, links in rows["chunk_graphs"]
        },
        "subjects": {(keys[name], documents[document], *more) for name, document, *more in rows["subjects"]},
        "aliases": {(keys[name], keys[full], documents[document]) for name, full, document in rows["aliases"]},
        "apart": set(rows["apart"]),
        "unresolved": rows["unresolved"],
    }
