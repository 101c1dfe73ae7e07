"""The files that are served, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import TYPE_CHECKING

from monograph.app.serve.changes import Changes
from monograph.app.serve.faults import NotWritable
from monograph.app.serve.jobs import Jobs
from monograph.errors import NotFound
from monograph.library import Monograph, Reader, View
from monograph.library.original_files import Pages
from monograph.shelf import only_file, to_write, whole_file

if TYPE_CHECKING:
    from monograph.shelf import Archive

LAST_SECONDS = 3.0
"""For what is at work when a server ends."""


@dataclass(frozen=True, slots=True)
class Served:
    """What a server answers from.

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
    pages, jobs, changes:
        What draws pages of each file that is no shelf, what works by itself, and what looks for changes.
    """

    files: dict[str, Archive] = field(repr=False)
    write: bool = False
    model: str = ""
    agents: bool = False
    pages: dict[str, Pages] = field(init=False, repr=False)
    jobs: Jobs = field(init=False, repr=False)
    changes: Changes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        alone = {name: file for name, file in self.files.items() if isinstance(file, Reader)}
        object.__setattr__(self, "pages", {name: file.files.pages() for name, file in alone.items()})
        object.__setattr__(self, "jobs", Jobs())
        object.__setattr__(self, "changes", Changes(self.files))

    def end(self) -> None:
        """Say that the end has come: jobs stop at their next step, and nobody waits for changes any more."""
        self.jobs.end()
        self.changes.end()

    def close(self) -> None:
        """End what works by itself; the files stay the caller's to close."""
        self.end()
        self.jobs.close(LAST_SECONDS)
        self.changes.close()
        for pages in self.pages.values():
            pages.close()

    def named(self, name: str) -> tuple[str, Archive]:
        """A file or a shelf, and its name; the first one for an empty name.

        Raises
        ------
        NotFound
            If none has that name.
        """
        chosen = name or next(iter(self.files))
        if chosen not in self.files:
            raise NotFound(f"no file named {chosen!r} is served", f"name one of {', '.join(self.files)}")
        return chosen, self.files[chosen]

    def archive(self, name: str) -> Archive:
        """A file or a shelf. Raises as :meth:`named`."""
        return self.named(name)[1]

    def file(self, name: str) -> Reader:
        """A file, view or snapshot: a shelf raises InputError, an unknown name as :meth:`named`."""
        return self.file_named(name)[1]

    def file_named(self, name: str) -> tuple[str, Reader]:
        """A file, view or snapshot, and its name. Raises as :meth:`file`."""
        chosen, archive = self.named(name)
        return chosen, only_file(archive, "such thing")

    def writable(self, name: str) -> tuple[str, Monograph | View]:
        """A file or a view that may be changed.

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
