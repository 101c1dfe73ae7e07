"""The names over all shards: which of them are one entity is decided where all are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from monograph.settings import Settings
from monograph.store import catalogue, names, settings
from monograph.store.catalogue import Share
from monograph.store.database import Connection, Database
from monograph.store.settings import StoredEmbedder, StoredExtractor
from monograph.values import Finding
from monograph.write.resolve import resolve


@dataclass(frozen=True, slots=True)
class Origin:
    """What shards were made with: the catalogue says the same of itself."""

    id: str
    settings: Settings | None
    embedder: StoredEmbedder | None
    extractor: StoredExtractor | None

    def said(self) -> dict[str, str]:
        """The same for people to read in a manifest."""
        built = self.settings or Settings()
        return {
            "chunk_overlap": str(built.chunk_overlap),
            "chunk_tokens": str(built.chunk_tokens),
            "embedder": self.embedder.key if self.embedder else "",
            "extractor": self.extractor.key if self.extractor else "",
        }


def origin(connection: Connection) -> Origin:
    """What a file was made with."""
    return Origin(
        settings.load_id(connection),
        settings.load(connection),
        settings.load_model(connection, StoredEmbedder),
        settings.load_model(connection, StoredExtractor),
    )


def begin(connection: Connection, of: Origin) -> None:
    """Store in a new file what shards are made with."""
    if of.settings is not None:
        settings.save(connection, of.settings)
    settings.save_id(connection, of.id)
    for stored in (of.embedder, of.extractor):
        if stored is not None:
            settings.save_model(connection, stored)


def make(path: Path, of: Origin, shares: Iterable[Share], shards: int) -> None:
    """Write the catalogue of shards, in their order, to a new file: an ordinary one without documents."""
    database = Database(path)
    try:
        with database.write() as connection:
            begin(connection, of)
            for number, share in enumerate(shares):
                catalogue.put(connection, share, number, shards)
            catalogue.mark_all(connection)
            resolve(connection)
    finally:
        database.close()


def faults(held: Connection, shares: Sequence[Share]) -> list[Finding]:
    """Where a catalogue is not what its shards' names make: it is made once more, and held against that."""
    with TemporaryDirectory(prefix="monograph-") as folder:
        path = Path(folder) / "catalogue.mono"
        make(path, origin(held), shares, len(shares))
        database = Database(path, read_only=True)
        try:
            with database.read() as fresh:
                wanted = contents(fresh)
        finally:
            database.close()
    mend = "monograph shelf build SHELF SOURCES --replace, which makes it again"
    return [
        Finding("catalogue", f"its {what} are not those of the shards", repairable=False, mend=mend)
        for what, said in contents(held).items()
        if said != wanted[what]
    ]


def contents(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """All that a catalogue says, whatever the numbers of its names are."""
    said = catalogue.share(connection)
    parts = {one.name: sorted(set(getattr(said, one.name))) for one in fields(said)}
    return parts | {"merges": names.merges(connection)}
