"""Rows of an index that is made beside another, takes its place, and of what is left of that."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from monograph.store import checksums, codes
from monograph.store import clusters as store
from monograph.store.clusters import BEFORE, BESIDE
from monograph.store.database import Connection

Int64 = npt.NDArray[np.int64]

_CLUSTERS_AT_ONCE = 100
"""Clusters of what is left of an index that are taken out together; and so many times as many of its other rows."""


def lacking(connection: Connection, space: int) -> Int64:
    """Memo rows that an index holds, and the one that is made beside it does not: int64 (n,), cluster by cluster."""
    found = connection.execute(
        """SELECT memo FROM placements AS p WHERE space = ? AND NOT EXISTS
            (SELECT 1 FROM placements AS o WHERE o.space = ? AND o.memo = p.memo) ORDER BY first, memo""",
        (store.number_of(connection, space), store.number_of(connection, space + BESIDE)),
    )
    return np.fromiter((memo for (memo,) in found), dtype=np.int64)


def exchange(connection: Connection, space: int) -> None:
    """Let what was made beside an index take its place; what was there before is left to :func:`drop_some`."""
    store.remove_index(connection, space + BEFORE)
    for one, to in ((space, space + BEFORE), (space + BESIDE, space)):
        connection.execute("UPDATE vector_indexes SET space = ? WHERE space = ?", (to, one))
        checksums.drop(connection, f"vector_indexes/{one}")
    for one in (space, space + BEFORE):
        store.seal(connection, one)


def has_before(connection: Connection, space: int) -> bool:
    """Whether something is left of an index whose place was taken."""
    return store.versions(connection, space + BEFORE) != (0, 0)


def drop_some(connection: Connection, space: int) -> None:
    """Take out some of what is left of an index whose place was taken."""
    number = store.number_of(connection, space + BEFORE)
    names = _some(connection, "SELECT cluster FROM clusters WHERE space = ? LIMIT ?", number, _CLUSTERS_AT_ONCE)
    for cluster in names:
        store.remove_cluster(connection, cluster)
    query = "SELECT memo FROM placements WHERE space = ? LIMIT ?"
    memos = _some(connection, query, number, _CLUSTERS_AT_ONCE * _CLUSTERS_AT_ONCE)
    store.unplace(connection, number, memos)
    codes.drop(connection, number, memos)
    if not names and not memos:
        store.remove_index(connection, space + BEFORE)


def _some(connection: Connection, query: str, number: int, most: int) -> Sequence[int]:
    return [one for (one,) in connection.execute(query, (number, most))]
