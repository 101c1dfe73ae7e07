"""Rows of the vector index: its clusters, their bodies, and where each vector is placed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from monograph.store.file import checksums
from monograph.store.file.database import Connection
from monograph.store.file.keyed import select
from monograph.store.vectors import codes
from monograph.store.vectors.vectors import STORED
from monograph.values import Float32

CHUNKS = 1
"""The space of chunk vectors."""
SUMMARIES = 2
"""The space of the vectors of summaries."""
SPACES = (CHUNKS, SUMMARIES)
"""Every space that there can be."""

MEMBERS = {CHUNKS: "SELECT memo FROM vectors", SUMMARIES: "SELECT vector AS memo FROM nodes WHERE vector IS NOT NULL"}
"""The memo rows that belong to a space."""
_BELONGS = {
    CHUNKS: "EXISTS (SELECT 1 FROM vectors AS v WHERE v.memo = u.memo)",
    SUMMARIES: "EXISTS (SELECT 1 FROM nodes AS n WHERE n.vector = u.memo)",
}
"""Whether the memo row of ``u`` belongs to a space."""
INDEXED = "(SELECT space FROM vector_indexes)"
"""The spaces that have an index."""

_BODIES = "SELECT part, body FROM json_each(?) AS j CROSS JOIN parts ON part = j.value"
"""Row by row as asked for. IN sorts them first, BETWEEN looks at the row behind: in a page that nobody announced."""

Int64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Header:
    """The row of an index; ``design`` and ``calibration`` are JSON of the index's own.

    ``version`` is another number after every change, ``structure`` after every change of the centroids. They are
    numbers of chance: counted up, two changes of which one was rolled back would look alike.
    """

    dimension: int
    design: str
    calibration: str
    version: int
    structure: int


UNCLUSTERED = -1
"""The first cluster of a vector in an index without clusters."""


class Placement(NamedTuple):
    """The first and second cluster of a memo row's vector; 0 for none. A tuple: there is one for every vector."""

    memo: int
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class Size:
    """How many entries of a cluster are alive, and how many are struck out."""

    size: int
    dead: int


def header(connection: Connection, space: int) -> Header | None:
    """The row of an index, None before it is built."""
    row = connection.execute(
        "SELECT dimension, design, calibration, version, structure FROM vector_indexes WHERE space = ?",
        (space,),
    ).fetchone()
    return None if row is None else Header(*row)


def versions(connection: Connection, space: int) -> tuple[int, int]:
    """(version, structure) of an index; (0, 0) before it is built."""
    row = connection.execute("SELECT version, structure FROM vector_indexes WHERE space = ?", (space,)).fetchone()
    return (0, 0) if row is None else row


def put_header(connection: Connection, space: int, dimension: int, design: str, calibration: str) -> None:
    """Set what a new index is like."""
    connection.execute(
        """INSERT INTO vector_indexes (space, dimension, design, calibration, version, structure)
        VALUES (?, ?, ?, ?, random(), random())""",
        (space, dimension, design, calibration),
    )
    seal(connection, space)


def put_calibration(connection: Connection, space: int, calibration: str) -> None:
    """Set an index's calibration, and tell readers to take it up."""
    connection.execute(
        "UPDATE vector_indexes SET calibration = ?, structure = random() WHERE space = ?", (calibration, space)
    )
    seal(connection, space)


def seal(connection: Connection, space: int) -> None:
    """Note how an index is built."""
    checksums.put(connection, f"vector_indexes/{space}", *_written(connection, space))


def _written(connection: Connection, space: int) -> tuple[int, bytes, bytes]:
    """What is kept of how an index is built."""
    found: tuple[int, bytes, bytes] = connection.execute(
        "SELECT dimension, CAST(design AS BLOB), CAST(calibration AS BLOB) FROM vector_indexes WHERE space = ?",
        (space,),
    ).fetchone()
    return found


def is_as_written(connection: Connection, space: int) -> bool:
    """Whether what is kept of how an index is built is what was written."""
    return checksums.holds(connection, f"vector_indexes/{space}", *_written(connection, space))


def touch(connection: Connection, space: int, *, structure: bool) -> None:
    """Tell readers that an index has changed, and whether its centroids have."""
    changed = "version = random(), structure = random()" if structure else "version = random()"
    connection.execute(f"UPDATE vector_indexes SET {changed} WHERE space = ?", (space,))  # noqa: S608 - two constants


def searched_centroids(connection: Connection, space: int) -> tuple[bytes, bytes | None] | None:
    """What a search compares a query with: codes of all centroids, and their graph where they have one."""
    found: tuple[bytes, bytes | None] | None = connection.execute(
        "SELECT body, graph FROM centroids WHERE space = ?", (space,)
    ).fetchone()
    return found


def put_searched_centroids(connection: Connection, space: int, body: bytes, graph: bytes | None) -> None:
    """Set what a search compares a query with."""
    connection.execute("INSERT OR REPLACE INTO centroids VALUES (?, ?, ?)", (space, body, graph))


def centroids(connection: Connection, space: int, dimension: int) -> tuple[Int64, Float32]:
    """Clusters and their centroids: int64 (n,), ascending, and float32 (n, dimension)."""
    found = connection.execute(
        "SELECT cluster, centroid FROM clusters WHERE space = ? ORDER BY cluster", (space,)
    ).fetchall()
    names = np.fromiter((cluster for cluster, _ in found), dtype=np.int64, count=len(found))
    values = np.frombuffer(b"".join(value for _, value in found), dtype=STORED)
    return names, values.reshape(len(found), dimension).astype(np.float32, copy=False)


def sizes(connection: Connection, space: int) -> dict[int, Size]:
    """Every cluster's sizes."""
    found = connection.execute("SELECT cluster, size, dead FROM clusters WHERE space = ?", (space,))
    return {cluster: Size(size, dead) for cluster, size, dead in found}


def add_cluster(connection: Connection, space: int, centroid: Float32) -> int:
    """A new, empty cluster; returns its number, higher than any that is there."""
    inserted = connection.execute(
        "INSERT INTO clusters (space, size, dead, centroid) VALUES (?, 0, 0, ?) RETURNING cluster",
        (space, np.ascontiguousarray(centroid, dtype=STORED).tobytes()),
    ).fetchone()
    return int(inserted[0])


def remove_cluster(connection: Connection, cluster: int) -> None:
    """Take a cluster out with all it holds."""
    connection.execute("DELETE FROM clusters WHERE cluster = ?", (cluster,))
    _drop_contents(connection, cluster)


def resize(connection: Connection, cluster: int, size: Size) -> None:
    """Set a cluster's sizes."""
    connection.execute("UPDATE clusters SET size = ?, dead = ? WHERE cluster = ?", (size.size, size.dead, cluster))


def bodies(connection: Connection, cluster: int) -> list[bytes]:
    """What a cluster holds: what was folded, then what came since; empty where there is neither."""
    return [body for _, body in connection.execute(_BODIES, (f"[{2 * cluster},{2 * cluster + 1}]",)).fetchall()]


def bodies_of(connection: Connection, some: Sequence[int]) -> dict[int, list[bytes]]:
    """What each of some clusters holds, as :func:`bodies` tells it."""
    found: dict[int, list[bytes]] = {cluster: [] for cluster in some}
    asked = json.dumps([part for cluster in sorted(found) for part in (2 * cluster, 2 * cluster + 1)])
    for part, body in connection.execute(_BODIES, (asked,)).fetchall():
        found[part >> 1].append(body)
    return found


def folded(connection: Connection, cluster: int) -> bytes | None:
    """What was folded of a cluster."""
    row = connection.execute("SELECT body FROM parts WHERE part = ?", (2 * cluster,)).fetchone()
    return None if row is None else row[0]


def recent(connection: Connection, cluster: int) -> bytes | None:
    """What came since a cluster was folded."""
    row = connection.execute("SELECT body FROM parts WHERE part = ?", (2 * cluster + 1,)).fetchone()
    return None if row is None else row[0]


def put_folded(connection: Connection, cluster: int, body: bytes) -> None:
    """Write all of a cluster anew."""
    connection.execute("INSERT OR REPLACE INTO parts VALUES (?, ?)", (2 * cluster, body))
    drop_recent(connection, cluster)


def put_recent(connection: Connection, cluster: int, body: bytes) -> None:
    """Write what came since a cluster was folded."""
    connection.execute("INSERT OR REPLACE INTO parts VALUES (?, ?)", (2 * cluster + 1, body))


def drop_recent(connection: Connection, cluster: int) -> None:
    """Take out what came since a cluster was folded."""
    connection.execute("DELETE FROM parts WHERE part = ?", (2 * cluster + 1,))


def empty(connection: Connection, cluster: int) -> None:
    """Take out all that a cluster holds, and keep the cluster."""
    _drop_contents(connection, cluster)
    resize(connection, cluster, Size(0, 0))


def _drop_contents(connection: Connection, cluster: int) -> None:
    connection.execute("DELETE FROM parts WHERE part BETWEEN ? AND ?", (2 * cluster, 2 * cluster + 1))
    connection.execute("DELETE FROM cluster_graphs WHERE cluster = ?", (cluster,))


def graph(connection: Connection, cluster: int) -> bytes | None:
    """The graph of what was folded of a cluster, where it has one."""
    row = connection.execute("SELECT graph FROM cluster_graphs WHERE cluster = ?", (cluster,)).fetchone()
    return None if row is None else row[0]


def put_graph(connection: Connection, cluster: int, graph: bytes) -> None:
    """Set the graph of a cluster."""
    connection.execute("INSERT OR REPLACE INTO cluster_graphs VALUES (?, ?)", (cluster, graph))


def strike(
    connection: Connection, cluster: int, head_size: Callable[[bytes], int], edit: Callable[[bytes], bytes]
) -> None:
    """Change the head of what was folded of a cluster where it stands, without touching the codes.

    Parameters
    ----------
    cluster:
        Which.
    head_size:
        Given a body's first 16 bytes, says how long its head is.
    edit:
        Given the head, returns the one to write, of the same length.
    """
    with connection.blobopen("parts", "body", 2 * cluster) as blob:
        size = head_size(blob.read(16))
        blob.seek(0)
        head = edit(blob.read(size))
        blob.seek(0)
        blob.write(head)


def place(connection: Connection, space: int, placements: Iterable[Placement]) -> None:
    """Say where vectors are."""
    connection.executemany(
        "INSERT OR REPLACE INTO placements VALUES (?, ?, ?, ?)",
        ((space, *one) for one in placements),
    )


def placements(connection: Connection, space: int, memos: Sequence[int]) -> dict[int, Placement]:
    """Where vectors are, by memo row; those without a placement are left out."""
    query = "SELECT memo, first, second FROM placements WHERE space = ? AND memo IN"
    return {row[0]: Placement._make(row) for row in select(connection, query, memos, space)}


def unplace(connection: Connection, space: int, memos: Iterable[int]) -> None:
    """Forget where vectors are."""
    connection.executemany("DELETE FROM placements WHERE space = ? AND memo = ?", ((space, memo) for memo in memos))


def every_placement(connection: Connection, space: int) -> Iterator[Placement]:
    """Where all vectors are, by memo row."""
    query = "SELECT memo, first, second FROM placements WHERE space = ? ORDER BY memo"
    return map(Placement._make, connection.execute(query, (space,)))


def drop_strays(connection: Connection) -> None:
    """Take out what is of no index: see :func:`count_strays`."""
    connection.execute(f"DELETE FROM vector_indexes WHERE space NOT IN {SPACES}")  # noqa: S608 - constants
    for table in ("clusters", "placements", "centroids"):
        connection.execute(f"DELETE FROM {table} WHERE space NOT IN {INDEXED}")  # noqa: S608 - constants
    connection.execute(f"DELETE FROM codes WHERE place >> 32 NOT IN {INDEXED}")  # noqa: S608 - constants
    connection.execute("DELETE FROM parts WHERE part / 2 NOT IN (SELECT cluster FROM clusters)")
    connection.execute("DELETE FROM cluster_graphs WHERE cluster NOT IN (SELECT cluster FROM clusters)")


def count(connection: Connection, space: int) -> int:
    """Vectors that can be found."""
    query = "SELECT count(*) FROM placements WHERE space = ? AND first <> 0"
    return int(connection.execute(query, (space,)).fetchone()[0])


def count_entries(connection: Connection, space: int) -> int:
    """Entries of all clusters that are alive: far fewer rows to read than there are vectors."""
    query = "SELECT coalesce(sum(size), 0) FROM clusters WHERE space = ?"
    return int(connection.execute(query, (space,)).fetchone()[0])


def clear(connection: Connection, space: int) -> None:
    """Take an index out."""
    connection.execute("DELETE FROM unplaced WHERE space = ?", (space,))
    for table in ("parts WHERE part / 2 IN", "cluster_graphs WHERE cluster IN"):
        connection.execute(f"DELETE FROM {table} (SELECT cluster FROM clusters WHERE space = ?)", (space,))  # noqa: S608
    for table in ("clusters", "centroids", "placements"):
        connection.execute(f"DELETE FROM {table} WHERE space = ?", (space,))  # noqa: S608 - constants
    codes.clear(connection, space)
    connection.execute("DELETE FROM vector_indexes WHERE space = ?", (space,))
    checksums.drop(connection, f"vector_indexes/{space}")


@dataclass(frozen=True, slots=True)
class Stale:
    """Memo rows that are wanted in an index and not placed, and those that are placed and not wanted any more."""

    wanted: list[int]
    unwanted: list[int]


def has_stale(connection: Connection, space: int) -> bool:
    """Whether anything has changed since the index was brought up to date."""
    return connection.execute("SELECT 1 FROM unplaced WHERE space = ? LIMIT 1", (space,)).fetchone() is not None


def take_stale(connection: Connection, space: int) -> Stale:
    """What has changed since the index was brought up to date; it counts as done with this."""
    rows = connection.execute(
        f"""SELECT memo, {_BELONGS[space]},
            EXISTS (SELECT 1 FROM placements AS p WHERE p.space = ? AND p.memo = u.memo)
        FROM unplaced AS u WHERE space = ?""",  # noqa: S608 - constants
        (space, space),
    ).fetchall()
    connection.execute("DELETE FROM unplaced WHERE space = ?", (space,))
    return Stale(
        [memo for memo, used, placed in rows if used and not placed],
        [memo for memo, used, placed in rows if placed and not used],
    )


def members(connection: Connection, space: int = CHUNKS) -> list[int]:
    """Every memo row that belongs to a space, ascending."""
    found = connection.execute(f"SELECT DISTINCT memo FROM ({MEMBERS[space]}) ORDER BY memo")  # noqa: S608 - constants
    return [memo for (memo,) in found]


def sample(connection: Connection, space: int, size: int) -> list[int]:
    """Memo rows of an index, evenly spread: about ``size`` of them."""
    step = max(1, count(connection, space) // size)
    found = connection.execute("SELECT memo FROM placements WHERE space = ? AND first <> 0 ORDER BY memo", (space,))
    return [memo for (memo,) in islice(found, 0, None, step)]


def highest(connection: Connection, space: int) -> int:
    """The highest memo row of an index; 0 when it is empty."""
    query = "SELECT coalesce(max(memo), 0) FROM placements WHERE space = ?"
    return int(connection.execute(query, (space,)).fetchone()[0])


def count_missing(connection: Connection, space: int) -> int:
    """Memo rows that belong to a space and have no placement."""
    query = f"""SELECT count(DISTINCT memo) FROM ({MEMBERS[space]}) AS v WHERE NOT EXISTS
        (SELECT 1 FROM placements AS p WHERE p.space = ? AND p.memo = v.memo)"""  # noqa: S608 - constants
    return int(connection.execute(query, (space,)).fetchone()[0])


def count_unwanted(connection: Connection, space: int) -> int:
    """Memo rows that have a placement in a space and do not belong to it."""
    query = f"""SELECT count(*) FROM placements WHERE space = ? AND memo NOT IN ({MEMBERS[space]})"""  # noqa: S608
    return int(connection.execute(query, (space,)).fetchone()[0])


def count_strays(connection: Connection) -> int:
    """Parts and graphs of clusters that are not there, and clusters and placements of no space."""
    query = f"""SELECT (SELECT count(*) FROM parts WHERE part / 2 NOT IN (SELECT cluster FROM clusters))
        + (SELECT count(*) FROM cluster_graphs WHERE cluster NOT IN (SELECT cluster FROM clusters))
        + (SELECT count(*) FROM clusters WHERE space NOT IN {INDEXED})
        + (SELECT count(*) FROM placements WHERE space NOT IN {INDEXED})
        + (SELECT count(*) FROM centroids WHERE space NOT IN {INDEXED})
        + (SELECT count(*) FROM codes WHERE place >> 32 NOT IN {INDEXED})
        + (SELECT count(*) FROM vector_indexes WHERE space NOT IN {SPACES})"""  # noqa: S608 - constants
    return int(connection.execute(query).fetchone()[0])
