"""Other readers on the same files: the expected strings that they return, and their seconds.

txtai is not measured, because it needs gigabytes of torch.
"""

from __future__ import annotations

import contextlib
import io
import logging
import shutil
import sqlite3
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

TRIES = 2


@dataclass(frozen=True, slots=True)
class Rival:
    """A reader: its name, its package, and a function that returns a file's text, given the file and a work folder."""

    name: str
    package: str
    read: Callable[[Path, Path], str]

    @property
    def title(self) -> str:
        return f"{self.name} {version(self.package)}"


def ragdb(path: Path, place: Path) -> str:
    """Return everything that RAGdb stores for a file, as SQL."""
    from ragdb import RAGdb

    folder, stored = place / "one", place / "one.ragdb"
    shutil.rmtree(folder, ignore_errors=True)
    stored.unlink(missing_ok=True)
    folder.mkdir()
    shutil.copyfile(path, folder / path.name)
    RAGdb(str(stored)).ingest_folder(str(folder))
    with contextlib.closing(sqlite3.connect(stored)) as connection:
        return "\n".join(connection.iterdump())


def llama_index(path: Path, place: Path) -> str:
    """Return the text from LlamaIndex's SimpleDirectoryReader."""
    from llama_index.core import SimpleDirectoryReader

    return "\n".join(one.text for one in SimpleDirectoryReader(input_files=[str(path)]).load_data())


def markitdown(path: Path, place: Path) -> str:
    """Return the text from MarkItDown."""
    return str(_markitdown().convert(str(path)).text_content)


_MADE: list[Any] = []


def _markitdown() -> Any:
    if not _MADE:
        from markitdown import MarkItDown

        _MADE.append(MarkItDown())
    return _MADE[0]


RIVALS = (
    Rival("RAGdb", "ragdb", ragdb),
    Rival("SimpleDirectoryReader", "llama-index-readers-file", llama_index),
    Rival("MarkItDown", "markitdown", markitdown),
)


def installed() -> list[Rival]:
    found = []
    for rival in RIVALS:
        with contextlib.suppress(PackageNotFoundError):
            version(rival.package)
            found.append(rival)
    return found


def measure(rival: Rival, path: Path, place: Path) -> tuple[str, float]:
    """Return a file's text (empty if the reader fails), and the seconds of the faster of two tries."""
    text, seconds = "", float("inf")
    logging.disable(logging.CRITICAL)
    with (
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for _ in range(TRIES):
            started = time.perf_counter()
            with contextlib.suppress(Exception):
                text = rival.read(path, place)
            seconds = min(seconds, time.perf_counter() - started)
    logging.disable(logging.NOTSET)
    return text, seconds
