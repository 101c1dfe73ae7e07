"""The numbers a file is built with. They are stored in it and never change afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from monograph.errors import InputError


@dataclass(frozen=True, slots=True)
class Settings:
    """How a file is built.

    Parameters
    ----------
    chunk_tokens:
        Most tokens in a chunk, its overlap included.
    chunk_overlap:
        Most tokens that a chunk repeats from the end of the one before it.
    segment_least, segment_most:
        Bounds on how many texts a summary is made from.
    summary_tokens:
        Most tokens of a summary.
    summary_layers:
        Most layers of summaries.
    planes:
        What puts like texts together: ``learned`` from the file's own vectors, or ``random`` as in EraRAG.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    chunk_tokens: int = 256
    chunk_overlap: int = 32
    segment_least: int = 6
    segment_most: int = 12
    summary_tokens: int = 100
    summary_layers: int = 5
    planes: Literal["learned", "random"] = "learned"

    def __post_init__(self) -> None:
        if self.chunk_tokens < 16:
            raise InputError(f"chunk_tokens is {self.chunk_tokens}", "give at least 16")
        if not 0 <= self.chunk_overlap <= self.chunk_tokens // 2:
            raise InputError(
                f"chunk_overlap is {self.chunk_overlap} for chunks of {self.chunk_tokens} tokens",
                "give 0 to half of chunk_tokens",
            )
        if self.segment_least < 2 or self.segment_most < 2 * self.segment_least - 1:
            raise InputError(
                f"segments of {self.segment_least} to {self.segment_most} texts cannot always be made",
                "give at least 2, and twice as many less one as the most",
            )
        if self.summary_tokens < 16 or self.summary_layers < 1:
            raise InputError(
                f"summary_tokens is {self.summary_tokens} and summary_layers is {self.summary_layers}",
                "give at least 16 tokens and 1 layer",
            )
        if self.planes not in ("learned", "random"):
            raise InputError(f"planes is {self.planes!r}", "give learned or random")
