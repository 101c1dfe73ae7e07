"""The one class that users of a shelf hold."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from monograph.errors import NotFound, NotOnShelf
from monograph.library.given import Given
from monograph.library.monograph import Monograph
from monograph.models import Embedder, Extractor, LanguageModel, Reranker, Trusted
from monograph.shelf.engines import Engines, local
from monograph.shelf.looking import Looking
from monograph.shelf.manifest import Manifest, latest, load
from monograph.shelf.opened import OpenShelf
from monograph.shelf.place import Place, place_of
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL


class Shelf(Looking):
    """Many files that answer as one: a version of a shelf, for reading.

    Made by :meth:`open`; a context manager. :func:`monograph.shelf.build` makes and changes a shelf. What it finds is
    what one file of the same documents would find, except that in a dense search of many clusters each shard searches
    its own.
    """

    _given: Given
    _engines: Engines

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
    ) -> Shelf:
        """Open the newest version of a shelf, or one of the last two.

        Parameters
        ----------
        url:
            A folder, or a bucket: ``s3://bucket/path``, ``gs://``, ``az://``.
        version:
            The version; the newest if None.
        home:
            The shelf's folder on this machine; one in ``~/.cache/monograph`` by default.
        engines:
            What asks the shards: threads here, or :func:`monograph.shelf.ray_engine.on_ray`.
        embedder, extractor, model, reranker, target_recall, cache_bytes, trusted:
            As for :meth:`monograph.Monograph.open`.

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
            target_recall=target_recall, cache_bytes=cache_bytes, trusted=trusted,
        )  # fmt: skip
        found = latest(place.objects) if version is None else load(place.objects, version)
        if found is None:
            raise NotFound(f"{place.url} holds no shelf", f"monograph shelf build {place.url} FOLDER")
        return cls(place, found, given, engines)

    def __enter__(self) -> Shelf:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __copy__(self) -> Shelf:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Shelf:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _opened_again, (self.url, self._place.home, self.version, self._given, self._engines)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            """Raise NotOnShelf for a method of a file that a shelf does not have."""
            if not name.startswith("_") and hasattr(Monograph, name):
                mend = f"open a .mono file: Monograph.open(path).{name}"
                if name in ("add", "put", "remove", "sync"):
                    mend = "change a shelf with monograph.shelf.build(url, …) and monograph.shelf.remove(url, ids)"
                raise NotOnShelf(f"{self.url} is a shelf, which has no {name}", mend)
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"Shelf({self._place.url!r}, version={self.version})"

    def close(self) -> None:
        """Close the catalogue and the shards."""
        self._file.close()

    def refresh(self) -> int:
        """Search the newest version from now on; returns it. A search that is under way in a thread may break off."""
        newest = latest(self._place.objects)
        if newest is not None and newest.version != self.version:
            self._turn_to(newest)
            self._place.keep([self._version, *self._place.before(self._version)])
        return self.version

    def _turn_to(self, version: Manifest) -> None:
        """Search another version from now on."""
        before = self._file
        self._read(version)
        before.close()


def _opened_again(url: str, home: Path, version: int, given: Given, engines: Engines) -> Shelf:
    place = place_of(url, home)
    return Shelf(place, load(place.objects, version), given, engines)
