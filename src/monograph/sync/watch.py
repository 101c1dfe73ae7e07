"""Watching of folders: only files that the operating system reports as changed are compared with the stored files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from monograph.errors import MissingExtra
from monograph.read.paths import path_to_text
from monograph.store.documents import sources
from monograph.store.documents.sources import roots as roots_known
from monograph.store.file.database import Database
from monograph.sync.ignore import IGNORE_FILE
from monograph.sync.plan import make_plan, plan_paths
from monograph.values import ChangeKind, Plan, Report, WatchEvent, WatchEventKind

QUIET_MS, LONGEST_MS = 100, 800
"""A batch of changes ends after QUIET_MS milliseconds without a change, or LONGEST_MS after its start."""

LOOK_MS = 1_000
"""Milliseconds between two checks whether a missing folder is back, and whether a watched folder was replaced."""

MOST_PATHS = 500
"""Largest number of changed paths that are compared one by one. Above it, the whole folder is compared."""


def watch(
    database: Database,
    roots: Sequence[Path],
    apply: Callable[[Plan], Report],
    stop: threading.Event,
    follow_links: bool | None = None,
) -> Iterator[WatchEvent]:
    """Sync folders whenever they change, and yield an event for each change once it is stored.

    If a folder vanishes, its documents stay stored. When the folder is back, all of its files are compared.

    Parameters
    ----------
    roots:
        Absolute paths of folders and files.
    apply:
        Carries out a plan.
    stop:
        Another thread sets it to end the watch.
    follow_links:
        As for :func:`monograph.sync.plan.make_plan`.

    Raises
    ------
    MissingExtra
        If watchfiles is not installed.
    """
    try:
        import watchfiles
    except ImportError as error:
        raise MissingExtra("watching folders needs watchfiles", 'pip install "monograph[watch]"') from error
    away: set[Path] = set()
    while not stop.is_set():
        identities = {root: _read_identity(root) for root in roots}
        present = [root for root in roots if identities[root] is not None]
        for root in roots:
            if root in present and root in away:
                away.discard(root)
                yield WatchEvent("back", path_to_text(root))
            elif root not in present and root not in away:
                away.add(root)
                yield WatchEvent("away", path_to_text(root), reason="it does not exist now; its stored documents stay")
        if not present:
            stop.wait(LOOK_MS / 1000)
            continue
        events = watchfiles.watch(
            *present, watch_filter=None, debounce=LONGEST_MS, step=QUIET_MS, stop_event=stop, rust_timeout=LOOK_MS,
            yield_on_timeout=True, ignore_permission_denied=True,
        )  # fmt: skip
        # The folders are compared after the watch has begun, so that no change in between is missed.
        next(events, None)
        yield from _apply_plan(database, apply, make_plan(database, present, follow_links=follow_links))
        for changes in events:
            if any(_read_identity(root) != identities[root] for root in roots):
                break
            paths = [Path(path) for _, path in changes]
            for root in present:
                own = [path for path in paths if path == root or root in path.parents]
                if len(own) > MOST_PATHS or any(path.name == IGNORE_FILE for path in own):
                    yield from _apply_plan(database, apply, make_plan(database, [root]))
                elif own:
                    yield from _apply_plan(database, apply, plan_paths(database, root, own))


def _read_identity(path: Path) -> tuple[int, int] | None:
    """Return the (device, inode) of a path; None if it does not exist."""
    try:
        state = path.stat()
        return state.st_dev, state.st_ino
    except OSError:
        return None


def _apply_plan(database: Database, apply: Callable[[Plan], Report], plan: Plan) -> Iterator[WatchEvent]:
    """Apply a plan if it changes anything, and yield an event for each change and each problem."""
    if all(change.kind == "same" and not change.touched for change in plan.changes) and not plan.problems:
        with database.read() as connection:
            if set(plan.roots) <= set(roots_known(connection)):
                return
    before = _load_hashes(database, plan, "gone")
    report = apply(plan)
    failed = {problem.uri for problem in report.problems}
    for problem in report.problems:
        yield WatchEvent("failed", problem.uri, reason=problem.reason, hint=problem.hint)
    renamed: dict[str, str] = {}
    for sha256, uri in _load_hashes(database, plan, "new").items():
        if sha256 in before:
            renamed[uri] = before[sha256]
    skipped = failed | set(renamed.values())
    for change in plan.changes:
        if change.kind == "same" or change.uri in skipped:
            continue
        kind: WatchEventKind = "renamed" if change.uri in renamed else change.kind
        yield WatchEvent(kind, change.uri, before=renamed.get(change.uri, ""), embedded=report.embedded)


def _load_hashes(database: Database, plan: Plan, kind: ChangeKind) -> dict[bytes, str]:
    """Return {SHA-256: uri} of the stored files that have a change of kind ``kind`` in a plan."""
    with database.read() as connection:
        stored = [sources.find(connection, change.uri) for change in plan.of(kind)]
    return {source.sha256: source.uri for source in stored if source is not None}
