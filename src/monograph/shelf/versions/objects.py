"""A place for immutable objects with names: a folder, or a bucket."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol
from urllib.parse import SplitResult, unquote, urlsplit

from monograph.errors import InputError, ObjectDamaged, ObjectMissing
from monograph.shelf.versions.bucket import SCHEMES, Bucket
from monograph.shelf.versions.folder import Folder
from monograph.shelf.versions.names import Listed

_NAMED_BEFORE_AT = ("abfs", "abfss")
"""Where what stands before an @ is a container."""


class Objects(Protocol):
    """A place for immutable objects. A name is lower-case, with slashes between its parts.

    Everything raises StorageFull where there is no room, and ShelfUnreachable where the place does not answer.
    """

    @property
    def address(self) -> str:
        """Where it lies, without secrets."""
        ...

    def put_new(self, name: str, source: Path | bytes) -> bool:
        """Put an object, if none of that name is there: readers see all of it or nothing.

        Bytes are put at once: of many writers, one gets True. A file may go in parts, which buckets cannot put only if
        absent; they look first, and two writers at once may both put it. So files are put under names that are digests,
        where both put the same bytes: what does not have its name's digest never becomes visible.

        Returns
        -------
        False where an object of that name is there.

        Raises
        ------
        InputError
            If the name will not do.
        ObjectDamaged
            If the file has not the digest that its name says.
        """
        ...

    def get(self, name: str, target: Path) -> None:
        """Write the object's bytes into a file, unverified.

        Raises
        ------
        ObjectMissing
            If there is none.
        """
        ...

    def read(self, name: str, most: int) -> bytes:
        """The bytes of a small object.

        Raises
        ------
        ObjectMissing
            If there is none.
        ObjectDamaged
            If it has more than ``most`` bytes.
        """
        ...

    def listed(self, folder: str) -> list[Listed]:
        """The objects directly in a folder, by name."""
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Remove objects, if they are there, and in a folder also what killed writers left half-written.

        A bucket never shows what was sent in parts and not ended; it removes it by a rule of its own, which its
        owner sets (on S3: AbortIncompleteMultipartUpload).
        """
        ...


def put_alone(objects: Objects, name: str, data: bytes) -> bool:
    """Put bytes, and tell whether these are what lies under the name now.

    Where an answer is lost, a client asks again, and is told that an object of that name is there: its own.
    """
    if objects.put_new(name, data):
        return True
    try:
        return objects.read(name, len(data)) == data
    except (ObjectDamaged, ObjectMissing):
        return False  # It is longer, or was there and is not any more.


def objects_at(url: str | Path, create: bool = False) -> Objects:
    """The place at an address.

    Parameters
    ----------
    url:
        A path or ``file:///path`` for a folder; ``s3://bucket/path``, ``gs://``, ``az://`` for a bucket. Who asks a
        bucket is known from the environment, as its maker has it (``AWS_ACCESS_KEY_ID`` and so on).
    create:
        Make a folder that is not there.

    Raises
    ------
    InputError
        If the address cannot be understood, or the folder is not there.
    MissingExtra
        If a bucket's client is not installed.
    """
    text = str(url)
    parts = _parts(text) if "://" in text and not isinstance(url, Path) else None
    if parts is not None and parts.scheme in SCHEMES:
        return Bucket(text)
    folder = Path(text if parts is None else unquote(parts.path))
    if create:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise InputError(f"{str(folder)!r} cannot be made: {error}", "give another folder") from error
    return Folder(folder)


def _parts(address: str) -> SplitResult:
    """The parts of an address of a folder or a bucket."""
    try:
        parts = urlsplit(address)
        secret = parts.password or (parts.username and parts.scheme not in _NAMED_BEFORE_AT)
    except ValueError as error:
        raise InputError(f"{address!r} is no address: {error}", "give a folder, or s3://bucket/path") from error
    if secret:
        raise InputError("an address of a shelf bears no user or password", "give them in the environment")
    if parts.query or parts.fragment:
        raise InputError(f"{address!r} is no address of a shelf: it has a ? or a #", "write them as %3F and %23")
    if parts.scheme not in SCHEMES and (parts.scheme != "file" or parts.netloc not in ("", "localhost")):
        raise InputError(
            f"{address!r} is no address of a shelf", "give a folder, file:///folder, s3://bucket/path, gs:// or az://"
        )
    return parts
