"""The documents of files, dealt out anew over shards that are published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from monograph.library.opened import Given, OpenFile
from monograph.shelf.fill.dealing import deal
from monograph.shelf.place import Place
from monograph.shelf.tree import grow
from monograph.shelf.versions.manifest import Manifest
from monograph.shelf.working import Working
from monograph.store.database import Database
from monograph.values import OnProgress


def joined(path: Path, like: OpenFile, sources: Sequence[Database], progress: OnProgress | None) -> None:
    """Write one file of all documents of some files, with the settings and models of one that is open."""
    target = OpenFile.open(Given(path, settings=like.settings))
    try:
        target.plug_in(like.embedder, like.extractor)
        target.adding_pipeline()
        deal(sources, [target], lambda _: 0, progress)
        grow.settle_in(target, like.database)
    finally:
        target.close()


@contextmanager
def databases(place: Place, version: Manifest) -> Iterator[list[Database]]:
    """The files of a version's shards, open for reading."""
    with ExitStack() as opened:
        paths = [place.file_of(name) for name in version.shards]
        yield [opened.enter_context(closing(Database(path, read_only=True))) for path in paths]


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
        Path(), embedder=like.embedder, extractor=like.extractor, summarizer=like.given_summarizer,
        settings=replace(like.settings, history=False),
        trusted=like.trusted,
    )  # fmt: skip
    made = Working(place, before, shards, given, empty=True)
    try:
        made.deal(sources, progress)
        return made.publish(None if before is not None else like.database)
    finally:
        made.close()
