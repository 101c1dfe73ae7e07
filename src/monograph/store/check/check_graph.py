"""The integrity of the entity–chunk graph: its tables against each other, and against what it is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.store.file import memo, settings
from monograph.store.file.database import Connection
from monograph.store.graph.graphs import LINKED, NAMED, WORDS
from monograph.values import ENTITY_KINDS, Finding

Int64: TypeAlias = npt.NDArray[np.int64]

_PERSON = ENTITY_KINDS.index("person")
_EXTRACTIONS = f"SELECT memo FROM memo WHERE kind = '{memo.EXTRACTION}'"  # noqa: S608 - a constant
_UNREADABLE = f"{_EXTRACTIONS} AND NOT json_valid(CAST(value AS TEXT))"

_QUERIES = (
    ("chunk_graphs", "nodes of chunks that are not there",
     "SELECT count(*) FROM chunk_graphs WHERE chunk NOT IN (SELECT chunk FROM chunks)"),
    ("extractions", "extractions of chunks that are not there",
     "SELECT count(*) FROM extractions WHERE chunk NOT IN (SELECT chunk FROM chunks)"),
    ("extractions", "extractions that are not in the memo",
     f"SELECT count(*) FROM extractions WHERE memo NOT IN ({_EXTRACTIONS})"),  # noqa: S608
    ("extractions", "nodes of chunks without an extraction",
     "SELECT count(*) FROM chunk_graphs WHERE chunk NOT IN (SELECT chunk FROM extractions)"),
    ("extractions", "remembered extractions that cannot be read", f"SELECT count(*) FROM ({_UNREADABLE})"),  # noqa: S608
    ("subjects", "subjects of documents that are not there",
     "SELECT count(*) FROM subjects WHERE document NOT IN (SELECT document FROM documents)"),
    ("subjects", "subjects without a name", "SELECT count(*) FROM subjects WHERE name NOT IN (SELECT name FROM names)"),
    ("aliases", "aliases of documents that are not there",
     "SELECT count(*) FROM aliases WHERE document NOT IN (SELECT document FROM documents)"),
    ("aliases", "aliases without a name",
     """SELECT count(*) FROM aliases
        WHERE name NOT IN (SELECT name FROM names) OR "full" NOT IN (SELECT name FROM names)"""),
    ("apart", "pairs of names set apart that stand in one order only",
     """SELECT count(*) FROM apart AS a
        WHERE NOT EXISTS (SELECT 1 FROM apart AS b WHERE b.key = a.full AND b.full = a.key)"""),
    ("mentions", "mentions without a name", "SELECT count(*) FROM mentions WHERE name NOT IN (SELECT name FROM names)"),
    ("names", "names whose count of uses is wrong",
     """SELECT count(*) FROM names AS n WHERE uses != (SELECT count(*) FROM mentions AS m WHERE m.name = n.name)
        + (SELECT count(*) FROM subjects AS s WHERE s.name = n.name)"""),
    ("names", "names whose head does not live",
     """SELECT count(*) FROM names WHERE uses > 0 AND head IS NOT NULL
        AND head NOT IN (SELECT name FROM names WHERE uses > 0)"""),
)  # fmt: skip


def findings(connection: Connection) -> Iterator[Finding]:
    """Every fault, one finding a kind; all of them can be mended. A graph that is still to be made has none."""
    stored = settings.load_model(connection, settings.StoredExtractor)
    if stored is None or stored.graph <= 0:
        return
    (lacking,) = connection.execute(
        "SELECT count(*) FROM chunks WHERE chunk NOT IN (SELECT chunk FROM chunk_graphs)"
    ).fetchone()
    if lacking:
        yield Finding("chunk_graphs", f"{lacking} chunks that are not in the graph", repairable=True)
    for table, fault, query in _QUERIES:
        (count,) = connection.execute(query).fetchone()
        if count:
            yield Finding(table, f"{count} {fault}", repairable=True)
    yield from _edges(connection)


@dataclass(slots=True)
class _Nodes:
    """What the chunks' nodes say: (name, chunk) edges, the chunks that take each name for a person's, bad nodes."""

    edges: list[Int64] = field(default_factory=list)
    persons: Counter[int] = field(default_factory=Counter)
    broken: int = 0


def _edges(connection: Connection) -> Iterator[Finding]:
    """The edges from the chunks' side against those from the names' side, in one pass."""
    nodes = _read(connection)
    found = _sorted(np.concatenate(nodes.edges) if nodes.edges else np.empty(0, dtype=np.int64))
    edges = "SELECT name << 32 | chunk FROM mentions"
    stored = _sorted(np.fromiter((row for (row,) in connection.execute(edges)), dtype=np.int64))
    faults = (
        ("chunk_graphs", nodes.broken, "nodes that cannot be read"),
        ("mentions", len(np.setdiff1d(found, stored, assume_unique=True)), "mentions of chunks that names lack"),
        ("mentions", len(np.setdiff1d(stored, found, assume_unique=True)), "mentions of names that chunks lack"),
        ("names", _wrong_persons(connection, nodes.persons), "names whose count of persons is wrong"),
    )
    for table, count, fault in faults:
        if count:
            yield Finding(table, f"{count} {fault}", repairable=True)


def _read(connection: Connection) -> _Nodes:
    nodes = _Nodes()
    for chunk, words, names, links in connection.execute(
        "SELECT chunk, length(words), names, length(links) FROM chunk_graphs"
    ):
        if words % WORDS.itemsize or len(names) % NAMED.itemsize or links % LINKED.itemsize:
            nodes.broken += 1
            continue
        some = np.frombuffer(names, dtype=NAMED)
        rows = some["name"].astype(np.int64)
        nodes.edges.append(rows << 32 | chunk)
        nodes.persons.update(rows[some["kind"] == _PERSON].tolist())
    return nodes


def _sorted(edges: Int64) -> Int64:
    return np.unique(edges)


def _wrong_persons(connection: Connection, persons: Counter[int]) -> int:
    stored = dict(connection.execute("SELECT name, persons FROM names WHERE persons != 0"))
    return sum(persons[name] != stored.get(name, 0) for name in persons.keys() | stored.keys())


def drop_strays(connection: Connection) -> None:
    """Delete rows that belong to nothing, and remembered extractions that cannot be read."""
    for table in ("chunk_graphs", "extractions"):
        connection.execute(f"DELETE FROM {table} WHERE chunk NOT IN (SELECT chunk FROM chunks)")  # noqa: S608 - constants
    for table in ("subjects", "aliases"):
        connection.execute(f"DELETE FROM {table} WHERE document NOT IN (SELECT document FROM documents)")  # noqa: S608
    for table in ("extractions", "memo"):
        connection.execute(f"DELETE FROM {table} WHERE memo IN ({_UNREADABLE})")  # noqa: S608
    connection.execute(f"DELETE FROM extractions WHERE memo NOT IN ({_EXTRACTIONS})")  # noqa: S608
