"""A copy taken while others write is one state of the file, checked, and never half there."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

import pytest

from monograph import Document, Monograph, Progress
from monograph.errors import BusyFile, DamagedFile, InputError, NotAMonograph
from monograph.store.file.database import Database
from support.forks import run
from support.models import HashEmbedder
from support.paths import TESTS

BATCH = 5
WRITE = """
import sys
sys.path.insert(0, {tests!r})
from support.models import HashEmbedder
from monograph import Document, Monograph
name = sys.argv[1]
with Monograph.open({path!r}, HashEmbedder(), key={key!r}) as archive:
    number = 0
    while True:
        texts = [f"Boat {{number}} of {{name}} came in, part {{part}}. " * 20 for part in range({batch})]
        ids = [f"{{name}}/{{number}}/{{part}}" for part in range({batch})]
        archive.add(Document(text, id=one) for text, one in zip(texts, ids))
        if number % 4 == 3:
            archive.remove([f"{{name}}/{{number - 3}}/{{part}}" for part in range({batch})])
        number += 1
        print(number, flush=True)
"""
READ = """
import sys
from monograph import Monograph
with Monograph.open({path!r}, read_only=True, key={key!r}) as archive:
    while True:
        print(len(archive.search("boat came in", 9, how="lexical")), flush=True)
"""


def filler(count: int, start: int = 0) -> list[Document]:
    return [
        Document(f"Note {n} on gardens, tea and bicycles. " * (20 + n % 9), id=f"n{n}")
        for n in range(start, start + count)
    ]


def ids(path: Path, key: str | None) -> set[str]:
    with Monograph.open(path, create=False, key=key) as opened:
        assert opened.check() == []
        return {one.id for one in opened.documents()}


@pytest.fixture
def path(tmp_path: Path, key: str | None) -> Path:
    made = tmp_path / "notes.mono"
    with Monograph.open(made, HashEmbedder(), key=key) as opened:
        opened.add(filler(40))
    return made


def left(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def test_backup_keeps_commits_that_a_plain_copy_loses(path: Path, tmp_path: Path, key: str | None) -> None:
    with Monograph.open(path, HashEmbedder(), key=key) as opened:
        opened.add(filler(3, start=100))
        assert opened.backup(tmp_path / "backup.mono") == tmp_path / "backup.mono"
        shutil.copy(path, tmp_path / "copy.mono")
        held = {one.id for one in opened.documents()}
    assert {"n100", "n101", "n102"} <= held
    assert ids(tmp_path / "backup.mono", key) == held
    assert ids(tmp_path / "copy.mono", key) == held - {"n100", "n101", "n102"}


def test_backup_answers_as_its_file(path: Path, tmp_path: Path, key: str | None) -> None:
    with Monograph.open(path, HashEmbedder(), key=key) as opened:
        opened.backup(tmp_path / "backup.mono")
        with Monograph.open(tmp_path / "backup.mono", HashEmbedder(), key=key) as copy:
            for how in ("lexical", "dense", "hybrid", "graph"):
                assert copy.search("bicycles and tea", 7, how=how) == opened.search("bicycles and tea", 7, how=how)
            assert copy.stats().tables == opened.stats().tables


@pytest.mark.long
def test_backup_is_consistent_while_two_processes_write_and_two_read(
    path: Path, tmp_path: Path, key: str | None
) -> None:
    names = {"tests": str(TESTS), "path": str(path), "batch": BATCH, "key": key}
    scripts = [[WRITE, "a"], [WRITE, "b"], [READ], [READ]]
    children = [
        subprocess.Popen([sys.executable, "-c", code.format(**names), *rest], stdout=subprocess.PIPE, text=True)
        for code, *rest in scripts
    ]
    try:
        said = [int(str(child.stdout and child.stdout.readline())) for child in children]  # all are at work
        with Monograph.open(path, HashEmbedder(), key=key) as opened:
            for number in range(6):
                steps: list[Progress] = []
                committed = {one.id for one in opened.documents()}
                copy = opened.backup(tmp_path / f"{number}.mono", progress=steps.append)
                found = ids(copy, key)
                sizes = Counter(one.rpartition("/")[0] for one in found if "/" in one)
                assert set(sizes.values()) == {BATCH}  # each commit whole or not at all
                gone = {one for one in committed - found if int(one.split("/")[1]) % 4}
                assert gone == set()  # but for what a writer takes out again, all that was there is there
                assert steps[-1].done == steps[-1].total
        assert [child.poll() for child in children] == [None] * 4
    finally:
        for child in children:
            child.kill()
            child.wait()
            assert child.stdout
            child.stdout.close()
    assert said[:2] == [1, 1]
    assert len(ids(path, key)) > 40


def test_backup_is_consistent_while_threads_write(path: Path, tmp_path: Path, key: str | None) -> None:
    done = threading.Event()

    def write(name: str) -> None:
        for number in count():
            if done.is_set():
                return
            opened.add(Document(f"Thread {name} wrote {number}.", id=f"{name}/{number}/{n}") for n in range(2))

    with Monograph.open(path, HashEmbedder(), key=key) as opened, ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write, name) for name in "ab"]
        try:
            copies = [opened.backup(tmp_path / f"{number}.mono") for number in range(4)]
        finally:
            done.set()
        assert [writer.result() for writer in writers] == [None, None]
    for copy in copies:
        assert set(Counter(one.rpartition("/")[0] for one in ids(copy, key) if "/" in one).values()) <= {2}


def test_backup_overwrites_only_on_request(path: Path, tmp_path: Path, key: str | None) -> None:
    copy = tmp_path / "copy.mono"
    with Monograph.open(path, HashEmbedder(), key=key) as opened:
        for there in (copy, path, tmp_path, tmp_path / "." / "notes.mono"):
            if there == copy:
                copy.write_bytes(b"precious")
            with pytest.raises(InputError) as caught:
                opened.backup(there)
            assert str(there) in caught.value.message
            assert caught.value.hint
        assert copy.read_bytes() == b"precious"
        with pytest.raises(InputError, match="itself"):
            opened.backup(path, overwrite=True)
        with pytest.raises(NotAMonograph, match="does not exist"):
            opened.backup(tmp_path / "missing" / "copy.mono")
        opened.backup(copy, overwrite=True)
        held = left(tmp_path)
    assert held == ["copy.mono", "notes.mono", "notes.mono-shm", "notes.mono-wal"]
    assert ids(copy, key) == ids(path, key)


def test_backup_ignores_the_log_of_a_previous_file(path: Path, tmp_path: Path, key: str | None) -> None:
    """SQLite would replay a log that lies beside the copy into it."""
    copy = tmp_path / "copy.mono"
    with (
        Monograph.open(path, HashEmbedder(), key=key) as opened,
        Monograph.open(copy, HashEmbedder(), key=key) as other,
    ):
        other.add(filler(1))
        with pytest.raises(BusyFile, match="copy.mono"):
            opened.backup(copy, overwrite=True)
        assert [one.id for one in other.documents()] == ["n0"]
    (tmp_path / "new.mono-wal").write_bytes(b"of a file that is gone")
    with Monograph.open(path, HashEmbedder(), key=key) as opened, pytest.raises(BusyFile, match="new.mono-wal"):
        opened.backup(tmp_path / "new.mono")


def test_backup_of_a_read_only_file_keeps_permissions(path: Path, tmp_path: Path, key: str | None) -> None:
    path.chmod(0o600)
    before = path.read_bytes()
    with Monograph.open(path, read_only=True, key=key) as opened:
        opened.backup(tmp_path / "backup.mono")
    assert stat.S_IMODE((tmp_path / "backup.mono").stat().st_mode) == 0o600
    assert ids(tmp_path / "backup.mono", key) == {f"n{n}" for n in range(40)}
    assert path.read_bytes() == before


class Stop(Exception):
    pass


def test_backup_stopped_by_its_progress_leaves_nothing(path: Path, tmp_path: Path, key: str | None) -> None:
    def stop(progress: Progress) -> None:
        assert progress.total > 0
        raise Stop

    with Monograph.open(path, HashEmbedder(), key=key) as opened:
        before = left(tmp_path)
        with pytest.raises(Stop):
            opened.backup(tmp_path / "backup.mono", progress=stop)
        assert left(tmp_path) == before
        opened.add(filler(1, start=500))
        assert opened.backup(tmp_path / "backup.mono").exists()


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from support.models import HashEmbedder
from monograph import Monograph
from monograph.library import copies
copies.PAGES_AT_ONCE = 1
def wait(progress):
    if progress.done >= progress.total * {share}:
        print("now", flush=True)
        sys.stdin.readline()
with Monograph.open({path!r}, HashEmbedder(), key={key!r}) as opened:
    opened.backup({copy!r}, progress=wait, overwrite={overwrite})
"""


@pytest.mark.parametrize(
    "share", [pytest.param(0.0, marks=pytest.mark.long), 0.5, pytest.param(1.0, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("overwrite", [pytest.param(False, marks=pytest.mark.long), True])
def test_killed_backup_leaves_no_half_copy(
    path: Path, tmp_path: Path, share: float, overwrite: bool, key: str | None
) -> None:
    copy = tmp_path / "copy.mono"
    if overwrite:
        with Monograph.open(copy, HashEmbedder(), key=key) as older:
            older.add(filler(2))
    program = KILLED.format(tests=str(TESTS), path=str(path), copy=str(copy), share=share, overwrite=overwrite, key=key)
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout
        assert child.stdout.readline() == "now\n"
        child.kill()
    assert copy.exists() == overwrite
    if overwrite:
        assert ids(copy, key) == {"n0", "n1"}
    with Monograph.open(path, HashEmbedder(), key=key) as opened:
        opened.backup(copy, overwrite=overwrite)
    assert ids(copy, key) == ids(path, key)


def test_backup_of_a_damaged_file_raises(path: Path, tmp_path: Path, key: str | None) -> None:
    database = Database(path, key=key)
    with database.write() as connection:
        connection.execute("DELETE FROM vectors WHERE chunk < 4")
    database.close()
    with Monograph.open(path, HashEmbedder(), key=key) as opened:
        with pytest.raises(DamagedFile, match="3 chunks without a vector") as caught:
            opened.backup(tmp_path / "backup.mono")
        assert caught.value.hint == f"monograph check {path} --repair, then back up again"
        assert not (tmp_path / "backup.mono").exists()
        opened.check(repair=True)
        opened.backup(tmp_path / "backup.mono")
    assert ids(tmp_path / "backup.mono", key) == ids(path, key)


@pytest.mark.long
def test_backup_command_writes_a_copy(
    path: Path, tmp_path: Path, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONOGRAPH_KEY", key or "")
    copy = tmp_path / "copy.mono"
    monkeypatch.setenv("COLUMNS", "200")
    assert json.loads(run("backup", path, copy, "--json")) == {"copy": str(copy), "bytes": copy.stat().st_size}
    again = run("backup", path, copy, code=2)
    assert f"error: {copy} exists already" in again
    assert "--overwrite" in again
    assert run("backup", path, copy, "--overwrite").startswith(f"{copy}: ")
    run("backup", tmp_path / "none.mono", copy, code=1)
    assert ids(copy, key) == ids(path, key)
