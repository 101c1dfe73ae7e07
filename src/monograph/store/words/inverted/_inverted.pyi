from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

def shortest(lengths: bytes, /) -> int:
    """Return the shortest length of a block that is not 0; 0 if there is none."""

class Kept:
    """Cache of the postings of words, bounded in bytes."""

    def __init__(self, most: int, /) -> None: ...
    @property
    def size(self) -> int:
        """Bytes of the cached postings."""

class Words:
    """Postings of a question's words."""

    def __init__(self, layout: bytes, words: Sequence[str], most: Sequence[int], kept: Kept, /) -> None: ...
    @property
    def known(self) -> bool:
        """Whether the record of the layout has a format that is supported."""
    @property
    def segments(self) -> str:
        """Numbers of the segments, as JSON."""
    @property
    def count(self) -> list[int]:
        """Number of chunks that contain each word, counted up to its limit."""
    @property
    def missing(self) -> list[str]:
        """Words that are not cached, whose pages must be read."""
    def keep(self, kept: Kept, /) -> None:
        """Cache the postings that were read completely."""
    def begin(self, first: list[tuple[object, object]], /) -> str | None:
        """Return the pages to read, as JSON: [first, last] of each word and segment; None if ``first`` is invalid."""
    def read(self, pages: list[tuple[int, bytes]], /) -> str | None:
        """Read the requested pages; return the next ones, "" at the end, None if the pages are inconsistent."""
    def blocks(self, words: Sequence[str], /) -> list[int]:
        """Return the numbers of the blocks with rows that contain any of some words, ascending."""
    def best(
        self,
        words: Sequence[str],
        lengths: list[tuple[int, bytes, int]],
        totals: tuple[float, float],
        weights: tuple[float, float],
        k: int,
        among: npt.NDArray[np.int64] | None,
        counts: Sequence[float] | None = None,
    ) -> list[tuple[int, float]] | None:
        """Return (row, score) of the k best and all that tie with the last, best first; None if a length is unknown."""
