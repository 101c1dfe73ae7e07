"""The words of single pictures, recognised in a process of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import TracebackType

from monograph.read.child import Child
from monograph.read.compose import clean
from monograph.read.limits import Limits


@dataclass(frozen=True, slots=True)
class PictureTask:
    """A picture whose words are to be recognised."""

    data: bytes
    limits: Limits

    def parts(self) -> Iterator[str]:
        """Yield the words, an empty text if there are none."""
        from monograph.read.image import recognise, unpacked_image, upright

        yield clean(recognise(upright(unpacked_image(self.data, self.limits)))).strip()


class Recogniser(AbstractContextManager["Recogniser"]):
    """Recognises words in one picture after the other; its process starts with the first. A context manager."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._child = Child()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close()

    def words(self, data: bytes) -> str:
        """Return the words of a picture, an empty text if there are none.

        Raises
        ------
        SourceError
            If it cannot be read, takes too long, or the extra ``ocr`` is not installed.
        """
        words: str = self._child.call(PictureTask(data, self._limits))
        return words
