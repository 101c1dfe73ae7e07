"""All that a file holds of its documents, in a form that two files can be compared by."""

from __future__ import annotations

from typing import Any

from tests.test_graph import graph_of
from tests.test_tree import tree_of

from monograph import Monograph


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
