"""Files read to their end, the root of their folder, and reading that ends badly."""

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
    """Return the documents of a file, and its problems, without a process of its own."""
    parts = list(read_file(path, root_at(path.parent), limits or Limits()))
    return [one for part in parts for one in part.documents], [one for part in parts for one in part.problems]


def read_bytes(path: Path, data: bytes) -> tuple[list[Document], list[Problem]]:
    """Return the documents and problems of a file that is written first."""
    path.write_bytes(data)
    return read(path)


class KilledTask(ReadTask):
    """Reading of a file during which the process is killed, as a system without memory does."""

    def parts(self) -> Iterator[Part]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from super().parts()
