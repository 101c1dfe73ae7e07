"""The served files by name, and the threads that answer requests."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from monograph.app.serve.jobs import Jobs
from monograph.app.serve.replies import NotWritable
from monograph.app.serve.threads import Threads
from monograph.errors import NotFound
from monograph.library import Monograph, Reader, View
from monograph.library.original_files import Pages
from monograph.shelf import to_write, whole_file

if TYPE_CHECKING:
    from monograph.shelf import Archive

P = ParamSpec("P")
Result = TypeVar("Result")

LAST_SECONDS = 3.0
"""Seconds that an ending server waits for each kind of running work."""
QUICK, SLOW = 4, 8
"""Numbers of threads for quick and for slow requests. Slow requests, such as answers of a model, may take minutes."""
UPLOADS = 4
"""Maximum number of concurrent uploads; further uploads are refused."""


@dataclass(frozen=True, slots=True)
class Served:
    """Files and settings of a server.

    Parameters
    ----------
    files:
        Open files and shelves by name. Requests that name no file use the first.
    write:
        Whether files may be changed.
    model:
        Key of the language model that answers; empty without one.
    agents:
        Whether agents are served at ``/mcp``.
    pages, jobs:
        ``pages`` has one renderer of PDF pages for each file; shelves have none. ``jobs`` has the background jobs.
    quick, slow, uploads:
        ``quick`` and ``slow`` are the threads that answer requests. ``uploads`` limits concurrent uploads.
    ending:
        Set when the server is about to end.
    """

    files: dict[str, Archive] = field(repr=False)
    write: bool = False
    model: str = ""
    agents: bool = False
    pages: dict[Reader, Pages] = field(init=False, repr=False)
    jobs: Jobs = field(init=False, repr=False, default_factory=Jobs)
    quick: Threads = field(init=False, repr=False, default_factory=lambda: Threads(QUICK, "monograph-serve"))
    slow: Threads = field(init=False, repr=False, default_factory=lambda: Threads(SLOW, "monograph-serve-slow"))
    uploads: asyncio.Semaphore = field(init=False, repr=False, default_factory=lambda: asyncio.Semaphore(UPLOADS))
    ending: threading.Event = field(init=False, repr=False, default_factory=threading.Event)

    def __post_init__(self) -> None:
        pages = {file: file.files.pages() for file in self.files.values() if isinstance(file, Reader)}
        object.__setattr__(self, "pages", pages)

    async def run(self, call: Callable[..., Result], *values: object, slow: bool = False) -> Result:
        """Call a function on a quick (or ``slow``) thread and return its result. Raises TooMany if too many calls wait.

        The function continues even if the client disconnects.
        """
        return await asyncio.get_running_loop().run_in_executor(self.slow if slow else self.quick, call, *values)

    def end(self) -> None:
        """Stop jobs at their next step, and end streams of changes, before the server ends."""
        self.ending.set()
        self.jobs.end()

    def close(self) -> None:
        """Stop the threads, jobs and renderers; the caller closes the files."""
        self.end()
        for threads in (self.quick, self.slow):
            threads.close(LAST_SECONDS)
        self.jobs.close(LAST_SECONDS)
        for pages in self.pages.values():
            pages.close()

    def named(self, name: str) -> tuple[str, Archive]:
        """Return (name, archive) of the file or shelf with a name. An empty name stands for the first one.

        Raises NotFound if none has that name.
        """
        chosen = name or next(iter(self.files))
        if chosen not in self.files:
            raise NotFound(f"no file named {chosen!r} is served", f"choose one of {', '.join(self.files)}")
        return chosen, self.files[chosen]

    def writable(self, name: str) -> tuple[str, Monograph | View]:
        """Return (name, archive) of the file or view with a name, to change it. An empty name stands for the first one.

        Raises
        ------
        NotWritable
            If the server was started without ``--write``, or the name is that of a shelf.
        NotFound
            If no file, view or shelf has the name.
        OutsideView
            If the name is that of a snapshot.
        """
        if not self.write:
            raise NotWritable("the served files are read-only", "monograph serve FILE --write")
        chosen, archive = self.named(name)
        if not isinstance(archive, Reader):
            raise NotWritable(f"{chosen} is a shelf, which is read-only", f"monograph shelf build {archive.url}")
        return chosen, to_write(archive)

    def writable_file(self, name: str, call: str) -> tuple[str, Monograph]:
        """Return (name, file) of the file with a name, for a change that a view does not support.

        ``call`` is the method that makes the change, for the error message. An empty name stands for the first file.

        Raises
        ------
        NotWritable, NotFound
            As for :meth:`writable`.
        OutsideView
            If the name is that of a view or a snapshot.
        """
        chosen, archive = self.writable(name)
        return chosen, whole_file(archive, call, call)


def names_of(addresses: Sequence[str]) -> list[str]:
    """Return a unique name for each address of a file or shelf: the last part of the address without suffix.

    ``/home/ann/notes.mono`` gives ``notes``. If an earlier address has this name, it gives ``notes 2``.
    """
    names: list[str] = []
    for address in addresses:
        path = PurePath(address)
        name, number = path.stem or path.name or address, 1
        while (chosen := name if number == 1 else f"{name} {number}") in names:
            number += 1
        names.append(chosen)
    return names
