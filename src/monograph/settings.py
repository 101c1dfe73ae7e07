"""The numbers a file is built with. They are stored in it and never change afterwards."""

from __future__ import annotations

from dataclasses import dataclass

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

    Raises
    ------
    InputError
        If a number is out of range.
    """

    chunk_tokens: int = 256
    chunk_overlap: int = 32

    def __post_init__(self) -> None:
        if self.chunk_tokens < 16:
            raise InputError(f"chunk_tokens is {self.chunk_tokens}", "give at least 16")
        if not 0 <= self.chunk_overlap <= self.chunk_tokens // 2:
            raise InputError(
                f"chunk_overlap is {self.chunk_overlap} for chunks of {self.chunk_tokens} tokens",
                "give 0 to half of chunk_tokens",
            )
