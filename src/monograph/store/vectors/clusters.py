"""Rows of the vector indexes: contents of clusters, codes of vectors, and the clusters that contain each vector.

For the two designs of an index, see :mod:`monograph.vectors.design`; for updates, :mod:`monograph.vectors.update`.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from monograph.store.file.database import Connection
from monograph.store.file.rows import column, integer, scalar, select
from monograph.store.vectors.vectors import STORED, pack
from monograph.values import Float32

CHUNKS = 1
"""Number of the space of chunk vectors. A space is a set of vectors with an index of its own."""
SUMMARIES = 2
"""Number of the space of summary vectors."""
SPACES = (CHUNKS, SUMMARIES)
"""Numbers of all spaces."""

MEMBERS = {CHUNKS: "SELECT memo FROM vectors", SUMMARIES: "SELECT vector AS memo FROM nodes WHERE vector IS NOT NULL"}
"""Queries for the memo rows of all vectors of each space, by space."""
_MEMBER_CONDITIONS = {
    CHUNKS: "EXISTS (SELECT 1 FROM vectors AS v WHERE v.memo = u.memo)",
    SUMMARIES: "EXISTS (SELECT 1 FROM nodes AS n WHERE n.vector = u.memo)",
}
"""SQL conditions, by space: true if ``u.memo`` is the memo row of a vector of the space."""
FOLDED, RECENT = 0, 1
"""Numbers of the two parts of a cluster.

New entries (codes of vectors) go to the recent part. A fold moves them to the folded part and removes deleted entries.
"""
INDEXED = "(SELECT space FROM vector_indexes)"
"""Subquery for the spaces that have an index."""

# CROSS JOIN looks up each number. IN would sort the numbers first. BETWEEN would read one row more, maybe from disk.
_BODIES_QUERY = "SELECT part, body FROM json_each(?) AS j CROSS JOIN parts ON part = j.value"
"""Query for the parts whose numbers are in a JSON list."""

Int64 = npt.NDArray[np.int64]


_ROWS_PER_SPACE = 1 << 32
"""Number of rows that each space can have in the table ``codes``."""
UNCLUSTERED = -1
"""Number that is stored as the first cluster of a vector if the index has no clusters."""


class Placement(NamedTuple):
    """The numbers of the clusters that contain a vector: one cluster, or two.

    ``memo`` is the memo row of the vector. ``first`` is the nearest cluster: 0 for a zero vector, UNCLUSTERED if the
    index has no clusters. ``second`` is the other cluster; 0 if the vector is in one only. The class is a tuple for
    speed, because every vector has a placement.
    """

    memo: int
    first: int
    second: int


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """Number of valid entries of a cluster (``size``), and of deleted entries that still take space (``dead``)."""

    size: int
    dead: int


def header(connection: Connection, space: int) -> tuple[int, str, str, bool] | None:
    """Return (dimension, design, calibration, is_right) of an index; None if the index is not built yet.

    ``design`` is JSON of a :class:`monograph.vectors.design.Design`, ``calibration`` JSON of a
    :class:`monograph.vectors.stop.Calibration`. ``is_right`` is whether these values match their checksum.
    """
    query = """SELECT dimension, design, calibration,
        checksum IS checksum(dimension, CAST(design AS BLOB), CAST(calibration AS BLOB))
        FROM vector_indexes WHERE space = ?"""
    row: tuple[int, str, str, bool] | None = connection.execute(query, (space,)).fetchone()
    return row


def versions(connection: Connection, space: int) -> tuple[int, int]:
    """Return the numbers (version, structure) of an index; (0, 0) if it is not built yet.

    ``version`` changes with every change of the index, ``structure`` with every change of the centroids or the
    calibration. Both are random numbers, so that a change that was rolled back is never confused with a later one.
    """
    row = connection.execute("SELECT version, structure FROM vector_indexes WHERE space = ?", (space,)).fetchone()
    return (0, 0) if row is None else row


def put_header(connection: Connection, space: int, dimension: int, design: str, calibration: str) -> None:
    """Store the header of a new index: its dimension, its design and its calibration."""
    connection.execute(
        """INSERT INTO vector_indexes (space, dimension, design, calibration, checksum, version, structure)
        VALUES (?1, ?2, ?3, ?4, checksum(?2, ?3, ?4), random(), random())""",
        (space, dimension, design, calibration),
    )


def put_calibration(connection: Connection, space: int, calibration: str) -> None:
    """Store an index's calibration, and change its number ``structure`` so that readers load the new calibration."""
    connection.execute(
        """UPDATE vector_indexes SET calibration = ?1, checksum = checksum(dimension, design, ?1), structure = random()
        WHERE space = ?2""",
        (calibration, space),
    )


def touch(connection: Connection, space: int, *, structure: bool) -> None:
    """Change the number ``version`` of an index so that readers reload the index.

    If ``structure`` is True, also change the number ``structure``. See :func:`versions`.
    """
    changed = "version = random(), structure = random()" if structure else "version = random()"
    connection.execute(f"UPDATE vector_indexes SET {changed} WHERE space = ?", (space,))  # noqa: S608 - two constants


def searched_centroids(connection: Connection, space: int) -> tuple[bytes, bytes | None] | None:
    """Return (codes of all centroids, HNSW graph of the centroids) as bytes; None if no centroids are stored.

    Searches compare these centroids with the query. The graph is None in an index of the codes design.
    """
    rows = connection.execute("SELECT body, graph FROM centroids WHERE space = ?", (space,)).fetchall()
    return rows[0] if rows else None


def put_searched_centroids(connection: Connection, space: int, body: bytes, graph: bytes | None) -> None:
    """Store the codes of all centroids and the HNSW graph of the centroids, for use by searches.

    ``graph`` is None in the codes design, which has no graphs.
    """
    connection.execute("INSERT OR REPLACE INTO centroids VALUES (?, ?, ?)", (space, body, graph))


def centroids(connection: Connection, space: int, dimension: int) -> tuple[Int64, Float32]:
    """Return (numbers of all clusters, their centroids): int64 (n,), ascending, and float32 (n, dimension)."""
    query = "SELECT cluster, centroid FROM clusters WHERE space = ? ORDER BY cluster"
    rows = connection.execute(query, (space,)).fetchall()
    cluster_rows = np.fromiter((cluster for cluster, _ in rows), dtype=np.int64, count=len(rows))
    values = np.frombuffer(b"".join(value for _, value in rows), dtype=STORED)
    return cluster_rows, values.reshape(len(rows), dimension).astype(np.float32, copy=False)


def sizes(connection: Connection, space: int) -> dict[int, ClusterSize]:
    """Return the sizes of all clusters of a space, by cluster number."""
    rows = connection.execute("SELECT cluster, size, dead FROM clusters WHERE space = ?", (space,)).fetchall()
    return {cluster: ClusterSize(size, dead) for cluster, size, dead in rows}


def add_cluster(connection: Connection, space: int, centroid: Float32) -> int:
    """Add an empty cluster, and return its number, which is higher than that of any earlier cluster."""
    query = "INSERT INTO clusters (space, size, dead, centroid) VALUES (?, 0, 0, ?) RETURNING cluster"
    return integer(connection, query, space, pack(centroid))


def remove_cluster(connection: Connection, cluster: int) -> None:
    """Delete a cluster with its contents."""
    empty(connection, cluster)
    connection.execute("DELETE FROM clusters WHERE cluster = ?", (cluster,))


def resize(connection: Connection, cluster: int, size: ClusterSize) -> None:
    """Store the numbers of valid and deleted entries of a cluster."""
    connection.execute("UPDATE clusters SET size = ?, dead = ? WHERE cluster = ?", (size.size, size.dead, cluster))


def bodies(connection: Connection, cluster: int) -> list[bytes]:
    """Return the bytes of the two parts of a cluster, the folded part first. A part that is empty is left out."""
    return bodies_of(connection, [cluster])[cluster]


def bodies_of(connection: Connection, clusters: Sequence[int]) -> dict[int, list[bytes]]:
    """Return the bytes of the parts of several clusters: {cluster number: list as from :func:`bodies`}."""
    by_cluster: dict[int, list[bytes]] = {cluster: [] for cluster in clusters}
    parts = json.dumps([part for cluster in sorted(by_cluster) for part in (2 * cluster, 2 * cluster + 1)])
    for part, body in connection.execute(_BODIES_QUERY, (parts,)).fetchall():
        by_cluster[part >> 1].append(body)
    return by_cluster


def part(connection: Connection, cluster: int, which: int) -> bytes | None:
    """Return the bytes of one part of a cluster; None if the part is empty. ``which`` is FOLDED or RECENT."""
    return scalar(connection, "SELECT body FROM parts WHERE part = ?", 2 * cluster + which)


def put_part(connection: Connection, cluster: int, which: int, body: bytes | None) -> None:
    """Store one part of a cluster, or delete it if ``body`` is None. ``which`` is FOLDED or RECENT."""
    if body is None:
        connection.execute("DELETE FROM parts WHERE part = ?", (2 * cluster + which,))
    else:
        connection.execute("INSERT OR REPLACE INTO parts VALUES (?, ?)", (2 * cluster + which, body))


def empty(connection: Connection, cluster: int) -> None:
    """Delete the entries and the graph of a cluster; keep the cluster itself, with size 0."""
    connection.execute("DELETE FROM parts WHERE part BETWEEN ? AND ?", (2 * cluster, 2 * cluster + 1))
    connection.execute("DELETE FROM cluster_graphs WHERE cluster = ?", (cluster,))
    resize(connection, cluster, ClusterSize(0, 0))


def graph(connection: Connection, cluster: int) -> bytes | None:
    """Return the graph of the folded part of a cluster as bytes; None if it has no graph."""
    return scalar(connection, "SELECT graph FROM cluster_graphs WHERE cluster = ?", cluster)


def put_graph(connection: Connection, cluster: int, graph: bytes) -> None:
    """Store the graph of a cluster."""
    connection.execute("INSERT OR REPLACE INTO cluster_graphs VALUES (?, ?)", (cluster, graph))


def open_folded(connection: Connection, cluster: int) -> sqlite3.Blob:
    """Open the folded part of a cluster as a blob, so that some of its bytes can be changed in place."""
    return connection.blobopen("parts", "body", 2 * cluster)


def place(connection: Connection, space: int, placements: Iterable[Placement]) -> None:
    """Store the placements of vectors."""
    connection.executemany(
        "INSERT OR REPLACE INTO placements VALUES (?, ?, ?, ?)",
        ((space, *placement) for placement in placements),
    )


def placements(connection: Connection, space: int, memos: Sequence[int]) -> dict[int, Placement]:
    """Return the placements of vectors, by memo row; vectors without a placement are left out."""
    query = "SELECT memo, first, second FROM placements WHERE space = ? AND memo IN"
    return {row[0]: Placement._make(row) for row in select(connection, query, memos, space)}


def delete_placements(connection: Connection, space: int, memos: Iterable[int]) -> None:
    """Delete the placements of vectors."""
    connection.executemany("DELETE FROM placements WHERE space = ? AND memo = ?", ((space, memo) for memo in memos))


def every_placement(connection: Connection, space: int) -> Iterator[Placement]:
    """Yield the placements of all vectors of an index, in order of memo row."""
    query = "SELECT memo, first, second FROM placements WHERE space = ? ORDER BY memo"
    return map(Placement._make, connection.execute(query, (space,)))


def searchable_memos(connection: Connection, space: int) -> list[int]:
    """Return the memo rows of the vectors that a search can find, ascending.

    These are all vectors of the index except zero vectors.
    """
    return column(connection, "SELECT memo FROM placements WHERE space = ? AND first <> 0 ORDER BY memo", space)


def count(connection: Connection, space: int) -> int:
    """Return the number of vectors that a search can find. Zero vectors are not counted."""
    return integer(connection, "SELECT count(*) FROM placements WHERE space = ? AND first <> 0", space)


def count_entries(connection: Connection, space: int) -> int:
    """Return the number of valid entries of all clusters.

    This reads one row for each cluster. :func:`count` reads one for each vector.
    """
    return integer(connection, "SELECT sum(size) FROM clusters WHERE space = ?", space)


def clear(connection: Connection, space: int) -> None:
    """Delete the index of a space: its clusters, centroids, placements, codes and header."""
    connection.execute("DELETE FROM dirty_placements WHERE space = ?", (space,))
    for table in ("parts WHERE part / 2 IN", "cluster_graphs WHERE cluster IN"):
        connection.execute(f"DELETE FROM {table} (SELECT cluster FROM clusters WHERE space = ?)", (space,))  # noqa: S608
    for table in ("clusters", "centroids", "placements"):
        connection.execute(f"DELETE FROM {table} WHERE space = ?", (space,))  # noqa: S608 - constants
    connection.execute("DELETE FROM codes WHERE place BETWEEN ? AND ?", _code_range(space))
    connection.execute("DELETE FROM vector_indexes WHERE space = ?", (space,))


def code_place(space: int, memo: int) -> int:
    """Return the row number of a vector's code in the table ``codes``. ``memo`` is the memo row of the vector."""
    return space * _ROWS_PER_SPACE + memo


def _code_range(space: int) -> tuple[int, int]:
    """Return the first and the last row number of a space in the table ``codes``."""
    return space * _ROWS_PER_SPACE, (space + 1) * _ROWS_PER_SPACE - 1


def put_codes(connection: Connection, space: int, coded: Iterable[tuple[int, bytes]]) -> None:
    """Store the 8-bit codes of vectors, given as (memo row, code).

    Only the codes design uses this table. Its searches compare all vectors of a cluster by 2-bit codes, which the
    cluster contains, and then compare the best candidates again by their 8-bit codes.
    """
    rows = ((code_place(space, memo), body) for memo, body in coded)
    connection.executemany("INSERT OR REPLACE INTO codes VALUES (?, ?)", rows)


def drop_codes(connection: Connection, space: int, memos: Iterable[int]) -> None:
    """Delete the codes of the vectors in the given memo rows."""
    connection.executemany("DELETE FROM codes WHERE place = ?", ((code_place(space, memo),) for memo in memos))


def load_codes(connection: Connection, space: int, memos: Sequence[int]) -> list[bytes]:
    """Return the stored 8-bit codes of the vectors in the given memo rows; missing codes are left out.

    The codes are in no particular order. Each code contains the memo row of its vector.
    """
    code_rows = [code_place(space, memo) for memo in memos]
    return [body for (body,) in select(connection, "SELECT body FROM codes WHERE place IN", code_rows)]


def every_code(connection: Connection, space: int) -> Generator[tuple[int, bytes], None, None]:
    """Yield (memo row, code) of the vectors of an index, in order of memo row; skip vectors without a code."""
    query = "SELECT place, body FROM codes WHERE place BETWEEN ? AND ? ORDER BY place"
    return ((row % _ROWS_PER_SPACE, body) for row, body in connection.execute(query, _code_range(space)))


def has_codes(connection: Connection, space: int) -> bool:
    """Return whether an index has any codes."""
    query = "SELECT 1 FROM codes WHERE place BETWEEN ? AND ? LIMIT 1"
    return connection.execute(query, _code_range(space)).fetchone() is not None


def has_stale(connection: Connection, space: int) -> bool:
    """Return whether any placement of an index may be out of date."""
    return connection.execute("SELECT 1 FROM dirty_placements WHERE space = ? LIMIT 1", (space,)).fetchone() is not None


def take_stale(connection: Connection, space: int) -> tuple[list[int], list[int]]:
    """Return (memo rows to add to an index, memo rows to remove from it), and mark all placements as up to date.

    Only memo rows whose placements are marked as out of date are examined. Rows to add belong to the space and
    have no placement. Rows to remove have a placement and do not belong to the space.
    """
    query = f"""SELECT memo, {_MEMBER_CONDITIONS[space]},
        EXISTS (SELECT 1 FROM placements AS p WHERE p.space = u.space AND p.memo = u.memo)
        FROM dirty_placements AS u WHERE space = ?"""  # noqa: S608 - constants
    rows = connection.execute(query, (space,)).fetchall()
    connection.execute("DELETE FROM dirty_placements WHERE space = ?", (space,))
    missing = [memo for memo, is_used, is_placed in rows if is_used and not is_placed]
    return missing, [memo for memo, is_used, is_placed in rows if is_placed and not is_used]


def members(connection: Connection, space: int = CHUNKS) -> list[int]:
    """Return all memo rows that belong to a space, ascending."""
    return column(connection, f"SELECT DISTINCT memo FROM ({MEMBERS[space]}) ORDER BY memo")  # noqa: S608 - constants


def count_missing(connection: Connection, space: int) -> int:
    """Return the number of memo rows that belong to a space and have no placement in its index."""
    query = f"""SELECT count(DISTINCT memo) FROM ({MEMBERS[space]}) AS v WHERE NOT EXISTS
        (SELECT 1 FROM placements AS p WHERE p.space = ? AND p.memo = v.memo)"""  # noqa: S608 - constants
    return integer(connection, query, space)


def count_unwanted(connection: Connection, space: int) -> int:
    """Return the number of memo rows that have a placement in the index of a space and do not belong to the space."""
    query = f"""SELECT count(*) FROM placements WHERE space = ? AND memo NOT IN ({MEMBERS[space]})"""  # noqa: S608
    return integer(connection, query, space)
