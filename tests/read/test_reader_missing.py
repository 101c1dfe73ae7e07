"""Files whose reader is in an extra that is not installed."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from monograph.errors import ReaderMissing

# Read by every Python that starts with this folder on its path: the processes that files are read in as well.
HIDE = """
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("PIL", "pypdfium2", "rapidocr"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Hidden())
"""
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c4944415408d763f8ffff3f0005fe02fe"
    "dccc59e70000000049454e44ae426082"
)


@pytest.fixture
def hidden(tmp_path: Path) -> Path:
    """A folder that hides the readers of images and PDFs from any Python that has it on its path."""
    made = tmp_path / "hide"
    made.mkdir()
    (made / "sitecustomize.py").write_text(HIDE)
    return made


def run(*arguments: object, without: Path | None = None, code: int = 0) -> tuple[str, str]:
    """Standard output and standard error of a command."""
    environment = {**os.environ, "PYTHONPATH": str(without)} if without else dict(os.environ)
    command = [sys.executable, "-m", "monograph.app.cli", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout, done.stderr


IMAGE = "an image, and the extra 'ocr' is not installed  (pip install \"monograph[ocr]\", then monograph retry FILE)"


@pytest.mark.long
def test_missing_extra_is_reported_once_per_format(folder: Path, tmp_path: Path, hidden: Path) -> None:
    file = tmp_path / "x.mono"
    (folder / "note.txt").write_text("A note that can be read.")
    for number in range(4):
        (folder / f"photo{number}.png").write_bytes(PNG)
    (folder / "scan.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n")
    said, problems = run("sync", file, folder, without=hidden, code=3)
    assert "1 added" in said
    assert problems.splitlines() == [
        "5 not stored:",
        f"  4 files, {folder.name}/photo0.png and others: {IMAGE}",
        f"  {folder.name}/scan.pdf: a PDF, and the extra 'documents' is not installed"
        '  (pip install "monograph[documents]", then monograph retry FILE)',
    ]
    said, problems = run("sync", file, folder, without=hidden)
    assert ("5 new" in said, "files 6 unchanged" in said, problems) == (False, True, "")
    assert json.loads(run("sync", file, folder, "--dry-run", "--json", without=hidden)[0])["problems"] == []

    said, problems = run("sources", file, without=hidden)
    assert f"4 files, {folder.name}/photo0.png and others: {IMAGE}" in problems
    (source,) = json.loads(run("sources", file, "--json", without=hidden)[0])
    assert [one["needs"] for one in source["failures"]] == ["PIL"] * 4 + ["pypdfium2"]

    said, problems = run("retry", file, without=hidden, code=3)
    assert "4 files" in problems
    # One that changed is read again; one that is gone is told of no more.
    (folder / "photo0.png").write_bytes(PNG + b"\0")
    (folder / "photo1.png").unlink()
    said, problems = run("sync", file, folder, without=hidden, code=3)
    assert problems.splitlines() == ["1 not stored:", f"  {folder.name}/photo0.png: {IMAGE}"]
    assert len(json.loads(run("sources", file, "--json", without=hidden)[0])[0]["failures"]) == 4
    assert run("check", file)[0].strip() == "all is well"
    assert "3 files" in run("sync", file, folder, "--verify", without=hidden, code=3)[1]


def test_missing_extra_is_reported_for_images_in_an_archive(folder: Path, tmp_path: Path, hidden: Path) -> None:
    import zipfile

    file = tmp_path / "x.mono"
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("note.txt", "A note that can be read.")
        archive.writestr("one.png", PNG)
        archive.writestr("two.png", PNG)
    assert (
        f"2 files, {folder.name}/all.zip!/one.png and others: {IMAGE}"
        in run("sync", file, folder, without=hidden, code=3)[1]
    )
    assert run("sync", file, folder, without=hidden)[1] == ""


@pytest.mark.long
def test_files_are_read_once_their_extra_is_installed(folder: Path, tmp_path: Path, hidden: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the extra documents is not installed")
    file = tmp_path / "x.mono"
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\n1 0 obj\n")
    run("sync", file, folder, without=hidden, code=3)
    assert run("sync", file, folder, without=hidden)[1] == ""
    assert "a broken PDF" in run("sync", file, folder, code=3)[1]
    run("sources", file)
    assert "a broken PDF" in run("retry", file, code=3)[1]


def test_reader_missing_error_can_be_pickled() -> None:
    error = pickle.loads(pickle.dumps(ReaderMissing("what", "hint", "PIL")))
    assert (error.message, error.hint, error.needs) == ("what", "hint", "PIL")
