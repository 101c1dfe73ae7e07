"""The file: how it is made, opened, refused, shared and closed."""

from __future__ import annotations

import gc
import multiprocessing
import os
import re
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from monograph import Document, Graph, Monograph
from monograph.errors import (
    BusyFile,
    ClosedFile,
    DamagedFile,
    FileError,
    NotAMonograph,
    ReadOnlyFile,
    ReplacedFile,
)
from monograph.store.file import schema
from monograph.store.file.database import Database, is_open
from support.models import HashEmbedder
from support.unprivileged import run_unprivileged


@pytest.fixture
def filled(tmp_path: Path, key: str | None) -> Path:
    path = tmp_path / "filled.mono"
    with Monograph.open(path, key=key) as monograph:
        monograph.add(
            [Document(f"Report number {n} about the lighthouse and its keeper. " * 30, id=f"d{n}") for n in range(60)]
        )
    return path


def test_new_file_has_the_documented_format(tmp_path: Path) -> None:
    path = tmp_path / "new.mono"
    Monograph.open(path).close()
    assert [one.name for one in tmp_path.iterdir()] == ["new.mono"]
    expected = {"application_id": schema.APPLICATION_ID, "user_version": schema.FORMAT, "page_size": 16_384,
                "journal_mode": "wal", "foreign_keys": 1, "secure_delete": 1, "synchronous": 2}  # fmt: skip
    with closing(Database(path)) as database:
        connection = database.connection()
        assert {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in expected} == expected
        assert connection.execute("PRAGMA mmap_size").fetchone()[0] > 1 << 30


def other_database(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (x)")


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda path: path.write_text("this is no database " * 100), NotAMonograph),
        (other_database, NotAMonograph),
        (Path.touch, DamagedFile),
        (Path.mkdir, NotAMonograph),
    ],
)
def test_foreign_file_is_refused_and_unchanged(
    tmp_path: Path, make: Callable[[Path], object], kind: type[FileError]
) -> None:
    path = tmp_path / "x.mono"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(kind) as caught:
        Monograph.open(path)
    assert str(path) in caught.value.message
    assert caught.value.hint
    assert (path.read_bytes() if path.is_file() else None) == before
    assert [one.name for one in tmp_path.iterdir()] == ["x.mono"]


def test_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotAMonograph, match="does not exist"):
        Monograph.open(tmp_path / "missing" / "x.mono")
    with pytest.raises(NotAMonograph, match="does not exist"):
        Monograph.open(tmp_path / "x.mono", create=False)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("key", [None])  # Of encrypted files: see test_encrypt.py.
@pytest.mark.parametrize("share", [0.0001, 0.3, 0.7, 0.999])
def test_truncated_file_is_refused_and_unchanged(filled: Path, share: float, key: str | None) -> None:
    data = filled.read_bytes()[: max(50, int(filled.stat().st_size * share))]
    filled.write_bytes(data)
    with pytest.raises(DamagedFile):
        Monograph.open(filled, key=key)
    assert filled.read_bytes() == data


def test_damaged_page_raises_damaged_file(filled: Path, key: str | None) -> None:
    data = bytearray(filled.read_bytes())
    for page in range(4, len(data) // 16_384):
        data[page * 16_384 : page * 16_384 + 200] = b"\xff" * 200
    filled.write_bytes(data)
    with pytest.raises(DamagedFile) as caught, Monograph.open(filled, key=key) as monograph:
        monograph.search("lighthouse", how="lexical")
        monograph.documents()
    assert str(filled) in caught.value.message


def test_closed_database_raises(filled: Path, key: str | None) -> None:
    monograph = Monograph.open(filled, key=key)
    monograph.close()
    monograph.close()
    with pytest.raises(ClosedFile):
        monograph.search("x")


def test_read_only_database_refuses_writes(filled: Path, key: str | None) -> None:
    before = filled.read_bytes()
    with Monograph.open(filled, read_only=True, key=key) as monograph:
        assert monograph.search("lighthouse", 3)
        with pytest.raises(ReadOnlyFile):
            monograph.add([Document("more")])
        with pytest.raises(ReadOnlyFile):
            monograph.remove(["d1"])
    assert filled.read_bytes() == before


def test_file_without_write_permission_can_be_searched(filled: Path, key: str | None) -> None:
    def search_and_remove() -> int:
        with Monograph.open(filled, key=key) as monograph:
            found = len(monograph.search("lighthouse", 3, how="lexical"))
            with pytest.raises(ReadOnlyFile):
                monograph.remove(["d1"])
        return found

    filled.chmod(0o444)
    filled.parent.chmod(0o555)
    try:
        assert run_unprivileged(search_and_remove) == 3
    finally:
        filled.parent.chmod(0o755)


def test_transaction_is_all_or_nothing(filled: Path, key: str | None) -> None:
    with closing(Database(filled, key=key)) as database:
        with pytest.raises(KeyError), database.write() as connection:
            connection.execute("DELETE FROM vectors")
            raise KeyError
        with database.read() as connection:
            assert connection.execute("SELECT count(*) FROM vectors").fetchone()[0] > 0


def test_reader_keeps_its_state_while_another_writes(filled: Path, key: str | None) -> None:
    count = "SELECT count(*) FROM documents"
    with closing(Database(filled, key=key)) as reader, closing(Database(filled, key=key)) as writer:
        with reader.read() as outer:
            before = outer.execute(count).fetchone()
            with writer.write() as connection:
                connection.execute(
                    """INSERT INTO documents (id, uri, title, metadata, sections, sha256, characters)
                    VALUES ('x', '', '', '{}', '[]', x'00', 0)"""
                )
            with reader.read() as inner:
                assert inner.execute(count).fetchone() == before
        with reader.read() as connection:
            assert connection.execute(count).fetchone() == (before[0] + 1,)


def test_locked_database_raises_busy_file(filled: Path, key: str | None) -> None:
    with closing(Database(filled, key=key)) as first, closing(Database(filled, key=key)) as second:
        second.connection().execute("PRAGMA busy_timeout = 50")
        with first.write() as connection:
            connection.execute("DELETE FROM vectors WHERE chunk = 1")
            with pytest.raises(BusyFile, match="in use"), second.write():
                pass


@pytest.mark.long
def test_threads_read_whole_commits_while_one_writes(filled: Path, key: str | None) -> None:
    done = threading.Event()
    with Monograph.open(filled, key=key) as monograph, ThreadPoolExecutor(6) as pool:

        def read() -> set[int]:
            counts = set()
            while not done.is_set():
                counts.add(len(monograph.search("lighthouse keeper", 5)))
            return counts

        readers = [pool.submit(read) for _ in range(6)]
        try:
            for number in range(15):
                monograph.add([Document(f"another lighthouse {number}", id=f"new{number}")])
                monograph.remove([f"d{number}"])
        finally:
            done.set()
        assert set[int]().union(*(reader.result() for reader in readers)) == {5}
        assert monograph.check() == []


def test_forked_process_gets_its_own_connections(filled: Path, key: str | None) -> None:
    code = f"""
import os
from monograph import Monograph, Document
monograph = Monograph.open({str(filled)!r}, key={key!r})
monograph.search("lighthouse", how="lexical")
child = os.fork()
if child == 0:
    monograph.add([Document("written by the child about penguins", id="child")])
    os._exit(len(monograph.search("penguins", 1, how="lexical")))
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 1, status
assert monograph.search("penguins", how="lexical")[0].chunk.document_id == "child"
monograph.add([Document("and by the parent", id="parent")])
assert monograph.check() == []
"""
    environment = {**os.environ, "TOKENIZERS_PARALLELISM": "false"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)


def add_one(path: Path, key: str | None, number: int, ready: Barrier) -> None:
    ready.wait(60)
    with Monograph.open(path, HashEmbedder(), key=key) as monograph:
        monograph.add([Document(f"text of {number}", id=str(number))])


def test_concurrent_opens_create_one_file(tmp_path: Path, key: str | None) -> None:
    path, forks = tmp_path / "race.mono", multiprocessing.get_context("fork")
    ready = forks.Barrier(4)
    children = [forks.Process(target=add_one, args=(path, key, number, ready)) for number in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * 4
    with Monograph.open(path, HashEmbedder(), key=key) as monograph:
        assert sorted(document.id for document in monograph.documents()) == ["0", "1", "2", "3"]
        assert monograph.check() == []


LOCKED = """
import fcntl, sys
with open(sys.argv[1], "r+b") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)
    except OSError:
        print("locked")
"""


def test_second_open_keeps_the_lock_of_the_first(tmp_path: Path, key: str | None) -> None:
    """POSIX drops all of a process's locks on a file when any of its descriptors is closed."""
    path = tmp_path / "x.mono"
    first = Database(path, key=key)
    with first.read():
        Database(path, key=key).close()
        asked = subprocess.run([sys.executable, "-c", LOCKED, str(path)], check=True, capture_output=True, text=True)
    first.close()
    assert asked.stdout == "locked\n"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are listed in /proc")
def test_closed_archive_leaves_no_open_connection(filled: Path, key: str | None) -> None:
    """A connection left open would be taken for one to the next file of that inode."""
    gc.disable()
    try:
        with Monograph.open(filled, key=key) as monograph:
            for how in ("lexical", "dense", "hybrid", "graph"):
                monograph.search("Who keeps the lighthouse?", how=how)
            monograph.search("Who keeps the lighthouse?", how=Graph(faithful=True))
            assert monograph.check() == []
            monograph.add([Document("Another one.", id="new")])
            monograph.remove(["new"], forget=True)
            monograph.stats()
        held = [os.readlink(one) for one in Path("/proc/self/fd").iterdir() if one.exists()]
    finally:
        gc.enable()
    assert not [one for one in held if str(filled) in one]


def moved(path: Path) -> None:
    path.rename(path.with_name("moved.mono"))


def replaced(path: Path) -> None:
    other = path.with_name("other.mono")
    Monograph.open(other).close()
    other.replace(path)


@pytest.mark.parametrize("change", [Path.unlink, moved, replaced])
def test_write_to_a_file_that_is_gone_raises(tmp_path: Path, change: Callable[[Path], None]) -> None:
    path = tmp_path / "x.mono"
    with Monograph.open(path) as monograph:
        monograph.add([Document("The lighthouse keeper wrote a letter.", id="d0")])
    with Monograph.open(path) as monograph:
        monograph.search("lighthouse", how="lexical")
        change(path)
        with pytest.raises(ReplacedFile, match=re.escape(str(path))) as caught:
            monograph.add([Document("Another letter.", id="d1")])
        assert "open it again" in caught.value.hint
        for write in (lambda: monograph.remove(["d0"]), lambda: monograph.sync(tmp_path), monograph.compact):
            with pytest.raises(ReplacedFile):
                write()
        with ThreadPoolExecutor(1) as other, pytest.raises(ReplacedFile):
            other.submit(monograph.search, "lighthouse").result()
        assert [hit.chunk.document_id for hit in monograph.search("lighthouse", how="lexical")] == ["d0"]
    if change is replaced:
        with Monograph.open(path) as monograph:
            assert monograph.documents() == []
            assert monograph.check() == []


def test_file_that_is_replaced_within_a_write_is_not_committed(tmp_path: Path) -> None:
    path = tmp_path / "x.mono"
    with closing(Database(path)) as database, pytest.raises(ReplacedFile), database.write() as connection:
        connection.execute("UPDATE settings SET value = value")
        replaced(path)


def test_closing_waits_for_a_transaction_of_another_thread(tmp_path: Path) -> None:
    database = Database(tmp_path / "x.mono")
    began, closed = threading.Event(), threading.Event()

    def names() -> Iterator[tuple[str, int]]:
        for n in range(4):
            yield f"name{n}", n
            if n == 1:  # SQLite is in the middle of the statement.
                began.set()
                assert closed.wait(60)

    def write() -> int:
        with database.write() as connection:
            connection.execute("CREATE TEMP TABLE drawn (name TEXT, value INTEGER)")
            connection.executemany("INSERT INTO drawn VALUES (?, ?)", names())
            (count,) = connection.execute("SELECT count(*) FROM drawn").fetchone()
        return int(count)

    with ThreadPoolExecutor(1) as pool:
        written = pool.submit(write)
        assert began.wait(60)
        database.close()
        assert is_open(database.path)
        closed.set()
        assert written.result(60) == 4
    assert not is_open(database.path)
    with pytest.raises(ClosedFile), database.read():
        pass


def test_closing_inside_a_read_ends_with_it(tmp_path: Path) -> None:
    database = Database(tmp_path / "x.mono")
    with database.read() as connection:
        database.close()
        assert connection.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(ClosedFile), database.read():
            pass
    assert not is_open(database.path)
    database.close()
