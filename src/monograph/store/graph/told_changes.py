"""What callers tell of things, written: a row of ``told_nodes`` or ``told_relations`` for each text that says it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from monograph.store.file.checksums import Value, checksum
from monograph.store.file.database import Connection
from monograph.store.file.keyed import select
from monograph.values import ToldNode, ToldRelation
from monograph.values.graph import NODE_LABEL

STORED = np.dtype("<f4")
TABLES = {
    "told_nodes": "told, id, document, chunk, label, name, key, properties, embedding, implied",
    "told_relations": "told, source, label, target, document, chunk, properties",
}
"""Columns by table, in the order in which the checksum of a row is of them."""


class Origin(NamedTuple):
    """What says something: a document, or a chunk of it, as rows; both are None where nobody's text does."""

    document: int | None
    chunk: int | None


NOBODY = Origin(None, None)


class Ends(NamedTuple):
    """A relation as what names it."""

    source: str
    label: str
    target: str


def origins(connection: Connection, ids: Sequence[str]) -> dict[str, Origin]:
    """The chunks of some ids, and the documents of the others, by id; what is neither is left out."""
    found = {name: Origin(row, None) for name, row in select(connection, _DOCUMENTS, ids)}
    return found | {name: Origin(document, row) for name, document, row in select(connection, _CHUNKS, ids)}


_DOCUMENTS = "SELECT id, document FROM documents WHERE id IN"
_CHUNKS = "SELECT id, document, chunk FROM chunks WHERE id IN"


def put_node(connection: Connection, node: ToldNode, key: str, origin: Origin) -> int:
    """Store what an origin says of a node in place of what it said of it before; returns how many rows that were."""
    replaced = connection.execute(
        "DELETE FROM told_nodes WHERE id = ? AND document IS ? AND chunk IS ?", (node.id, *origin)
    ).rowcount
    embedding = None if node.embedding is None else np.ascontiguousarray(node.embedding, dtype=STORED).tobytes()
    properties = json.dumps(node.properties, ensure_ascii=False)
    own = (node.id, *origin, node.label, node.name or node.id, key, properties, embedding, 0)
    _insert(connection, "told_nodes", own)
    return replaced


def imply_node(connection: Connection, name: str, key: str, origin: Origin) -> None:
    """Store that a relation of an origin tells of a node, unless that origin tells of it already."""
    known = connection.execute(
        "SELECT 1 FROM told_nodes WHERE id = ? AND document IS ? AND chunk IS ? LIMIT 1", (name, *origin)
    ).fetchone()
    if known is None:
        _insert(connection, "told_nodes", (name, *origin, NODE_LABEL, name, key, "{}", None, 1))


def put_relation(connection: Connection, relation: ToldRelation, origin: Origin) -> int:
    """Store what an origin says of a relation, as :func:`put_node`."""
    ends = (relation.source, relation.label, relation.target)
    replaced = connection.execute(
        "DELETE FROM told_relations WHERE source = ? AND label = ? AND target = ? AND document IS ? AND chunk IS ?",
        (*ends, *origin),
    ).rowcount
    _insert(connection, "told_relations", (*ends, *origin, json.dumps(relation.properties, ensure_ascii=False)))
    return replaced


def _insert(connection: Connection, table: str, own: Sequence[Value]) -> None:
    (highest,) = connection.execute(f"SELECT max(told) FROM {table}").fetchone()  # noqa: S608 - constants
    row = (int(highest or 0) + 1, *own)
    marks = ", ".join("?" * (len(row) + 1))
    connection.execute(
        f"INSERT INTO {table} ({TABLES[table]}, checksum) VALUES ({marks})",  # noqa: S608 - constants
        (*row, checksum(*row)),
    )


def is_empty(connection: Connection) -> bool:
    """Whether nothing was told."""
    # Every search asks. A relation comes with its nodes.
    return connection.execute("SELECT 1 FROM told_nodes LIMIT 1").fetchone() is None


def remove_chunks(connection: Connection, chunks: Iterable[int]) -> None:
    """Forget what chunks said that go."""
    rows = [(chunk,) for chunk in chunks]
    for table in TABLES:
        if connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() is not None:  # noqa: S608 - constants
            connection.executemany(f"DELETE FROM {table} WHERE chunk = ?", rows)  # noqa: S608 - constants


def remove_document(connection: Connection, document: int) -> None:
    """Forget what a document said that goes."""
    for table in TABLES:
        connection.execute(f"DELETE FROM {table} WHERE document = ?", (document,))  # noqa: S608 - constants


def documents_of(connection: Connection, ids: Sequence[str]) -> set[int]:
    """Rows of the documents that tell of some nodes, or of relations that lead from or to them."""
    queries = (
        "SELECT document FROM told_nodes WHERE id IN",
        "SELECT document FROM told_relations WHERE source IN",
        "SELECT document FROM told_relations WHERE target IN",
    )
    return {row for query in queries for (row,) in select(connection, query, ids) if row is not None}


def remove_node(connection: Connection, name: str, document: int | None, *, every: bool) -> int:
    """Forget what a document, or with ``every`` anyone, said of a node and the relations that lead from or to it.

    Returns how many rows that were.
    """
    return sum(
        connection.execute(
            f"DELETE FROM {table} WHERE {column} = ?1 AND (?3 OR document IS ?2)",  # noqa: S608 - constants
            (name, document, every),
        ).rowcount
        for table, column in (("told_nodes", "id"), ("told_relations", "source"), ("told_relations", "target"))
    )


def remove_relation(connection: Connection, ends: Ends, document: int | None, *, every: bool) -> int:
    """Forget what a document, or with ``every`` anyone, said of a relation; returns how many rows that were."""
    return connection.execute(
        """DELETE FROM told_relations WHERE source = ?1 AND label = ?2 AND target = ?3 AND (?5 OR document IS ?4)""",
        (*ends, document, every),
    ).rowcount
