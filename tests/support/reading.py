"""Files read to their end, without a process of their own."""

from __future__ import annotations

from pathlib import Path

from monograph import Limits
from monograph.read.file import read_file
from monograph.values import Document, Problem
from support.roots import root_at


def read(path: Path, limits: Limits | None = None) -> tuple[list[Document], list[Problem]]:
    """The documents of a file, and its problems."""
    parts = list(read_file(path, root_at(path.parent), limits or Limits()))
    return [one for part in parts for one in part.documents], [one for part in parts for one in part.problems]


def read_bytes(path: Path, data: bytes) -> tuple[list[Document], list[Problem]]:
    """The documents and problems of a file that is written first."""
    path.write_bytes(data)
    return read(path)
