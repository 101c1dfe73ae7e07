"""What follows from rows, brought up to date before a transaction ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from monograph import telemetry
from monograph.store.file.database import Connection, Database
from monograph.tree.leaves import update_leaves
from monograph.vectors.index import EcoVectorIndex
from monograph.write.resolve import resolve


@contextmanager
def write(database: Database, indexes: Sequence[EcoVectorIndex]) -> Iterator[Connection]:
    """One transaction, at whose end the vector indexes, the chunks in the tree and the entities follow the rows."""
    with telemetry.span("monograph.commit"), database.write() as connection:
        yield connection
        settle(connection, indexes)


def settle(connection: Connection, indexes: Sequence[EcoVectorIndex]) -> None:
    """Bring the vector indexes, the chunks in the tree and the entities up to date.

    A summary over a chunk that has gone is taken out here; others come in its place when the tree is grown.
    """
    update_leaves(connection)
    for index in indexes:
        index.settle(connection)
    resolve(connection)
