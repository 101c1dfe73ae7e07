"""The files that are served, by name, and the threads that answer from them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from monograph.app.serve.faults import NotWritable
from monograph.app.serve.jobs import Jobs
from monograph.app.serve.threads import Threads
from monograph.errors import NotFound
from monograph.library import Monograph, Reader, View
from monograph.library.original_files import Pages
from monograph.shelf import only_file, to_write, whole_file

if TYPE_CHECKING:
    from monograph.shelf import Archive

P = ParamSpec("P")
Result = TypeVar("Result")

LAST_SECONDS = 3.0
"""For what is at work when a server ends."""
QUICK, SLOW = 4, 8
"""Requests that are answered at one time: what takes moments, and what may take minutes, as what a model writes."""
UPLOADS = 4
"""Files that are taken at one time; more are refused."""


@dataclass(frozen=True, slots=True)
class Served:
    """Files and settings of a server.

    Parameters
    ----------
    files:
        Open files and shelves by name, the first one first.
    write:
        Whether they may be changed.
    model:
        Key of the language model that answers; empty without one.
    agents:
        Whether agents are served at ``/mcp``.
    pages, jobs:
        What draws pages of each file that is no shelf, and what works by itself.
    quick, slow, uploads:
        The threads that answer, and how many files may be taken at one time.
    ending:
        Set when the server is about to end.
    """

    files: dict[str, Archive] = field(repr=False)
    write: bool = False
    model: str = ""
    agents: bool = False
    pages: dict[str, Pages] = field(init=False, repr=False)
    jobs: Jobs = field(init=False, repr=False, default_factory=Jobs)
    quick: Threads = field(init=False, repr=False, default_factory=lambda: Threads(QUICK, "monograph-serve"))
    slow: Threads = field(init=False, repr=False, default_factory=lambda: Threads(SLOW, "monograph-serve-slow"))
    uploads: asyncio.Semaphore = field(init=False, repr=False, default_factory=lambda: asyncio.Semaphore(UPLOADS))
    ending: threading.Event = field(init=False, repr=False, default_factory=threading.Event)

    def __post_init__(self) -> None:
        alone = {name: file.files.pages() for name, file in self.files.items() if isinstance(file, Reader)}
        object.__setattr__(self, "pages", alone)

    async def run(self, call: Callable[..., Result], *values: object, slow: bool = False) -> Result:
        """Call a function on a thread. Whoever goes away leaves it to its end. Raises TooMany if too many wait."""
        return await asyncio.get_running_loop().run_in_executor(self.slow if slow else self.quick, call, *values)

    def end(self) -> None:
        """Say that the end has come: jobs stop at their next step, and nobody waits for changes any more."""
        self.ending.set()
        self.jobs.end()

    def close(self) -> None:
        """End what works by itself; the files stay the caller's to close."""
        self.end()
        for threads in (self.quick, self.slow):
            threads.close(LAST_SECONDS)
        self.jobs.close(LAST_SECONDS)
        for pages in self.pages.values():
            pages.close()

    def named(self, name: str) -> tuple[str, Archive]:
        """A file or a shelf, and its name; the first one for an empty name. Raises NotFound if none has that name."""
        chosen = name or next(iter(self.files))
        if chosen not in self.files:
            raise NotFound(f"no file named {chosen!r} is served", f"name one of {', '.join(self.files)}")
        return chosen, self.files[chosen]

    def archive(self, name: str) -> Archive:
        """A file or a shelf. Raises as :meth:`named`."""
        return self.named(name)[1]

    def file(self, name: str) -> Reader:
        """A file, view or snapshot. Raises as :meth:`named`, and NotOnShelf for a shelf."""
        return only_file(self.archive(name), "such thing")

    def pages_of(self, name: str) -> Pages:
        """Return the renderer of a file's pages. Raises as :meth:`file`."""
        self.file(name)
        return self.pages[self.named(name)[0]]

    def writable(self, name: str) -> tuple[str, Monograph | View]:
        """A file or a view that may be changed, and its name.

        Raises
        ------
        NotWritable
            If the server was started without ``--write``, or it is a shelf.
        OutsideView
            If it is a snapshot.
        """
        if not self.write:
            raise NotWritable("files are only read here", "monograph serve FILE --write")
        chosen, archive = self.named(name)
        if not isinstance(archive, Reader):
            raise NotWritable(f"{chosen} is a shelf, which is only read here", f"monograph shelf build {archive.url}")
        return chosen, to_write(archive)

    def writable_file(self, name: str, call: str) -> tuple[str, Monograph]:
        """A whole file, to call a method that changes it. Raises as :meth:`writable`, and OutsideView for a view."""
        chosen, archive = self.writable(name)
        return chosen, whole_file(archive, call, call)


def names_of(addresses: Sequence[str]) -> list[str]:
    """A name for each address, made unique: ``notes`` for ``/home/ann/notes.mono``, then ``notes 2``."""
    made: list[str] = []
    for address in addresses:
        path = PurePath(address)
        name, number = path.stem or path.name or address, 1
        while (chosen := name if number == 1 else f"{name} {number}") in made:
            number += 1
        made.append(chosen)
    return made
