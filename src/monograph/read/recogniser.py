"""Recognises the words of single pictures in a child process."""

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
    """Task of recognising the words of a picture, given as the bytes of its file."""

    data: bytes
    limits: Limits

    def parts(self) -> Iterator[str]:
        """Yield the words of the picture; an empty text if there are none."""
        from monograph.read.image import recognise, unpacked_image, upright

        yield clean(recognise(upright(unpacked_image(self.data, self.limits)))).strip()


class Recogniser(AbstractContextManager["Recogniser"]):
    """Recognises words in pictures one after the other, in a child process. A context manager."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._child = Child()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._child.close()

    def words(self, data: bytes) -> str:
        """Return the words of a picture, given as the bytes of its file; an empty text if there are none.

        Raises
        ------
        SourceError
            If the picture cannot be read, takes too long, or the extra ``ocr`` is not installed.
        """
        words: str = self._child.call(PictureTask(data, self._limits))
        return words
