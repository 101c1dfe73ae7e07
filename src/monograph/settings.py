"""Settings that a file is built with. The file stores them, and only ``graph`` may change afterwards."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.errors import InputError
from monograph.values import arguments

_LEAST = {
    "chunk_tokens": 16,
    "chunk_overlap": 0,
    "segment_least": 0,
    "segment_most": 0,
    "summary_tokens": 16,
    "summary_layers": 1,
}


@dataclass(frozen=True, slots=True)
class Settings:
    """Options with which a file is built.

    Parameters
    ----------
    chunk_tokens:
        Maximum number of tokens of a chunk, including its overlap.
    chunk_overlap:
        Maximum number of tokens that a chunk repeats from the end of the previous chunk.
    segment_least, segment_most:
        Minimum and maximum number of texts that one summary is built from.
    summary_tokens:
        Maximum number of tokens of a summary.
    summary_layers:
        Maximum number of layers of summaries.
    history:
        Keep the previous versions of documents that are replaced or removed, and when each version was current: see
        docs/how-to/time.md.
    graph:
        Build each document's part of the graph and of the trigram index when the document is stored. False suits a file
        that is used as a vector store only. ``archive.graph.build()`` builds both later, and sets ``graph`` to True.

    Raises
    ------
    InputError
        If a value is invalid.
    """

    chunk_tokens: int = 256
    chunk_overlap: int = 32
    segment_least: int = 6
    segment_most: int = 12
    summary_tokens: int = 100
    summary_layers: int = 5
    history: bool = False
    graph: bool = True

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            object.__setattr__(self, name, arguments.whole_number(getattr(self, name), name, least))
        if not 0 <= self.chunk_overlap <= self.chunk_tokens // 2:
            raise InputError(
                f"chunk_overlap is {self.chunk_overlap} for chunks of {self.chunk_tokens} tokens",
                "give 0 to half of chunk_tokens",
            )
        if self.segment_least < 2 or self.segment_most < 2 * self.segment_least - 1:
            raise InputError(
                f"segments of {self.segment_least} to {self.segment_most} texts cannot always be made",
                "give segment_least 2 or more, and segment_most 2 * segment_least - 1 or more",
            )
        for name in ("history", "graph"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"{name} is {arguments.shown(getattr(self, name))}", "give True or False")
