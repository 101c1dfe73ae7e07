"""The files that the writer of a shelf works on: a copy of each shard, until they are published."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from monograph.errors import InputError, NotFound, ShelfConflict
from monograph.library.monograph import Monograph
from monograph.library.opened import Given, OpenFile
from monograph.shelf import catalogue
from monograph.shelf.asking import Asking
from monograph.shelf.engine import Written
from monograph.shelf.fill.dealing import deal
from monograph.shelf.fill.dealt import shard_of
from monograph.shelf.place import Place
from monograph.shelf.rows import Rows
from monograph.shelf.tree import grow
from monograph.shelf.versions.manifest import Manifest
from monograph.shelf.versions.part import sync_folder
from monograph.shelf.versions.publish import publish
from monograph.shelf.versions.sweep import sweep
from monograph.shelf.versions.writer import writing
from monograph.store import documents, settings
from monograph.store.catalogue import Share, share
from monograph.store.database import Database
from monograph.values import Document, OnProgress, Plan, Report, together

_BASE = "base.json"
_AT_ONCE = 1_024
"""Documents that are dealt out together."""


@dataclass(frozen=True, slots=True)
class Base:
    """What the files were copied from: a version, 0 for none; and whether they were written to since."""

    version: int
    shards: int
    written: bool = False


class Working:
    """Copies of a version's shards, open for writing, and the lease of the one who may write.

    What is written here and not published stays when the process ends, and is there when it is opened again.

    Parameters
    ----------
    place:
        Of the shelf.
    before:
        The version that they are copies of; None for a new shelf.
    shards:
        How many there are.
    given:
        How each file is opened.
    empty:
        Whether they are to be new files, without documents, that take the place of those of the version.

    Raises
    ------
    ShelfConflict
        If another writer is at work, or has published since these copies were written to.
    """

    def __init__(
        self, place: Place, before: Manifest | None, shards: int, given: Given, *, empty: bool = False
    ) -> None:
        self._place, self._before, self._shards = place, before, shards
        self._models = given
        self._given = replace(given, read_only=False, create=True, summarizer=None, model=None, reranker=None)
        self._archives: list[Monograph] = []
        place.work.mkdir(parents=True, exist_ok=True)
        self._lease = ExitStack()
        self._lease.enter_context(writing(place.objects))
        try:
            self._copy(empty=empty)
            for path in self._paths:
                self._archives.append(Monograph(OpenFile.open(replace(self._given, path=path))))
        except BaseException:
            self.close()
            raise

    @property
    def _paths(self) -> list[Path]:
        return [self._place.work / f"{number:04d}.mono" for number in range(self._shards)]

    def _copy(self, *, empty: bool) -> None:
        """Have the files of the version, or those that were written to since."""
        base, version = base_of(self._place.work), 0 if self._before is None else self._before.version
        if empty and base is not None and base.written:
            raise InputError(
                f"what was written to {self._place.url} here is not published",
                f"monograph shelf publish {self._place.url}, or discard it",
            )
        if base is not None and base.written and base.version == version:
            return
        if base is not None and base.written:
            raise ShelfConflict(
                f"version {version} of {self._place.url} has been published by another writer since version "
                f"{base.version}, which was written to here",
                f"monograph shelf discard {self._place.url} drops what was written here; then sync again",
            )
        if not empty and base == Base(version, self._shards):
            return
        discard(self._place.work)
        if empty:
            return
        for path, name in zip(self._paths, () if self._before is None else self._before.shards, strict=False):
            shutil.copyfile(self._place.cache.path(self._place.objects, name), path)
        self._note(Base(version, self._shards))

    def _note(self, base: Base) -> None:
        part = self._place.work / f".{_BASE}"
        part.write_text(json.dumps([base.version, base.shards, base.written]))
        part.replace(self._place.work / _BASE)
        sync_folder(self._place.work)

    def _begin(self) -> None:
        """Say that the files are about to be written to."""
        self._note(Base(0 if self._before is None else self._before.version, self._shards, written=True))

    def begin_empty(self) -> None:
        """Have every file know the models that it is to be made with."""
        for archive in self._archives:
            archive.add(())

    def deal(self, sources: Sequence[Database], progress: OnProgress | None) -> Report:
        """Store all documents of other files, each in the shard that it is dealt to."""
        self.begin_empty()
        targets = [archive._file for archive in self._archives]
        return deal(sources, targets, lambda name: shard_of(name, self._shards), progress)

    def add(self, given: Iterable[Document]) -> Report:
        """Store documents, each in the shard that holds its id, or that it is dealt to."""
        self._begin()
        reports = []
        waiting = iter(given)
        while some := list(islice(waiting, _AT_ONCE)):
            dealt: dict[int, list[Document]] = {}
            held = self._holders([one.id for one in some])
            for one in some:
                dealt.setdefault(held.get(one.id, shard_of(one.id, self._shards)), []).append(one)
            reports += [self._archives[shard].add(mine) for shard, mine in dealt.items()]
        return together(reports)

    def _holders(self, ids: Sequence[str]) -> dict[str, int]:
        """Which shard holds each of some documents."""
        held: dict[str, int] = {}
        for shard, archive in enumerate(self._archives):
            with archive._file.database.read() as connection:
                held.update(dict.fromkeys(documents.known_ids(connection, ids), shard))
        return held

    def sync(self, plan: Callable[[Monograph], Plan], apply: Callable[[Monograph, Plan], Report]) -> Report:
        """Bring every shard up to date with its part of what a plan finds: a new file is dealt by its uri."""
        self._begin()
        reports = []
        for shard, archive in enumerate(self._archives):
            made = plan(archive)
            mine = [one for one in made.changes if one.kind != "new" or shard_of(one.uri, self._shards) == shard]
            reports.append(apply(archive, replace(made, changes=tuple(mine))))
        found = together(reports)
        return replace(found, problems=tuple(dict.fromkeys(found.problems)), moved=tuple(dict.fromkeys(found.moved)))

    def remove(self, names: Sequence[str], *, forget: bool | None) -> Report:
        """Take documents out by id or uri. Raises NotFound, and takes out none, where a name fits no document."""
        wanted: dict[int, list[str]] = {}
        for name in dict.fromkeys(names):
            shards = [shard for shard, archive in enumerate(self._archives) if _has(archive, name)]
            if not shards:
                raise NotFound(
                    f"{self._place.url} has no document {name!r}", "give the id or the uri of one that is there"
                )
            for shard in shards:
                wanted.setdefault(shard, []).append(name)
        self._begin()
        return together([self._archives[shard].remove(some, forget=forget) for shard, some in wanted.items()])

    def publish(self, tree_of: Database | None = None) -> Manifest:
        """Close the files, and publish them as the next version with the catalogue of their names.

        If they are to have a tree, it goes on from that of the version before, or of the file ``tree_of``: see
        :func:`monograph.shelf.tree.grow.follow`.
        """
        for archive in self._archives:
            with archive._file.database.read() as connection:
                owed = settings.load_on_demand(connection)
            archive._file.require(*sorted(owed))
        made = self._place.work / "catalogue.mono"
        grow.put_aside(made)
        origin = self._origin()
        catalogue.make(made, origin, self._shares(), self._shards)
        self._grow(made, tree_of)
        self._close_files()
        manifest = publish(self._place.objects, self._paths, made, self._before, origin.said())
        self._before = manifest
        self._note(Base(manifest.version, self._shards))
        for left in (made, made.with_name(grow.KEPT)):
            left.unlink(missing_ok=True)
        sweep(self._place.objects)
        return manifest

    def _grow(self, made: Path, tree_of: Database | None) -> None:
        files = [archive._file for archive in self._archives]
        models = replace(self._models, embedder=files[0].embedder, extractor=files[0].extractor)
        shards = Asking(Written(files), Rows(self._shards))
        if tree_of is not None:
            grow.follow(made, shards, models, tree_of)
        else:
            grow.follow_version(made, shards, models, self._place, self._before)

    def _origin(self) -> catalogue.Origin:
        with self._archives[0]._file.database.read() as connection:
            return catalogue.origin(connection)

    def _shares(self) -> Iterator[Share]:
        for archive in self._archives:
            with archive._file.database.read() as connection:
                yield share(connection)

    def _close_files(self) -> None:
        for archive in self._archives:
            archive.close()
        self._archives = []

    def close(self) -> None:
        """Close the files, and let another write."""
        self._close_files()
        self._lease.close()


def base_of(work: Path) -> Base | None:
    """What the files of a folder were copied from; None where that is not known."""
    try:
        version, shards, written = json.loads((work / _BASE).read_bytes()[:1_000])
        return Base(int(version), int(shards), bool(written))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def refuse_unpublished(place: Place, *, at_work: bool = False) -> None:
    """Raise InputError where something was written here and not published, or is being written."""
    base = base_of(place.work)
    if at_work or (base is not None and base.written):
        raise InputError(
            "what was written here is not published",
            f"monograph shelf publish {place.url}, or monograph shelf discard {place.url}",
        )


def discard(work: Path) -> None:
    """Drop the files of a folder, with what was written to them and not published."""
    # First what says whose copies they are: should this be broken off, they are nobody's.
    for path in (work / _BASE, *work.glob("*")):
        path.unlink(missing_ok=True)


def _has(archive: Monograph, name: str) -> bool:
    with archive._file.database.read() as connection:
        found, _ = documents.resolve(connection, [name])
    return bool(found)
