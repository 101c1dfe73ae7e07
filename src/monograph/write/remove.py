"""Taking documents out of every table: see write.forget for the bytes of the file."""

from __future__ import annotations

import time
from collections.abc import Sequence

from monograph.errors import NotFound
from monograph.store.documents import documents, roots, sources
from monograph.store.file.database import Connection, Database
from monograph.store.history import versions
from monograph.values import Report
from monograph.vectors.index import EcoVectorIndex
from monograph.write import writer
from monograph.write.apply import report
from monograph.write.changes import Tally
from monograph.write.guard import WriteGuard
from monograph.write.transaction import flush


def remove(
    database: Database,
    indexes: Sequence[EcoVectorIndex],
    names: Sequence[str],
    guard: WriteGuard | None = None,
    *,
    forgets: bool = False,
) -> Report:
    """Take out documents, all of them or, on an error, none.

    Parameters
    ----------
    database, indexes:
        The file, and its vector indexes.
    names:
        Ids, uris or paths of documents; a uri stands for every document that came from it.
    guard:
        Of a view: documents outside of it are treated as missing.
    forgets:
        Whether their former versions go as well, also those of a document that is not there any more.

    Raises
    ------
    NotFound
        If a name fits no document.
    """
    started = time.perf_counter()
    with database.write() as connection:
        rows, unknown = documents.resolve(connection, names)
        if guard is not None:
            held = [guard.inside(connection, documents.resolve(connection, [name])[0]) for name in names]
            rows = list({row.row: row for some in held for row in some}.values())
            unknown = [name for name, some in zip(names, held, strict=True) if not some]
        former = [name for name in unknown if forgets and guard is None and _drop_former(connection, name)]
        unknown = [name for name in unknown if name not in former]
        if unknown:
            listed = ", ".join(repr(name) for name in unknown)
            raise NotFound(f"{database.path} holds no document {listed}", f"monograph show {database.path}")
        ending = versions.ending(connection, database.clock, forgotten=forgets)
        tally = _take_out(connection, indexes, rows, ending)
        tally.removed += len(former)
    return report(tally, started)


def _drop_former(connection: Connection, name: str) -> bool:
    """Drop the former versions of a document that is not there any more; whether there were any."""
    numbers = versions.numbers_of(connection, name)
    versions.drop(connection, numbers)
    return bool(numbers)


def drop_versions(database: Database, names: Sequence[str] | None, before: int | None) -> Report:
    """Take out former versions: see :meth:`monograph.Monograph.forget_versions`; ``removed`` counts them."""
    started = time.perf_counter()
    with database.write() as connection:
        numbers = None if before is None else set(versions.ended_by(connection, before))
        if names is not None:
            named = {number for name in names for number in versions.numbers_of(connection, name)}
            numbers = named if numbers is None else numbers & named
        versions.drop(connection, sorted(numbers or ()))
    return report(Tally(removed=len(numbers or ())), started)


def remove_root(database: Database, indexes: Sequence[EcoVectorIndex], name: str, *, forgets: bool = False) -> Report:
    """Take out a root and all its documents: see :meth:`monograph.library.files.Files.remove`."""
    started = time.perf_counter()
    with database.write() as connection:
        held = [sources.row_of(connection, uri) for uri in sources.states(connection, name)]
        rows = [row for source in held if source is not None for row in documents.of_source(connection, source)]
        tally = _take_out(connection, indexes, rows, versions.ending(connection, database.clock, forgotten=forgets))
        if forgets:
            former = versions.below(connection, name)
            versions.drop(connection, list(former))
            tally.removed += len({*former.values()} - {row.id for row in rows})
        roots.remove(connection, name)
    return report(tally, started)


def _take_out(
    connection: Connection,
    indexes: Sequence[EcoVectorIndex],
    rows: Sequence[documents.DocumentRow],
    ending: versions.Ending | None,
) -> Tally:
    tally = Tally(removed=len(rows), chunks_removed=writer.remove(connection, rows, ending))
    sources.remove_empty(connection)
    flush(connection, indexes)
    return tally
