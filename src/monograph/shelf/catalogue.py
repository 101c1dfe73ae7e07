"""The names over all shards: which of them are one entity is decided where all are known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from monograph.store import catalogue, settings
from monograph.store.database import Connection, Database
from monograph.write.resolve import resolve


def make(path: Path, shards: Sequence[Database]) -> None:
    """Write the catalogue of some shards, in their order, to a new file.

    It is an ordinary file without documents, with the settings and models of the first shard: what one file would know
    of its names.
    """
    database = Database(path)
    try:
        with database.write() as connection:
            with shards[0].read() as first:
                _take_over(connection, first)
            for number, shard in enumerate(shards):
                with shard.read() as one:
                    part = catalogue.share(one)
                catalogue.put(connection, part, number, len(shards))
            catalogue.mark_all(connection)
            resolve(connection)
    finally:
        database.close()


def _take_over(connection: Connection, first: Connection) -> None:
    built = settings.load(first)
    if built is not None:
        settings.save(connection, built)
    settings.save_id(connection, settings.load_id(first))
    embedder = settings.load_model(first, settings.StoredEmbedder)
    extractor = settings.load_model(first, settings.StoredExtractor)
    for stored in (embedder, extractor):
        if stored is not None:
            settings.save_model(connection, stored)
