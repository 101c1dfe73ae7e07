"""Comparison of files on disk with the stored files: the plan of a sync."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from monograph import telemetry
from monograph.errors import SourceError, SourceMissing
from monograph.read.file import path_outside, sha256_of
from monograph.read.paths import path_to_text, text_to_path
from monograph.read.source import is_installed
from monograph.store.documents import sources
from monograph.store.documents.sources import owner_of
from monograph.store.file.database import Database
from monograph.sync import roots
from monograph.sync.ignore import IGNORE_FILE, Rules, rules_below
from monograph.sync.roots import is_under
from monograph.values import Change, Move, Plan, Problem, Root

if TYPE_CHECKING:
    from monograph.values import ChangeKind

FileState: TypeAlias = tuple[str, int, int]
"""A file on disk: absolute path, size in bytes, and time of change in nanoseconds since 1970. A tuple saves memory."""


@telemetry.traced("monograph.plan")
def make_plan(
    database: Database,
    paths: Sequence[Path],
    *,
    verify: bool = False,
    prune: bool = False,
    follow_links: bool | None = None,
) -> Plan:
    """Compare files on disk with the stored files, and return the plan of a sync. ``Plan.cost`` is None.

    Parameters
    ----------
    paths:
        Files and folders to sync. Folders are read without hidden, temporary and .mono files, and without files that
        match .monographignore. Links that stay within a root are followed, but each folder is entered once. A root
        counts as moved if its path no longer exists, but at least half of its files are at the new path, unchanged.
    verify:
        Compare SHA-256 even if size and time of change are unchanged.
    prune:
        Whether to remove the documents of a path that has stored files, but now contains no file. Without ``prune``,
        the documents stay and a problem is reported, because an unmounted disk looks the same.
    follow_links:
        Whether to follow links that lead out of a root. If None, the stored setting of the root decides; for a new
        root, such links are not followed.

    Raises
    ------
    SourceMissing
        If a path does not exist.
    """
    draft = _PlanDraft()
    unread = {} if verify else _load_unread(database)
    for path in dict.fromkeys(map(roots.absolute, paths)):
        seen = _scan_path(database, path, draft.roots, follow_links)
        draft.include(seen)
        stored = seen.known(database)
        if stored and not seen.files and not seen.walk.problems and not prune:
            reason = f"the folder is empty now, but {len(stored)} files of it are stored: nothing was removed"
            draft.problems.append(Problem(seen.uri(path), reason, "give --prune if they are really gone"))
            continue
        draft.seen.append(seen.found.root.uri(path))
        draft.changes |= _compare(database, seen, stored, unread, verify=verify)
    return draft.plan()


def plan_paths(database: Database, folder: Path, paths: Sequence[Path]) -> Plan:
    """Compare only some paths in a synced folder with the stored files, and return the changes as a plan.

    ``folder`` and ``paths`` are absolute. Each path is ``folder`` itself, or a file or folder below it; it need not
    exist. If a stored file at or below a path no longer exists, the plan has a change of kind ``gone`` for this file.
    """
    draft = _PlanDraft()
    unread = _load_unread(database)
    for path in sorted(set(paths)):
        text = path_to_text(path)
        found_root = roots.find(database, path_to_text(folder), (), tuple(draft.roots.values()))
        walk = _FolderWalk(found_root.root)
        seen = _SeenPath(found_root, text, [], walk)
        rules = rules_below(folder, path, walk.rules_of)
        if rules is None:
            continue
        try:
            state = path.stat()
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            draft.problems.append(Problem(seen.uri(text), f"cannot be read: {error.strerror}", "check its permissions"))
            continue
        else:
            if not walk.leads_outside(str(path)):
                is_folder = stat.S_ISDIR(state.st_mode)
                seen.files.extend(walk.below(path, rules) if is_folder else [(text, state.st_size, state.st_mtime_ns)])
        draft.include(seen)
        draft.changes |= _compare(database, seen, seen.known(database), unread, verify=False)
    return draft.plan()


@dataclass(slots=True)
class _PlanDraft:
    """A plan that is being built.

    The keys of ``changes`` are uris, and the keys of ``roots`` are names of roots. ``seen`` has the uris of the paths
    that were scanned completely.
    """

    changes: dict[str, Change] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    roots: dict[str, Root] = field(default_factory=dict)
    moved: list[Move] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)

    def include(self, seen: _SeenPath) -> None:
        """Add the roots, the moved root and the problems that the scan of a path found."""
        self.roots[seen.found.root.name] = seen.found.root
        for inner in seen.found.others:
            if seen.found.root.holds(inner.place):
                self.roots.setdefault(inner.name, inner)
        if seen.found.move is not None:
            self.moved.append(seen.found.move)
        self.problems += [replace(problem, uri=seen.uri(problem.uri)) for problem in seen.walk.problems]
        self.problems += seen.links_out()

    def plan(self) -> Plan:
        return Plan(
            tuple(self.changes[uri] for uri in sorted(self.changes)),
            tuple(dict.fromkeys(self.problems)),
            roots=tuple(self.roots.values()),
            moved=tuple(dict.fromkeys(self.moved)),
            seen=tuple(self.seen),
        )


def _scan_path(database: Database, path: str, named: Mapping[str, Root], follow_links: bool | None) -> _SeenPath:
    """Return the files at or below a path, and the root of the path. ``named`` is {name: root} of the plan so far."""
    others = tuple(named.values())
    found_root = roots.find(database, path, (), others)
    follow = found_root.root.follow_links if follow_links is None else follow_links
    walk = _FolderWalk(replace(found_root.root, follow_links=follow))
    files = walk.all(text_to_path(path))
    found_root = roots.find(database, path, files, others)
    if follow_links is None and found_root.root.follow_links and not follow:  # It is a moved root.
        follow = True
        walk = _FolderWalk(found_root.root)
        files = walk.all(text_to_path(path))
    return _SeenPath(replace(found_root, root=replace(found_root.root, follow_links=follow)), path, files, walk)


@dataclass(frozen=True, slots=True)
class _SeenPath:
    """Files found at or below a path. Stored files in folders that could not be read count as unchanged."""

    found: roots.FoundRoot
    path: str
    files: list[FileState]
    walk: _FolderWalk

    def known(self, database: Database) -> dict[str, tuple[int, int]]:
        """Return {uri: (size in bytes, time of change in ns)} of the stored files at or below the path, in any root."""
        within = [root for root in self.found.others if is_under(root.place, [self.path])]
        with database.read() as connection:
            states = sources.states(connection, self.found.root.uri(self.path))
            for root in within:
                states |= sources.states(connection, root.name)
        return states

    def root_of(self, path: str) -> Root:
        """Return the innermost root that contains a path."""
        return owner_of((self.found.root, *self.found.others), path) or self.found.root

    def uri(self, path: str) -> str:
        """Return the uri of a path. If no known root contains the path, return the path itself."""
        owner = owner_of((self.found.root, *self.found.others), path)
        return path if owner is None else owner.uri(path)

    def links_out(self) -> list[Problem]:
        """Return one problem for all links that lead out of the root and are not followed; empty without such links."""
        if not self.walk.out:
            return []
        link, target = self.walk.out[0]
        count = f"{len(self.walk.out):,} links lead" if len(self.walk.out) > 1 else "a link leads"
        reason = f"{count} out of the folder, not followed: {self.uri(link)} to {target}"
        hint = f"--follow-links reads the target; a line in {IGNORE_FILE} ignores the link"
        return [Problem(self.uri(self.path), reason, hint)]


def _load_unread(database: Database) -> dict[str, tuple[int, int]]:
    """Return {uri: (size, time of change)} of files that need a Python module that is still missing."""
    with database.read() as connection:
        waiting = [failure for failure in sources.failures(connection) if failure.problem.needs]
    absent = {needs for needs in {failure.problem.needs for failure in waiting} if not is_installed(needs)}
    return {failure.file: (failure.size, failure.modified_ns) for failure in waiting if failure.problem.needs in absent}


def _compare(
    database: Database,
    seen: _SeenPath,
    stored_states: dict[str, tuple[int, int]],
    unread: Mapping[str, tuple[int, int]],
    *,
    verify: bool,
) -> dict[str, Change]:
    """Return {uri: change} of the files in ``seen`` (kind ``same`` if unchanged) and of stored files that are gone.

    Files in ``unread`` (see :func:`_load_unread`) count as unchanged until they change.
    """
    changes: dict[str, Change] = {}
    suspect: dict[str, Change] = {}
    nested = any(is_under(root.place, [seen.path]) for root in seen.found.others)
    for path, size, modified_ns in seen.files:
        root = seen.root_of(path) if nested else seen.found.root
        uri = root.uri(path)
        state = stored_states.pop(uri, None)
        if state is None:
            # A file whose reader is not installed counts as the same until it changes, so it is reported only once.
            kind: ChangeKind = "same" if unread.get(uri) == (size, modified_ns) else "new"
            changes[uri] = Change(kind, uri, root.name, size, modified_ns)
        elif state == (size, modified_ns) and not verify:
            changes[uri] = Change("same", uri, root.name, size, modified_ns)
        else:
            suspect[path] = Change("changed", uri, root.name, size, modified_ns)
    unseen = [seen.uri(path) for path in seen.walk.unseen]
    # The stored files that remain were not found. Those in folders that could not be read are not gone.
    missing = [uri for uri in stored_states if not is_under(uri, unseen)]
    with database.read() as connection:
        stored = {
            uri: sources.find(connection, uri) for uri in (*(change.uri for change in suspect.values()), *missing)
        }
    for path, change in suspect.items():
        source = stored[change.uri]
        same = source is not None and change.size == source.size and sha256_of(text_to_path(path)) == source.sha256
        touched = same and source is not None and change.modified_ns != source.modified_ns
        changes[change.uri] = replace(change, kind="same" if same else "changed", touched=touched)
    for source in (stored[uri] for uri in missing):
        if source is not None:
            changes[source.uri] = Change("gone", source.uri, source.root, source.size, source.modified_ns)
    return changes


@dataclass(slots=True)
class _FolderWalk:
    """A walk through folders that enters each real folder once, even if several links lead to it.

    - ``problems``: problems that the walk found. Each has an absolute path in the place of a uri.
    - ``unseen``: absolute paths that could not be read. Stored files at or below these paths count as unchanged.
    - ``entered``: (device, inode) of each folder that was entered.
    - ``out``: (link, target) of each link that leads out of the root and is not followed, as absolute paths.
    - ``home``: real path of the root.
    """

    root: Root
    problems: list[Problem] = field(default_factory=list)
    unseen: list[str] = field(default_factory=list)
    entered: set[tuple[int, int]] = field(default_factory=set)
    out: list[tuple[str, str]] = field(default_factory=list)
    home: str = ""

    def __post_init__(self) -> None:
        self.home = os.path.realpath(text_to_path(self.root.place))

    def all(self, root: Path) -> list[FileState]:
        """Return all files at or below a path that are not ignored, in order of name."""
        try:
            state = root.stat()
        except OSError as error:
            raise SourceMissing(f"{root} cannot be read: {error.strerror}", "check the path") from error
        if self.leads_outside(str(root)):
            return []
        if not stat.S_ISDIR(state.st_mode):
            return [(path_to_text(root), state.st_size, state.st_mtime_ns)]
        self.entered.add((state.st_dev, state.st_ino))
        return list(self.below(root, Rules()))

    def below(self, root: Path, rules: Rules) -> Iterator[FileState]:
        """Yield all files below a folder that ``rules`` do not ignore, in order of name; files in subfolders last."""
        waiting = [(str(root), rules)]
        while waiting:
            folder, rules = waiting.pop()
            try:
                with os.scandir(folder) as listing:
                    entries = {entry.name: entry for entry in listing}
            except OSError as error:
                self._report_unseen(folder, error)
                continue
            if IGNORE_FILE in entries:
                rules = self.rules_of(rules, folder)
            folders: list[str] = []
            for name in sorted(entries):
                entry = entries[name]
                try:
                    is_folder = entry.is_dir()
                    if rules.is_ignored(entry.path, name, is_folder=is_folder):
                        continue
                    if is_folder:
                        folders.extend(self._enter(entry))
                    elif entry.is_file():
                        if not (entry.is_symlink() and self.leads_outside(entry.path)):
                            state = entry.stat()
                            yield path_to_text(entry.path), state.st_size, state.st_mtime_ns
                    elif entry.is_symlink() and not os.path.exists(entry.path):  # noqa: PTH110
                        reason = "a link whose target does not exist"
                        self.problems.append(Problem(path_to_text(entry.path), reason, "correct or delete the link"))
                except OSError as error:
                    self._report_unseen(entry.path, error)
            waiting.extend((subfolder, rules) for subfolder in reversed(folders))

    def leads_outside(self, path: str) -> bool:
        """Return whether a path must be skipped because it leads out of the root. If so, add the path to ``out``."""
        real = None if self.root.follow_links else path_outside(path, self.home)
        if real is not None:
            self.out.append((path_to_text(path), path_to_text(real)))
        return real is not None

    def rules_of(self, rules: Rules, folder: str) -> Rules:
        """Return ``rules`` with a folder's ignore file added. If this file is unreadable or invalid, add a problem."""
        try:
            return rules.at(folder)
        except SourceError as error:
            uri = path_to_text(os.path.join(folder, IGNORE_FILE))  # noqa: PTH118
            self.problems.append(Problem(uri, f"ignores nothing: {error.message}", error.hint))
            return rules

    def _enter(self, entry: os.DirEntry[str]) -> list[str]:
        """Return [path] of a folder to enter; [] if it was entered before, or is a link out of the root."""
        if entry.is_symlink() and self.leads_outside(entry.path):
            return []
        state = entry.stat()
        identity = (state.st_dev, state.st_ino)
        if identity in self.entered:
            if entry.is_symlink():
                target = os.path.realpath(entry.path)
                reason = f"a link to {target}, which is read already: skipped"
                self.problems.append(Problem(path_to_text(entry.path), reason))
            return []
        self.entered.add(identity)
        return [entry.path]

    def _report_unseen(self, path: str, error: OSError) -> None:
        uri = path_to_text(path)
        self.unseen.append(uri)
        self.problems.append(Problem(uri, f"cannot be read: {error.strerror}", "check its permissions"))
