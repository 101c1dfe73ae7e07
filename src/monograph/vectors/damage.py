"""Bytes of an index that are not what was written: an error that names the file and the mend."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from monograph.errors import DamagedFile
from monograph.store.database import Connection, path_of
from monograph.vectors import kernel


@contextmanager
def told(connection: Connection) -> Iterator[None]:
    """Work in which damaged bytes are an error of ours."""
    try:
        yield
    except kernel.DamagedBytes as fault:
        path = path_of(connection)
        raise DamagedFile(f"{path}: the vector index is damaged: {fault}", f"monograph check {path} --repair") from None
