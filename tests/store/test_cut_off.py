"""Another program cuts off a file that is open: errors, and the process goes on."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from monograph import Document, Monograph
from monograph.errors import DamagedFile, FileError, ReplacedFile

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which file a fault is in")

Use = Callable[[Monograph], object]


def search(monograph: Monograph) -> object:
    return [monograph.search("lighthouse keeper", 5, how=how) for how in ("lexical", "dense", "graph")]


def write(monograph: Monograph) -> object:
    return monograph.add([Document("Another report about the lighthouse. " * 60, id="new")])


def iterate(monograph: Monograph) -> object:
    return [monograph.document(document.id) for document in monograph.documents()]


USES = pytest.mark.parametrize("use", [search, write, iterate])
SHARES = pytest.mark.parametrize("share", [0.0, 0.5])


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("golden") / "golden.mono"
    with Monograph.open(path) as monograph:
        monograph.add(
            [Document(f"Report {n} of keeper {n * 7} at the lighthouse. " * 90, id=f"d{n}") for n in range(40)]
        )
    return path


@pytest.fixture
def path(golden: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(golden, tmp_path / "x.mono"))


def cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


@USES
@SHARES
def test_file_cut_off_while_open_raises_damaged_file(path: Path, use: Use, share: float) -> None:
    with Monograph.open(path) as monograph:
        monograph.search("lighthouse", how="lexical")
        cut(path, share)
        with pytest.raises(DamagedFile):
            use(monograph)
        with pytest.raises(DamagedFile):
            write(monograph)
    with pytest.raises(DamagedFile):
        Monograph.open(path)


@USES
@SHARES
def test_index_of_the_log_cut_off_while_open_loses_nothing(path: Path, use: Use, share: float) -> None:
    with Monograph.open(path) as monograph:
        monograph.add([Document("The keeper of the lighthouse left.", id="left")])
        cut(path.with_name("x.mono-shm"), share)
        with pytest.raises(ReplacedFile, match="-shm"):
            use(monograph)
        with pytest.raises(ReplacedFile):
            Monograph.open(path)
    with Monograph.open(path) as monograph:
        assert len(monograph.documents()) == 41
        assert monograph.check() == []
        assert monograph.add([Document("It works.")]).added == 1


@USES
def test_smaller_file_copied_over_an_open_one_is_refused(path: Path, tmp_path: Path, use: Use) -> None:
    Monograph.open(tmp_path / "small.mono").close()
    with Monograph.open(path) as monograph:
        monograph.search("lighthouse", how="lexical")
        shutil.copyfile(tmp_path / "small.mono", path)
        with pytest.raises(FileError):
            use(monograph)


OTHER_FILE = """
import mmap, os, sys
from monograph import Monograph
archive = Monograph.open(sys.argv[1])
with open(sys.argv[1] + ".other", "w+b") as file:
    file.write(bytes(1 << 16))
    file.flush()
    mapped = mmap.mmap(file.fileno(), 1 << 16)
    os.ftruncate(file.fileno(), 0)
    print("cut", flush=True)
    mapped[40_000]
"""


@pytest.mark.long
@pytest.mark.parametrize("options", [[], ["-X", "faulthandler"]])
def test_fault_in_another_file_ends_the_process_as_before(path: Path, options: list[str]) -> None:
    command = [sys.executable, *options, "-c", OTHER_FILE, str(path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (-signal.SIGBUS, "cut\n")
    assert ("Bus error" in done.stderr) == bool(options)
