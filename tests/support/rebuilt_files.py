"""Documents for tests that replace the embedder, and all stored values that depend on it."""

from __future__ import annotations

from monograph import Document, Monograph
from support.trees import tree_of

HOWS = ("lexical", "tfidf", "dense", "hybrid", "graph", "tree")


def notes(count: int, first: int = 0) -> list[Document]:
    ships = ("Anna Maria", "Grey Heron", "Old Sovereign", "Bergen Star")
    return [
        Document(
            f"Captain {chr(65 + n % 26)}ndersen sailed the {ships[n % 4]} to Port {chr(65 + n * 7 % 26)}lby on day {n}."
            f" {'Nobody saw the harbour light. ' * (n % 5)}",
            id=f"n{n}",
        )
        for n in range(first, first + count)
    ]


def state_of(monograph: Monograph) -> list[object]:
    """Return the stored values and search results that depend on the embedder, without row numbers."""
    queries = (
        "SELECT id, value FROM chunks JOIN vectors USING (chunk) JOIN memo USING (memo) ORDER BY id",
        """SELECT n.layer, hex(n.key), m.value, c.id FROM nodes AS n JOIN memo AS m ON m.memo = n.vector
        JOIN chunks AS c ON c.chunk = n.nearest ORDER BY n.layer, n.key""",
        "SELECT key, hex(code), head IS NULL, reason FROM names WHERE uses > 0 ORDER BY key",
        "SELECT space, dimension FROM vector_indexes ORDER BY space",
    )
    with monograph._file.database.read() as connection:
        rows = [connection.execute(query).fetchall() for query in queries]
    found = [
        [(hit.text, round(hit.score, 5)) for hit in monograph.search("Captain Andersen of the Grey Heron", 8, how)]
        for how in HOWS
    ]
    return [rows, found, tree_of(monograph), monograph.stats().embedder]
