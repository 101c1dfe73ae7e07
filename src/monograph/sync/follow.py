"""Folders as the file remembers them: what is stored of each, what failed in it, and trying that again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from monograph.read import uri_to_path
from monograph.read.source import INSIDE
from monograph.store import failures, sources
from monograph.store.database import Database
from monograph.store.failures import Failure
from monograph.values import Change, Plan, Problem, SyncedSource


def remember(database: Database, plan: Plan, problems: Sequence[Problem]) -> None:
    """Note what failed while a plan was done, and that its roots were looked through.

    What failed before in a file that is still there, and was not read again, stays noted.
    """
    roots = {change.uri: change.root for change in plan.changes}
    unread = {change.uri for change in plan.changes if change.kind == "same"}
    with database.read() as connection:
        known, times = failures.load(connection), failures.synced(connection)
    kept = [one for one in known if one.file in unread or (one.file not in roots and not _under(one.file, plan.roots))]
    states = {change.uri: (change.size, change.modified_ns) for change in plan.changes}
    fresh = [_with_state(_failure(problem, roots, plan.roots), states) for problem in problems]
    now = time.time()
    with database.write() as connection:
        if known or fresh:
            failures.save(connection, [*kept, *fresh])
        failures.save_synced(connection, times | dict.fromkeys(plan.roots, now))


def _with_state(failure: Failure, states: Mapping[str, tuple[int, int]]) -> Failure:
    """A failure for want of a module with its file's (bytes, time of change): until these change it is not read."""
    if not failure.problem.needs or failure.file not in states:
        return failure
    size, modified_ns = states[failure.file]
    return replace(failure, size=size, modified_ns=modified_ns)


def _under(uri: str, roots: Iterable[str]) -> bool:
    return any(uri == root or uri.startswith(root.rstrip("/") + "/") for root in roots)


def _failure(problem: Problem, roots: dict[str, str], looked_through: Sequence[str]) -> Failure:
    """A problem with the file it is in: it may speak of a part of that file, or of a line."""
    for file in (problem.uri, problem.uri.split(INSIDE)[0], problem.uri.rpartition(":")[0]):
        if file in roots:
            return Failure(file, roots[file], problem)
    root = next((one for one in looked_through if _under(problem.uri, [one])), problem.uri)
    return Failure(problem.uri, root, problem)


def followed(database: Database) -> list[SyncedSource]:
    """Every file and folder that is synced, in order."""
    with database.read() as connection:
        counts = {root: (files, held, size) for root, files, held, size in sources.by_root(connection)}
        times, failed = failures.synced(connection), failures.load(connection)
    found = []
    for root in sorted({*counts, *times, *(one.root for one in failed)}):
        files, held, size = counts.get(root, (0, 0, 0))
        own = tuple(one.problem for one in failed if one.root == root)
        found.append(SyncedSource(root, files, held, size, times.get(root, 0.0), own))
    return found


def plan_failed(database: Database) -> Plan:
    """Read again every file that something failed in, and that is still there."""
    with database.read() as connection:
        failed = {one.file: one.root for one in failures.load(connection)}
    changes = []
    for uri, root in sorted(failed.items()):
        try:
            state = uri_to_path(uri).stat()
        except OSError:
            continue  # The next sync sees that it is gone.
        if uri_to_path(uri).is_file():
            changes.append(Change("changed", uri, root, state.st_size, state.st_mtime_ns))
    return Plan(tuple(changes))
