"""What a version of a shelf holds and weighs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ShelfStats:
    """What a version of a shelf holds and weighs.

    ``bytes`` are those of its shards and its catalogue; ``documents_by_shard`` in the order of the shards.
    """

    url: str
    version: int
    shards: int
    documents: int
    chunks: int
    entities: int
    merged: int
    bytes: int
    documents_by_shard: tuple[int, ...]
    embedder: str
    extractor: str
