"""What follows from rows, brought up to date before a transaction ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from monograph.ingest.relate import resolve
from monograph.store.database import Connection, Database
from monograph.vectors.index import EcoVectorIndex


@contextmanager
def write(database: Database, index: EcoVectorIndex) -> Iterator[Connection]:
    """One transaction, at whose end the vector index and the entities follow the rows."""
    with database.write() as connection:
        yield connection
        settle(connection, index)


def settle(connection: Connection, index: EcoVectorIndex) -> None:
    """Bring the vector index and the entities up to date."""
    index.settle(connection)
    resolve(connection)
