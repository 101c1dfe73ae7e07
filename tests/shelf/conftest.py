"""Where shelves are stored: folders, and a bucket."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from monograph.shelf.storage import Storage, storage_at
from support.shelf_storage import bucket_server
from support.shelves import empty_file


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    """The address of a bucket on this machine."""
    with bucket_server() as address:
        yield address


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file without documents."""
    return empty_file(tmp_path_factory.mktemp("empty"))


@pytest.fixture(params=["folder", pytest.param("bucket", marks=pytest.mark.long)])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """The storage of a shelf: a test that takes it runs with a folder and with a bucket."""
    if request.param == "folder":
        return storage_at(tmp_path / "shelf", create=True)
    return storage_at(f"{request.getfixturevalue('bucket')}/{hashlib.sha256(str(tmp_path).encode()).hexdigest()}")
