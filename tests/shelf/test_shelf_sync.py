"""A shelf that follows folders takes from them what one file does, and looks them through once."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Monograph
from monograph.errors import SourceMissing
from monograph.shelf import Shelf, build, remove
from monograph.values import Report
from support.corpora import SENTENCES
from support.models import HashEmbedder
from support.properties import examples

SHARDS = 3


@dataclass(frozen=True, slots=True)
class Edit:
    """What is done to files before a sync; ``turn`` makes texts and times that never were there."""

    what: str
    name: int
    other: int
    turn: int

    def do(self, folder: Path) -> None:
        """Do it; what cannot be done is not."""
        path, sub = folder / f"n{self.name}.md", folder / "sub"
        if self.what == "write":
            path.write_text(f"# Note\n{SENTENCES[self.turn % len(SENTENCES)]}")
        elif self.what == "inner":
            sub.mkdir(exist_ok=True)
            (sub / path.name).write_text(SENTENCES[self.turn % len(SENTENCES)])
        elif self.what == "broken":
            (folder / f"l{self.name}.md").unlink(missing_ok=True)
            (folder / f"l{self.name}.md").symlink_to("nowhere")
        elif self.what == "binary":
            path.with_suffix(".pdf").write_bytes(b"%PDF-1.4 none")
        elif self.what == "ignore":
            (folder / ".monographignore").write_text(f"{path.name}\n")
        elif path.is_file():
            self.change(path, folder / f"n{self.other}.md")

    def change(self, path: Path, other: Path) -> None:
        """Do it to a file that is there."""
        state = path.stat()
        if self.what == "touch":
            os.utime(path, ns=(self.turn, self.turn))
        elif self.what == "behind":  # Other bytes of the same size, at the same time.
            path.write_text(path.read_text()[::-1])
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        elif self.what == "remove":
            path.unlink()
        elif self.what == "rename" and not other.exists():
            path.rename(other)


EDITS = st.builds(
    Edit,
    st.sampled_from(
        ["write"] * 4 + ["inner", "touch", "behind", "remove", "remove", "rename", "rename", "broken", "binary", "ignore"]
    ),
    st.integers(0, 6), st.integers(0, 6), st.integers(1, 1_000),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Turn:
    """Edits, whether the folder moves or is emptied then, and how it is synced."""

    edits: list[Edit]
    move: bool
    empty: bool
    verify: bool
    prune: bool


TURNS = st.builds(
    Turn,
    st.lists(EDITS, max_size=6),
    st.booleans(),
    st.sampled_from([False] * 4 + [True]),
    st.booleans(),
    st.booleans(),
)


def told(report: Report) -> object:
    """What must be the same of a report; a file that was renamed may be in another shard, and so embedded again."""
    counts = (report.added, report.changed, report.removed, report.same, report.chunks_added, report.chunks_removed)
    return counts, Counter(report.problems), report.moved


@pytest.mark.long
@settings(max_examples=examples(6))
@given(turns=st.lists(TURNS, min_size=1, max_size=3))
def test_a_shelf_follows_a_folder_as_one_file_does(turns: list[Turn]) -> None:
    with tempfile.TemporaryDirectory() as made:
        here = Path(made)
        folder = here / "notes"
        folder.mkdir()
        for number in range(4):
            (folder / f"n{number}.md").write_text(f"# Note {number}\n{SENTENCES[number]}")
        with Monograph.open(here / "one.mono", HashEmbedder(8)) as one:
            for number, turn in enumerate(turns):
                for edit in turn.edits:
                    edit.do(folder)
                if turn.empty:
                    for path in list(folder.iterdir()):
                        shutil.rmtree(path) if path.is_dir() else path.unlink()
                if turn.move:
                    folder = folder.rename(here / f"moved{number}")
                wanted = one.sync(folder, verify=turn.verify, prune=turn.prune)
                found = build(
                    here / "shelf", sources=[folder], shards=SHARDS, verify=turn.verify, prune=turn.prune,
                    embedder=HashEmbedder(8), home=here / "home",
                )  # fmt: skip
                assert told(found) == told(wanted)
            with Shelf.open(here / "shelf", embedder=HashEmbedder(8), home=here / "home") as shelf:
                assert shelf.check() == []
                assert shelf.stats().documents == one.stats().documents
                for document in one.documents():
                    assert shelf.document(document.id).text == one.document(document.id).text


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for number in range(12):
        (folder / f"{number}.md").write_text(f"# Note {number}\n{SENTENCES[number]}")
    return folder


SCANNED: list[str] = []
sys.addaudithook(lambda event, told: SCANNED.append(str(told[0])) if event == "os.scandir" else None)


def test_shelf_sync_scans_a_folder_once(folder: Path, tmp_path: Path) -> None:
    for expected in (12, 0):
        SCANNED.clear()
        report = build(
            tmp_path / "shelf", sources=[folder], shards=SHARDS, embedder=HashEmbedder(8), home=tmp_path / "home"
        )
        assert report.added == expected
        assert SCANNED.count(str(folder)) == 1


def test_folder_inside_one_machines_home_has_not_moved_for_another(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    notes = here / "notes"
    notes.mkdir(parents=True)
    for number in range(3):
        (notes / f"{number}.md").write_text(f"# Note {number}\n{SENTENCES[number]}")

    def built(home: Path) -> Report:
        return build(tmp_path / "shelf", sources=[notes], embedder=HashEmbedder(8), home=home)

    assert built(here).added == 3
    found = built(there)
    assert (found.same, found.moved) == (3, ())
    remove(tmp_path / "shelf", ["notes/0.md"], home=there)
    found = built(here)
    assert (found.added, found.same, found.moved) == (1, 2, ())


def test_shelf_build_raises_for_a_missing_folder_before_it_writes(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceMissing):
        build(tmp_path / "shelf", sources=[folder, tmp_path / "nowhere"], home=tmp_path / "home")
    assert list((tmp_path / "shelf").iterdir()) == list((tmp_path / "home").iterdir()) == []
