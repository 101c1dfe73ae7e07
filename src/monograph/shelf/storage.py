"""Storage of immutable objects in a folder or a bucket, and the local cache of fetched objects."""

from __future__ import annotations

import hashlib
import os
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
"""Folder in storage for shards, contents files (lists of a shard's documents, files and names), catalogues."""

SCHEMES = ("s3", "s3a", "gs", "az", "azure", "adl", "abfs", "abfss")
PIECE = 8 << 20
"""Largest number of bytes in one request. A larger file is sent and fetched in several requests."""

_RETRIES = 5
_OBJECT_NAME = regex(rf"{OBJECTS}/([0-9a-f]{{64}})\.mono", re.ASCII)
_FETCH_PREFIX = ".fetching-"
"""Prefix of temporary folders for files that are being fetched and verified."""

_STAGING = "staging"
"""Name of the subfolder of a storage folder in which new files are written before they get their names."""

_CONTAINER_SCHEMES = ("abfs", "abfss")
"""Schemes of addresses in which the part before the @ is a container, not a user."""


@dataclass(frozen=True, slots=True)
class ObjectName:
    """The name of an object: the SHA-256 of its bytes (64 hexadecimal digits) and its size in bytes."""

    digest: str
    bytes: int

    def __post_init__(self) -> None:
        if type(self.digest) is not str or not digest_in(self.name):
            raise InputError(
                f"{str(self.digest)[:200]!r} is not a SHA-256 digest", "give 64 hexadecimal digits in lower case"
            )
        if type(self.bytes) is not int or self.bytes < 0:
            raise InputError(f"an object cannot have {self.bytes!r} bytes", "give its size in bytes, 0 or more")

    @property
    def name(self) -> str:
        """The object's name in storage: ``objects/<digest>.mono``."""
        return f"{OBJECTS}/{self.digest}.mono"


def name_of(path: Path) -> ObjectName:
    """Return the digest and size of a closed file, which together name it as an object."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return ObjectName(digest, file.tell())


def digest_in(name: str) -> str:
    """Return the digest in a name such as ``objects/<digest>.mono``; "" if the name has another form."""
    match = _OBJECT_NAME.fullmatch(name)
    return match[1] if match else ""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object in storage: its name and its size in bytes.

    ``since`` is the time when it was put into storage: seconds since 1970, UTC, by the storage's clock.
    """

    name: str
    bytes: int
    since: float


class Storage:
    """Immutable objects in a folder or a bucket, with names like ``versions/00000001.json``. See :func:`storage_at`.

    ``address`` is the bucket's address or the folder's path. ``folder`` is the folder's path, or None for a bucket.
    All methods raise ShelfUnreachable if the storage does not answer, and StorageFull if a disk is full.
    """

    def __init__(self, address: str, folder: Path | None = None) -> None:
        try:
            import obstore as client
            import obstore.exceptions
            import obstore.store
        except ImportError as error:
            raise MissingExtra("a shelf needs obstore", 'pip install "monograph[shelf]"') from error
        self.address, self._folder, self._client = address, folder, client
        self._store: ObjectStore
        try:
            if folder is not None:
                self._store = client.store.LocalStore(prefix=folder)
            else:
                # Pass no other options: they would override those of the environment.
                self._store = client.store.from_url(address, retry_config={"max_retries": _RETRIES})
        except (client.exceptions.BaseError, ValueError) as error:
            raise InputError(
                f"{address!r} is not a valid address: {_first_line(error)}",
                "give s3://bucket/path, gs:// or az://, and set the account in environment variables",
            ) from error

    def put_new(self, name: str, source: Path | bytes) -> bool:
        """Put an object into storage unless the name is taken, and return whether it was put.

        ``source`` is a file, or the bytes of the object. Readers see the whole object or none. If several writers put
        an object of the same name at the same time, only one of the writers gets True. Exception: in a bucket, two
        writers may both put a file larger than ``PIECE`` bytes under the same name, and both get True. Name large
        objects by their digests: then the writers put the same bytes.
        """
        with self._translate_errors(f"cannot store {name} in"):
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
        """Put an object into a folder, synced to disk; return False if the name is taken."""
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
        """Fetch an object and write it to the file ``target``. The bytes are not verified.

        Raises ObjectMissing if the object is not in storage.
        """
        with self._translate_errors(f"cannot read {name} from", name):
            size = self._client.head(self._store, name)["size"]
            with open(target, "wb", opener=private) as file:
                # One request for each range, so that a failed request repeats its own range only.
                for start in range(0, size, PIECE):
                    length = min(PIECE, size - start)
                    file.write(self._client.get_range(self._store, name, start=start, length=length))

    def permissions(self, name: str) -> int:
        """Return the permission bits of an object's file in a folder, or 0o600 if the storage is a bucket."""
        return 0o600 if self._folder is None else stat.S_IMODE((self._folder / name).stat().st_mode)

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of a small object.

        Raises ObjectMissing if it is not in storage, and ObjectDamaged if it has more than ``most`` bytes.
        """
        with self._translate_errors(f"cannot read {name} from", name):
            answer = self._client.get(self._store, name)
            if answer.meta["size"] > most:
                raise ObjectDamaged(
                    f"{name} of {self.address} has more than {most:,} bytes",
                    "it does not belong to a shelf: remove it",
                )
            return bytes(answer.bytes())

    def listed(self, folder: str) -> list[StoredObject]:
        """Return the objects in a folder of the storage, in order of name. Objects in its subfolders are left out."""
        with self._translate_errors(f"cannot list {folder} in"):
            if self._folder is not None and (self._folder / folder).is_file():
                raise NotADirectoryError(20, "not a folder", str(self._folder / folder))
            entries = self._client.list_with_delimiter(self._store, folder)["objects"]
            objects = (
                StoredObject(entry["path"], entry["size"], entry["last_modified"].timestamp()) for entry in entries
            )
            return sorted(objects, key=lambda stored: stored.name)

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects, in the order of the names. Names of objects that do not exist are skipped."""
        for name in names:
            with self._translate_errors(f"cannot remove {name} from"), suppress(FileNotFoundError):
                self._client.delete(self._store, name)

    def remove_staged(self, age: float = 0.0) -> None:
        """Remove unfinished files of killed writers, if the files are at least ``age`` seconds old.

        Does nothing if the storage is a bucket, because a bucket does not list unfinished uploads. A rule of the
        bucket can remove these uploads (on S3: AbortIncompleteMultipartUpload).
        """
        if self._folder is None:
            return
        for path in (self._folder / _STAGING).glob("*"):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime <= time.time() - age:
                    path.unlink()

    @contextmanager
    def _translate_errors(self, what: str, name: str = "") -> Iterator[None]:
        """Translate the storage client's errors. Messages begin with ``what``. ``name``: the object to read, if any."""
        exceptions = self._client.exceptions
        try:
            yield
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError) as error:
            raise ShelfUnreachable(
                f"{what} {self.address}: access denied: {_first_line(error)}",
                "set environment variables with credentials that may list, read, write and delete there",
            ) from error
        except (exceptions.BaseError, OSError) as error:
            if name and isinstance(error, FileNotFoundError):
                raise ObjectMissing(
                    f"{name} is not in {self.address}",
                    "open the shelf again: its version may have been removed; if it is the newest, build it again",
                ) from error
            hint = "check that the bucket exists and can be reached, then try again"
            if self._folder is not None:
                hint = (
                    "check that the folder exists, can be read and written, and supports hard links (or use a bucket)"
                )
            full = system_error(self.address, error) if isinstance(error, OSError) else None
            raise full or ShelfUnreachable(f"{what} {self.address}: {_first_line(error)}", hint) from error


def storage_at(url: str | os.PathLike[str], create: bool = False) -> Storage:
    """Return the storage at an address. If ``create`` is True, a missing folder is created.

    The address of a folder is its path or ``file:///path``. The address of a bucket is ``s3://bucket/path``, ``gs://``
    or ``az://``. Credentials for a bucket come from the environment (``AWS_ACCESS_KEY_ID`` and so on).

    Raises InputError if the address is invalid, or the folder is missing or cannot be created, and MissingExtra if
    obstore is not installed.
    """
    text = os.fspath(url)
    parts = _split_address(text) if "://" in text else None
    if parts is not None and parts.scheme in SCHEMES:
        return Storage(text)
    folder = Path(text if parts is None else unquote(parts.path))
    if create:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise InputError(f"{str(folder)!r} cannot be created: {error}", "give another folder") from error
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise InputError(f"{folder} {what}", "create the folder first, or give another address")
    return Storage(str(folder.absolute()), folder.absolute())


def _split_address(address: str) -> SplitResult:
    """Split the address of a folder or a bucket. Raise InputError if it is invalid or has credentials."""
    try:
        parts = urlsplit(address)
        secret = parts.password or (parts.username and parts.scheme not in _CONTAINER_SCHEMES)
    except ValueError as error:
        raise InputError(f"{address!r} is not an address: {error}", "give a folder, or s3://bucket/path") from error
    if secret:
        raise InputError(
            "an address of a shelf must not contain a user or password", "set them in environment variables"
        )
    if parts.query or parts.fragment:
        raise InputError(f"{address!r} is not an address of a shelf: it has ? or #", "write them as %3F and %23")
    if parts.scheme not in SCHEMES and (parts.scheme != "file" or parts.netloc not in ("", "localhost")):
        raise InputError(
            f"{address!r} is not an address of a shelf",
            "give a folder, file:///folder, s3://bucket/path, gs:// or az://",
        )
    return parts


def _first_line(error: Exception) -> str:
    # The other lines of a client's error are a debug dump.
    line = (str(error).splitlines() or [type(error).__name__])[0]
    return line if len(line) <= 300 else f"{line[:300]} …"


@dataclass(frozen=True, slots=True)
class ShelfPlace:
    """Where a shelf is.

    ``url`` is the shelf's address as the caller wrote it. ``objects`` is the storage at this address. ``home`` is the
    folder on this machine for the shelf's fetched objects and unfinished shards.
    """

    url: str
    objects: Storage
    home: Path

    @property
    def fetched(self) -> Path:
        """The folder on this machine for objects that were fetched from storage."""
        return self.home / "objects"

    def file_of(self, name: ObjectName) -> Path:
        """Return the path of an object on this machine; if it is not here, fetch it from storage first.

        A fetched file gets its name only after its bytes were verified, and is never changed.

        Raises ObjectMissing if the object is neither on this machine nor in storage, ObjectDamaged if the stored bytes
        have another digest, StorageFull if the disk is full, and ShelfUnreachable if the storage does not answer or the
        folder cannot be written.
        """
        target = self.fetched / Path(name.name).name
        with suppress(FileNotFoundError):
            if target.stat().st_size == name.bytes:
                return target
        fetch(self.objects, name, target)
        return target

    def keep(self, names: Iterable[ObjectName]) -> None:
        """Remove from this machine all fetched objects except the objects in ``names``.

        A program that has a removed object open can still read it.
        """
        kept_digests = {name.digest for name in names}
        for path in self.fetched.glob("*.mono"):
            if path.stem not in kept_digests:
                replacing.drop(path)
        for path in self.fetched.glob(f"{_FETCH_PREFIX}*"):
            shutil.rmtree(path, ignore_errors=True)  # Left by a killed process.

    @property
    def elsewhere(self) -> Path:
        """The path of the shelf's folder for use on other machines.

        It is ``~/…`` if ``home`` is in the user's home directory on this machine, else the same absolute path.
        """
        home = self.home.absolute()
        return Path("~") / home.relative_to(Path.home()) if home.is_relative_to(Path.home()) else home

    @property
    def building(self) -> Path:
        """The folder of unfinished shards, as a path for any machine (it may begin with ``~``)."""
        return self.elsewhere / "build"


def fetch(storage: Storage, name: ObjectName, target: Path) -> None:
    """Fetch an object, verify its bytes, and only then move it to the path ``target``.

    Raises ObjectMissing if the object is not in storage, ObjectDamaged if the bytes have another digest, StorageFull if
    the disk is full, and ShelfUnreachable if the storage does not answer or the folder cannot be written.
    """
    with writing(target):
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=_FETCH_PREFIX) as folder:
            path = Path(folder) / target.name
            storage.get(name.name, path)
            if name_of(path) != name:
                raise ObjectDamaged(
                    f"{name.name} of {storage.address} is damaged: its name is not the digest of its bytes",
                    "try again; if it fails again, build the shelf again with --replace",
                )
            replacing.put(path, target, overwrite=True)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Translate OSErrors raised within the context: StorageFull if the disk is full, else ShelfUnreachable.

    ``path`` is the local file or folder that the message names.
    """
    try:
        yield
    except OSError as error:
        raise system_error(path, error) or ShelfUnreachable(
            f"{path} cannot be written: {error.strerror or error}",
            "check its folder; in Python: or give another folder as home=",
        ) from error


def shelf_place(
    url: str | os.PathLike[str], home: str | os.PathLike[str] | None = None, *, create: bool = False
) -> ShelfPlace:
    """Return the place of a shelf, and create the shelf's folder on this machine.

    ``url`` is the shelf's address. ``home`` is the shelf's folder on this machine; None means a folder in
    ``~/.cache/monograph`` that is named by a hash of the address. If ``create`` is True, a missing folder ``url`` is
    created.

    Raises the errors of :func:`storage_at`. Raises InputError if ``home`` cannot be created.
    """
    storage = storage_at(url, create=create)
    name = hashlib.sha256(storage.address.encode()).hexdigest()[:16]
    folder = Path.home() / ".cache" / "monograph" / name if home is None else Path(home)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{folder} cannot be created: {error.strerror}", "in Python: give another folder as home="
        ) from error
    return ShelfPlace(os.fspath(url), storage, folder)
