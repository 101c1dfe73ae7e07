"""Storage of immutable objects in a folder or a bucket, and the local cache of fetched ones."""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, unquote, urlsplit

from monograph.errors import InputError, MissingExtra, ObjectDamaged, ObjectMissing, ShelfUnreachable
from monograph.regex import regex
from monograph.store.file import replacing
from monograph.store.file.errors import system_error
from monograph.store.file.replacing import private, restrict, sync_to_disk

if TYPE_CHECKING:
    from obstore.store import ObjectStore

OBJECTS = "objects"
"""The folder of shards, lists of contents and catalogues, each named by its digest."""

SCHEMES = ("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")
PIECE = 8 << 20
"""Bytes that one request sends or fetches; a larger file is sent in parts."""

_RETRIES = 5
_OBJECT = regex(rf"{OBJECTS}/([0-9a-f]{{64}})\.mono", re.ASCII)
_FETCHING = ".fetching-"
"""How the names of folders begin in which files are fetched."""

_STAGING = "staging"
"""In a folder: where a file is written and synced to disk before it gets its name."""

_CONTAINER_SCHEMES = ("abfs", "abfss")
"""Schemes in whose addresses the part before an @ is a container."""


@dataclass(frozen=True, slots=True)
class ObjectName:
    """The name of an object: the SHA-256 of its bytes, in hexadecimal digits, and their number."""

    digest: str
    bytes: int

    def __post_init__(self) -> None:
        if type(self.digest) is not str or not digest_in(self.name):
            raise InputError(f"{str(self.digest)[:200]!r} is no SHA-256", "give 64 hexadecimal digits in lower case")
        if type(self.bytes) is not int or self.bytes < 0:
            raise InputError(f"an object cannot have {self.bytes!r} bytes", "give the number of its bytes")

    @property
    def name(self) -> str:
        """The object's name in storage."""
        return f"{OBJECTS}/{self.digest}.mono"


def name_of(path: Path) -> ObjectName:
    """Return the name of a closed file as an object."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return ObjectName(digest, file.tell())


def digest_in(name: str) -> str:
    """Return the digest in the name of an object; empty for other names."""
    found = _OBJECT.fullmatch(name)
    return found[1] if found else ""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object in storage: its name, its size in bytes, and when it was put (seconds UTC by the storage's clock)."""

    name: str
    bytes: int
    since: float


class Storage:
    """Immutable objects with names like ``versions/00000001.json``; see :func:`storage_at`.

    All methods raise ShelfUnreachable where the storage does not answer, and StorageFull where a disk is full.
    """

    def __init__(self, address: str, folder: Path | None = None) -> None:
        self._address, self._folder = address, folder
        self._client = client = _obstore()
        self._store: ObjectStore
        try:
            if folder is not None:
                self._store = client.store.LocalStore(prefix=folder)
            else:
                # Options given here would replace those of the environment.
                self._store = client.store.from_url(address, retry_config={"max_retries": _RETRIES})
        except (client.exceptions.BaseError, ValueError) as error:
            raise InputError(
                f"{address!r} cannot be understood: {_first_line(error)}",
                "give s3://bucket/path, or gs:// or az://, with the account in the environment",
            ) from error

    @property
    def address(self) -> str:
        """The address of the objects."""
        return self._address

    def put_new(self, name: str, source: Path | bytes) -> bool:
        """Put an object if there is none of this name; readers see all of it or nothing. Return whether it was put.

        Of several writers that put bytes at the same time, one gets True. Buckets cannot put a file larger than
        ``PIECE`` only if absent: two writers may both put it, so name large objects by their digests.
        """
        with self._translated(f"{name} cannot be put"):
            if self._folder is not None:
                return self._put_durably(self._folder, name, source)
            if isinstance(source, bytes) or source.stat().st_size <= PIECE:
                try:
                    self._client.put(self._store, name, source, mode="create", use_multipart=False)
                except self._client.exceptions.AlreadyExistsError:
                    return False
                return True
            try:
                self._client.head(self._store, name)
            except FileNotFoundError:
                self._client.put(self._store, name, source, use_multipart=True, chunk_size=PIECE)
                return True
            return False

    def _put_durably(self, folder: Path, name: str, source: Path | bytes) -> bool:
        """Put an object into a folder, synced to disk before it gets its name, by a hard link."""
        target, staged = folder / name, folder / _STAGING / secrets.token_hex(16)
        if target.exists():
            return False
        target.parent.mkdir(exist_ok=True)
        staged.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            if isinstance(source, bytes):
                staged.write_bytes(source)
            else:
                shutil.copyfile(source, staged)
                restrict(staged, source)
            sync_to_disk(staged)
            target.hardlink_to(staged)
        except FileExistsError:
            return False
        finally:
            staged.unlink(missing_ok=True)
        sync_to_disk(target.parent)
        sync_to_disk(folder)
        return True

    def get(self, name: str, target: Path) -> None:
        """Write an object's bytes to a file, without verifying them. Raises ObjectMissing."""
        with self._translated(f"{name} cannot be read", name):
            size = self._client.head(self._store, name)["size"]
            with open(target, "wb", opener=private) as file:
                # One request for each range, which is repeated alone when it fails.
                for start in range(0, size, PIECE):
                    length = min(PIECE, size - start)
                    file.write(self._client.get_range(self._store, name, start=start, length=length))

    def permissions(self, name: str) -> int:
        """Return the permissions of an object in a folder, and those of a private file for one in a bucket."""
        return 0o600 if self._folder is None else stat.S_IMODE((self._folder / name).stat().st_mode)

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of a small object. Raises ObjectMissing, and ObjectDamaged if it has more than ``most``."""
        with self._translated(f"{name} cannot be read", name):
            answer = self._client.get(self._store, name)
            if answer.meta["size"] > most:
                raise ObjectDamaged(
                    f"{name} of {self._address} has more than {most:,} bytes",
                    "it does not belong to a shelf: remove it",
                )
            return bytes(answer.bytes())

    def listed(self, folder: str) -> list[StoredObject]:
        """Return the objects directly in a folder, in order of name."""
        with self._translated(f"{folder} cannot be listed"):
            if self._folder is not None and (self._folder / folder).is_file():
                raise NotADirectoryError(20, "not a folder", str(self._folder / folder))
            found = self._client.list_with_delimiter(self._store, folder)["objects"]
            objects = (StoredObject(one["path"], one["size"], one["last_modified"].timestamp()) for one in found)
            return sorted(objects, key=lambda one: one.name)

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects, in this order; names that are not there are skipped."""
        for name in names:
            with self._translated(f"{name} cannot be removed"), suppress(FileNotFoundError):
                self._client.delete(self._store, name)

    def remove_staged(self, age: float = 0.0) -> None:
        """Remove files that killed writers left unfinished in a folder, if they are older than ``age`` seconds.

        Buckets never show unfinished uploads; their owner removes them by a rule of the bucket (on S3:
        AbortIncompleteMultipartUpload).
        """
        if self._folder is None:
            return
        for path in (self._folder / _STAGING).glob("*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime <= time.time() - age:
                    path.unlink()

    @contextmanager
    def _translated(self, what: str, name: str = "") -> Iterator[None]:
        """Turn errors of the client and the system into ours; ``name`` is an object that must be there."""
        exceptions = self._client.exceptions
        try:
            yield
        except FileNotFoundError as error:
            if name:
                raise ObjectMissing(
                    f"{name} is not in {self._address}",
                    "open the shelf again: its version may have been removed; if it is the newest, build it again",
                ) from error
            raise self._unreachable(what, error) from error
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise ShelfUnreachable(
                f"{what}: {self._address} denies access: {_first_line(error)}",
                "give credentials that may list, read, write and delete there, in the environment",
            ) from error
        except (exceptions.BaseError, OSError) as error:
            full = system_error(self._address, error) if isinstance(error, OSError) else None
            raise full or self._unreachable(what, error) from error

    def _unreachable(self, what: str, error: Exception) -> ShelfUnreachable:
        hint = "check that the bucket is there and can be reached, then try again"
        if self._folder is not None:
            hint = "check that the folder is there, may be read and written, and has hard links (or use a bucket)"
        return ShelfUnreachable(f"{what}: {self._address} does not answer as it should: {_first_line(error)}", hint)


def storage_at(url: str | Path, create: bool = False) -> Storage:
    """Return the storage at an address.

    Parameters
    ----------
    url:
        A path or ``file:///path`` for a folder; ``s3://bucket/path``, ``gs://``, ``az://`` for a bucket. Credentials
        for a bucket come from the environment (``AWS_ACCESS_KEY_ID`` and so on).
    create:
        Make a missing folder.

    Raises
    ------
    InputError
        If the address cannot be understood, or the folder is missing.
    MissingExtra
        If obstore is not installed.
    """
    text = str(url)
    parts = _parts(text) if "://" in text and not isinstance(url, Path) else None
    if parts is not None and parts.scheme in SCHEMES:
        return Storage(text)
    folder = Path(text if parts is None else unquote(parts.path))
    if create:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise InputError(f"{str(folder)!r} cannot be made: {error}", "give another folder") from error
    if not folder.is_dir():
        what = "is no folder" if folder.exists() else "is not there"
        raise InputError(f"{folder} {what}", "make the folder first, or give another address")
    return Storage(str(folder.absolute()), folder.absolute())


def _parts(address: str) -> SplitResult:
    """Return the parts of an address of a folder or a bucket."""
    try:
        parts = urlsplit(address)
        secret = parts.password or (parts.username and parts.scheme not in _CONTAINER_SCHEMES)
    except ValueError as error:
        raise InputError(f"{address!r} is no address: {error}", "give a folder, or s3://bucket/path") from error
    if secret:
        raise InputError("an address of a shelf must not contain a user or password", "give them in the environment")
    if parts.query or parts.fragment:
        raise InputError(f"{address!r} is no address of a shelf: it has a ? or a #", "write them as %3F and %23")
    if parts.scheme not in SCHEMES and (parts.scheme != "file" or parts.netloc not in ("", "localhost")):
        raise InputError(
            f"{address!r} is no address of a shelf", "give a folder, file:///folder, s3://bucket/path, gs:// or az://"
        )
    return parts


def _first_line(error: Exception) -> str:
    """Return the first line of an error of the client; the rest is a debug dump."""
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return line if len(line) <= 300 else f"{line[:300]} …"


def _obstore() -> ModuleType:
    try:
        import obstore
        import obstore.exceptions
        import obstore.store
    except ImportError as error:
        raise MissingExtra("a shelf needs obstore", 'pip install "monograph[shelf]"') from error
    module: ModuleType = obstore
    return module


@dataclass(frozen=True, slots=True)
class ShelfPlace:
    """The storage of a shelf, and its folder on this machine.

    Parameters
    ----------
    url:
        The address as it was given.
    objects:
        What is stored there.
    home:
        The shelf's folder on this machine.
    """

    url: str
    objects: Storage
    home: Path

    @property
    def fetched(self) -> Path:
        """The folder of fetched objects."""
        return self.home / "objects"

    def file_of(self, name: ObjectName) -> Path:
        """Return the path of an object on this machine; fetch it if it is not here.

        A file gets its name only after its bytes were verified, and is never changed.

        Raises
        ------
        ObjectMissing
            If it is neither here nor in storage.
        ObjectDamaged
            If the stored bytes have another digest.
        StorageFull
            If the disk is full.
        ShelfUnreachable
            If the storage does not answer, or the folder cannot be written.
        """
        target = self.fetched / Path(name.name).name
        with suppress(FileNotFoundError):
            if target.stat().st_size == name.bytes:
                return target
        fetch(self.objects, name, target)
        return target

    def keep(self, names: Iterable[ObjectName]) -> None:
        """Remove from this machine all objects but some. Programs that have one open go on reading it."""
        kept = {name.digest for name in names}
        for path in self.fetched.glob("*.mono"):
            if path.stem not in kept:
                replacing.drop(path)
        for path in self.fetched.glob(f"{_FETCHING}*"):
            shutil.rmtree(path, ignore_errors=True)  # A killed process left it.

    @property
    def elsewhere(self) -> Path:
        """The shelf's folder on other machines: relative to ``~`` if it is in a home directory here."""
        home = self.home.absolute()
        return Path("~") / home.relative_to(Path.home()) if home.is_relative_to(Path.home()) else home

    @property
    def building(self) -> Path:
        """The folder, on any machine, of shards that are being made."""
        return self.elsewhere / "build"

    def drop_building(self) -> None:
        """Remove unfinished shards from this machine."""
        shutil.rmtree(self.building.expanduser(), ignore_errors=True)


def fetch(storage: Storage, name: ObjectName, target: Path) -> None:
    """Fetch an object and verify it before the file gets its name. Raises as :meth:`Place.file_of`."""
    with writing(target):
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=_FETCHING) as folder:
            path = Path(folder) / target.name
            storage.get(name.name, path)
            if name_of(path) != name:
                raise ObjectDamaged(
                    f"{name.name} of {storage.address} is damaged: its bytes have another digest",
                    "try again; if it stays so, build the shelf again with --replace",
                )
            replacing.put(path, target, overwrite=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Translate errors of the system about a path of this machine: StorageFull, or ShelfUnreachable."""
    try:
        yield
    except OSError as error:
        raise system_error(path, error) or ShelfUnreachable(
            f"{path} cannot be written: {error.strerror or error}",
            "check its folder; in Python: or give another one: home=",
        ) from error


def place_at(url: str | Path, home: str | Path | None = None, *, create: bool = False) -> ShelfPlace:
    """Return the place of a shelf; ``home`` is by default a folder of its own in ``~/.cache/monograph``.

    Raises as :func:`storage_at`.
    """
    storage = storage_at(url, create=create)
    name = hashlib.sha256(storage.address.encode()).hexdigest()[:16]
    made = Path.home() / ".cache" / "monograph" / name if home is None else Path(home)
    try:
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{made} cannot be made: {error.strerror}", "in Python: give another folder: home=") from error
    return ShelfPlace(str(url), storage, made)
