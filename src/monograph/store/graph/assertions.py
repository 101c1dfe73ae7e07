"""Assertions: nodes and relations that callers added.

A node or relation has one row for each chunk or document that supports it. The rows are merged: values of later
rows replace values of earlier rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from monograph.store.file.checksums import Value, checksum
from monograph.store.file.database import Connection
from monograph.store.file.rows import group, integer, loaded_object, lookup, select, text
from monograph.values import AssertedNode, AssertedRelation, Assertions, Float32
from monograph.values.graph import NODE_LABEL

STORED = np.dtype("<f4")
TABLES = {
    "asserted_nodes": "assertion, id, document, chunk, label, name, key, properties, embedding, implied",
    "asserted_relations": "assertion, source, label, target, document, chunk, properties",
}
"""Columns of each table, in the order in which a row's checksum covers them."""

_ORIGIN = """COALESCE((SELECT c.id FROM chunks AS c WHERE c.chunk = t.chunk),
    (SELECT d.id FROM documents AS d WHERE d.document = t.document))"""
_NODES = f"""SELECT t.assertion, t.id, t.label, t.name, t.properties, t.embedding, t.implied, {_ORIGIN}
    FROM asserted_nodes AS t"""  # noqa: S608 - a constant
_RELATIONS = f"SELECT t.assertion, t.source, t.label, t.target, t.properties, {_ORIGIN} FROM asserted_relations AS t"  # noqa: S608
Row: TypeAlias = tuple[Any, ...]
"""A row of ``_NODES`` or ``_RELATIONS``. The first column is the row's number; later rows have higher numbers."""


class AssertionOrigin(NamedTuple):
    """Row numbers of the document and the chunk that an assertion comes from.

    Both are None if it comes from no text. Only ``chunk`` is None if it comes from a document as a whole.
    """

    document: int | None
    chunk: int | None


NOBODY = AssertionOrigin(None, None)

_OF_ORIGIN = "id = ? AND document IS ? AND chunk IS ?"
"""SQL condition for the assertion of one node by one origin. Parameters: node id, document, chunk."""


class RelationKey(NamedTuple):
    """Identity of a relation: the ids of its two nodes, and its label."""

    source: str
    label: str
    target: str


def is_empty(connection: Connection) -> bool:
    """Return whether the file has no assertions."""
    # Only nodes are looked up, since every search asks this: a relation is never stored without its nodes.
    return connection.execute("SELECT 1 FROM asserted_nodes LIMIT 1").fetchone() is None


def nodes(connection: Connection, ids: Sequence[str] | None = None) -> dict[str, AssertedNode]:
    """Return all nodes, or only those with the given ids, by id, in the order in which they were added."""
    if ids is None:
        rows = connection.execute(_NODES).fetchall()
    else:
        rows = list(select(connection, f"{_NODES} WHERE t.id IN", list(dict.fromkeys(ids))))
    by_id = group((row[1], row) for row in sorted(rows, key=itemgetter(0)))
    return {name: _merge_node(text(name), node_rows) for name, node_rows in by_id.items()}


def _merge_node(name: str, rows: Sequence[Row]) -> AssertedNode:
    """Return the node with the id ``name``. Values of its later rows replace those of earlier rows."""
    label, node_name, embedding = "", "", None
    properties: dict[str, Any] = {}
    # Rows of imply_node come first.
    for _, _, row_label, row_name, row_properties, packed, _, _ in sorted(rows, key=lambda row: (-row[6], row[0])):
        label, node_name = text(row_label), text(row_name)
        properties |= loaded_object(row_properties)
        if packed is not None:
            embedding = np.frombuffer(packed, dtype=STORED).astype(np.float32)
    return AssertedNode(name, node_name, label, properties, embedding, _list_origins(rows))


def _list_origins(rows: Sequence[Row]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(row[-1] for row in rows if row[-1] is not None))


def relations(connection: Connection, ids: Sequence[str] | None = None) -> tuple[AssertedRelation, ...]:
    """Return all relations, or only those from or to the given nodes, in the order in which they were added."""
    if ids is None:
        rows = connection.execute(_RELATIONS).fetchall()
    else:
        queries = (f"{_RELATIONS} WHERE t.{end} IN" for end in ("source", "target"))
        unique_ids = list(dict.fromkeys(ids))
        rows = list({row for query in queries for row in select(connection, query, unique_ids)})
    by_ends = group((RelationKey(*row[1:4]), row) for row in sorted(rows, key=itemgetter(0)))
    return tuple(_merge_relation(ends, edge_rows) for ends, edge_rows in by_ends.items())


def _merge_relation(ends: RelationKey, rows: Sequence[Row]) -> AssertedRelation:
    properties: dict[str, Any] = {}
    for row in rows:
        properties |= loaded_object(row[4])
    return AssertedRelation(text(ends.source), text(ends.label), text(ends.target), properties, _list_origins(rows))


def iterate_rows(connection: Connection) -> Iterator[AssertedNode | AssertedRelation]:
    """Yield one assertion for each stored row, without merging the rows of the same node or relation.

    All nodes come first, then all relations, each in the order in which they were added. Implied nodes are skipped. An
    implied node was not asserted; it is stored because a relation has it as an end.
    """
    rows = connection.execute(f"{_NODES} WHERE NOT t.implied ORDER BY t.assertion").fetchall()
    yield from (_merge_node(text(row[1]), [row]) for row in rows)
    rows = connection.execute(f"{_RELATIONS} ORDER BY t.assertion").fetchall()
    yield from (_merge_relation(RelationKey(*row[1:4]), [row]) for row in rows)


def around(connection: Connection, ids: Sequence[str] | None = None) -> Assertions:
    """Return the given nodes (or all), their relations, and the nodes at the other ends of these relations."""
    edges = relations(connection, ids)
    if ids is not None:
        ids = list(dict.fromkeys((*ids, *(end for edge in edges for end in (edge.source, edge.target)))))
    return Assertions(nodes(connection, ids), edges)


def by_keys(connection: Connection, keys: Iterable[str]) -> dict[str, set[str]]:
    """Return the nodes that have a name with one of the given keys: {node id: keys of all names of the node}."""
    rows = select(connection, "SELECT id FROM asserted_nodes WHERE key IN", list(dict.fromkeys(keys)))
    return keys_of(connection, list({name for (name,) in rows}))


def keys_of(connection: Connection, ids: Sequence[str]) -> dict[str, set[str]]:
    """Return the keys of the names of each given node, by node id. A node may have several names."""
    keys_by_id = group(select(connection, "SELECT id, key FROM asserted_nodes WHERE id IN", ids))
    return {name: set(keys) for name, keys in keys_by_id.items()}


def related_names(connection: Connection, keys: Iterable[str], most: int) -> dict[str, list[str]]:
    """Return the keys that asserted relations connect to each given key: {given key: other keys, sorted}.

    A relation connects the keys of the names of its two nodes. A given key without relations is left out. A given key
    that is connected to more than ``most`` other keys is left out, too.
    """
    if is_empty(connection):
        return {}
    pairs, given_keys = [], list(dict.fromkeys(keys))
    for end, other_end in (("source", "target"), ("target", "source")):
        tables = f"""asserted_nodes AS n CROSS JOIN asserted_relations AS r CROSS JOIN asserted_nodes AS o
            WHERE n.key = w.value AND r.{end} = n.id AND o.id = r.{other_end} AND o.id != n.id"""
        pairs += lookup(connection, "DISTINCT n.key, o.key", tables, given_keys)
    others = ((key, sorted(set(other_keys) - {key})) for key, other_keys in group(pairs).items())
    return {key: other_keys for key, other_keys in others if len(other_keys) <= most}


def embeddings(connection: Connection, dimension: int) -> tuple[list[str], Float32]:
    """Return (ids, embeddings) of the nodes that have an embedding of ``dimension`` values, in order of id.

    The embeddings are float32 (n, dimension). If a node has several embeddings, only the one that was added last
    counts.
    """
    query = "SELECT id, embedding FROM asserted_nodes WHERE embedding IS NOT NULL ORDER BY assertion"
    last_by_id = dict(connection.execute(query).fetchall())
    by_id = {name: packed for name, packed in sorted(last_by_id.items()) if len(packed) == dimension * STORED.itemsize}
    vectors = np.frombuffer(b"".join(by_id.values()), dtype=STORED).reshape(len(by_id), dimension)
    return list(by_id), vectors.astype(np.float32)


def origins(connection: Connection, ids: Sequence[str]) -> dict[str, AssertionOrigin]:
    """Return the origin that each given id names, by id; unknown ids are left out.

    An id names a chunk or a document. If both have the id, the origin is the chunk.
    """
    documents = select(connection, "SELECT id, document FROM documents WHERE id IN", ids)
    chunks = select(connection, "SELECT id, document, chunk FROM chunks WHERE id IN", ids)
    return {name: AssertionOrigin(row, None) for name, row in documents} | {
        name: AssertionOrigin(*rows) for name, *rows in chunks
    }


def documents_of(connection: Connection, ids: Sequence[str]) -> set[int]:
    """Return the rows of the documents that assert one of the given nodes, or a relation from or to one of them."""
    queries = (
        "SELECT document FROM asserted_nodes WHERE id IN",
        "SELECT document FROM asserted_relations WHERE source IN",
        "SELECT document FROM asserted_relations WHERE target IN",
    )
    return {row for query in queries for (row,) in select(connection, query, ids) if row is not None}


def put_node(connection: Connection, node: AssertedNode, key: str, origin: AssertionOrigin) -> int:
    """Store the assertion of a node by an origin; return the number of replaced rows.

    All stored rows of this node from the same origin are replaced. ``key`` is the comparison key of the node's name.
    """
    replaced = connection.execute(f"DELETE FROM asserted_nodes WHERE {_OF_ORIGIN}", (node.id, *origin)).rowcount  # noqa: S608
    embedding = None if node.embedding is None else np.ascontiguousarray(node.embedding, dtype=STORED).tobytes()
    properties = json.dumps(node.properties, ensure_ascii=False)
    values = (node.id, *origin, node.label, node.name or node.id, key, properties, embedding, 0)
    _insert(connection, "asserted_nodes", values)
    return replaced


def imply_node(connection: Connection, name: str, key: str, origin: AssertionOrigin) -> None:
    """Store an implied node: a node that was not asserted itself, but is an end of an asserted relation.

    Nothing is stored if the node already has a row from ``origin``, the origin of the relation. ``name`` is the id of
    the node, and is also stored as the node's name. ``key`` is the comparison key of the name.
    """
    row = connection.execute(f"SELECT 1 FROM asserted_nodes WHERE {_OF_ORIGIN} LIMIT 1", (name, *origin)).fetchone()  # noqa: S608
    if row is None:
        _insert(connection, "asserted_nodes", (name, *origin, NODE_LABEL, name, key, "{}", None, 1))


def put_relation(connection: Connection, relation: AssertedRelation, origin: AssertionOrigin) -> int:
    """Store the assertion of a relation by an origin; return the number of replaced rows.

    All stored rows of this relation from the same origin are replaced. Rows with the same source, label and target are
    rows of the same relation.
    """
    ends = (relation.source, relation.label, relation.target)
    replaced = connection.execute(
        "DELETE FROM asserted_relations WHERE (source, label, target) = (?, ?, ?) AND document IS ? AND chunk IS ?",
        (*ends, *origin),
    ).rowcount
    _insert(connection, "asserted_relations", (*ends, *origin, json.dumps(relation.properties, ensure_ascii=False)))
    return replaced


def _insert(connection: Connection, table: str, values: Sequence[Value]) -> None:
    row = (integer(connection, f"SELECT max(assertion) FROM {table}") + 1, *values)  # noqa: S608 - constants
    marks = ", ".join("?" * (len(row) + 1))
    connection.execute(
        f"INSERT INTO {table} ({TABLES[table]}, checksum) VALUES ({marks})",  # noqa: S608 - constants
        (*row, checksum(*row)),
    )


def remove_assertions_of(connection: Connection, what: Literal["chunk", "document"], rows: Iterable[int]) -> None:
    """Delete the assertions that come from the given chunks or documents, which the caller removes."""
    if not is_empty(connection):
        removed = [(row,) for row in rows]
        for table in TABLES:
            connection.executemany(f"DELETE FROM {table} WHERE {what} = ?", removed)  # noqa: S608 - constants


def remove(
    connection: Connection, nodes: Sequence[str], relations: Sequence[RelationKey], document: int | None, *, every: bool
) -> int:
    """Delete assertions of the given nodes and relations, and of all relations from or to these nodes.

    With ``every``, assertions of all origins are deleted, and ``document`` has no effect. Without ``every``, only
    assertions that come from ``document`` (a row number) or one of its chunks are deleted. If ``document`` is None,
    these are the assertions that come from no text. Returns the number of deleted rows.
    """
    of_nodes = [(name, document, every) for name in nodes]
    of_relations = [(*ends, document, every) for ends in relations]
    deletions = (
        ("asserted_nodes WHERE id = ? AND", of_nodes),
        ("asserted_relations WHERE source = ? AND", of_nodes),
        ("asserted_relations WHERE target = ? AND", of_nodes),
        ("asserted_relations WHERE source = ? AND label = ? AND target = ? AND", of_relations),
    )
    return sum(
        connection.executemany(f"DELETE FROM {what} (document IS ? OR ?)", rows).rowcount  # noqa: S608 - constants
        for what, rows in deletions
    )
