"""Contents of a file without row numbers, so that two files can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from monograph import Monograph
from monograph.store.file.database import Connection
from monograph.store.graph import graphs
from monograph.store.graph.extractions import documents_without
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
    "dirty_placements": "SELECT * FROM dirty_placements",
    "unresolved": "SELECT * FROM unresolved",
    "cannot_link": "SELECT * FROM cannot_link",
    "dirty_leaves": "SELECT * FROM dirty_leaves",
    "vocabulary": "SELECT term, doc, cnt FROM vocabulary",
    "words": "SELECT c.id, sz FROM words_docsize LEFT JOIN chunks AS c ON c.chunk = words_docsize.id",
    "trigrams": "SELECT c.id, sz FROM trigrams_docsize LEFT JOIN chunks AS c ON c.chunk = trigrams_docsize.id",
}
"""Query for the contents of each table without row numbers."""
GRAPH = ("mentions", "subjects", "aliases", "names", "cannot_link", "unresolved")


def contents(connection: Connection, tables: Iterable[str] = CONTENTS) -> dict[str, list[tuple[object, ...]]]:
    """Return the rows of tables and, as ``nodes``, the chunk graphs, sorted and without row numbers."""
    found = {table: sorted(connection.execute(CONTENTS[table]), key=repr) for table in tables}
    keys = dict(connection.execute("SELECT name, key FROM names"))
    nodes = connection.execute("""SELECT c.id, d.id, words, names, links FROM chunk_graphs AS g
        LEFT JOIN chunks AS c USING (chunk) LEFT JOIN documents AS d ON d.document = g.document""")
    found["nodes"] = sorted(
        (
            (
                *ids,
                tuple(
                    (keys[row], first, second, ENTITY_KINDS[kind])
                    for row, first, second, kind in np.frombuffer(named, dtype=graphs.NAMED).tolist()
                ),
                links,
            )
            for *ids, named, links in nodes
        ),
        key=repr,
    )
    return found


def graph_of(monograph: Monograph) -> dict[str, Any]:
    """Return the graph's tables as :func:`contents` does, but only the names with uses."""
    with monograph._file.database.read() as connection:
        found = contents(connection, GRAPH)
    living = [row for row in found["names"] if row[3]]
    return found | {
        "names": [(key, uses, persons, head, reason) for key, _, _, uses, persons, _, head, reason in living],
        "codes": [(key, code) for key, _, code, *_ in living],
        "signatures": [(key, signature) for key, signature, *_ in living],
    }


def traces(monograph: Monograph) -> dict[str, Any]:
    """Return chunks with their vectors, terms, the graph and the tree, without row numbers."""
    with monograph._file.database.read() as connection:
        found = contents(connection, ("vectors", "vocabulary"))
    stored = monograph.fetch(vectors=True)
    return {
        "chunks": sorted((one.chunk.id, one.chunk.document_id, one.chunk.text) for one in stored),
        "vectors": sorted((one.chunk.id, one.vector.tobytes()) for one in stored if one.vector is not None),
        "placed": found["vectors"],
        "terms": found["vocabulary"],
        "graph": graph_of(monograph),
        "tree": tree_of(monograph),
        "faults": monograph.check(),
    }


def assert_deletion_leaves_no_trace(
    monograph: Monograph, add: Callable[[], object], delete: Callable[[], object]
) -> None:
    """Add texts about Mary Poole, delete them, and assert that :func:`traces` returns the same as before."""
    before = traces(monograph)
    assert before["tree"]
    add()
    between = traces(monograph)
    for part in ("chunks", "vectors", "terms", "graph", "tree"):
        assert between[part] != before[part], part
    assert monograph.graph.entities(like="Mary Poole")
    delete()
    assert traces(monograph) == before
    assert monograph.graph.entities(like="Mary Poole") == []


def documents_without_graph(monograph: Monograph) -> tuple[int, int]:
    """Return how many documents lack their part of the graph, and how many their trigrams."""
    with monograph._file.database.read() as connection:
        return len(documents_without(connection, "graph")), len(documents_without(connection, "trigrams"))


def compacted_contents(monograph: Monograph) -> dict[str, list[tuple[object, ...]]]:
    """Compact a file, which drops records of deleted content, and return its contents."""
    monograph.compact()
    with monograph._file.database.read() as connection:
        return contents(connection)
