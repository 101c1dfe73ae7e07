"""Routes that follow folders and take documents out: what changes files."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from monograph.app.serve.events import Event
from monograph.app.serve.graph import Names
from monograph.app.serve.jobs import Job
from monograph.app.serve.served import Served
from monograph.app.serve.state import OneFile
from monograph.errors import InputError
from monograph.library import Monograph
from monograph.values import OnProgress, Plan, Report


@dataclass(frozen=True, slots=True)
class Sync:
    """What is brought up to date.

    Parameters
    ----------
    sources:
        Paths of folders and files; without any, all that are followed.
    verify:
        Compare contents even where size and time are unchanged.
    prune:
        Remove documents even if a whole folder is empty now.
    forget:
        Leave no trace of what is gone; null as the file is set.
    follow_links:
        Read what links lead to outside of a folder; null as it was said of the folder last.
    file:
        The file's name.
    """

    sources: tuple[str, ...] = ()
    verify: bool = False
    prune: bool = False
    forget: bool | None = None
    follow_links: bool | None = None
    file: str = ""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What would be brought up to date: parameters as for ``sync``."""

    sources: tuple[str, ...] = ()
    verify: bool = False
    prune: bool = False
    follow_links: bool | None = None
    file: str = ""


def sync(served: Served, asked: Sync) -> Job:
    """Bring a file up to date with folders, and follow those that are new."""
    name, file = served.writable_file(asked.file, "files.sync")

    def work(progress: OnProgress) -> Report:
        planned = file.files.plan(
            *_sources(name, file, asked.sources),
            verify=asked.verify,
            prune=asked.prune,
            follow_links=asked.follow_links,
            price=False,
            progress=progress,
        )
        return file.files.apply(planned, forget=asked.forget, progress=progress)

    return served.jobs.begin(name, "sync", work)


def plan(served: Served, asked: DryRun) -> Job:
    """Say what a sync would do and cost; nothing is written."""
    name, file = served.writable_file(asked.file, "files.plan")

    def work(progress: OnProgress) -> Plan:
        return file.files.plan(
            *_sources(name, file, asked.sources),
            verify=asked.verify,
            prune=asked.prune,
            follow_links=asked.follow_links,
            progress=progress,
        )

    return served.jobs.begin(name, "plan", work)


def _sources(name: str, file: Monograph, given: tuple[str, ...]) -> tuple[str, ...]:
    chosen = given or tuple(one.place for one in file.files.sources() if one.place)
    if not chosen:
        raise InputError(f"{name} follows no folder yet", "name one in sources")
    return chosen


@dataclass(frozen=True, slots=True)
class Retry:
    """What is read again.

    Parameters
    ----------
    forget:
        Leave no trace of what is gone; null as the file is set.
    file:
        The file's name.
    """

    forget: bool | None = None
    file: str = ""


def retry(served: Served, asked: Retry) -> Job:
    """Read again the files that something failed in."""
    name, file = served.writable_file(asked.file, "files.retry")
    return served.jobs.begin(name, "retry", lambda progress: file.files.retry(forget=asked.forget, progress=progress))


@dataclass(frozen=True, slots=True)
class Remove:
    """Which documents are taken out.

    Parameters
    ----------
    ids:
        Their ids or uris.
    forget:
        Leave no trace of their text; null as the file is set.
    file:
        The file's name.
    """

    ids: tuple[str, ...]
    forget: bool | None = None
    file: str = ""


def remove(served: Served, asked: Remove) -> Job:
    """Take documents out of every result; with ``forget`` no trace of their text is left."""
    name, file = served.writable(asked.file)
    return served.jobs.begin(name, "remove", lambda _: file.remove(asked.ids, forget=asked.forget))


@dataclass(frozen=True, slots=True)
class Unfollow:
    """Which folder is followed no longer.

    Parameters
    ----------
    root:
        Its name, or its place.
    forget:
        Leave no trace of its documents; null as the file is set.
    file:
        The file's name.
    """

    root: str
    forget: bool | None = None
    file: str = ""


def unfollow(served: Served, asked: Unfollow) -> Job:
    """Follow a folder no longer, and take its documents out."""
    name, file = served.writable_file(asked.file, "files.remove")
    return served.jobs.begin(name, "unfollow", lambda _: file.files.remove(asked.root, forget=asked.forget))


@dataclass(frozen=True, slots=True)
class TwoNames:
    """Two names.

    Parameters
    ----------
    name, other:
        As texts write them.
    file:
        The file's name.
    """

    name: str
    other: str
    file: str = ""


def set_apart(served: Served, asked: TwoNames) -> Names:
    """Say that two names are not one entity."""
    _, file = served.writable_file(asked.file, "graph.set_apart")
    file.graph.set_apart(asked.name, asked.other)
    return _named(file, asked)


def unite(served: Served, asked: TwoNames) -> Names:
    """Take back that two names are not one entity."""
    _, file = served.writable_file(asked.file, "graph.unite")
    file.graph.unite(asked.name, asked.other)
    return _named(file, asked)


def _named(file: Monograph, asked: TwoNames) -> Names:
    return Names(tuple(file.graph.entities(50, asked.name)), tuple(file.graph.merges(asked.name)))


@dataclass(frozen=True, slots=True)
class OneJob:
    """A job, by its id."""

    id: str


def jobs(served: Served, asked: OneFile) -> list[Job]:
    """The jobs of a file, the newest first, without what came of them."""
    return served.jobs.all(served.named(asked.file)[0])


def job(served: Served, asked: OneJob) -> Job:
    """A job, and how far it has come."""
    return served.jobs.named(asked.id)


def stop(served: Served, asked: OneJob) -> Job:
    """Let a job end at its next step; what was stored stays."""
    served.writable("")
    return served.jobs.stop(asked.id)


def job_events(served: Served, asked: OneJob) -> AsyncIterator[Event]:
    """A job as it is, and again whenever it has changed, until it has ended."""
    return served.jobs.events(asked.id)


def changes(served: Served, asked: OneFile) -> AsyncIterator[Event]:
    """Tell whenever a file has changed, whoever changed it."""
    return served.changes.events(served.named(asked.file)[0])
