"""The documents of files, dealt out anew over shards that are published."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from monograph.errors import ReadOnlyFile
from monograph.library.given import Given
from monograph.library.opened import OpenFile
from monograph.shelf.fill.dealing import deal
from monograph.shelf.place import Place
from monograph.shelf.versions.manifest import Manifest
from monograph.shelf.write.working import Working
from monograph.store import replacing
from monograph.store.database import Database
from monograph.store.refusals import refusals
from monograph.values import OnProgress


def joined(path: Path, like: OpenFile, sources: Sequence[Database], progress: OnProgress | None) -> None:
    """Write one file of all documents of some files, with the settings and models of one that is open."""
    target = OpenFile.open(Given(path, settings=like.settings))
    try:
        target.plug_in(like.embedder, like.extractor)
        target.adding_pipeline()
        deal(sources, [target], lambda _: 0, progress)
    finally:
        target.close()


@contextmanager
def databases(place: Place, version: Manifest) -> Iterator[list[Database]]:
    """The files of a version's shards, open for reading."""
    with ExitStack() as opened:
        paths = [place.file_of(name) for name in version.shards]
        yield [opened.enter_context(closing(Database(path, read_only=True))) for path in paths]


@contextmanager
def source_of(path: Path, key: str | None) -> Iterator[OpenFile]:
    """A file that is to be dealt out, as it is; of one of an older format a copy beside it, which is brought over.

    Raises
    ------
    MonographError
        As :meth:`monograph.Monograph.open`; ReadOnlyFile where a copy is needed, and its folder cannot be written.
    BusyFile
        If another has one of an older format open.
    """
    given = Given(path, create=False, read_only=True, key=key)
    with ExitStack() as left:
        try:
            source = OpenFile.open(given)
        except ReadOnlyFile:
            if not os.access(path.parent, os.W_OK):
                raise
            # Beside it, since places of folders may be written relative to where the file lies.
            copy = left.enter_context(replacing.beside(path))
            replacing.refuse_log(path)
            with refusals(copy):
                replacing.same_eyes(path, copy)
                shutil.copyfile(path, copy)
            source = OpenFile.open(replace(given, path=copy, read_only=False))
        left.callback(source.close)
        yield source


def dealt(
    place: Place,
    before: Manifest | None,
    shards: int,
    like: OpenFile,
    sources: Sequence[Database],
    progress: OnProgress | None,
) -> Manifest:
    """Publish shards of all documents of some files, with the settings and models of one that is open."""
    given = Given(
        Path(), embedder=like.embedder, extractor=like.extractor, settings=like.settings, trusted=like.trusted,
    )  # fmt: skip
    made = Working(place, before, shards, given, empty=True)
    try:
        made.deal(sources, progress)
        return made.publish()
    finally:
        made.close()
