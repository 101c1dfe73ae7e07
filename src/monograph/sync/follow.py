"""Folders as the file remembers them: what is stored of each, what failed in it, and trying that again."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from monograph.read.paths import text_to_path
from monograph.read.source import INSIDE
from monograph.store.documents import roots, sources
from monograph.store.documents.roots import Failure
from monograph.store.file.database import Database
from monograph.values import Change, Plan, Problem, Root, SyncedSource


def remember(database: Database, plan: Plan, problems: Sequence[Problem], describer: str = "") -> None:
    """Note what failed while a plan was done, when its roots were synced, and the key of the describer if one was used.

    What failed before in a file that is still there, and was not read again, stays noted.
    """
    owners = {change.uri: change.root for change in plan.changes}
    unread = {change.uri for change in plan.changes if change.kind == "same"}
    with database.read() as connection:
        known = roots.failures(connection)
    kept = [one for one in known if one.file in unread or (one.file not in owners and not _under(one.file, plan.seen))]
    states = {change.uri: (change.size, change.modified_ns) for change in plan.changes}
    fresh = [_with_state(_failure(problem, owners, plan.roots), states) for problem in problems]
    with database.write() as connection:
        if known or fresh:
            roots.save_failures(connection, [*kept, *fresh])
        whole = (root.name for root in plan.roots if root.name in plan.seen)
        roots.save_synced(connection, whole, time.time(), describer)


def _with_state(failure: Failure, states: Mapping[str, tuple[int, int]]) -> Failure:
    """A failure for want of a module with its file's (bytes, time of change): until these change it is not read."""
    if not failure.problem.needs or failure.file not in states:
        return failure
    size, modified_ns = states[failure.file]
    return replace(failure, size=size, modified_ns=modified_ns)


def _under(uri: str, roots: Iterable[str]) -> bool:
    return any(uri == root or uri.startswith(root + "/") for root in roots)


def _failure(problem: Problem, owners: Mapping[str, str], known: Sequence[Root]) -> Failure:
    """A problem with the file it is in: it may speak of a part of that file, or of a line."""
    for file in (problem.uri, problem.uri.split(INSIDE)[0], problem.uri.rpartition(":")[0]):
        if file in owners:
            return Failure(file, owners[file], problem)
    root = next((one.name for one in known if _under(problem.uri, [one.name])), problem.uri)
    return Failure(problem.uri, root, problem)


def followed(database: Database) -> list[SyncedSource]:
    """Every file and folder that is synced, in order of name."""
    with database.read() as connection:
        places = {root.name: root.place for root in roots.every(connection)}
        counts = {root: (files, held, size) for root, files, held, size in sources.by_root(connection)}
        times, failed = roots.synced(connection), roots.failures(connection)
    found = []
    for root in sorted({*places, *counts, *times, *(one.root for one in failed)}):
        files, held, size = counts.get(root, (0, 0, 0))
        own = tuple(one.problem for one in failed if one.root == root)
        found.append(SyncedSource(root, places.get(root, ""), files, held, size, times.get(root, 0.0), own))
    return found


def plan_failed(database: Database) -> Plan:
    """Read again every file that something failed in, and that is still there."""
    with database.read() as connection:
        failed = {one.file: one.root for one in roots.failures(connection)}
        known = {root.name: root for root in roots.every(connection)}
    changes = []
    for uri, name in sorted(failed.items()):
        if name not in known:
            continue
        path = text_to_path(known[name].path(uri))
        try:
            state = path.stat()
        except (OSError, ValueError):
            continue  # The next sync sees that it is gone, or that its place is none.
        if path.is_file():
            changes.append(Change("changed", uri, name, state.st_size, state.st_mtime_ns))
    used = tuple(known[name] for name in dict.fromkeys(one.root for one in changes))
    return Plan(tuple(changes), roots=used)
