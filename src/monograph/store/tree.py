"""Rows of the tree of summaries (EraRAG): its nodes, and marks of outdated nodes.

The nodes of layer 0 are the chunks. The nodes of a higher layer are summaries of the layer below. In each layer, nodes
are ordered by rank and key (see :class:`NodeRow`). Successive nodes are grouped into segments
(:mod:`monograph.tree.segment`), and each segment has one summary.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from monograph.store.documents import documents, filters
from monograph.store.documents.filters import CompiledFilter
from monograph.store.file import memo
from monograph.store.file.database import Connection
from monograph.store.file.errors import decoding
from monograph.store.file.rows import column, group, integer, lookup, text, whole
from monograph.values import Quote, SummaryText


@dataclass(frozen=True, slots=True)
class NodeRow:
    """Row of a node of the tree, which is a chunk or a summary.

    ``node`` is the row number. ``layer`` is 0 for chunks. ``rank`` is the node's position in its layer, an integer of
    63 bits that is computed from the node's vector and key (:func:`monograph.tree.hash.full_rank`). ``key`` is a hash:
    for a chunk, of its id and text; for a summary, of its children's keys and of the summarizer. ``parent`` is the row
    of the summary above the node; None if there is none. ``chunk`` is the row of the chunk; None for a summary.

    The other fields are None for a chunk. ``gist`` and ``vector`` are the memo rows of the summary's text and
    embedding. ``nearest`` is the row of a chunk below the summary. It comes from the child whose vector is nearest to
    the summary's vector: the ``chunk`` of this child, or its ``nearest`` if the child is a summary.
    """

    node: int
    layer: int
    rank: int
    key: bytes
    parent: int | None
    chunk: int | None
    gist: int | None
    vector: int | None
    nearest: int | None


@dataclass(frozen=True, slots=True)
class Leaf:
    """Inputs from which the node of a chunk is made.

    ``chunk``, ``id`` and ``text`` are the row, id and text of the chunk. ``memo`` is the memo row of its vector.
    """

    chunk: int
    id: str
    text: str
    memo: int


_COLUMNS = "n.node, n.layer, n.rank, n.key, n.parent, n.chunk, n.gist, n.vector, n.nearest"


def exists(connection: Connection) -> bool:
    """Return whether the file has a tree."""
    return connection.execute("SELECT 1 FROM trees").fetchone() is not None


def begin(connection: Connection) -> None:
    """Replace the tree by an empty tree.

    All chunks that have a vector are marked as stale (:func:`stale_leaves`). So the next update of the tree makes their
    nodes.
    """
    clear(connection)
    connection.execute("INSERT INTO trees VALUES (1, random())")
    connection.execute("INSERT INTO dirty_leaves SELECT chunk FROM vectors")


def clear(connection: Connection) -> None:
    """Delete the tree."""
    for table in ("nodes", "trees", "dirty_leaves", "dirty_segments"):
        connection.execute(f"DELETE FROM {table}")  # noqa: S608 - constants


def version(connection: Connection) -> int:
    """Return the version of the tree, a random number that changes with every change of the nodes; 0 without a tree."""
    return integer(connection, "SELECT version FROM trees")


def stale_leaves(connection: Connection) -> list[int]:
    """Return the rows of the chunks whose nodes may be out of date, ascending."""
    return column(connection, "SELECT chunk FROM dirty_leaves ORDER BY chunk")


def stale_segments(connection: Connection, layer: int) -> list[int]:
    """Return the ranks of the nodes that were added to a layer or removed from it, ascending.

    Changes before the last division of the layer into segments are left out. Only segments near these ranks can be out
    of date.
    """
    return column(connection, "SELECT rank FROM dirty_segments WHERE layer = ? ORDER BY rank", layer)


def count_stale_segments(connection: Connection) -> int:
    """Return the number of ranks that :func:`stale_segments` returns for all layers together.

    It is 0 if all segments are up to date.
    """
    return integer(connection, "SELECT count(*) FROM dirty_segments")


def end_cut(connection: Connection) -> None:
    """Record that all layers are divided into segments again, and change the version of the tree.

    Afterwards :func:`stale_segments` returns no ranks.
    """
    connection.execute("DELETE FROM dirty_segments")
    connection.execute("UPDATE trees SET version = random()")


def leaves(connection: Connection, chunks: Sequence[int] | None = None) -> list[Leaf]:
    """Return the given chunks, or all chunks, as :class:`Leaf`.

    Chunks that are missing or have no vector are left out.
    """
    columns = 'c.document, c.start, c."end", c.chunk, c.id, v.memo'
    tables = "chunks AS c CROSS JOIN vectors AS v WHERE c.chunk = w.value AND v.chunk = c.chunk ORDER BY c.chunk"
    rows = lookup(connection, columns, tables, chunk_rows(connection) if chunks is None else chunks)
    texts = documents.texts(connection, [row[:3] for row in rows])
    return [Leaf(row[3], row[4], text, row[5]) for row, text in zip(rows, texts, strict=True)]


def of_chunks(connection: Connection, chunks: Sequence[int]) -> dict[int, NodeRow]:
    """Return the nodes of chunks, by chunk row; chunks without a node are left out."""
    return {row.chunk: row for row in _load_nodes(connection, "n.chunk = w.value", chunks) if row.chunk is not None}


def load(connection: Connection, nodes: Iterable[int]) -> dict[int, NodeRow]:
    """Return nodes by node row; missing rows are left out."""
    return {row.node: row for row in _load_nodes(connection, "n.node = w.value", nodes)}


def _load_nodes(connection: Connection, condition: str, values: Iterable[int]) -> list[NodeRow]:
    """Return the nodes ``n`` for which the SQL condition is true with at least one of the values, ``w.value``."""
    return [NodeRow(*row) for row in lookup(connection, _COLUMNS, f"nodes AS n WHERE {condition}", values)]


def replace_leaves(connection: Connection, gone: Sequence[int], leaves: Sequence[tuple[int, bytes, int]]) -> None:
    """Delete nodes of chunks, delete all summaries above these nodes, and store new nodes of chunks.

    ``gone`` has the rows of the nodes to delete. ``leaves`` has the new nodes: (rank, key, chunk row), as in
    :class:`NodeRow`. Afterwards :func:`stale_leaves` returns no chunks.
    """
    if gone or leaves:
        # Deletions come first: a chunk that is added may be a deleted one with another row number.
        query = """WITH RECURSIVE gone(node) AS (
                SELECT value FROM json_each(?)
                UNION SELECT n.parent FROM gone AS g CROSS JOIN nodes AS n
                WHERE n.node = g.node AND n.parent IS NOT NULL)
            SELECT node FROM gone"""
        remove(connection, column(connection, query, str(list(gone))))
        connection.executemany("INSERT INTO nodes (layer, rank, key, chunk) VALUES (0, ?, ?, ?)", leaves)
        connection.execute("UPDATE trees SET version = random()")
    connection.execute("DELETE FROM dirty_leaves")


def remove(connection: Connection, nodes: Sequence[int]) -> None:
    """Delete nodes by row. Their children remain, and then have no parent."""
    connection.executemany("UPDATE nodes SET parent = NULL WHERE parent = ?", ((node,) for node in nodes))
    connection.executemany("DELETE FROM nodes WHERE node = ?", ((node,) for node in nodes))


def add(connection: Connection, summary: tuple[int, int, bytes, int, int, int], children: Sequence[int]) -> int:
    """Store a summary and make it the parent of its children; return its row.

    ``summary`` is (layer, rank, key, gist, vector, nearest), as in :class:`NodeRow`. ``children`` are rows of nodes.
    """
    query = "INSERT INTO nodes (layer, rank, key, gist, vector, nearest) VALUES (?, ?, ?, ?, ?, ?) RETURNING node"
    node = integer(connection, query, *summary)
    connection.executemany("UPDATE nodes SET parent = ? WHERE node = ?", ((node, child) for child in children))
    return node


def nodes(
    connection: Connection, layer: int, low: int = -(1 << 63), high: int = 1 << 63, most: int = -1
) -> list[tuple[int, bytes, int]]:
    """Return (rank, key, node row) of at most ``most`` nodes of a layer, in order of rank and key.

    Only nodes with low <= rank < high are returned. With ``most`` = -1, their number is not limited. For rank and key
    see :class:`NodeRow`.
    """
    # SQLite's integers cannot hold 2^63, the default of high.
    return connection.execute(
        "SELECT rank, key, node FROM nodes WHERE layer = ? AND rank BETWEEN ? AND ? ORDER BY rank, key LIMIT ?",
        (layer, low, high - 1, most),
    ).fetchall()


def count(connection: Connection, layer: int) -> int:
    """Return the number of nodes of a layer."""
    return integer(connection, "SELECT count(*) FROM nodes WHERE layer = ?", layer)


def nodes_above(connection: Connection, layer: int) -> list[int]:
    """Return the rows of the nodes of all layers above the given one."""
    return column(connection, "SELECT node FROM nodes WHERE layer > ?", layer)


def layers(connection: Connection) -> list[int]:
    """Return the number of nodes of each layer, from layer 0 (the chunks) up."""
    counts = dict(connection.execute("SELECT layer, count(*) FROM nodes GROUP BY layer"))
    return [counts.get(layer, 0) for layer in range(max(counts, default=-1) + 1)]


def parents(connection: Connection, nodes: Sequence[int]) -> dict[int, tuple[int, bytes]]:
    """Return (node row, key) of the parent of each given node, by node row; nodes without a parent are left out."""
    tables = "nodes AS n CROSS JOIN nodes AS p WHERE n.node = w.value AND p.node = n.parent"
    rows = lookup(connection, "n.node, p.node, p.key", tables, nodes)
    return {node: (parent, key) for node, parent, key in rows}


def chunk_rows(connection: Connection) -> list[int]:
    """Return the rows of all chunks that have a vector, ascending."""
    return column(connection, "SELECT chunk FROM vectors ORDER BY chunk")


def memo_of_leaves(connection: Connection) -> dict[int, int]:
    """Return the memo row of the vector of every chunk that has a node, by chunk row."""
    return dict(connection.execute("SELECT n.chunk, v.memo FROM nodes AS n CROSS JOIN vectors AS v USING (chunk)"))


def count_strays(connection: Connection) -> int:
    """Return the number of nodes that refer to a missing row or lack a part.

    These are nodes whose parent is missing, summaries without a readable text, without a vector or without children,
    and summaries whose nearest chunk is missing.
    """
    query = """SELECT count(*) FROM nodes AS n WHERE
        (parent IS NOT NULL AND parent NOT IN (SELECT node FROM nodes))
        OR (layer > 0 AND (
            NOT EXISTS (SELECT 1 FROM memo AS m
                WHERE m.memo = n.gist AND m.kind = ? AND json_valid(CAST(m.value AS TEXT)))
            OR NOT EXISTS (SELECT 1 FROM nodes AS c WHERE c.parent = n.node)
            OR nearest NOT IN (SELECT chunk FROM chunks) OR vector IS NULL))"""
    return integer(connection, query, memo.SUMMARY)


def roots(connection: Connection) -> list[int]:
    """Return the rows of the nodes without a parent, the highest layer first, each layer in order of rank and key."""
    return column(connection, "SELECT node FROM nodes WHERE parent IS NULL ORDER BY layer DESC, rank, key")


def children(connection: Connection, nodes: Sequence[int]) -> dict[int, list[NodeRow]]:
    """Return the children of each node, in order of rank and key, by node row.

    A node without children has an empty list.
    """
    rows = _load_nodes(connection, "n.parent = w.value ORDER BY n.parent, n.rank, n.key", nodes)
    by_parent = group((row.parent, row) for row in rows)
    return {node: by_parent.get(node, []) for node in nodes}


def chunks_under(connection: Connection, node: int) -> list[int]:
    """Return the rows of all chunks below a summary.

    The order is that of a walk down the tree, in which the children of each node are visited in order of rank and key.
    """
    query = """WITH RECURSIVE under(node, layer, way) AS (
            SELECT node, layer, '' FROM nodes WHERE node = ?
            UNION ALL SELECT n.node, n.layer, u.way || printf('%019d', n.rank) || hex(n.key)
            FROM under AS u CROSS JOIN nodes AS n WHERE n.parent = u.node)
        SELECT n.chunk FROM under AS u CROSS JOIN nodes AS n WHERE u.layer = 0 AND n.node = u.node ORDER BY u.way"""
    return column(connection, query, node)


def count_under(connection: Connection, node: int) -> int:
    """Return the number of all chunks below a summary."""
    query = """WITH RECURSIVE under(node, layer) AS (
            SELECT node, layer FROM nodes WHERE node = ?
            UNION ALL SELECT n.node, n.layer FROM under AS u CROSS JOIN nodes AS n WHERE n.parent = u.node)
        SELECT count(*) FROM under WHERE layer = 0"""
    return integer(connection, query, node)


def beginning(connection: Connection, prefix: str, most: int) -> list[NodeRow]:
    """Return the first ``most`` summaries whose key, in hexadecimal digits, begins with ``prefix``, in order of key.

    ``prefix`` has at most 32 digits.
    """
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM nodes AS n WHERE layer > 0 AND key BETWEEN ? AND ? ORDER BY key LIMIT ?",  # noqa: S608
        (bytes.fromhex(prefix.ljust(32, "0")), bytes.fromhex(prefix.ljust(32, "f")), most),
    ).fetchall()
    return [NodeRow(*row) for row in rows]


def of_vectors(
    connection: Connection, memos: Sequence[int], disallowed: Collection[int]
) -> dict[int, list[tuple[int, bytes]]]:
    """Return the summaries that belong to vectors: {memo row of the vector: [(node row, key) of a summary, …]}.

    Summaries with equal texts have the same vector. A vector without a summary has an empty list. Summaries whose node
    rows are in ``disallowed`` are left out.
    """
    rows = lookup(connection, "n.vector, n.node, n.key", "nodes AS n WHERE n.vector = w.value", memos)
    by_memo = group((row, (node, key)) for row, node, key in rows if node not in disallowed)
    return {row: by_memo.get(row, []) for row in memos}


def disallowed_summaries(connection: Connection, allowed: CompiledFilter) -> set[int]:
    """Return the rows of the summaries above at least one chunk that the filter does not allow."""
    return set(column(connection, filters.disallowed_summaries(allowed), *allowed.parameters))


def vectors_of(connection: Connection, nodes: Sequence[int]) -> dict[int, int]:
    """Return the memo row of the vector of each node, by node row; nodes without a vector are left out."""
    tables = "nodes AS n LEFT JOIN vectors AS v ON v.chunk = n.chunk WHERE n.node = w.value"
    rows = lookup(connection, "n.node, COALESCE(n.vector, v.memo)", tables, nodes)
    return {node: memo for node, memo in rows if memo is not None}


def sizes(connection: Connection) -> list[tuple[int, int]]:
    """Return (size, number of segments of this size), in order of size.

    A segment is the group of nodes below one summary. Its size is the number of these nodes.
    """
    return connection.execute(
        """SELECT size, count(*) FROM (SELECT count(*) AS size FROM nodes WHERE parent IS NOT NULL GROUP BY parent)
        GROUP BY size ORDER BY size"""
    ).fetchall()


def ancestors(connection: Connection, chunks: Sequence[int]) -> dict[int, list[int]]:
    """Return the rows of all summaries above each chunk, from the lowest layer up, by chunk row."""
    query = """WITH RECURSIVE up(chunk, node, layer) AS (
            SELECT n.chunk, n.parent, 1 FROM json_each(?) AS w CROSS JOIN nodes AS n WHERE n.chunk = w.value
            UNION ALL SELECT u.chunk, n.parent, u.layer + 1 FROM up AS u CROSS JOIN nodes AS n WHERE n.node = u.node)
        SELECT chunk, node FROM up WHERE node IS NOT NULL ORDER BY chunk, layer"""
    return group(connection.execute(query, (json.dumps(list(chunks)),)).fetchall())


def highest_summaries(connection: Connection, most: int) -> list[int]:
    """Return the rows of at most ``most`` summaries, the highest layer first.

    Each layer is in order of rank and key.
    """
    return column(connection, "SELECT node FROM nodes WHERE layer > 0 ORDER BY layer DESC, rank, key LIMIT ?", most)


def pack(gist: SummaryText) -> bytes:
    """Return a summary as the bytes that the memo stores: JSON in UTF-8."""
    stored: dict[str, object] = {"text": gist.text}
    if gist.quotes:
        stored["quotes"] = [
            [quote.start, quote.end, quote.source, quote.source_start, quote.source_end] for quote in gist.quotes
        ]
    if gist.tokens_in or gist.tokens_out:
        stored["tokens"] = [gist.tokens_in, gist.tokens_out]
    return json.dumps(stored, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def unpack(value: bytes) -> SummaryText:
    """Return the summary that :func:`pack` packed.

    Raises one of :data:`monograph.store.file.errors.UNDECODABLE` if the bytes are no summary.
    """
    stored = json.loads(value)
    quotes = tuple(Quote(*map(whole, row)) for row in stored.get("quotes", ()))
    tokens_in, tokens_out = map(whole, stored.get("tokens", (0, 0)))
    return SummaryText(text(stored["text"]), quotes, tokens_in, tokens_out)


def of_node(connection: Connection, node: int, value: bytes) -> SummaryText:
    """Return the summary of a node, given its row and its packed value.

    Raises DamagedFile, which names the row, if the value is no summary.
    """
    with decoding(connection, f"the summary of row {node} of nodes"):
        return unpack(value)
