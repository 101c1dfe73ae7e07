"""Contents of shards: for each shard a small file with its documents, source files and names.

Whoever builds or publishes reads these files instead of the shards. Such a file is an ordinary one without chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from monograph.shelf import catalogue
from monograph.shelf.catalogue import Origin
from monograph.shelf.manifest import ObjectName
from monograph.shelf.place import Place
from monograph.store import catalogue as stored
from monograph.store import documents, failures, replacing, roots, sources
from monograph.store.catalogue import Share
from monograph.store.database import Connection, Database


@dataclass(frozen=True, slots=True)
class Held:
    """A shard of a version, and its contents, open for reading."""

    name: ObjectName
    contents_name: ObjectName
    contents: Database

    def hashes(self, ids: Sequence[str]) -> dict[str, bytes]:
        """Return the hashes of those documents that the shard holds, by id."""
        with self.contents.read() as connection:
            return stored.document_hashes(connection, ids)

    def resolve(self, name: str) -> list[str]:
        """Return the ids of the documents with this id, uri or path of a synced file."""
        with self.contents.read() as connection:
            found, _ = documents.resolve(connection, [name])
        return [one.id for one in found]

    def all_hashes(self) -> dict[str, bytes]:
        """Return the hashes of all documents, by id."""
        with self.contents.read() as connection:
            return stored.all_document_hashes(connection)

    def digest(self) -> bytes:
        """Return a digest of the ids and hashes of all documents."""
        with self.contents.read() as connection:
            return stored.documents_digest(connection)

    def origin(self) -> Origin:
        """Return what the shard was made with."""
        with self.contents.read() as connection:
            return catalogue.origin(connection)

    def share(self) -> Share:
        """Return the names of the shard."""
        with self.contents.read() as connection:
            return stored.share(connection)


@contextmanager
def opened(place: Place, shards: Sequence[ObjectName], contents: Sequence[ObjectName]) -> Iterator[list[Held]]:
    """Open the contents of some shards, in their order."""
    with ExitStack() as stack:
        yield [
            Held(shard, name, stack.enter_context(closing(Database(place.file_of(name), read_only=True))))
            for shard, name in zip(shards, contents, strict=True)
        ]


def write(path: Path, shard: Path) -> int:
    """Write the contents of a closed shard to a file, and return the number of its documents."""
    replacing.drop(path)
    with closing(Database(shard, read_only=True)) as held, held.read() as read, closing(Database(path)) as database:
        with database.write() as written:
            catalogue.begin(written, catalogue.origin(read))
            stored.put(written, stored.share(read), 0, 1)
            _copy_files(read, written)
            stored.put_document_hashes(written, stored.every_document(read))
        return documents.count(read)


def _copy_files(read: Connection, written: Connection) -> None:
    for root in roots.every(read):
        roots.put(written, root)
    failures.save(written, failures.load(read))
    sources.add(written, list(sources.every(read)))
