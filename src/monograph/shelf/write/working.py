"""The files that the writer of a shelf works on: a copy of each shard, until they are published."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from monograph.errors import InputError, NotFound, ShelfConflict
from monograph.library.given import Given
from monograph.library.monograph import Monograph
from monograph.library.opened import OpenFile
from monograph.shelf.fill.dealing import deal
from monograph.shelf.fill.dealt import blocks, shard_of
from monograph.shelf.fill.looking import is_done
from monograph.shelf.place import Place
from monograph.shelf.versions.manifest import Manifest
from monograph.shelf.versions.names import ObjectName
from monograph.shelf.versions.part import sync_folder
from monograph.shelf.versions.pieces import Named, name_of, require_closed
from monograph.shelf.versions.publish import publish
from monograph.shelf.versions.sweep import sweep
from monograph.shelf.versions.writer import writing
from monograph.shelf.write import in_step
from monograph.store import documents
from monograph.store.database import Database
from monograph.values import Document, OnProgress, Plan, Report, together
from monograph.write import rebuild_graph

_BASE = "base.json"
_NAMES = "names.mono"
_UNTOUCHED = 0
"""Time of change, in nanoseconds since 1970, of a copy that nobody has written to."""


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
        self._copied = None if empty else before
        self._models = given
        self._given = replace(given, read_only=False, create=True, model=None, reranker=None)
        self._opened: list[Monograph] = []
        place.work.mkdir(parents=True, exist_ok=True)
        self._lease = ExitStack()
        self._lease.enter_context(writing(place.objects))
        try:
            self._copy(empty=empty)
            self._open()
        except BaseException:
            self.close()
            raise

    @property
    def _paths(self) -> list[Path]:
        return [self._place.work / f"{number:04d}.mono" for number in range(self._shards)]

    def _open(self) -> None:
        try:
            for path in self._paths:
                self._opened.append(Monograph(OpenFile.open(replace(self._given, path=path))))
        except BaseException:
            self._close_files()
            raise

    @property
    def _archives(self) -> list[Monograph]:
        """The files, open; also again where they could not be published."""
        if not self._opened:
            self._open()
        return self._opened

    @property
    def files(self) -> list[OpenFile]:
        """The shards, open for writing."""
        return [archive._file for archive in self._archives]

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
            _stamp(path)
        self._note(Base(version, self._shards))

    def _note(self, base: Base) -> None:
        part = self._place.work / f".{_BASE}"
        part.write_text(json.dumps([base.version, base.shards, base.written]))
        part.replace(self._place.work / _BASE)
        sync_folder(self._place.work)

    def _name_of(self, path: Path, copied: ObjectName | None) -> ObjectName:
        """What the bytes of a closed file are called; those of a file that nobody has written to are not read."""
        require_closed(path)
        state = path.stat()
        is_copy = copied is not None and (state.st_mtime_ns, state.st_size) == (_UNTOUCHED, copied.bytes)
        return copied if copied is not None and is_copy else name_of(path)

    def begin(self) -> None:
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
        self.begin()
        reports = []
        for some in blocks(given, self._shards):
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

    def sync(
        self, plans: Callable[[Sequence[Database]], Sequence[Plan]], apply: Callable[[Monograph, Plan], Report]
    ) -> Report:
        """Bring every shard up to date by its plan; one that is so already is not written to."""
        made = plans([archive._file.database for archive in self._archives])
        self.begin()
        reports = []
        for archive, plan in zip(self._archives, made, strict=True):
            if archive._file.describer is None and is_done(archive._file.database, plan):
                reports.append(Report(same=len(plan.changes), moved=plan.moved))
            else:
                reports.append(apply(archive, plan))
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
        self.begin()
        return together([self._archives[shard].remove(some, forget=forget) for shard, some in wanted.items()])

    def publish(self) -> Manifest:
        """Close the files, and publish them as the next version with the catalogue of their names."""
        self._complete()
        for archive in self._archives[:1]:
            made_by = archive._file
            self._models = replace(self._models, embedder=made_by.given_embedder, extractor=made_by.given_extractor)
        self._close_files()
        made = self._place.work / "catalogue.mono"
        files = self._named()
        origin = in_step.make(made, self._place, files, self._copied)
        named = [Named(*one) for one in files.items()]
        manifest = publish(self._place.objects, named, made, self._before, origin.said())
        self._before = self._copied = manifest
        self._note(Base(manifest.version, self._shards))
        for path in self._paths:
            _stamp(path)
        made.unlink(missing_ok=True)
        sweep(self._place.objects)
        return manifest

    def _complete(self) -> None:
        """Build the graphs of shards that have none."""
        for file in self.files:
            with file.spending():
                rebuild_graph.build(file.writing_pipeline())

    def _named(self) -> dict[Path, ObjectName]:
        """The closed files, and what their bytes are called."""
        copied = self._copied.shards if self._copied is not None else [None] * self._shards
        return {path: self._name_of(path, one) for path, one in zip(self._paths, copied, strict=False)}

    def _close_files(self) -> None:
        for archive in self._opened:
            archive.close()
        self._opened = []

    def close(self) -> None:
        """Close the files, and let another write."""
        self._close_files()
        self._lease.close()


def _stamp(path: Path) -> None:
    """Have a file tell that nobody has written to it since: who does gives it another time of change."""
    os.utime(path, ns=(time.time_ns(), _UNTOUCHED))


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
    """Whether a file has a document."""
    with archive._file.database.read() as connection:
        found, _ = documents.resolve(connection, [name])
        return bool(found)
