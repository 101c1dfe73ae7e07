"""Taking documents out: of every result at once, and, when asked, of the bytes of the file."""

from __future__ import annotations

import time
from collections.abc import Sequence

from monograph.errors import NotFound
from monograph.store import documents, failures, memo, names, roots, sources, terms
from monograph.store.database import Connection, Database
from monograph.values import Report
from monograph.vectors.index import EcoVectorIndex
from monograph.write.apply import report
from monograph.write.commit import Tally, remove_row
from monograph.write.transaction import settle


def remove(
    database: Database, indexes: Sequence[EcoVectorIndex], names: Sequence[str], *, forget: bool = False
) -> Report:
    """Take out documents, all of them or, on an error, none.

    Parameters
    ----------
    database, indexes:
        The file, and its vector indexes.
    names:
        Ids, uris or paths of documents; a uri stands for every document that came from it.
    forget:
        Return only when no trace of their text is left in the bytes of the file and its write-ahead log: see
        :func:`erase`.

    Raises
    ------
    NotFound
        If a name fits no document.
    BusyFile
        If ``forget`` is asked and another process still reads an older state.
    """
    started = time.perf_counter()
    with database.write() as connection:
        rows, unknown = documents.resolve(connection, names)
        if unknown:
            listed = ", ".join(repr(name) for name in unknown)
            raise NotFound(f"{database.path} holds no document {listed}", f"monograph show {database.path}")
        tally = _take_out(connection, indexes, rows)
    if forget:
        erase(database, indexes)
    return report(tally, started)


def remove_root(database: Database, indexes: Sequence[EcoVectorIndex], name: str, *, forget: bool = False) -> Report:
    """Take out a root and all its documents: see :meth:`monograph.library.files.Files.remove`."""
    started = time.perf_counter()
    with database.write() as connection:
        held = [sources.row_of(connection, uri) for uri in sources.states(connection, name)]
        rows = [row for source in held if source is not None for row in documents.of_source(connection, source)]
        tally = _take_out(connection, indexes, rows)
        roots.remove(connection, name)
        failures.drop(connection, name)
    if forget:
        erase(database, indexes)
    return report(tally, started)


def _take_out(connection: Connection, indexes: Sequence[EcoVectorIndex], rows: Sequence[documents.Row]) -> Tally:
    tally = Tally()
    for row in rows:
        tally.chunks_removed += remove_row(connection, row)
        tally.removed += 1
    sources.remove_empty(connection)
    settle(connection, indexes)
    return tally


def erase(database: Database, indexes: Sequence[EcoVectorIndex]) -> None:
    """Drop from the file's bytes all that no document needs any more.

    Unused memo values are deleted, the vector indexes are folded, the inverted index is merged into one segment (SQLite
    before 3.42 cannot clear single postings), the file is rewritten without free space and the write-ahead log is
    emptied.

    Raises
    ------
    BusyFile
        If another process still reads an older state.
    """
    with database.write() as connection:
        memo.drop_unused(connection)
        names.drop_unused(connection)
        for index in indexes:
            index.fold(connection)
        terms.merge(connection)
    database.rewrite()
