"""Files of released formats are opened; a file of an unknown format gets a clear error.

``tests/data/format-1.mono`` is the committed file of format 1. Until the first release it may be made again::

    PYTHONPATH=tests python tests/store/test_old_files.py
"""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path

import pytest

from monograph import Document, Monograph, Settings
from monograph.errors import DamagedFile, FileError, NewerFormat
from monograph.store.file import schema
from support.models import HashEmbedder
from support.paths import DATA

FIXTURE = DATA / "format-1.mono"
DOCUMENTS = [
    Document("Invoice INV-7 was paid by the keeper of the lighthouse.", id="keeper", title="The keeper"),
    Document("Anna Calder wound the clock of the tower in 1968.", id="clock", metadata={"year": 1968}),
    Document("天文台在山上。", id="observatory"),
    Document("Herring is sold on the pier. Boats come home at noon.", id="pier"),
]
"""The documents of the committed file, which has a tree of summaries and keeps former versions."""


def make(path: Path) -> None:
    """Write the committed file."""
    path.unlink(missing_ok=True)
    seconds = count(1_770_000_000, 1_000)
    with Monograph.open(
        path, HashEmbedder(32), settings=Settings(history=True), clock=lambda: next(seconds)
    ) as monograph:
        monograph.add(DOCUMENTS)
        monograph.tree.rebuild()
        monograph.add([Document("Anna Calder wound the clock of the tower in 1969.", id="clock")])
        monograph.remove(["pier"])
        monograph.compact()


@pytest.fixture
def committed(tmp_path: Path) -> Path:
    return Path(shutil.copy(FIXTURE, tmp_path))


def test_every_format_has_a_committed_file() -> None:
    names = sorted(path.stem for path in DATA.glob("format-*.mono"))
    assert names == [f"format-{number}" for number in range(1, schema.FORMAT + 1)]


def test_committed_file_can_be_searched(committed: Path) -> None:
    with Monograph.open(committed, HashEmbedder(32)) as monograph:
        assert monograph.stats().format == schema.FORMAT
        assert monograph.stats().tree is not None
        assert monograph.check() == []
        assert monograph.search("INV-7", 1)[0].chunk.document_id == "keeper"
        assert monograph.search("天文台", 1, how="lexical")[0].chunk.document_id == "observatory"
        assert "Anna Calder" in {one.name for one in monograph.graph.entities(100)}
        assert len(monograph.versions("clock")) == 2
        monograph.add([Document("A new note about the clock.", id="new")])
        assert monograph.remove(["keeper"]).removed == 1
        assert monograph.check() == []


@pytest.mark.parametrize(
    ("place", "value", "kind", "said"),
    [
        (60, schema.FORMAT + 1, NewerFormat, "has format 2; this version of Monograph reads up to 1"),
        (60, 0, DamagedFile, "format 0, which no version of Monograph writes"),
        (44, 99, DamagedFile, "unsupported file format"),  # SQLite's schema format.
    ],
)
def test_unknown_format_is_refused(committed: Path, place: int, value: int, kind: type[FileError], said: str) -> None:
    data = bytearray(committed.read_bytes())
    data[place : place + 4] = value.to_bytes(4, "big")
    committed.write_bytes(data)
    with pytest.raises(kind, match=said):
        Monograph.open(committed, HashEmbedder(32))
    assert committed.read_bytes() == data


if __name__ == "__main__":
    make(FIXTURE)
