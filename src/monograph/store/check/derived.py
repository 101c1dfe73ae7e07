"""Rules that compare derived rows with checksums and with other stored rows.

The rules derive no values to compare with. A repair deletes wrong rows, and derives their values again.
"""

# ruff: noqa: S608 - every statement is made of constants

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from monograph.store.check.rules import DELETE, DERIVE, GRAPH, CheckedRows, Rule
from monograph.store.file import checksums, memo
from monograph.store.graph import graphs
from monograph.store.graph.graphs import LINKED, NAMED, WORDS
from monograph.store.graph.names import MOST_NAMES, without_code
from monograph.store.vectors import vectors
from monograph.store.vectors.clusters import INDEXED, SPACES
from monograph.values import ENTITY_KINDS, Finding

_PERSON = ENTITY_KINDS.index("person")

# Values of the memo, and vectors.


def _disown_wrong_values(checked: CheckedRows) -> None:
    """Delete memo values that do not match their checksum, except vectors that callers supplied."""
    connection, size = checked.connection, checked.vector
    all_supplied = checked.embedder is not None and checked.embedder.spec.startswith("given:")
    lost = []
    for row, key, value in connection.execute(f"SELECT memo, key, value FROM memo AS m WHERE {memo.WRONG}").fetchall():
        is_vector = isinstance(value, bytes) and len(value) == size
        is_vector = is_vector and bool(np.isfinite(np.frombuffer(value, dtype=vectors.STORED)).all())
        # A supplied vector cannot be derived again. It is kept, and the check reports its document.
        if is_vector and (all_supplied or checksums.given_vector_key(value) == key):
            supplied = memo.VECTOR, checksums.given_vector_key(value)
            update = "UPDATE memo SET kind = ?, key = ?, checksum = ? WHERE memo = ?"
            connection.execute(update, (*supplied, checksums.checksum(*supplied, value), row))
        else:
            lost.append((row,))
    for statement in memo.DISOWN:
        connection.executemany(statement, lost)


# Only vectors in use are checked: unused ones may be those of another embedder. This rule must come before the rules of
# the tree, whose remedy restarts the tree: afterwards no node refers to the vectors of summaries.
LENGTHS = Rule(
    "vectors",
    "{} vectors with the wrong dimension",
    f"""SELECT memo FROM memo WHERE kind = '{memo.VECTOR}' AND length(value) != :vector AND (
        memo IN (SELECT memo FROM vectors) OR memo IN (SELECT vector FROM nodes WHERE vector IS NOT NULL))""",
    memo.DISOWN,
)

VALUES = (
    Rule("memo", "{} do not match their checksum",
         lambda checked: (f"{n} memo values ({kind})" for kind, n in memo.count_wrong(checked.connection).items()),
         _disown_wrong_values),
    Rule("memo", "{} rows whose number is out of range",
         f"memo NOT BETWEEN 0 AND {vectors.MOST_ROWS - 1}"),
    Rule("extractions", "{} extractions in the memo that cannot be read",
         f"SELECT memo FROM memo WHERE kind = '{memo.EXTRACTION}' AND NOT json_valid(CAST(value AS TEXT))",
         memo.DISOWN),
    *(Rule(table, f"{{}} {table} of missing chunks", "chunk NOT IN (SELECT chunk FROM chunks)", DELETE)
      for table in ("vectors", "extractions", "chunk_graphs")),
    Rule("vectors", "{} vectors whose value is not in the memo", "memo NOT IN (SELECT memo FROM memo)", DELETE),
    Rule("extractions", "{} extractions that are not in the memo",
         f"memo NOT IN (SELECT memo FROM memo WHERE kind = '{memo.EXTRACTION}')", DELETE),
    Rule("vectors", "{} chunks without a vector",
         "SELECT 1 FROM chunks WHERE chunk NOT IN (SELECT chunk FROM vectors)", DERIVE),
)  # fmt: skip

# The graph.

_ONE_WAY = "NOT EXISTS (SELECT 1 FROM cannot_link AS b WHERE b.key = {0}.full AND b.full = {0}.key)"
_ARE_STORED = "{0}.key IN (SELECT key FROM names) AND {0}.full IN (SELECT key FROM names)"
_BOTH_WAYS = (
    "DELETE FROM cannot_link WHERE NOT (is_utf8(CAST(key AS BLOB)) AND is_utf8(CAST(full AS BLOB)))",
    # Of two rows without their other order, the one with a name that is not stored is wrong.
    f"""DELETE FROM cannot_link WHERE {_ONE_WAY.format("cannot_link")} AND NOT ({_ARE_STORED.format("cannot_link")})
    AND EXISTS (SELECT 1 FROM cannot_link AS a WHERE {_ONE_WAY.format("a")} AND {_ARE_STORED.format("a")})""",
    "INSERT OR IGNORE INTO cannot_link SELECT full, key FROM cannot_link",
)
"""Statements that delete wrong pairs of names that are kept apart, and store right pairs in both orders."""


def _find_names_without_code(checked: CheckedRows) -> Iterator[tuple[str]]:
    if checked.embedder is not None:
        embedded = graphs.embedded_keys(checked.connection)
        yield from zip(without_code(checked.connection, embedded, checked.embedder.dimension))


NAMES = (
    Rule("names", "{} names that are not UTF-8, or whose number is out of range",
         f"name NOT BETWEEN 0 AND {MOST_NAMES - 1} OR NOT is_utf8(CAST(key AS BLOB))", DELETE),
    Rule("cannot_link", "{} pairs of names that are kept apart, stored in one order only", _ONE_WAY.format("t"),
         _BOTH_WAYS),
    Rule("names", "{} names whose embedding signs do not match their checksum",
         "length(code) = :code AND checksum IS NOT checksum(CAST(key AS BLOB), code)",
         "SET code = NULL, checksum = NULL"),
    Rule("names", "{} names without the signs of their embeddings", _find_names_without_code, DERIVE),
)  # fmt: skip


def _compare_edges(checked: CheckedRows) -> Iterator[Finding]:
    """Yield a finding for each kind of difference between ``chunk_graphs``, ``mentions`` and ``names.persons``."""
    connection = checked.connection
    edges, persons, broken = [np.empty(0, dtype=np.int64)], Counter[int](), 0
    for chunk, words, names, links in connection.execute(
        "SELECT chunk, length(words), names, length(links) FROM chunk_graphs"
    ):
        if words % WORDS.itemsize or len(names) % NAMED.itemsize or links % LINKED.itemsize:
            broken += 1
            continue
        records = np.frombuffer(names, dtype=NAMED)
        rows = records["name"].astype(np.int64)
        edges.append(rows << 32 | chunk)
        persons.update(rows[records["kind"] == _PERSON].tolist())
    of_chunks = np.unique(np.concatenate(edges))
    # chunk_graphs has the names in each chunk, and mentions the chunks with each name.
    mentions = "SELECT name << 32 | chunk FROM mentions"
    of_names = np.unique(np.fromiter((row for (row,) in connection.execute(mentions)), dtype=np.int64))
    # names.persons must be the number of chunks in which the name is that of a person.
    stored_counts = dict(connection.execute("SELECT name, persons FROM names WHERE persons != 0"))
    for table, count, fault in (
        ("chunk_graphs", broken, "nodes that cannot be read"),
        ("mentions", len(np.setdiff1d(of_chunks, of_names, assume_unique=True)),
         "mentions stored with their chunk but not with their name"),
        ("mentions", len(np.setdiff1d(of_names, of_chunks, assume_unique=True)),
         "mentions stored with their name but not with their chunk"),
        ("names", sum(persons[name] != stored_counts.get(name, 0) for name in persons.keys() | stored_counts.keys()),
         "names whose number of mentions as a person is wrong"),
    ):  # fmt: skip
        if count:
            yield Finding(table, f"{count} {fault}", repairable=True)


GRAPH_ROWS = (
    Rule("chunk_graphs", "{} nodes whose document is not that of their chunk",
         "document != (SELECT c.document FROM chunks AS c WHERE c.chunk = t.chunk)", GRAPH),
    Rule("chunk_graphs", "{} chunks that are not in the graph",
         "SELECT 1 FROM chunks WHERE chunk NOT IN (SELECT chunk FROM chunk_graphs)", GRAPH),
    Rule("extractions", "{} nodes of chunks without an extraction",
         "SELECT 1 FROM chunk_graphs WHERE chunk NOT IN (SELECT chunk FROM extractions)", GRAPH),
    *(Rule(table, f"{{}} {table} of missing documents",
           "document NOT IN (SELECT document FROM documents)", GRAPH) for table in ("subjects", "aliases")),
    *(Rule(table, f"{{}} {table} without a name", "name NOT IN (SELECT name FROM names)", GRAPH)
      for table in ("subjects", "aliases", "mentions")),
    Rule("aliases", "{} aliases without a full name", '"full" NOT IN (SELECT name FROM names)', GRAPH),
    Rule("names", "{} names whose number of uses is wrong",
         """uses != (SELECT count(*) FROM mentions AS m WHERE m.name = t.name)
        + (SELECT count(*) FROM subjects AS s WHERE s.name = t.name)""", GRAPH),
    Rule("names", "{} names merged into a name that is missing or unused",
         "uses > 0 AND head IS NOT NULL AND head NOT IN (SELECT name FROM names WHERE uses > 0)", GRAPH),
    Rule("mentions", "{}", _compare_edges, GRAPH),
)  # fmt: skip

# Vector indexes.

CLUSTERS = (
    Rule("vector_indexes", "{} vector indexes with an unknown space", f"space NOT IN {SPACES}", DELETE),
    *(Rule(table, f"{{}} {table} of a missing index", f"space NOT IN {INDEXED}", DELETE)
      for table in ("clusters", "placements", "centroids")),
    Rule("codes", "{} codes of a missing index", f"place >> 32 NOT IN {INDEXED}", DELETE),
    Rule("parts", "{} parts of missing clusters", "part / 2 NOT IN (SELECT cluster FROM clusters)", DELETE),
    Rule("cluster_graphs", "{} graphs of missing clusters",
         "cluster NOT IN (SELECT cluster FROM clusters)", DELETE),
    Rule("clusters", "{} vectors are not in the index yet", "SELECT 1 FROM dirty_placements", DERIVE),
)  # fmt: skip
