"""A database for vector indexes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from monograph.store.file.database import Database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """The database of an empty file."""
    opened = Database(tmp_path / "v.mono")
    yield opened
    opened.close()
