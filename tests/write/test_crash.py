"""Killed, interrupted, raced, out of room: nothing that was committed is lost, nothing is paid for twice."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import subprocess
from collections import Counter
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from monograph import Document, Monograph
from monograph.derive import derivation
from monograph.errors import StorageFull
from monograph.write import apply
from support.forks import Forks
from support.models import HashEmbedder
from support.paths import TESTS

PREPARED = f"""
import signal, sys, time
sys.path.insert(0, {str(TESTS)!r})
from pathlib import Path
from support.models import HashEmbedder
from monograph import Monograph
from monograph.derive import derivation
from monograph.write import apply
apply.BATCH_FILES = derivation.AT_ONCE = 4
"""
SYNC = """
log, folder, kill_after, file, *key = sys.argv[1:]
begun = time.process_time()
signal.setitimer(signal.ITIMER_PROF, float(kill_after))
with Monograph.open(file, HashEmbedder(log=Path(log)), key=key[0] if key else None) as monograph:
    monograph.sync(folder)
print(time.process_time() - begun)
"""
"""A sync that prints its seconds of CPU, and is killed after so many: a clock that other work does not move."""
SYNCS = Forks(PREPARED, SYNC)


def fill(folder: Path, count: int) -> None:
    for number in range(count):
        text = "\n\n".join(
            f"Entry {number}.{part}: the harbour master counted {number * part} boats. " * 12 for part in range(4)
        )
        (folder / f"{number:03}.txt").write_text(text)


def contents(path: Path, key: str | None) -> list[tuple[str, str]]:
    with Monograph.open(path, key=key) as monograph:
        return [(chunk.id, chunk.text) for one in monograph.documents() for chunk in monograph.chunks(one.id)]


def sync(tmp_path: Path, folder: Path, key: str | None, file: str, kill_after: float = 0) -> tuple[int, str]:
    """Sync the folder in a process; return its exit code and what it printed."""
    done = SYNCS.run("sync", tmp_path / "log", folder, kill_after, tmp_path / file, *([] if key is None else [key]))
    return done.returncode, done.stdout


KILLS = 50


@pytest.mark.long
@pytest.mark.timeout(900)
def test_killed_sync_loses_nothing_and_embeds_nothing_twice(tmp_path: Path, folder: Path, key: str | None) -> None:
    fill(folder, 60)
    most = KILLS if key is None else KILLS // 4
    code, printed = sync(tmp_path, folder, key, "measured.mono")
    assert code == 0
    whole = float(printed)
    expected = contents(tmp_path / "measured.mono", key)
    log, path = tmp_path / "log", tmp_path / "killed.mono"
    moments = random.Random(50)
    kills = finished = documents = in_a_row = 0
    log.unlink()
    while kills < most or not finished:
        kill_after = moments.uniform(0, whole) if kills < most else 0
        code, _ = sync(tmp_path, folder, key, "killed.mono", kill_after)
        if code == -signal.SIGPROF:
            kills, in_a_row = kills + 1, in_a_row + 1
            if path.exists():
                with Monograph.open(path, key=key) as monograph:
                    assert monograph.check() == []
                    assert len(monograph.documents()) >= documents
                    documents = len(monograph.documents())
            continue
        # It came to its end: all is there, and a kill has cost at most the group that was embedded and not yet remembered.
        assert code == 0
        assert contents(path, key) == expected
        embedded = Counter(log.read_text().split())
        assert sum(count - 1 for count in embedded.values()) <= 4 * in_a_row
        finished += 1
        documents = in_a_row = 0
        for name in (*tmp_path.glob("killed.mono*"), log):
            name.unlink()
    assert finished >= 1


def sync_at_once(file: Path, folder: Path, key: str | None, ready: Barrier) -> None:
    ready.wait(60)
    with Monograph.open(file, HashEmbedder(), key=key) as monograph:
        monograph.sync(folder)


def test_two_processes_that_sync_at_once_give_the_file_of_one(
    tmp_path: Path, folder: Path, key: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(folder, 12)
    monkeypatch.setattr(apply, "BATCH_FILES", 4)
    monkeypatch.setattr(derivation, "AT_ONCE", 4)
    forks = multiprocessing.get_context("fork")
    ready = forks.Barrier(2)
    children = [forks.Process(target=sync_at_once, args=(tmp_path / "both.mono", folder, key, ready)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]
    with Monograph.open(tmp_path / "both.mono", key=key) as monograph:
        assert monograph.check() == []
        assert monograph.stats().documents == 12
    with Monograph.open(tmp_path / "alone.mono", HashEmbedder(), key=key) as monograph:
        monograph.sync(folder)
    assert contents(tmp_path / "both.mono", key) == contents(tmp_path / "alone.mono", key)


def test_failing_embedder_loses_no_stored_embedding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derivation, "AT_ONCE", 5)
    embedder = HashEmbedder()
    documents = [Document(f"text number {n}", id=str(n)) for n in range(20)]
    real = embedder.embed

    def failing(texts, kind="document"):  # type: ignore[no-untyped-def]
        if len(embedder.texts) >= 10:
            raise ConnectionError("the model is down")
        return real(texts, kind)

    with Monograph.open(tmp_path / "x.mono", embedder) as monograph:
        embedder.embed = failing  # type: ignore[method-assign]
        with pytest.raises(ConnectionError):
            monograph.add(documents)
        assert monograph.documents() == []
        embedder.embed = real  # type: ignore[method-assign]
        report = monograph.add(documents)
        assert (report.embedded, report.reused) == (10, 10)
    assert len(embedder.texts) == len(set(embedder.texts)) == 20


@pytest.fixture
def small_disk(tmp_path: Path) -> Path:
    """A file system of 3 MB."""
    place = tmp_path / "small"
    place.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("mounting a small file system needs root")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here: {done.stderr.strip()}")
    return place


@pytest.mark.long
def test_full_disk_raises_and_keeps_stored_documents(small_disk: Path) -> None:
    try:
        path = small_disk / "x.mono"
        documents = [Document(f"The {n}th crate holds {n * 7} lamps. " * 60, id=str(n)) for n in range(2000)]
        with Monograph.open(path, HashEmbedder()) as monograph:
            monograph.add(documents[:20])
            with pytest.raises(StorageFull) as caught:
                monograph.add(documents)
            assert str(path) in caught.value.message
            stored = {document.id for document in monograph.documents()}
            assert stored >= {str(n) for n in range(20)}
            assert monograph.search("crate", 3)
        subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
        with Monograph.open(path, HashEmbedder()) as monograph:
            assert {document.id for document in monograph.documents()} >= stored
            monograph.add(documents)
            assert monograph.stats().documents == 2000
            assert monograph.check() == []
    finally:
        # Lazily: what the system still looks at for a moment must not keep the folder.
        subprocess.run(["umount", "--lazy", str(small_disk)], check=True)
