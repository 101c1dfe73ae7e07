"""The words of single pictures, recognised in a process of its own."""

from __future__ import annotations

from types import TracebackType

from monograph.errors import SourceError
from monograph.read.file import Part
from monograph.read.limits import Limits
from monograph.read.pool import death
from monograph.read.process import PictureTask
from monograph.read.worker import Worker


class Recogniser:
    """Recognises words in one picture after the other; its process starts with the first. A context manager."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._worker: Worker | None = None

    def __enter__(self) -> Recogniser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def words(self, data: bytes) -> str:
        """The words of a picture, empty where there are none.

        Raises
        ------
        SourceError
            If it cannot be read, takes too long, or the extra ``ocr`` is not installed.
        """
        if self._worker is None:
            self._worker = Worker("monograph.read.process")
        try:
            self._worker.asked.send(PictureTask(data, self._limits))
            part: Part = self._worker.answers.recv()
        except (EOFError, OSError):
            raise death(self._end(), self._limits) from None
        if isinstance(part.error, SourceError):
            raise part.error
        return part.documents[0].text if part.documents else ""

    def _end(self) -> int:
        worker, self._worker = self._worker, None
        return 0 if worker is None else worker.end()
