"""Roots (synced files and folders): which root a path belongs to, where it is now, and which of its files failed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from monograph.errors import InputError, NotFound
from monograph.read.file import sha256_of
from monograph.read.paths import path_to_text, text_to_path
from monograph.read.source import INSIDE
from monograph.store.documents import sources
from monograph.store.documents.sources import Failure, owner_of, unused_name
from monograph.store.file.database import Database
from monograph.values import Change, Move, Plan, Problem, Root, SyncedSource, arguments

ALIKE = 0.5
"""Least share of a root's files that must be at a new path, unchanged, for the root to count as moved to that path."""


@dataclass(frozen=True, slots=True)
class FoundRoot:
    """The root that contains a path, and all other known roots. ``move`` is set if the root was found at a new path."""

    root: Root
    others: tuple[Root, ...]
    move: Move | None = None


def absolute(path: str | os.PathLike[str]) -> str:
    """Return a path in the form in which roots store it: absolute, as text, without resolving links."""
    return path_to_text(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links


def find(database: Database, path: str, files: Sequence[tuple[str, int, int]], named: Sequence[Root] = ()) -> FoundRoot:
    """Return the root of an absolute path to sync: a known root, a root that was moved to this path, or a new one.

    Each item of ``files`` is a file at or below the path: (absolute path, size in bytes, time of change in nanoseconds
    since 1970). The files show whether the path is a moved root; without files, no root counts as moved. ``named`` has
    the roots of the plan that is being made, because some of them may not be stored yet.
    """
    with database.read() as connection:
        known_roots = [*sources.roots(connection), *named]
    owner = owner_of(known_roots, path)
    if owner is not None:
        return FoundRoot(owner, tuple(root for root in known_roots if root.name != owner.name))
    moved = _find_moved(database, known_roots, path, files)
    if moved is not None:
        others = tuple(root for root in known_roots if root.name != moved.name)
        return FoundRoot(replace(moved, place=path), others, Move(moved.name, moved.place, path))
    name = unused_name(path, (root.name for root in known_roots))
    return FoundRoot(Root(name, path), tuple(known_roots))


def _find_moved(
    database: Database, known_roots: Sequence[Root], path: str, files: Sequence[tuple[str, int, int]]
) -> Root | None:
    """Return the root that was moved to a path; None without such a root, or if several match equally well."""
    missing = [root for root in known_roots if not os.path.lexists(text_to_path(root.place))]
    states = {name: (size, modified_ns) for name, size, modified_ns in files} if missing else {}
    shares = []
    with database.read() as connection:
        for root in missing:
            stored = [sources.find(connection, uri) for uri in sources.states(connection, root.name)]
            existing = [source for source in stored if source is not None]
            same = 0
            for source in existing:
                here = replace(root, place=path).path(source.uri)
                size, modified_ns = states.get(here, (-1, -1))
                same += size == source.size and (
                    modified_ns == source.modified_ns or sha256_of(text_to_path(here)) == source.sha256
                )
            if existing and same >= ALIKE * len(existing):
                shares.append((same / len(existing), root))
    best = max((share for share, _ in shares), default=0.0)
    candidates = [root for share, root in shares if share == best]
    return candidates[0] if len(candidates) == 1 else None


def named(database: Database, name: str) -> Root:
    """Return a known root by its name or its path.

    Raises
    ------
    NotFound
        If there is no such root.
    """
    with database.read() as connection:
        known_roots = sources.roots(connection)
    place = absolute(arguments.path(name, "the folder"))
    for root in known_roots:
        if name == root.name or place == root.place:
            return root
    hint = f"monograph sources {database.path}"
    raise NotFound(f"{database.path} follows no file or folder {name!r}", hint)


def move(database: Database, name: str, path: str | os.PathLike[str]) -> Move:
    """Set the new path of a root that was moved, without reading files. The next sync finds changed files.

    Raises
    ------
    NotFound
        If no root has that name or path.
    InputError
        If the new path does not exist, or is the path of another root.
    """
    root, place = named(database, name), absolute(path)
    if not text_to_path(place).exists():
        raise InputError(f"{path} does not exist", "move the folder first, then give its new path")
    with database.write() as connection:
        for other in sources.roots(connection):
            if other.name != root.name and other.place == place:
                hint = f"monograph sources {database.path} --remove {other.name}"
                raise InputError(f"{path} is the path of {other.name!r} already", hint)
        sources.put_root(connection, replace(root, place=place))
    return Move(root.name, root.place, place)


def remember(database: Database, plan: Plan, problems: Sequence[Problem], describer: str = "") -> None:
    """Store the failures of an applied plan. For each root that was scanned completely, store the time of the sync.

    ``problems`` are the problems of the plan, and those that occurred while its files were read. Each becomes a
    failure. An earlier failure of a file that was not read again stays stored, unless the file is gone.

    If a file failed because a Python module is missing, the file's size and time of change are stored, too. The file is
    not read again until its size or time changes, or the module is installed.

    ``describer`` is the key of the model that described pictures; it is stored for each root that was scanned
    completely. If it is empty, the stored key stays.
    """
    changes = {change.uri: change for change in plan.changes}
    with database.read() as connection:
        stored = sources.failures(connection)
    failures = [
        failure
        for failure in stored
        if (changes[failure.file].kind == "same" if failure.file in changes else not is_under(failure.file, plan.seen))
    ]
    for problem in problems:
        failure = _make_failure(problem, changes, plan.roots)
        if problem.needs and failure.file in changes:
            change = changes[failure.file]
            failure = replace(failure, size=change.size, modified_ns=change.modified_ns)
        failures.append(failure)
    with database.write() as connection:
        if stored or failures:
            sources.save_failures(connection, failures)
        synced = (root.name for root in plan.roots if root.name in plan.seen)
        sources.save_synced(connection, synced, time.time(), describer)


def is_under(uri: str, folders: Iterable[str]) -> bool:
    """Return whether a uri or path is one of ``folders``, or is below one of them."""
    return any(uri == folder or uri.startswith(folder + "/") for folder in folders)


def _make_failure(problem: Problem, changes: Mapping[str, Change], known_roots: Sequence[Root]) -> Failure:
    """Return a Failure: a problem with its file and the file's root."""
    # The uri of the problem may name a part of the file: a file in an archive, or a line.
    for file in (problem.uri, problem.uri.split(INSIDE)[0], problem.uri.rpartition(":")[0]):
        if file in changes:
            return Failure(file, changes[file].root, problem)
    root = next((candidate.name for candidate in known_roots if is_under(problem.uri, [candidate.name])), problem.uri)
    return Failure(problem.uri, root, problem)


def followed(database: Database) -> list[SyncedSource]:
    """Return every followed file and folder with its counts, time of the last sync and failures, in order of name."""
    with database.read() as connection:
        places = {root.name: root.place for root in sources.roots(connection)}
        counts = {
            root: (files, document_count, size) for root, files, document_count, size in sources.by_root(connection)
        }
        times, failed = sources.synced(connection), sources.failures(connection)
    result = []
    for root in sorted({*places, *counts, *times, *(failure.root for failure in failed)}):
        files, document_count, size = counts.get(root, (0, 0, 0))
        problems = tuple(failure.problem for failure in failed if failure.root == root)
        result.append(
            SyncedSource(root, places.get(root, ""), files, document_count, size, times.get(root, 0.0), problems)
        )
    return result


def plan_failed(database: Database) -> Plan:
    """Return a plan to read every failed file again. Files that no longer exist are left out."""
    with database.read() as connection:
        failed = {failure.file: failure.root for failure in sources.failures(connection)}
        known_roots = {root.name: root for root in sources.roots(connection)}
    changes = []
    for uri, name in sorted(failed.items()):
        if name not in known_roots:
            continue
        path = text_to_path(known_roots[name].path(uri))
        try:
            state = path.stat()
        except (OSError, ValueError):
            continue  # The next sync finds that the file is gone, or that its path is invalid.
        if path.is_file():
            changes.append(Change("changed", uri, name, state.st_size, state.st_mtime_ns))
    used = tuple(known_roots[name] for name in dict.fromkeys(change.root for change in changes))
    return Plan(tuple(changes), roots=used)
