"""Catalogue of a shelf (the names of all shards, merged into entities), and the contents file of each shard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from monograph.graph.heads import update_heads
from monograph.settings import Settings
from monograph.shelf.manifest import Pair
from monograph.shelf.storage import ShelfPlace
from monograph.store import catalogue as stored
from monograph.store.catalogue import Share
from monograph.store.documents import documents, sources
from monograph.store.file import replacing, settings
from monograph.store.file.database import Connection, Database
from monograph.store.file.settings import StoredModel
from monograph.store.graph import names
from monograph.values import Finding


@dataclass(frozen=True, slots=True)
class BuildOrigin:
    """The id of a shard, contents file or catalogue, and the settings and models that it was built with.

    A setting or model is None if the file does not have one yet.
    """

    id: str
    settings: Settings | None
    embedder: StoredModel | None
    extractor: StoredModel | None


def origin(connection: Connection) -> BuildOrigin:
    """Return the id of a file, and the settings and models that it was built with."""
    return BuildOrigin(
        settings.load_id(connection),
        settings.load(connection),
        settings.load_model(connection, "embedder"),
        settings.load_model(connection, "extractor"),
    )


def begin(connection: Connection, built: BuildOrigin) -> None:
    """Store an id, settings and models in a new file. Settings and models that are None are skipped."""
    if built.settings is not None:
        settings.save(connection, built.settings)
    settings.save_id(connection, built.id)
    if built.embedder is not None:
        settings.save_model(connection, "embedder", built.embedder)
    if built.extractor is not None:
        settings.save_model(connection, "extractor", built.extractor)


def make(path: Path, built: BuildOrigin, shares: Iterable[Share]) -> None:
    """Write the catalogue of a shelf to ``path``, as a new .mono file without documents.

    ``built`` is stored as the catalogue's own id, settings and models. ``shares`` has, for each shard, in order of
    shard, its names and the numbers of its documents, chunks and words.
    """
    with closing(Database(path)) as database, database.write() as connection:
        begin(connection, built)
        stored.store_shares(connection, shares)
        update_heads(connection)


def faults(catalogue: Connection, shares: Sequence[Share]) -> list[Finding]:
    """Return the differences between a stored catalogue and a catalogue that is built anew from the same shards.

    ``shares`` are those of :func:`make`. There is at most one finding for each kind of content. The kinds are the
    names, the aliases, the merges of names into entities, and the counts of documents, chunks and words of the shards.
    """
    with TemporaryDirectory(prefix="monograph-") as folder:
        path = Path(folder) / "catalogue.mono"
        make(path, origin(catalogue), shares)
        with closing(Database(path, read_only=True)) as database, database.read() as fresh:
            expected = _load_content(fresh)
    hint = "rebuild it: monograph shelf build SHELF SOURCES --replace"
    return [
        Finding("catalogue", f"its {what} differ from those of the shards", repairable=False, hint=hint)
        for what, table in _load_content(catalogue).items()
        if table != expected[what]
    ]


def _load_content(connection: Connection) -> dict[str, Sequence[Any]]:
    """Return {kind of content: rows} of a catalogue, without row numbers, to compare two catalogues."""
    share = stored.load_share(connection)
    return {"names": share.names, "aliases": share.aliases, "merges": names.merges(connection), "counts": share.totals}


@contextmanager
def open_contents(place: ShelfPlace, pairs: Iterable[Pair]) -> Iterator[list[Connection]]:
    """Open the contents files of (shard, contents file) pairs, and yield a read transaction on each, in order.

    Contents files that are not on this machine are fetched first. The context closes all files at its end.
    """
    with ExitStack() as stack:
        files = [place.file_of(contents) for _, contents in pairs]
        databases = [stack.enter_context(closing(Database(path, read_only=True))) for path in files]
        yield [stack.enter_context(database.read()) for database in databases]


def write_contents(path: Path, shard: Path) -> int:
    """Write the contents file of a closed shard to ``path``, and return the number of documents in the shard.

    ``shard`` is the shard's path. A file that exists at ``path`` is replaced.
    """
    replacing.drop(path)
    with (
        closing(Database(shard, read_only=True)) as shard_database,
        shard_database.read() as source,
        closing(Database(path)) as database,
    ):
        with database.write() as target:
            begin(target, origin(source))
            stored.store_shares(target, [stored.load_share(source)])
            for root in sources.roots(source):
                sources.put_root(target, root, absolute=True)
            sources.save_failures(target, sources.failures(source))
            sources.put(target, list(sources.every(source)))
            stored.copy_documents(source, target)
        return documents.count(source)
