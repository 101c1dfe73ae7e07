"""Immutable objects in a bucket of an object store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from monograph.errors import InputError, MissingExtra, ShelfUnreachable
from monograph.shelf.versions.faults import told
from monograph.shelf.versions.folder import missing, too_long
from monograph.shelf.versions.names import Listed, checked
from monograph.shelf.versions.pieces import PIECE, pieces

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES = ("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")
_RETRIES = 5
_AT_ONCE = 4
"""Pieces on their way."""


class Bucket:
    """Objects in a bucket, by S3's protocol, Google's or Azure's. Its store must be able to put only if absent.

    Parameters
    ----------
    url:
        As ``s3://bucket/path``.

    Raises
    ------
    MissingExtra
        If the client is not installed.
    InputError
        If the address cannot be understood.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._client = _obstore()
        try:
            # Options of the client, given here, would take the place of those in the environment.
            self._store: ObjectStore = self._client.store.from_url(url, retry_config={"max_retries": _RETRIES})
        except (self._client.exceptions.BaseError, ValueError) as error:
            raise InputError(
                f"{url!r} cannot be understood: {_said(error)}",
                "give s3://bucket/path, or gs:// or az://, with the account in the environment",
            ) from error

    @property
    def address(self) -> str:
        """Where it lies."""
        return self._url

    def put_new(self, name: str, source: Path | bytes) -> bool:
        """Put an object; see :class:`~monograph.shelf.versions.objects.Objects`."""
        checked(name)
        if isinstance(source, Path):
            with told(source):
                size = source.stat().st_size
            if size > PIECE:
                return self._put_in_parts(name, source)
            source = b"".join(pieces(source, name))
        with self._told(f"{name} cannot be put"):
            try:
                self._client.put(self._store, name, source, mode="create", use_multipart=False)
            except self._client.exceptions.AlreadyExistsError:
                return False
        return True

    def _put_in_parts(self, name: str, source: Path) -> bool:
        with self._told(f"{name} cannot be put"):
            try:
                self._client.head(self._store, name)
            except FileNotFoundError:
                parts = pieces(source, name)
                self._client.put(
                    self._store, name, parts, use_multipart=True, chunk_size=PIECE, max_concurrency=_AT_ONCE
                )
                return True
        return False

    def get(self, name: str, target: Path) -> None:
        """Fetch an object; see :class:`~monograph.shelf.versions.objects.Objects`."""
        checked(name)
        with told(target), target.open("wb") as file:
            for piece in self._fetched(name):
                file.write(piece)

    def _fetched(self, name: str) -> Iterator[bytes]:
        # By ranges, each a request of its own, which is repeated alone when it fails.
        with self._found(name):
            size = self._client.head(self._store, name)["size"]
        for start in range(0, size, PIECE):
            with self._found(name):
                piece = self._client.get_range(self._store, name, start=start, length=min(PIECE, size - start))
            yield bytes(piece)

    def read(self, name: str, most: int) -> bytes:
        """The bytes of a small object; see :class:`~monograph.shelf.versions.objects.Objects`."""
        checked(name)
        with self._found(name):
            answer = self._client.get(self._store, name)
            if answer.meta["size"] > most:
                raise too_long(name, self._url, most)
            return bytes(answer.bytes())

    def listed(self, folder: str) -> list[Listed]:
        """What lies in a folder of the shelf; see :class:`~monograph.shelf.versions.objects.Objects`."""
        checked(folder)
        with self._told("what is there cannot be listed"):
            found = self._client.list_with_delimiter(self._store, folder)["objects"]
            return sorted(
                (Listed(one["path"], one["size"], one["last_modified"].timestamp()) for one in found),
                key=lambda one: one.name,
            )

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects; see :class:`~monograph.shelf.versions.objects.Objects`."""
        for name in map(checked, names):
            with self._told(f"{name} cannot be removed"):
                try:
                    self._client.delete(self._store, name)
                except FileNotFoundError:
                    continue

    @contextmanager
    def _found(self, name: str) -> Iterator[None]:
        with self._told(f"{name} cannot be read"):
            try:
                yield
            except FileNotFoundError as error:
                raise missing(name, self._url) from error

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        refused = (self._client.exceptions.PermissionDeniedError, self._client.exceptions.UnauthenticatedError)
        try:
            yield
        except refused as error:
            raise ShelfUnreachable(
                f"{what}: {self._url} refuses who asks: {_said(error)}",
                "give credentials that may list, read, write and delete there, in the environment",
            ) from error
        except (FileNotFoundError, self._client.exceptions.BaseError) as error:
            raise ShelfUnreachable(
                f"{what}: {self._url} does not answer as it should: {_said(error)}",
                "look whether the bucket is there and can be reached, then try again",
            ) from error


def _said(error: Exception) -> str:
    """The first line of what the client says; below it stands how it came to say so."""
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return line if len(line) <= 300 else f"{line[:300]} …"


def _obstore() -> ModuleType:
    try:
        import obstore
        import obstore.exceptions
        import obstore.store
    except ImportError as error:
        raise MissingExtra("a shelf in a bucket needs obstore", 'pip install "monograph[shelf]"') from error
    module: ModuleType = obstore
    return module
