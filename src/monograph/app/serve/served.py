"""The files that are served, by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from monograph.app.serve.changes import Changes
from monograph.app.serve.faults import NotWritable
from monograph.app.serve.jobs import Jobs
from monograph.errors import NotFound
from monograph.library import Monograph
from monograph.library.pages import Pages

LAST_SECONDS = 3.0
"""For what is at work when a server ends."""


@dataclass(frozen=True, slots=True)
class Served:
    """What a server answers from.

    Parameters
    ----------
    files:
        Open files by name, the first one first.
    write:
        Whether they may be changed.
    model:
        Key of the language model that answers; empty without one.
    agents:
        Whether agents are served at ``/mcp``.
    pages, jobs, changes:
        What draws pages of each file, what works by itself, and what looks for changes.
    """

    files: dict[str, Monograph] = field(repr=False)
    write: bool = False
    model: str = ""
    agents: bool = False
    pages: dict[str, Pages] = field(init=False, repr=False)
    jobs: Jobs = field(init=False, repr=False)
    changes: Changes = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "pages", {name: file.files.pages() for name, file in self.files.items()})
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

    def named(self, name: str) -> tuple[str, Monograph]:
        """A file and its name; the first one for an empty name.

        Raises
        ------
        NotFound
            If none has that name.
        """
        chosen = name or next(iter(self.files))
        if chosen not in self.files:
            raise NotFound(f"no file named {chosen!r} is served", f"name one of {', '.join(self.files)}")
        return chosen, self.files[chosen]

    def file(self, name: str) -> Monograph:
        """A file. Raises as :meth:`named`."""
        return self.named(name)[1]

    def writable(self, name: str) -> tuple[str, Monograph]:
        """A file that may be changed.

        Raises
        ------
        NotWritable
            If the server was started without ``--write``.
        """
        if not self.write:
            raise NotWritable("files are only read here", "monograph serve FILE --write")
        return self.named(name)


def names_of(paths: Sequence[Path]) -> list[str]:
    """A name for each path, made unique: ``notes`` for ``/home/ann/notes.mono``, then ``notes 2``."""
    made: list[str] = []
    for path in paths:
        name, number = path.stem or path.name, 1
        while (chosen := name if number == 1 else f"{name} {number}") in made:
            number += 1
        made.append(chosen)
    return made
