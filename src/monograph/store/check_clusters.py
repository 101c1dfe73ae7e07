"""Rows of vector indexes held against those that they are of: counts of what is wrong with them."""

from __future__ import annotations

from monograph.store.clusters import INDEXED, MEMBERS, SPACES
from monograph.store.database import Connection


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
