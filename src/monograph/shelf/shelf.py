"""The one class that users of a shelf hold."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from monograph.errors import InputError, NotFound, NotOnShelf
from monograph.library.given import Given
from monograph.library.monograph import Monograph
from monograph.models import Embedder, Extractor, LanguageModel, Reranker, Trusted
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.settings import Settings
from monograph.shelf.engines import Engines, local
from monograph.shelf.fill.dealt import require_no_history, shard_count
from monograph.shelf.fill.looking import plans
from monograph.shelf.fill.recut import databases, dealt, joined, source_of
from monograph.shelf.looking import Looking
from monograph.shelf.opened import OpenShelf
from monograph.shelf.place import Place, place_of
from monograph.shelf.versions.manifest import Manifest, latest, load
from monograph.shelf.versions.sweep import Forgotten
from monograph.shelf.versions.sweep import forget as forget_objects
from monograph.shelf.versions.writer import writing
from monograph.shelf.write import working
from monograph.shelf.write.working import Working
from monograph.values import Document, OnProgress, Report, arguments
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL


class Shelf(Looking):
    """Many files that answer as one: a version of them is searched, and the next one is written and published.

    Made by :meth:`create` or :meth:`open`; a context manager. What it finds is what one file of the same documents
    would find, but for a search by meaning in many clusters, of which each shard looks through its own.
    """

    _given: Given
    _engines: Engines
    _working: Working | None = None

    def __init__(self, place: Place, version: Manifest, given: Given, engines: Engines) -> None:
        self._place, self._given, self._engines = place, given, engines
        self._read(version)

    def _read(self, version: Manifest) -> None:
        """Search this version from now on."""
        given = replace(self._given, read_only=True, create=False, settings=None)
        path = self._place.file_of(version.catalogue)
        file = OpenShelf.open(replace(given, path=path))
        file.url = self.url
        try:
            asked = replace(given, model=None, reranker=None)
            file.begin(self._engines(self._place, version, asked), len(version.shards), self._place.home)
        except BaseException:
            file.database.close()
            raise
        self._file, self._version = file, version

    @classmethod
    def create(  # noqa: PLR0913 - each is a choice of its own
        cls,
        url: str | os.PathLike[str],
        shards: int = 8,
        *,
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        model: LanguageModel | None = None,
        reranker: Reranker | str | None = None,
        settings: Settings | None = None,
        home: str | os.PathLike[str] | None = None,
        engines: Engines = local,
        trusted: Trusted = (),
        clock: Callable[[], float] = time.time,
    ) -> Shelf:
        """Make a shelf without documents, and open it.

        Parameters
        ----------
        url:
            A folder, which is made, or a bucket: ``s3://bucket/path``, ``gs://``, ``az://``.
        shards:
            How many files, 1 to 10,000; about one for each million chunks.
        embedder, extractor, model, reranker, settings, trusted, clock:
            As for :meth:`monograph.Monograph.open`; they are those of all shards.
        home:
            The folder of this machine that holds what is read and written here; one in ``~/.cache/monograph`` if none
            is given.
        engines:
            What asks the shards: threads here, or :func:`monograph.shelf.ray_engine.on_ray`.

        Raises
        ------
        InputError
            If there is a shelf already, or a value is out of range.
        ShelfConflict
            If another writer is at work.
        """
        shards = shard_count(shards)
        require_no_history(settings)
        place = place_of(os.fspath(url), None if home is None else Path(home), create=True)
        if latest(place.objects) is not None:
            raise InputError(f"{place.url} is a shelf already", f"open it: monograph shelf stats {place.url}")
        given = Given(
            Path(), embedder=embedder, extractor=extractor, model=model, reranker=reranker,
            settings=settings, trusted=trusted, clock=clock,
        )  # fmt: skip
        begun = Working(place, None, shards, given)
        try:
            begun.begin_empty()
            version = begun.publish()
        finally:
            begun.close()
        return cls(place, version, given, engines)

    @classmethod
    def open(  # noqa: PLR0913 - each is a choice of its own
        cls,
        url: str | os.PathLike[str],
        *,
        version: int | None = None,
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        model: LanguageModel | None = None,
        reranker: Reranker | str | None = None,
        home: str | os.PathLike[str] | None = None,
        engines: Engines = local,
        target_recall: float = DEFAULT_TARGET_RECALL,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        trusted: Trusted = (),
        clock: Callable[[], float] = time.time,
    ) -> Shelf:
        """Open the newest version of a shelf, or one of the last two. Parameters as for :meth:`create` and files.

        Raises
        ------
        NotFound
            If there is no shelf.
        ShelfUnreachable, ObjectMissing, ObjectDamaged
            If it cannot be read, or there is no such version.
        """
        place = place_of(os.fspath(url), None if home is None else Path(home))
        given = Given(
            Path(), embedder=embedder, extractor=extractor, model=model, reranker=reranker,
            target_recall=target_recall, cache_bytes=cache_bytes, trusted=trusted, clock=clock,
        )  # fmt: skip
        found = latest(place.objects) if version is None else load(place.objects, version)
        if found is None:
            raise NotFound(f"{place.url} holds no shelf", f"monograph shelf create {place.url}")
        return cls(place, found, given, engines)

    @classmethod
    def split(  # noqa: PLR0913 - each is a choice of its own
        cls,
        file: str | os.PathLike[str],
        url: str | os.PathLike[str],
        shards: int = 8,
        *,
        key: str | None = None,
        home: str | os.PathLike[str] | None = None,
        engines: Engines = local,
        progress: OnProgress | None = None,
    ) -> Shelf:
        """Make a shelf of a file: of the same settings and models, which are asked for nothing again.

        ``key`` is that of an encrypted file; shards are not encrypted. The file is left as it is. Raises as
        :meth:`create` and :meth:`monograph.Monograph.open`.
        """
        shards = shard_count(shards)
        with source_of(arguments.path(file, "the file"), key) as source:
            place = place_of(os.fspath(url), None if home is None else Path(home), create=True)
            if latest(place.objects) is not None:
                raise InputError(f"{place.url} is a shelf already", "give another address")
            version = dealt(place, None, shards, source, [source.database], progress)
        return cls(place, version, Given(Path()), engines)

    def __enter__(self) -> Shelf:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> Shelf:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Shelf:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # What is pickled opens the same version anew; what was written and not published is another's.
        return _opened_again, (self.url, self._place.home, self.version, self._given, self._engines)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise NotOnShelf for a method of a file that a shelf does not have."""
            if not name.startswith("_") and hasattr(Monograph, name):
                raise NotOnShelf(
                    f"{self.url} is a shelf, which has no {name}", f"open a .mono file: Monograph.open(path).{name}"
                )
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"Shelf({self._place.url!r}, version={self.version})"

    def close(self) -> None:
        """Let all files go. What was written and not published stays on this machine."""
        self._let_writer_go()
        self._file.close()

    def refresh(self) -> int:
        """Search the newest version from now on; returns it. A search that is under way in a thread may break off."""
        newest = latest(self._place.objects)
        if newest is not None and newest.version != self.version:
            self._turn_to(newest)
            self._place.keep([self._version, *self._place.before(self._version)])
        return self.version

    # Writing: nothing of it is searched before it is published.

    @property
    def _writer(self) -> Working:
        if self._working is None:
            self._working = Working(self._place, self._version, len(self._version.shards), self._given)
        return self._working

    def add(self, documents: Iterable[Document]) -> Report:
        """Store documents for the next version; one of a known id replaces that document.

        Raises ShelfConflict if another writer is at work, and what :meth:`monograph.Monograph.add` raises.
        """
        return self._writer.add(documents)

    def sync(
        self,
        *sources: str | os.PathLike[str],
        verify: bool = False,
        prune: bool = False,
        forget: bool | None = None,
        follow_links: bool | None = None,
        limits: Limits = DEFAULT_LIMITS,
        progress: OnProgress | None = None,
    ) -> Report:
        """Bring the next version up to date with files and folders: parameters as for :meth:`monograph.Monograph.sync`.

        Files stay in the shards that hold them; a new one is dealt out. Raises as :meth:`add`.
        """
        return self._writer.sync(
            lambda known: plans(sources, len(known), known, verify=verify, prune=prune, follow_links=follow_links),
            lambda archive, plan: archive.files.apply(plan, forget=forget, limits=limits, progress=progress),
        )

    def remove(self, ids: Iterable[str], *, forget: bool | None = None) -> Report:
        """Take documents out of the next version, by id or uri: all of them or, where one is not known, none.

        With ``forget`` nothing of them is in the shards of the next version. Older versions hold them until
        :meth:`forget`. Raises NotFound, and as :meth:`add`.
        """
        return self._writer.remove(arguments.names(ids, "an id"), forget=forget)

    def publish(self) -> int:
        """Make what was written the next version, and search it; returns its number.

        Readers see one version or the next. The last two versions are kept. Raises ShelfConflict if another writer has
        published meanwhile.
        """
        with self._file.spending():
            published = self._writer.publish()
        self._let_writer_go()
        self._turn_to(published)
        return self.version

    def forget(self) -> Forgotten:
        """Remove every version but the newest, and all objects that only they named, here and where the shelf lies.

        What models answered is forgotten here too. It is complete when no other machine's cache holds any of the
        objects, which what is returned names.
        """
        working.refuse_unpublished(self._place, at_work=self._working is not None)
        with writing(self._place.objects):
            made = forget_objects(self._place.objects)
        self._file.forget_paid()
        self.refresh()
        if made.kept is not None:
            self._place.keep([made.kept])
        working.discard(self._place.work)
        self._place.drop_building()
        return made

    def reshard(self, shards: int, *, progress: OnProgress | None = None) -> int:
        """Deal all documents out over another number of shards, and publish that; returns the version.

        No answer changes by it, and no model is asked. Raises InputError if something is written and not published.
        """
        shards = shard_count(shards)
        self._let_writer_go()
        with databases(self._place, self._version) as sources:
            version = dealt(self._place, self._version, shards, self._file, sources, progress)
        self._turn_to(version)
        return self.version

    def join(self, path: str | os.PathLike[str], *, progress: OnProgress | None = None) -> Path:
        """Write one file of all documents: of the same settings and models, which are asked for nothing again.

        Raises InputError if the path is taken.
        """
        made = arguments.path(path, "the file")
        if made.exists():
            raise InputError(f"{made} is there already", "give another path")
        with databases(self._place, self._version) as sources:
            joined(made, self._file, sources, progress)
        return made

    def _let_writer_go(self) -> None:
        if self._working is not None:
            self._working.close()
            self._working = None

    def _turn_to(self, version: Manifest) -> None:
        """Search another version from now on."""
        before = self._file
        self._read(version)
        before.close()


def _opened_again(url: str, home: Path, version: int, given: Given, engines: Engines) -> Shelf:
    place = place_of(url, home)
    return Shelf(place, load(place.objects, version), given, engines)
