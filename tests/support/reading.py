"""Reading of files in this process, the root of their folder, and a task that kills its process."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from monograph import Limits
from monograph.read.file import Part, ReadTask, read_file
from monograph.values import Document, Problem, Root


def root_at(folder: Path) -> Root:
    """Return the root that a folder becomes when it is synced for the first time."""
    return Root(folder.name, str(folder))


def read(path: Path, limits: Limits | None = None) -> tuple[list[Document], list[Problem]]:
    """Read a file in this process; return its documents and problems."""
    parts = list(read_file(path, root_at(path.parent), limits or Limits()))
    return [one for part in parts for one in part.documents], [one for part in parts for one in part.problems]


def read_bytes(path: Path, data: bytes) -> tuple[list[Document], list[Problem]]:
    """Write a file, read it, and return its documents and problems."""
    path.write_bytes(data)
    return read(path)


class KilledTask(ReadTask):
    """Task that kills its own process while it reads, as a system without free memory does."""

    def parts(self) -> Iterator[Part]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from super().parts()
