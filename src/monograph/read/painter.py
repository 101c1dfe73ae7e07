"""The pages of PDFs, drawn in a process of its own."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.read.painting import PaintTask
from monograph.read.pool import death
from monograph.read.worker import Worker
from monograph.values import Boxes, Root

SECONDS = 20.0
"""For one page: somebody waits for it."""


class Painter:
    """Draws one page after the other, for any number of threads. The process starts with the first page."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = replace(limits, max_seconds=min(limits.max_seconds, SECONDS))
        self._lock = threading.Lock()
        self._worker: Worker | None = None

    def picture(self, path: Path, root: Root, page: int, width: int) -> bytes:
        """A page of a PDF as a PNG file, ``width`` pixels wide.

        Raises
        ------
        NotFound
            If it has no such page.
        SourceError
            If it cannot be read or drawn.
        """
        made = self._asked(PaintTask(path, root, self._limits, page, width=width))
        assert isinstance(made, bytes)  # noqa: S101 - what is given for a width
        return made

    def boxes(self, path: Path, root: Root, page: int, words: str, before: int) -> Boxes:
        """Where words stand on a page: see :class:`monograph.read.painting.PaintTask`. Raises as :meth:`picture`."""
        made = self._asked(PaintTask(path, root, self._limits, page, words=words, before=before))
        assert isinstance(made, Boxes)  # noqa: S101 - what is given for words
        return made

    def close(self) -> None:
        """End the process. A painter that is asked again begins anew."""
        with self._lock:
            self._end()

    def _asked(self, task: PaintTask) -> bytes | Boxes:
        with self._lock:
            if self._worker is None:
                self._worker = Worker("monograph.read.painting")
            try:
                self._worker.asked.send(task)
                made: bytes | Boxes | Exception = self._worker.answers.recv()
            except (EOFError, OSError):
                raise death(self._end(), task.limits) from None
        if isinstance(made, Exception):
            raise made
        return made

    def _end(self) -> int:
        worker, self._worker = self._worker, None
        return 0 if worker is None else worker.end()
