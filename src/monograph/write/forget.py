"""Forgetting: no trace of what was taken out is left in the bytes of the file.

That takes a rewrite of the file after the rows are gone. What is owed of it is noted in the file before anything is
taken out, and struck off at the end: killed or kept from it in between, the next write does it.
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


def carried_out(
    database: Database,
    indexes: Sequence[EcoVectorIndex],
    work: Callable[[bool], Report],
    wanted: bool | None = None,
    *,
    strict: bool = False,
) -> Report:
    """Do what may take text out, and leave no trace of that if it is wanted, or still owed from before.

    Parameters
    ----------
    database, indexes:
        The file, and its vector indexes.
    work:
        Takes out, stores, and lets the tree follow; told whether what it takes out is to be forgotten.
    wanted:
        Whether what is taken out is to be forgotten; None for what the file is set to.
    strict:
        Raise if what is wanted fails; else that is a problem in the report. Either way the next write does it.
    """
    with database.read() as connection:
        forgets = settings.load_always_forget(connection) if wanted is None else wanted
    token = _note_pending(database) if forgets else ""
    # Every commit raises the generation, every forgetting raises the number of them.
    with database.read() as connection:
        generation, times = settings.generation(connection), settings.count_of_erasures(connection)
    try:
        report = work(forgets)
    except BaseException:
        if token:
            with database.read() as connection:
                unchanged = settings.generation(connection) == generation
            if unchanged:
                _drop_pending(database, [token])  # Nothing was written, so that nothing is to be forgotten.
        raise
    if token and not (report.removed or report.changed or report.chunks_removed or report.moved):
        _drop_pending(database, [token])
    try:
        # If others forgot meanwhile, values that were derived may be of the text that they forgot.
        with database.read() as connection:
            dropped = settings.count_of_erasures(connection) != times and not settings.pending_erasures(connection)
            overlapped = dropped and memo.count_unused(connection) > 0
        if overlapped:
            _note_pending(database)
        end(database, indexes)
    except MonographError as error:
        if strict and token:
            raise
        path = str(database.path)
        reason = f"what was taken out is in no result any more, but still in the bytes of the file: {error.message}"
        problem = Problem(path, reason, f"the next write forgets it, or: monograph compact {path}")
        return replace(report, problems=(*report.problems, problem))
    return report


def erase(database: Database, indexes: Sequence[EcoVectorIndex]) -> None:
    """Drop from the file's bytes all that no document needs any more.

    Unused memo values and names are deleted, with what was said of such names; the vector indexes are folded, the
    inverted index is merged into one segment (SQLite before 3.42 cannot clear single postings), the file is rewritten
    without free space and the write-ahead log is emptied.

    Raises
    ------
    BusyFile
        If another process still reads an older state.
    """
    with database.write() as connection:
        tokens = settings.pending_erasures(connection)
        settings.count_erasure(connection)
        memo.drop_unused(connection)
        names.drop_unused(connection)
        # A first or last name that was set apart from a full one stays with it, also if no text has it by itself.
        pairs = names.cannot_link(connection)
        known = names.rows(connection, {key for pair in pairs for key in pair})
        gone = {
            pair
            for pair in pairs
            for key, other in (pair, pair[::-1])
            if key not in known and not (other in known and is_short_form(key, other))
        }
        names.remove_cannot_link(connection, gone, mark=False)
        for index in indexes:
            index.fold(connection)
        terms.merge(connection)
        if terms.keeps_removed(connection):
            words.index_anew(connection)
    database.rewrite()
    if tokens:
        _drop_pending(database, tokens)


def end(database: Database, indexes: Sequence[EcoVectorIndex]) -> None:
    """Forget what is still to be forgotten, if anything is. Raises as :func:`erase`."""
    with database.read() as connection:
        owed = settings.pending_erasures(connection)
    if owed:
        erase(database, indexes)


def _note_pending(database: Database) -> str:
    token = secrets.token_hex(8)
    with database.write() as connection:
        settings.add_pending_erasure(connection, token)
    return token


def _drop_pending(database: Database, tokens: Sequence[str]) -> None:
    with database.write() as connection:
        settings.drop_pending_erasures(connection, tokens)
