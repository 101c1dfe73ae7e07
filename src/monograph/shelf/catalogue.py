"""The names over all shards: which of them are one entity is decided where all are known."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from monograph.settings import Settings
from monograph.shelf.manifest import ObjectName
from monograph.shelf.place import Place
from monograph.store.catalogue import catalogue as stored
from monograph.store.catalogue.catalogue import Share
from monograph.store.documents import documents, failures, roots, sources
from monograph.store.file import replacing, settings
from monograph.store.file.database import Connection, Database
from monograph.store.file.settings import StoredEmbedder, StoredExtractor
from monograph.store.graph import names
from monograph.values import Finding
from monograph.write.transaction import resolve


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
    for model in (of.embedder, of.extractor):
        if model is not None:
            settings.save_model(connection, model)


def make(path: Path, of: Origin, shares: Iterable[Share], shards: int) -> None:
    """Write the catalogue of shards, in their order, to a new file: an ordinary one without documents."""
    database = Database(path)
    try:
        with database.write() as connection:
            begin(connection, of)
            for number, share in enumerate(shares):
                stored.put(connection, share, number, shards)
            stored.mark_all(connection)
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
                wanted = _everything(fresh)
        finally:
            database.close()
    mend = "monograph shelf build SHELF SOURCES --replace, which makes it again"
    return [
        Finding("catalogue", f"its {what} are not those of the shards", repairable=False, mend=mend)
        for what, said in _everything(held).items()
        if said != wanted[what]
    ]


def _everything(connection: Connection) -> dict[str, list[tuple[Any, ...]]]:
    """All that a catalogue says, whatever the numbers of its names are."""
    said = stored.share(connection)
    parts = {one.name: sorted(set(getattr(said, one.name))) for one in fields(said)}
    return parts | {"merges": names.merges(connection)}


@dataclass(frozen=True, slots=True)
class Held:
    """A shard of a version, and a read transaction of its contents."""

    name: ObjectName
    contents_name: ObjectName
    contents: Connection


@contextmanager
def open_contents(place: Place, shards: Sequence[ObjectName], contents: Sequence[ObjectName]) -> Iterator[list[Held]]:
    """Open the contents of some shards, in their order."""
    with ExitStack() as stack:
        held = []
        for shard, name in zip(shards, contents, strict=True):
            database = stack.enter_context(closing(Database(place.file_of(name), read_only=True)))
            held.append(Held(shard, name, stack.enter_context(database.read())))
        yield held


def write_contents(path: Path, shard: Path) -> int:
    """Write the contents of a closed shard to a file, and return the number of its documents."""
    replacing.drop(path)
    with closing(Database(shard, read_only=True)) as held, held.read() as read, closing(Database(path)) as database:
        with database.write() as written:
            begin(written, origin(read))
            stored.put(written, stored.share(read), 0, 1)
            for root in roots.every(read):
                roots.put(written, root, absolute=True)
            failures.save(written, failures.load(read))
            sources.add(written, list(sources.every(read)))
            stored.put_document_hashes(written, stored.every_document(read))
        return documents.count(read)
