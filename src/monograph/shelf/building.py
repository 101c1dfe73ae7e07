"""Functions that build a shelf, add documents to it and remove documents. New documents go into new sealed shards."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from hashlib import sha256
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from monograph.errors import InputError, NotFound
from monograph.library.files import paths_of
from monograph.models import Embedder, Extractor, Trusted
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.read.paths import path_to_text
from monograph.settings import Settings
from monograph.shelf import catalogue
from monograph.shelf.making import Recipe, Work, make, require_fit
from monograph.shelf.manifest import DAY, MOST_SHARDS, Forgotten, Manifest, Pair, latest, publish, version_of
from monograph.shelf.manifest import forget as forget_objects
from monograph.shelf.storage import ShelfPlace, shelf_place
from monograph.store import catalogue as stored
from monograph.store.documents import sources
from monograph.store.file.database import Connection, Database
from monograph.sync.plan import make_plan
from monograph.values import Change, Document, OnProgress, Progress, Report, arguments, combine_reports
from monograph.write.batch import document_hash

if TYPE_CHECKING:
    from monograph.shelf.ray_engine import Tasks

_BLOCK = 4_096
"""Number of documents that are looked up in the shards together, and added to a shard as one block."""


@runtime_checkable
class Dataset(Protocol):
    """The part of ``ray.data.Dataset`` that :func:`build` uses."""

    def iter_rows(self) -> Iterable[Mapping[str, Any]]:
        """Return an iterable of the data set's rows, each a mapping from column to value."""
        ...


def build(  # noqa: PLR0913 - each is a choice of its own
    url: str | os.PathLike[str],
    documents: Iterable[Document] | Dataset | None = None,
    *,
    sources: Sequence[str | os.PathLike[str]] = (),
    shards: int = 1,
    embedder: Embedder | str | None = None,
    extractor: Extractor | str | None = None,
    settings: Settings | None = None,
    limits: Limits = DEFAULT_LIMITS,
    verify: bool = False,
    prune: bool = False,
    follow_links: bool | None = None,
    tasks: Tasks | None = None,
    replace_all: bool = False,
    trusted: Trusted = (),
    home: str | os.PathLike[str] | None = None,
    progress: OnProgress | None = None,
) -> Report:
    """Bring a shelf up to date with documents, files, folders and .mono files, and publish the next version.

    New documents go into new shards. A shard is rebuilt if one of its documents is replaced, or if the file of one of
    its documents has changed or is gone. The rebuild starts from a copy of the shard, so vectors and other results of
    models that the shard has stored are not computed again. Each given .mono file becomes one shard, with the results
    of models that are stored in the file. If the same .mono file is given again after a change, it replaces the shard
    that was made from it. If nothing changed, no version is published. After an interruption, repeat the call: finished
    shards are not built again.

    Parameters
    ----------
    url:
        A folder, or a bucket: ``s3://bucket/path``, ``gs://``, ``az://``. With ``tasks``, all machines must reach it.
    documents:
        Documents, or a ``ray.data.Dataset`` in which each row is a document. The data set has a column ``text``, and
        optional columns ``id``, ``title``, ``uri`` and ``metadata``. A document replaces the stored document of the
        same id.
    sources:
        Files, folders and .mono files, instead of documents. With ``tasks``, they must have the same paths on all
        machines.
    shards:
        Number of new shards that new documents are divided among, 1 to 10,000. Use about one for each million chunks.
    embedder, extractor:
        Models, or names of models as for ``--embedder`` and ``--extractor``. Default: the models of the shelf.
    settings:
        The settings of a new shelf. If the shelf exists already, they must equal the settings of the shelf.
    limits, verify, prune, follow_links:
        As for :meth:`monograph.Monograph.sync`.
    tasks:
        Builder of the shards on many machines. None: the shards are built in this process, one after the other.
    replace_all:
        Replace the whole content of the shelf by the given documents or sources. Settings and models may then differ
        from those of the shelf.
    trusted:
        Servers that the shelf's own models may call, as for :meth:`monograph.Monograph.open`.
    home:
        The shelf's folder on this machine, as for :meth:`monograph.shelf.Shelf.open`.
    progress:
        Called after each shard is built.

    Returns
    -------
    A report of the stored documents, and of the files that could not be read.

    Raises
    ------
    InputError
        If both or neither of ``documents`` and ``sources`` are given; if a value is out of range; if a .mono file
        cannot become a shard of this shelf.
    ModelMismatch
        If the shelf was built with another model.
    ShelfConflict
        If another writer publishes a version meanwhile. Repeat the call: it starts from that version.
    ShardLost
        If a task still fails after its retries.
    MonographError
        If adding documents fails for another reason: see :meth:`monograph.Monograph.add`.
    """
    count = arguments.whole_number(shards, "shards")
    if not 1 <= count <= MOST_SHARDS:
        raise InputError(f"shards is {count:,}", f"give 1 to {MOST_SHARDS:,}")
    if (documents is None) == (not sources):
        raise InputError(
            "a build needs documents or sources, and not both",
            "in Python: give documents, or files and folders as sources=",
        )
    place = shelf_place(url, home, create=True)
    before = latest(place.objects)
    pairs = [] if before is None or replace_all else before.pairs
    with catalogue.open_contents(place, pairs) as contents:
        files = [path for path in map(Path, sources) if path.suffix == ".mono" and path.is_file()]
        origin = catalogue.origin(contents[0]) if contents else None
        for file in files:
            origin = require_fit(file, origin)
        recipe = Recipe(place.objects.address, place.building, origin, settings, embedder, extractor, trusted, limits)
        recipe.require_same()
        draft = _Draft(recipe, pairs, contents, count, tasks)
        if documents is not None:
            draft.add(documents_in(documents) if isinstance(documents, Dataset) else documents)
        for file in files:
            draft.add_file(file)
        folders = [source for source in sources if Path(source) not in files]
        if folders:
            draft.follow(folders, verify=verify, prune=prune, follow_links=follow_links)
        return draft.publish(place, before, progress)


def remove(
    url: str | os.PathLike[str],
    ids: Iterable[str],
    *,
    trusted: Trusted = (),
    tasks: Tasks | None = None,
    home: str | os.PathLike[str] | None = None,
    progress: OnProgress | None = None,
) -> Report:
    """Remove documents, by id, uri or path of a synced file, and publish the next version without them.

    The new version has no trace of the removed documents. The previous version still has them, until :func:`forget` is
    called. ``ids`` are the ids, uris or paths. The other parameters are those of :func:`build`.

    Raises NotFound if there is no shelf at the address, or if an item of ``ids`` matches no document. Then no document
    is removed. The other errors are those of :func:`build`.
    """
    place = shelf_place(url, home)
    before = version_of(place)
    with catalogue.open_contents(place, before.pairs) as contents:
        recipe = Recipe(place.objects.address, place.building, catalogue.origin(contents[0]), trusted=trusted)
        draft = _Draft(recipe, before.pairs, contents, 1, tasks)
        for name in arguments.names(ids, "an id"):
            matches = [sources.resolve(connection, [path_to_text(name)])[0] for connection in contents]
            if not any(matches):
                raise NotFound(f"{place.url} has no document {name!r}", "give the id or uri of a stored document")
            for shard, documents in enumerate(matches):
                for document in documents:
                    draft.work(shard).removed.append(document.id)
                    draft.work(shard).mark(document.id)
        return draft.publish(place, before, progress)


def forget(url: str | os.PathLike[str], *, home: str | os.PathLike[str] | None = None) -> Forgotten:
    """Remove all versions of a shelf except the newest, from storage and from this machine.

    Objects that only the removed versions use, and unfinished shards on this machine, are removed too. Another machine
    keeps the objects that it has fetched until this function is called on that machine.

    Raises InputError if the address is invalid, and ShelfUnreachable if the storage does not answer. Raises
    ObjectDamaged or NewerFormat, and removes nothing, if the manifest of the newest version cannot be read.
    """
    place = shelf_place(url, home)
    forgotten = forget_objects(place.objects)
    if forgotten.kept is not None:
        place.keep(forgotten.kept.objects)
    shutil.rmtree(place.building.expanduser(), ignore_errors=True)
    return forgotten


def shard_of(name: str, shards: int) -> int:
    """Return the number, 0 to ``shards`` - 1, of the new shard that a document goes to.

    ``name`` is the document's id, or the uri of its file. The same name gives the same number on every machine.
    """
    return int.from_bytes(sha256(name.encode("utf-8", "surrogatepass")).digest()[:8], "big") % shards


def documents_in(rows: Dataset) -> Iterator[Document]:
    """Yield a document for each row of a data set.

    The columns are described at the parameter ``documents`` of :func:`build`. The metadata of a row is a mapping, or a
    JSON object as a string. Metadata values that are None are left out. Raises InputError if a row has no text, or its
    metadata or another value is invalid.
    """
    for number, row in enumerate(rows.iter_rows()):
        text, raw_metadata = row.get("text"), row.get("metadata") or {}
        if not isinstance(text, str):
            raise InputError(f"row {number} of the data set has no text", "give each row a string in the column text")
        try:
            metadata = dict(json.loads(raw_metadata) if isinstance(raw_metadata, str) else raw_metadata)
        except (ValueError, TypeError) as error:
            raise InputError(
                f"the metadata of row {number} is not an object", "give a mapping, or a JSON object as text"
            ) from error
        name, title, uri = (str(row.get(column) or "") for column in ("id", "title", "uri"))
        yield Document(text, name, title, uri, {key: value for key, value in metadata.items() if value is not None})


class _Draft:
    """Changes for the next version of a shelf, collected shard by shard until the version is published.

    Shards are numbered from 0: first the shards of the previous version, then the shards for new documents, then the
    shards that are made from .mono files.

    Parameters
    ----------
    recipe:
        Settings and models that shards are built with.
    pairs, contents:
        ``pairs`` are the shards of the previous version, each with its contents file. ``contents`` has a read
        transaction on each of these contents files. Both are empty for a new shelf.
    shards:
        Number of new shards that new documents are divided among.
    tasks:
        Builder of the shards on many machines; None to build them in this process.
    """

    def __init__(
        self, recipe: Recipe, pairs: Sequence[Pair], contents: Sequence[Connection], shards: int, tasks: Tasks | None
    ) -> None:
        self._recipe, self._pairs, self._contents, self._shards, self._tasks = recipe, pairs, contents, shards, tasks
        self._works: dict[int, Work] = {}
        self._same_count = 0
        self._reports: list[Report] = []

    def work(self, shard: int) -> Work:
        """Return the changes for a shard. They are empty at the first call; the caller adds to them."""
        if shard not in self._works:
            self._works[shard] = Work()
            if shard < len(self._contents):
                digest = stored.documents_digest(self._contents[shard])
                self._works[shard] = Work(self._pairs[shard], known=digest)
        return self._works[shard]

    def _new_shard(self, name: str) -> int:
        return len(self._contents) + shard_of(name, self._shards)

    def add(self, documents: Iterable[Document]) -> None:
        """Add each document to the shard that has its id, or to a new shard. Skip unchanged documents."""
        waiting, settings = iter(documents), self._recipe.built
        while block := list(islice(waiting, _BLOCK)):
            stored_hashes = [
                stored.document_hashes(connection, [document.id for document in block]) for connection in self._contents
            ]
            parts: dict[int, list[tuple[Document, bytes]]] = {}
            for document in block:
                digest = document_hash(document, settings)
                holder = next((shard for shard, hashes in enumerate(stored_hashes) if document.id in hashes), None)
                if holder is not None and stored_hashes[holder][document.id] == digest and holder not in self._works:
                    self._same_count += 1
                else:
                    shard = self._new_shard(document.id) if holder is None else holder
                    parts.setdefault(shard, []).append((document, digest))
            for shard, entries in parts.items():
                work, new_documents = self.work(shard), [document for document, _ in entries]
                work.documents.append(new_documents if self._tasks is None else self._tasks.keep(new_documents))
                for document, digest in entries:
                    work.mark(document.id, digest)

    def add_file(self, path: Path) -> None:
        """Add a .mono file as a new shard, or in place of the shard that was made from the same file before."""
        with closing(Database(path, read_only=True)) as file, file.read() as connection:
            identity, hashes = catalogue.origin(connection).id, stored.document_hashes(connection)
        identities = [catalogue.origin(contents).id for contents in self._contents]
        index = identities.index(identity) if identity in identities else None
        for shard, contents in enumerate(self._contents):
            shared = stored.document_hashes(contents, list(hashes)) if shard != index else {}
            if shared:
                raise InputError(
                    f"document {min(shared)!r} of {path} is already in the shelf", "remove it from one of the two first"
                )
        before = {} if index is None else stored.document_hashes(self._contents[index])
        same = sum(before.get(name) == digest for name, digest in hashes.items())
        added, removed = len(hashes.keys() - before.keys()), len(before.keys() - hashes.keys())
        self._reports.append(Report(added=added, changed=len(hashes) - added - same, removed=removed, same=same))
        if hashes == before:
            return
        shard = len(self._contents) + self._shards + len(self._works) if index is None else index
        self._works[shard] = work = Work(None if index is None else self._pairs[index], path.absolute())
        for name in sorted(hashes):
            work.mark(name, hashes[name])

    def follow(
        self, inputs: Sequence[str | os.PathLike[str]], *, verify: bool, prune: bool, follow_links: bool | None
    ) -> None:
        """Compare files and folders with the source files of the shards, and add the changes to the shards' work."""
        paths = paths_of(inputs)
        roots_by_shard = [sources.roots(contents) for contents in self._contents]
        with (
            TemporaryDirectory(prefix="monograph-") as folder,
            closing(Database(Path(folder) / "known.mono")) as known_sources,
        ):
            holders: dict[str, int] = {}
            with known_sources.write() as connection:
                # If several shards have a root of the same name, the first shard's is used.
                for root in {root.name: root for roots in reversed(roots_by_shard) for root in roots}.values():
                    sources.put_root(connection, root)
                sources.save_failures(connection, chain.from_iterable(map(sources.failures, self._contents)))
                for shard, contents in enumerate(self._contents):
                    shard_sources = list(sources.every(contents))
                    sources.put(connection, shard_sources)
                    holders |= {source.uri: shard for source in shard_sources}
            plan = make_plan(known_sources, paths, verify=verify, prune=prune, follow_links=follow_links)
        self._reports.append(Report(problems=plan.problems, moved=plan.moved))
        parts: dict[int, list[Change]] = {}
        for change in plan.changes:
            holder = holders.get(change.uri)
            if change.kind != "same":
                parts.setdefault(self._new_shard(change.uri) if holder is None else holder, []).append(change)
            elif holder is not None:
                self._same_count += 1
        moved = {move.root for move in plan.moved}
        for shard, roots in enumerate(roots_by_shard):
            if not moved.isdisjoint(root.name for root in roots):
                parts.setdefault(shard, [])
                self.work(shard).known = b""  # The shard must be rebuilt to store the new path of its folder.
        for shard, changes in parts.items():
            work = self.work(shard)
            work.plan = replace(plan, changes=tuple(changes), problems=(), moved=())
            work.mark(repr((plan.roots, changes)))

    def publish(self, place: ShelfPlace, before: Manifest | None, progress: OnProgress | None) -> Report:
        """Build the new and changed shards, publish the next version of the shelf, and report the changes."""
        old_shards = range(len(self._contents))
        if not old_shards and not self._works:
            self.work(0)  # A shelf without documents has one shard.
        works = sorted(self._works.items())
        if all(shard in self._works for shard in old_shards):
            works[0][1].is_needed = True
        pairs: dict[int, Pair | None] = dict(enumerate(self._pairs))
        work_list, recipe = [work for _, work in works], self._recipe
        results = self._tasks.make(recipe, work_list) if self._tasks else (make(recipe, work) for work in work_list)
        for done, ((shard, _), (pair, report)) in enumerate(zip(works, results, strict=True), start=1):
            pairs[shard] = pair
            self._reports.append(report)
            if progress is not None:
                progress(Progress("build", done, len(works), "shards"))
        report = combine_reports([Report(same=self._same_count), *self._reports])
        new_pairs = [pair for _, pair in sorted(pairs.items()) if pair is not None]
        if before is not None and new_pairs == before.pairs:
            return report
        with TemporaryDirectory(prefix="monograph-") as folder, catalogue.open_contents(place, new_pairs) as contents:
            path = Path(folder) / "catalogue.mono"
            catalogue.make(path, catalogue.origin(contents[0]), map(stored.load_share, contents))
            mode = path.stat().st_mode
            for name, _ in new_pairs:  # The names of a shard must not be readable by users who may not read the shard.
                mode &= place.objects.permissions(name.name) | 0o600
            path.chmod(mode)
            publish(place.objects, new_pairs, path, before)
        # Young objects stay: another writer may be about to publish them.
        forget_objects(place.objects, keep=2, age=DAY)
        return report
