"""Erasure of removed text from the bytes of the file and its write-ahead log.

After rows are deleted, the file must be rewritten. Before a removal, a record of the pending erasure is stored in the
file. The record is deleted after the rewrite. If the process is killed in between, or the rewrite fails, the next write
repeats the erasure.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace

from monograph.errors import MonographError
from monograph.graph.chunk_names import is_short_form
from monograph.store.check import words
from monograph.store.file import memo, settings
from monograph.store.file.database import Database
from monograph.store.graph import names
from monograph.store.words import terms
from monograph.values import Problem, Report
from monograph.vectors.index import EcoVectorIndex


def write_and_erase(
    database: Database,
    indexes: Sequence[EcoVectorIndex],
    work: Callable[[bool], Report],
    wanted: bool | None = None,
    *,
    strict: bool = False,
) -> Report:
    """Run a write that may remove text, then erase the removed text from the bytes of the file.

    ``wanted`` says whether removed text is to be erased; None means the file's setting. ``work`` gets this decision as
    its argument. It writes, updates the tree and returns its report. An erasure that is pending from an earlier write
    is carried out in any case. If a wanted erasure fails, the next write repeats it. With ``strict``, the error of a
    wanted erasure is raised. Otherwise the error becomes a problem in the report.
    """
    with database.read() as connection:
        forgets = settings.load_always_forget(connection) if wanted is None else wanted
    token = _note_pending(database) if forgets else ""
    # Every commit increments the generation, and every erasure increments the count of erasures.
    with database.read() as connection:
        generation, times = settings.generation(connection), settings.count_of_erasures(connection)
    try:
        report = work(forgets)
    except BaseException:
        if token:
            with database.read() as connection:
                unchanged = settings.generation(connection) == generation
            if unchanged:
                _drop_pending(database, [token])  # Nothing was written, so there is nothing to erase.
        raise
    if token and not (report.removed or report.changed or report.chunks_removed or report.moved):
        _drop_pending(database, [token])
    try:
        # If another process erased text meanwhile, values that were derived here may be of that text.
        with database.read() as connection:
            dropped = settings.count_of_erasures(connection) != times and not settings.pending_erasures(connection)
            overlapped = dropped and memo.count_unused(connection) > 0
        if overlapped:
            _note_pending(database)
        erase_pending(database, indexes)
    except MonographError as error:
        if strict and token:
            raise
        path = str(database.path)
        reason = f"the removed text is in no results, but is still in the bytes of the file: {error.message}"
        problem = Problem(path, reason, f"the next write erases it, or: monograph compact {path}")
        return replace(report, problems=(*report.problems, problem))
    return report


def erase(database: Database, indexes: Sequence[EcoVectorIndex]) -> None:
    """Erase from the bytes of the file everything that no document needs any more.

    Unused memo values and unused names are deleted. A pair of names to keep apart is deleted if the file lacks
    one of the names. A pair of a short form and its full name is deleted only if the file lacks the full name.
    Deleted entries of the vector indexes are dropped. The inverted index is merged into one segment, because SQLite
    before 3.42 cannot delete single postings from a segment. Then the file is rewritten without free space, and the
    write-ahead log is emptied. Raises BusyFile if another process still reads an older state.
    """
    with database.write() as connection:
        tokens = settings.pending_erasures(connection)
        settings.count_erasure(connection)
        memo.drop_unused(connection)
        names.drop_unused(connection)
        # A pair of a short and a full name is kept with the full name, even if no text has the short name by itself.
        pairs = names.cannot_link(connection)
        name_rows = names.rows(connection, {key for pair in pairs for key in pair})
        obsolete = {
            pair
            for pair in pairs
            for key, other in (pair, pair[::-1])
            if key not in name_rows and not (other in name_rows and is_short_form(key, other))
        }
        names.remove_cannot_link(connection, obsolete, mark=False)
        for index in indexes:
            index.fold(connection)
        terms.merge(connection)
        if terms.may_hold_removed_words(connection):
            words.rebuild_index(connection)
    database.rewrite()
    if tokens:
        _drop_pending(database, tokens)


def erase_pending(database: Database, indexes: Sequence[EcoVectorIndex]) -> None:
    """Carry out pending erasures, if there are any. Raises BusyFile if another process still reads an older state."""
    with database.read() as connection:
        pending = settings.pending_erasures(connection)
    if pending:
        erase(database, indexes)


def _note_pending(database: Database) -> str:
    token = secrets.token_hex(8)
    with database.write() as connection:
        settings.add_pending_erasure(connection, token)
    return token


def _drop_pending(database: Database, tokens: Sequence[str]) -> None:
    with database.write() as connection:
        settings.drop_pending_erasures(connection, tokens)
