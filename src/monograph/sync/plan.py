"""What changed in files and folders since they were last read."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from monograph.errors import SourceMissing
from monograph.read import path_to_uri, uri_to_path
from monograph.read.source import is_installed
from monograph.store import failures, sources
from monograph.store.database import Database
from monograph.sync.ignore import IGNORE_FILE, Rules
from monograph.values import Change, ChangeKind, Plan, Problem

FileState: TypeAlias = tuple[str, int, int]
"""A file found on disk: its uri, bytes, and time of change in nanoseconds since 1970. A plain tuple: there are many."""


def make_plan(database: Database, roots: Sequence[Path], *, verify: bool = False, prune: bool = False) -> Plan:
    """Compare files on disk with what is stored.

    Parameters
    ----------
    database:
        The file.
    roots:
        Files and folders. Hidden files, those of systems and editors, .mono files and what .monographignore names are
        passed over; links to folders are followed, once each.
    verify:
        Compare SHA-256 even where size and time of change are as they were.
    prune:
        Take documents out even when a folder that held some is now empty: without it that is a problem, for
        an unmounted disk looks the same.

    Returns
    -------
    A plan without a cost, its changes in order of uri.

    Raises
    ------
    SourceMissing
        If a root does not exist.
    """
    changes: dict[str, Change] = {}
    problems: list[Problem] = []
    unread = {} if verify else _unread(database)
    absolute = list(dict.fromkeys(Path(os.path.abspath(root)) for root in roots))  # noqa: PTH100 - resolve() would follow links
    for root in absolute:
        uri = path_to_uri(root)
        walk = _Walk(problems)
        before = len(problems)
        files = walk.all(root)
        with database.read() as connection:
            known = sources.states(connection, uri)
        if known and not files and len(problems) == before and not prune:
            problems.append(_emptied(root, len(known)))
            continue
        changes |= _compare(database, _Seen(uri, files, walk.unseen, unread), known, verify=verify)
    looked_through = tuple(path_to_uri(root) for root in absolute)
    return Plan(tuple(changes[uri] for uri in sorted(changes)), tuple(dict.fromkeys(problems)), roots=looked_through)


def plan_paths(database: Database, root: Path, paths: Sequence[Path]) -> Plan:
    """Compare single files and folders below a root with what is stored of them; what is not there any more is gone.

    Parameters
    ----------
    database:
        The file.
    root:
        The folder that is synced, absolute.
    paths:
        Below the root, or the root itself.
    """
    changes: dict[str, Change] = {}
    problems: list[Problem] = []
    unread = _unread(database)
    for path in sorted(set(paths)):
        rules = _rules_at(root, path)
        if rules is None:
            continue
        walk = _Walk(problems)
        try:
            state = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            found: list[FileState] = []
        except OSError as error:
            problems.append(Problem(path_to_uri(path), f"cannot be read: {error.strerror}", "check its permissions"))
            continue
        else:
            file = (path_to_uri(path), state.st_size, state.st_mtime_ns)
            found = list(walk.below(path, rules)) if stat.S_ISDIR(state.st_mode) else [file]
        with database.read() as connection:
            known = sources.states(connection, path_to_uri(path))
        changes |= _compare(database, _Seen(path_to_uri(root), found, walk.unseen, unread), known, verify=False)
    return Plan(tuple(changes[uri] for uri in sorted(changes)), tuple(dict.fromkeys(problems)))


def _rules_at(root: Path, path: Path) -> Rules | None:
    """The rules that hold at a path below a root; None where it is passed over."""
    rules, folder = Rules(), root
    parts = path.relative_to(root).parts
    for number, name in enumerate(parts, start=1):
        rules = rules.at(str(folder))
        folder = folder / name
        is_folder = number < len(parts) or folder.is_dir()
        if rules.pass_over(str(folder), name, is_folder=is_folder):
            return None
    return rules


def _emptied(root: Path, count: int) -> Problem:
    return Problem(
        path_to_uri(root),
        f"the folder is empty now, but {count} files of it are stored: nothing was removed",
        "give --prune if they are really gone",
    )


def _lies_under(uri: str, folders: Sequence[str]) -> bool:
    return any(uri == folder or uri.startswith(folder + "/") for folder in folders)


@dataclass(frozen=True, slots=True)
class _Seen:
    """What was found of a root, or of a path below it. Nothing is known about what lies under ``unseen``.

    ``unread`` has (bytes, time of change), by uri, of files that could not be read, and cannot be now.
    """

    root: str
    files: Sequence[FileState]
    unseen: Sequence[str]
    unread: Mapping[str, tuple[int, int]]


def _unread(database: Database) -> dict[str, tuple[int, int]]:
    """(bytes, time of change), by uri, of the files that cannot be read for want of an extra, then and now."""
    with database.read() as connection:
        waiting = failures.unread(connection)
    absent = {needs for needs in {one[2] for one in waiting.values()} if not is_installed(needs)}
    return {uri: (size, modified_ns) for uri, (size, modified_ns, needs) in waiting.items() if needs in absent}


def _compare(database: Database, seen: _Seen, known: dict[str, tuple[int, int]], *, verify: bool) -> dict[str, Change]:
    """What became, by uri, of every file that was found, and of every known one (bytes, time of change) that was not.

    What is found is taken out of ``known``.
    """
    changes: dict[str, Change] = {}
    suspect: list[FileState] = []
    for file in seen.files:
        uri, size, modified_ns = file
        state = known.pop(uri, None)
        if state is None:
            # A file that nothing here can read is the same as long as it is the same: it is not told of again.
            kind: ChangeKind = "same" if seen.unread.get(uri) == (size, modified_ns) else "new"
            changes[uri] = Change(kind, uri, seen.root, size, modified_ns)
        elif state == (size, modified_ns) and not verify:
            changes[uri] = Change("same", uri, seen.root, size, modified_ns)
        else:
            suspect.append(file)
    gone = [uri for uri in known if not _lies_under(uri, seen.unseen)]
    with database.read() as connection:
        stored = {uri: sources.find(connection, uri) for uri in (*(uri for uri, *_ in suspect), *gone)}
    for uri, size, modified_ns in suspect:
        source = stored[uri]
        same = source is not None and size == source.size and sha256_of(uri_to_path(uri)) == source.sha256
        touched = same and source is not None and modified_ns != source.modified_ns
        changes[uri] = Change("same" if same else "changed", uri, seen.root, size, modified_ns, touched)
    for source in (stored[uri] for uri in gone):
        if source is not None:
            changes[source.uri] = Change("gone", source.uri, source.root, source.size, source.modified_ns)
    return changes


def sha256_of(path: Path) -> bytes | None:
    """Hash of a file's bytes, or None when it cannot be read: reading it later says why."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return None


@dataclass(slots=True)
class _Walk:
    """A walk through folders that enters each real folder once, however many links lead to it.

    What could not be seen is ``unseen``: it counts as unchanged.
    """

    problems: list[Problem]
    unseen: list[str] = field(default_factory=list)
    entered: set[tuple[int, int]] = field(default_factory=set)

    def all(self, root: Path) -> list[FileState]:
        """All files at or below a path, in order of name.

        Raises
        ------
        SourceMissing
            If the path does not exist.
        """
        try:
            state = root.stat()
        except OSError as error:
            raise SourceMissing(f"{root} cannot be read: {error.strerror}", "check the path") from error
        if not stat.S_ISDIR(state.st_mode):
            return [(path_to_uri(root), state.st_size, state.st_mtime_ns)]
        self.entered.add((state.st_dev, state.st_ino))
        return list(self.below(root, Rules()))

    def below(self, root: Path, rules: Rules) -> Iterator[FileState]:
        """All files below a folder, in order of name."""
        waiting = [(str(root), rules)]
        while waiting:
            folder, rules = waiting.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = {entry.name: entry for entry in listing}
            except OSError as error:
                self._cannot_see(folder, error)
                continue
            if IGNORE_FILE in entries:
                rules = rules.at(folder)
            folders: list[str] = []
            for name in sorted(entries):
                entry = entries[name]
                try:
                    is_folder = entry.is_dir()
                    if rules.pass_over(entry.path, name, is_folder=is_folder):
                        continue
                    if is_folder:
                        folders.extend(self._enter(entry))
                    elif entry.is_file():
                        state = entry.stat()
                        yield path_to_uri(entry.path), state.st_size, state.st_mtime_ns
                    elif entry.is_symlink():
                        self._broken(entry.path)
                except OSError as error:
                    self._cannot_see(entry.path, error)
            waiting.extend((one, rules) for one in reversed(folders))

    def _enter(self, entry: os.DirEntry[str]) -> list[str]:
        state = entry.stat()
        identity = (state.st_dev, state.st_ino)
        if identity in self.entered:
            if entry.is_symlink():
                target = os.path.realpath(entry.path)
                self.problems.append(
                    Problem(path_to_uri(Path(entry.path)), f"a link to {target}, which is read already: passed over")
                )
            return []
        self.entered.add(identity)
        return [entry.path]

    def _broken(self, path: str) -> None:
        self.problems.append(Problem(path_to_uri(Path(path)), "a link that leads nowhere", "mend or delete the link"))

    def _cannot_see(self, path: str, error: OSError) -> None:
        uri = path_to_uri(Path(path))
        self.unseen.append(uri)
        self.problems.append(Problem(uri, f"cannot be read: {error.strerror}", "check its permissions"))
