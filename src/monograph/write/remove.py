"""Taking documents out of every table: see write.forget for the bytes of the file."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from monograph.errors import NotFound
from monograph.store import documents, failures, roots, sources
from monograph.store.database import Connection, Database
from monograph.values import Report
from monograph.vectors.index import EcoVectorIndex
from monograph.write.apply import report
from monograph.write.commit import Tally, remove_row
from monograph.write.transaction import settle


def remove(
    database: Database,
    indexes: Sequence[EcoVectorIndex],
    names: Sequence[str],
    inside: Callable[[Connection, Sequence[documents.Row]], list[documents.Row]] | None = None,
) -> Report:
    """Take out documents, all of them or, on an error, none.

    Parameters
    ----------
    database, indexes:
        The file, and its vector indexes.
    names:
        Ids, uris or paths of documents; a uri stands for every document that came from it.
    inside:
        Gives those of some documents that may be taken out: for names of others it is as if they were not there.

    Raises
    ------
    NotFound
        If a name fits no document.
    """
    started = time.perf_counter()
    with database.write() as connection:
        rows, unknown = documents.resolve(connection, names)
        if inside is not None:
            held = [inside(connection, documents.resolve(connection, [name])[0]) for name in names]
            rows = list({row.row: row for some in held for row in some}.values())
            unknown = [name for name, some in zip(names, held, strict=True) if not some]
        if unknown:
            listed = ", ".join(repr(name) for name in unknown)
            raise NotFound(f"{database.path} holds no document {listed}", f"monograph show {database.path}")
        tally = _take_out(connection, indexes, rows)
    return report(tally, started)


def remove_root(database: Database, indexes: Sequence[EcoVectorIndex], name: str) -> Report:
    """Take out a root and all its documents: see :meth:`monograph.library.files.Files.remove`."""
    started = time.perf_counter()
    with database.write() as connection:
        held = [sources.row_of(connection, uri) for uri in sources.states(connection, name)]
        rows = [row for source in held if source is not None for row in documents.of_source(connection, source)]
        tally = _take_out(connection, indexes, rows)
        roots.remove(connection, name)
        failures.drop(connection, name)
    return report(tally, started)


def _take_out(connection: Connection, indexes: Sequence[EcoVectorIndex], rows: Sequence[documents.Row]) -> Tally:
    tally = Tally()
    for row in rows:
        tally.chunks_removed += remove_row(connection, row)
        tally.removed += 1
    sources.remove_empty(connection)
    settle(connection, indexes)
    return tally
