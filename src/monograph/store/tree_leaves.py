"""The lowest layer of a tree over many files: their chunks are laid into it all at once."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator

from monograph.store import tree
from monograph.store.database import Connection

_NODE = "n.layer = 0 AND n.rank = c.rank AND n.key = c.key"


_OF = "chunk % ? IN (SELECT value FROM json_each(?))"
"""Whether a leaf's chunk is of some files, of so many."""


def lay(
    connection: Connection, leaves: Iterable[tuple[int, bytes, int]], files: int = 1, of: Collection[int] = (0,)
) -> None:
    """Make some leaves, (rank, key, row of the chunk), all that the tree has of some of its files.

    What stood over others of theirs is taken out. A leaf that is there keeps its node, and what stands over it, where
    its chunk has another row by now; of two of one place the first counts.
    """
    connection.execute("DROP TABLE IF EXISTS temp.coming")
    connection.execute(
        """CREATE TEMP TABLE coming (rank INTEGER, key BLOB, chunk INTEGER NOT NULL, PRIMARY KEY (rank, key))
        WITHOUT ROWID"""
    )
    connection.executemany("INSERT OR IGNORE INTO temp.coming VALUES (?, ?, ?)", leaves)
    gone = connection.execute(
        f"""SELECT node FROM nodes AS n WHERE layer = 0 AND {_OF}
        AND NOT EXISTS (SELECT 1 FROM temp.coming AS c WHERE c.rank = n.rank AND c.key = n.key)""",  # noqa: S608
        (files, json.dumps(list(of))),
    ).fetchall()
    tree.remove_with_ancestors(connection, [node for (node,) in gone])
    moved = _move(connection)
    came = connection.execute(
        f"""INSERT INTO nodes (layer, rank, key, chunk) SELECT 0, rank, key, chunk FROM temp.coming AS c
        WHERE NOT EXISTS (SELECT 1 FROM nodes AS n WHERE {_NODE})"""  # noqa: S608 - a constant
    ).rowcount
    connection.execute("DROP TABLE temp.coming")
    if gone or moved or came:
        tree.touch(connection)


def _move(connection: Connection) -> bool:
    """Give leaves the rows that their chunks have by now, and summaries those of the chunks nearest to them."""
    connection.execute("DROP TABLE IF EXISTS temp.moved")
    connection.execute("CREATE TEMP TABLE moved (old INTEGER PRIMARY KEY, node INTEGER NOT NULL, new INTEGER NOT NULL)")
    moved = connection.execute(
        f"""INSERT INTO temp.moved SELECT n.chunk, n.node, c.chunk FROM temp.coming AS c CROSS JOIN nodes AS n
        WHERE {_NODE} AND n.chunk != c.chunk"""  # noqa: S608 - a constant
    ).rowcount
    connection.execute(
        """UPDATE nodes SET nearest = (SELECT new FROM temp.moved WHERE old = nearest)
        WHERE layer > 0 AND nearest IN (SELECT old FROM temp.moved)"""
    )
    # A row may be another leaf's until that has its own: in between they are below 0.
    connection.execute(
        """UPDATE nodes SET chunk = -1 - (SELECT new FROM temp.moved WHERE old = chunk)
        WHERE node IN (SELECT node FROM temp.moved)"""
    )
    connection.execute("UPDATE nodes SET chunk = -1 - chunk WHERE chunk < 0")
    connection.execute("DROP TABLE temp.moved")
    return moved > 0


def count(connection: Connection, files: int, of: Collection[int]) -> int:
    """How many leaves the tree has of some of its files."""
    query = f"SELECT count(*) FROM nodes WHERE layer = 0 AND {_OF}"  # noqa: S608 - a constant
    (number,) = connection.execute(query, (files, json.dumps(list(of)))).fetchone()
    return int(number)


def leaves(connection: Connection) -> Iterator[tuple[int, bytes, int]]:
    """(rank, key, row of the chunk) of every leaf, in order."""
    yield from connection.execute("SELECT rank, key, chunk FROM nodes WHERE layer = 0 ORDER BY rank, key")


def over_others(connection: Connection, chunks: Iterable[int]) -> set[int]:
    """The summaries over at least one chunk that is none of these."""
    found = connection.execute(
        """WITH RECURSIVE barred(node) AS (
            SELECT parent FROM nodes
            WHERE layer = 0 AND parent IS NOT NULL AND chunk NOT IN (SELECT value FROM json_each(?))
            UNION SELECT n.parent FROM barred AS b CROSS JOIN nodes AS n WHERE n.node = b.node AND n.parent IS NOT NULL)
        SELECT node FROM barred""",
        (json.dumps(list(chunks)),),
    )
    return {node for (node,) in found}


def vectors(connection: Connection, barred: Iterable[int]) -> list[int]:
    """The memo rows of the vectors of all summaries but those that are barred."""
    without = set(barred)
    found = connection.execute("SELECT node, vector FROM nodes WHERE layer > 0 AND vector IS NOT NULL")
    return sorted({row for node, row in found if node not in without})
