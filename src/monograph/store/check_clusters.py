"""Rows of vector indexes held against those that they are of: counts of what is wrong with them."""

from __future__ import annotations

from monograph.store.clusters import MEMBERS, NUMBERS, OF_NONE, SPACES, number_of
from monograph.store.database import Connection


def count_missing(connection: Connection, space: int) -> int:
    """Memo rows that belong to a space and have no placement."""
    query = f"""SELECT count(DISTINCT memo) FROM ({MEMBERS[space]}) AS v WHERE NOT EXISTS
        (SELECT 1 FROM placements AS p WHERE p.space = ? AND p.memo = v.memo)"""  # noqa: S608 - constants
    return int(connection.execute(query, (number_of(connection, space),)).fetchone()[0])


def count_unwanted(connection: Connection, space: int, number: int) -> int:
    """Memo rows that have a placement in the index of a number and do not belong to a space."""
    query = f"""SELECT count(*) FROM placements WHERE space = ? AND memo NOT IN ({MEMBERS[space]})"""  # noqa: S608
    return int(connection.execute(query, (number,)).fetchone()[0])


def count_strays(connection: Connection) -> int:
    """Parts and graphs of clusters that are not there, and clusters and placements of no space."""
    query = f"""SELECT (SELECT count(*) FROM parts WHERE part / 2 NOT IN (SELECT cluster FROM clusters))
        + (SELECT count(*) FROM cluster_graphs WHERE cluster NOT IN (SELECT cluster FROM clusters))
        + (SELECT count(*) FROM clusters WHERE {OF_NONE})
        + (SELECT count(*) FROM placements WHERE {OF_NONE})
        + (SELECT count(*) FROM centroids WHERE {OF_NONE})
        + (SELECT count(*) FROM codes WHERE place >> 32 NOT IN {NUMBERS})
        + (SELECT count(*) FROM vector_indexes WHERE space NOT IN {SPACES})"""  # noqa: S608 - constants
    return int(connection.execute(query).fetchone()[0])
