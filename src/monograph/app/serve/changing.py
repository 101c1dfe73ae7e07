"""Operations that sync folders, upload and remove documents, and report changes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated

from fastapi import Body, Query, Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from monograph.app.serve.jobs import Job
from monograph.app.serve.operations import (
    EVENTS,
    FileInBody,
    FileName,
    Operations,
    ServedFiles,
    ToChange,
    to_change,
)
from monograph.app.serve.replies import Json, TooLarge, TooMany, event, streamed
from monograph.errors import InputError, MonographError
from monograph.library import Monograph, Reader
from monograph.read.limits import DEFAULT_LIMITS
from monograph.read.paths import path_to_text
from monograph.values import OnProgress, Plan, Report

POLL_SECONDS = 0.5
"""Seconds between two checks whether a file has changed."""

Switch = Annotated[bool, Body(strict=True)]
Sources = Annotated[tuple[str, ...], Body(description="Paths of folders and files; by default all followed ones.")]
Verify = Annotated[Switch, Body(description="Compare contents even if size and time are unchanged.")]
Prune = Annotated[Switch, Body(description="Remove documents even if a whole folder is empty now.")]
Forget = Annotated[Switch | None, Body(description="Leave no trace of removed text; null for the setting of the file.")]
FollowLinks = Annotated[
    Switch | None, Body(description="Follow links that lead out of a folder; null for the folder's last setting.")
]
JobId = Annotated[str, Query(alias="id", description="Id of the job.")]

router = Operations()


@router.post("/sync", status_code=202)
def sync(
    served: ServedFiles,
    target: Annotated[ToChange, to_change("files.sync")],
    sources: Sources = (),
    verify: Verify = False,
    prune: Prune = False,
    forget: Forget = None,
    follow_links: FollowLinks = None,
) -> Job:
    """Read what changed in folders, store it, and follow folders that are new."""
    name, file = target

    def work(progress: OnProgress) -> Report:
        paths = _sources(name, file, sources)
        planned = file.files.plan(
            *paths, verify=verify, prune=prune, follow_links=follow_links, price=False, progress=progress
        )
        return file.files.apply(planned, forget=forget, progress=progress)

    return served.jobs.begin(name, "sync", work)


@router.post("/plan", status_code=202)
def plan(
    served: ServedFiles,
    target: Annotated[ToChange, to_change("files.plan")],
    sources: Sources = (),
    verify: Verify = False,
    prune: Prune = False,
    follow_links: FollowLinks = None,
) -> Job:
    """Report what a sync would do and cost; nothing is written."""
    name, file = target

    def work(progress: OnProgress) -> Plan:
        paths = _sources(name, file, sources)
        return file.files.plan(*paths, verify=verify, prune=prune, follow_links=follow_links, progress=progress)

    return served.jobs.begin(name, "plan", work)


def _sources(name: str, file: Monograph, requested: Sequence[str]) -> Sequence[str]:
    paths = requested or tuple(source.place for source in file.files.sources() if source.place)
    if not paths:
        raise InputError(f"{name} follows no folder yet", "name one in sources")
    return paths


@router.post("/retry", status_code=202)
def retry(served: ServedFiles, target: Annotated[ToChange, to_change("files.retry")], forget: Forget = None) -> Job:
    """Read the files again that could not be stored."""
    name, file = target
    return served.jobs.begin(name, "retry", lambda progress: file.files.retry(forget=forget, progress=progress))


@router.post("/remove", status_code=202)
def remove(
    served: ServedFiles,
    ids: Annotated[tuple[str, ...], Body(description="Ids or uris of documents.")],
    forget: Forget = None,
    file: FileInBody = "",
) -> Job:
    """Remove documents; with `forget`, no trace of their text is left."""
    name, archive = served.writable(file)
    return served.jobs.begin(name, "remove", lambda _: archive.remove(ids, forget=forget))


@router.post("/sources/remove", status_code=202)
def unfollow(
    served: ServedFiles,
    target: Annotated[ToChange, to_change("files.remove")],
    root: Annotated[str, Body(description="Name or path of a followed folder.")],
    forget: Forget = None,
) -> Job:
    """Stop following a folder, and remove its documents."""
    name, file = target
    return served.jobs.begin(name, "unfollow", lambda _: file.files.remove(root, forget=forget))


@dataclass(frozen=True, slots=True)
class Uploaded:
    """An uploaded file, which the next sync reads.

    Parameters
    ----------
    path:
        Path of the file.
    uri:
        Uri that its document will have.
    bytes:
        Size of the file in bytes.
    """

    path: str
    uri: str
    bytes: int


@router.post(
    "/upload",
    status_code=201,
    response_model=Uploaded,
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {}}}},
)
async def upload(
    request: Request,
    served: ServedFiles,
    root: Annotated[str, Query(description="Name or path of a followed folder.")],
    name: Annotated[str, Query(description="Name of the file, without folders.")],
    folder: Annotated[str, Query(description="Folder in the root: `letters/1963`; empty for the root itself.")] = "",
    file: FileName = "",
) -> Response:
    """Save the body as a file in a followed folder; the next sync reads it."""
    if int(request.headers.get("content-length", 0)) > DEFAULT_LIMITS.max_bytes:
        raise TooLarge(f"the file has more than {DEFAULT_LIMITS.max_bytes:,} bytes", "copy it into the folder yourself")
    if served.uploads.locked():
        raise TooMany("too many uploads at once", "send the files one after the other")
    async with served.uploads:
        _, target = served.writable_file(file, "files.receive")
        with await served.run(target.files.receive, root, name, folder) as incoming:
            async for part in request.stream():
                incoming.write(part)
            path = await served.run(incoming.keep, slow=True)
            return Json(Uploaded(path_to_text(path), incoming.uri, incoming.size), 201)


@router.get("/jobs")
def jobs(served: ServedFiles, file: FileName = "") -> list[Job]:
    """List the jobs of a file, newest first, without their results."""
    return served.jobs.all(served.named(file)[0])


@router.get("/job")
def job(served: ServedFiles, identifier: JobId) -> Job:
    """Return a job and its progress."""
    return served.jobs.named(identifier)


@router.delete("/job")
def stop(served: ServedFiles, identifier: JobId) -> Job:
    """Stop a job at its next step; what it stored is kept."""
    served.writable("")
    return served.jobs.stop(identifier)


@router.get("/job/events", response_class=Response, responses=EVENTS)
async def job_events(served: ServedFiles, identifier: JobId) -> EventSourceResponse:
    """Stream a job as events: at once, after each change, and when it has ended."""
    return await streamed(served.jobs.events(identifier))


@dataclass(frozen=True, slots=True)
class Changed:
    """A changed file: its name, and a number that every change raises."""

    file: str
    generation: int


@router.get("/changes", response_class=Response, responses=EVENTS)
async def changes(served: ServedFiles, file: FileName = "") -> EventSourceResponse:
    """Stream an event at once and whenever the file changes, whoever changed it."""
    name, archive = served.named(file)

    async def events() -> AsyncGenerator[ServerSentEvent]:
        last = None
        while not served.ending.is_set():
            # A shelf stays at the version that was opened.
            with suppress(MonographError):  # The file is in use or damaged; other requests report that.
                generation = await served.run(archive.generation) if isinstance(archive, Reader) else archive.version
                if generation != last:
                    yield event("change", Changed(name, generation))
                    last = generation
            await asyncio.sleep(POLL_SECONDS)

    return await streamed(events())
