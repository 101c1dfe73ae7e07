"""What a version of a shelf holds and weighs."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.shelf.manifest import Manifest
from monograph.shelf.opened import OpenShelf
from monograph.store import names


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


def measure(url: str, version: Manifest, file: OpenShelf) -> ShelfStats:
    """See :meth:`monograph.shelf.Shelf.stats`."""
    facts = file.facts()
    with file.database.read() as connection:
        entities, merged = names.count(connection)
    return ShelfStats(
        url=url,
        version=version.version,
        shards=len(version.shards),
        documents=sum(one.documents for one in facts),
        chunks=sum(one.chunks for one in facts),
        entities=entities,
        merged=merged,
        bytes=sum(name.bytes for name in (*version.shards, version.catalogue)),
        documents_by_shard=tuple(one.documents for one in facts),
        embedder=version.settings.get("embedder", ""),
        extractor=version.settings.get("extractor", ""),
    )
