"""Reading ahead changes nothing but the time a cold search takes."""

from __future__ import annotations

import mmap
import os
import random
import sqlite3
import struct
import sys
import tempfile
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.store.file import memo
from monograph.store.file.database import Database
from monograph.store.file.errors import path_of
from monograph.store.vectors import clusters, vectors
from monograph.store.words.pages import FilePages, Key, descriptor_of
from monograph.store.words.prefetch import Prefetcher
from monograph.vectors.design import Design
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.search import VectorQuery
from support.properties import examples

SMALL = Design(cluster_size=20, exact_below=0)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells which files a process has open")


def built(path: Path, design: Design = SMALL) -> tuple[Database, np.ndarray]:
    database = Database(path)
    made = np.random.default_rng(1).standard_normal((600, 16)).astype(np.float32)
    with database.write() as connection:
        memo.put(connection, memo.VECTOR, ((b"%d" % row, vectors.pack(one), 0) for row, one in enumerate(made)))
        EcoVectorIndex(design=design).insert(connection, np.arange(1, 601), made)
    return database, made


def pages_of(connection: sqlite3.Connection) -> FilePages:
    descriptor = descriptor_of(path_of(connection))
    pages = None if descriptor is None else FilePages.of(descriptor)
    assert pages is not None
    return pages


LEAF = 0x0D  # A page of a table's rows (the file format's section 1.6).


def chain(written: bytes, page_size: int, page: int, told: set[int]) -> bytes:
    """What a chain of pages holds, each of which must have been told of: its pages may lie here and there."""
    held = b""
    while page:
        assert page in told
        body = written[(page - 1) * page_size : page * page_size]
        held, page = held + body[4:], int.from_bytes(body[:4], "big")
    return held


@LINUX
@given(
    st.sampled_from([512, 1_024, 4_096, 65_536]),
    st.dictionaries(st.integers(1, 1 << 40), st.integers(0, 9_000), min_size=1, max_size=120),
    st.data(),
)
@settings(max_examples=examples(300))
@pytest.mark.long
def test_announced_pages_contain_the_rows(page_size: int, sizes: dict[int, int], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as place, closing(sqlite3.connect(Path(place) / "p.sqlite")) as connection:
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute("CREATE TABLE held (row INTEGER PRIMARY KEY, body BLOB)")
        # Rows that go in any order leave free pages, into which the bodies come: their pages lie here and there.
        connection.executemany("INSERT INTO held VALUES (?, zeroblob(1500))", ((row,) for row in range(60)))
        gone = random.Random(len(sizes)).sample(range(60), 60)
        connection.executemany("DELETE FROM held WHERE row = ?", ((row,) for row in gone))
        bodies = {row: random.Random(row).randbytes(size) for row, size in sizes.items()}
        connection.executemany("INSERT INTO held VALUES (?, ?)", bodies.items())
        connection.commit()
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema").fetchone()
        pages = pages_of(connection)
        assert pages.size == page_size
        written = (Path(place) / "p.sqlite").read_bytes()
        wanted = data.draw(st.sets(st.sampled_from(sorted(sizes)), min_size=1))
        levels = list(pages.levels(root, [*wanted, 1 << 41]))
        depth = next(at for at, runs in enumerate(levels) if written[(runs[0][0] - 1) * page_size] == LEAF)
        leaves = b"".join(written[(page - 1) * page_size : page * page_size] for page, _ in levels[depth])
        told = {page + more for runs in levels for page, count in runs for more in range(count)}
        runs = [chain(written, page_size, page, told) for page, _ in levels[depth + 1]]
        inside = {row for row in wanted if bodies[row] in leaves}
        outside = wanted - inside
        assert len(runs) == len(outside)
        for row in outside:
            (tail,) = (run for run in runs if bodies[row][-300:] in run)
            assert bodies[row][: len(bodies[row]) - len(tail.rstrip(b"\0"))][:30] in leaves
        pages.announce(pages.levels(root, wanted))


@LINUX
@given(
    st.sampled_from([512, 1_024, 4_096]),
    st.sets(
        st.tuples(st.integers(-200, 200) | st.integers(-(1 << 62), 1 << 62), st.text(max_size=20)),
        min_size=1,
        max_size=300,
    ),
    st.data(),
)
@settings(max_examples=examples(100))
def test_announced_pages_contain_the_index_entries(
    page_size: int, entries: set[tuple[int, str]], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as place, closing(sqlite3.connect(Path(place) / "p.sqlite")) as connection:
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute("CREATE TABLE held (number INT, word TEXT, PRIMARY KEY (number, word)) WITHOUT ROWID")
        connection.execute("CREATE TABLE named (word TEXT UNIQUE, more BLOB)")
        words = sorted({word for _, word in entries})
        connection.executemany("INSERT INTO held VALUES (?, ?)", entries)
        connection.executemany("INSERT INTO named VALUES (?, zeroblob(40))", ((word,) for word in words))
        connection.commit()
        roots = dict(connection.execute("SELECT name, rootpage FROM sqlite_schema"))
        pages = pages_of(connection)
        written = (Path(place) / "p.sqlite").read_bytes()

        def told(name: str, low: Key, high: Key) -> bytes:
            levels = list(pages.levels_of_index(roots[name], [(low, high)]))
            return b"".join(written[(page - 1) * page_size : page * page_size] for level in levels for page, _ in level)

        number, word = data.draw(st.sampled_from(sorted(entries)))
        both = told("held", (number, word.encode()), (number, word.encode()))
        of_number = told("held", (number,), (number,))
        assert word.encode() in both
        assert all(other.encode() in of_number for one, other in entries if one == number)
        last = data.draw(st.sampled_from([one for one in words if one.encode() >= word.encode()]))
        some = told("sqlite_autoindex_named_1", (word.encode(),), (last.encode(),))
        assert all(one.encode() in some for one in words if word.encode() <= one.encode() <= last.encode())
        every = told("sqlite_autoindex_named_1", (), ())
        assert all(one.encode() in every for one in words)
        levels = pages.levels_of_index(roots["held"], [((number,), (number,))])
        assert pages.announce(levels) in {True, False}


@LINUX
def test_cyclic_overflow_chain_is_left(tmp_path: Path) -> None:
    bodies = [bytearray(512) for _ in range(40)]
    bodies[0][:18] = b"SQLite format 3\0" + (512).to_bytes(2, "big")
    for page in range(2, 41):
        bodies[page - 1][:4] = (page - 1 if page > 2 else 40).to_bytes(4, "big")
    (tmp_path / "p").write_bytes(b"".join(bodies))
    with (tmp_path / "p").open("rb") as file:
        pages = FilePages.of(file.fileno())
        assert pages is not None
        levels = list(pages._chains([(39, 1 << 40), (20, 3)]))
    assert len(levels) == 64
    assert levels[0] == [(39, (64 << 20) // 512), (20, 3)]
    assert levels[1:4] == [[(38, 1), (19, 1)], [(37, 2), (18, 1)], [(36, 1)]]


@LINUX
def test_bytes_of_no_database_give_no_pages(tmp_path: Path) -> None:
    (tmp_path / "p").write_bytes(b"SQLite format 4" + bytes(5_000))
    with (tmp_path / "p").open("rb") as file:
        assert descriptor_of(str(tmp_path / "p")) == file.fileno()
        assert FilePages.of(file.fileno()) is None
    assert descriptor_of(str(tmp_path / "p")) is None
    assert descriptor_of(str(tmp_path / "q")) is None


@LINUX
def test_damaged_pages_are_announced_without_error(tmp_path: Path) -> None:
    database, _ = built(tmp_path / "p.mono")
    with database.read() as connection:
        roots = [root for (root,) in connection.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 1")]
    database.close()
    written = bytearray((tmp_path / "p.mono").read_bytes())
    chance = random.Random(3)
    for size in (512, 64):  # Ever more of it.
        for _ in range(len(written) // size):
            written[chance.randrange(4_096, len(written))] = chance.randrange(256)
        (tmp_path / f"{size}.mono").write_bytes(written)
        with (tmp_path / f"{size}.mono").open("rb") as file:
            pages = FilePages.of(file.fileno())
            assert pages is not None
            for root in roots:
                with suppress(OSError, IndexError, struct.error):
                    pages.announce(pages.levels(root, range(1, 600)))
                for key in ((), (1,), (b"a", 1)):
                    with suppress(OSError, IndexError, struct.error, TypeError):
                        pages.announce(pages.levels_of_index(root, [(key, key)]))


def test_missing_rows_may_be_announced(tmp_path: Path) -> None:
    database, _ = built(tmp_path / "p.mono")
    ahead = Prefetcher()
    with database.read() as connection:
        ahead.centroids(connection, 77)
        ahead.clusters(connection, [1, 2, 9_999])
        ahead.codes(connection, clusters.CHUNKS, [1, 2, 9_999])
        ahead.memos(connection, [1, 600, 10_000_000])
        ahead.vectors(connection, [1, 9_999])
        ahead.keys(connection, ["none", ""])
        ahead.called(connection, ["none"])
        ahead.leads(connection, [1, 9_999])
        ahead.terms(connection, ["none"], "[1, 9]")
        ahead.lengths(connection, [1])
        ahead.starts(connection, [1, 9_999])
    database.close()


@LINUX
def test_dropped_pages_are_announced_again_after_a_page_fault(tmp_path: Path) -> None:
    import resource  # Not on Windows.

    def bytes_read() -> int:
        return int(Path("/proc/self/io").read_text().split("\nread_bytes: ")[1].split()[0])

    built(tmp_path / "p.mono")[0].close()
    database = Database(tmp_path / "p.mono")  # Pages that a connection has read stay in memory.
    ahead, other = Prefetcher(), tmp_path / "other"
    other.write_bytes(bytes(1 << 20))
    with database.read() as connection:
        names = [cluster for (cluster,) in connection.execute("SELECT cluster FROM clusters")]
        ahead.clusters(connection, names)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_majflt
        with other.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            for descriptor in (pages_of(connection).descriptor, file.fileno()):
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            assert mapped[1 << 19] == 0
        if faults == resource.getrusage(resource.RUSAGE_SELF).ru_majflt:
            pytest.skip("this file system keeps its pages in memory")
        before = bytes_read()
        ahead.clusters(connection, names)
        assert bytes_read() > before
    database.close()


def test_forked_process_can_search(tmp_path: Path) -> None:
    database, made = built(tmp_path / "p.mono")
    index = EcoVectorIndex()
    with database.read() as connection:
        expected = index.search(connection, made[3], VectorQuery(5))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with database.read() as connection:
                asked = index.search(connection, made[3], VectorQuery(5))
                other = index.search(connection, made[77], VectorQuery(5))
            status = 0 if asked == expected and other.items[0] == 78 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with database.write() as connection:
        index.delete(connection, [4])
        assert 4 not in index.search(connection, made[3], VectorQuery(5)).items
    database.close()


def test_file_can_be_deleted_while_it_is_read_ahead(tmp_path: Path) -> None:
    database, made = built(tmp_path / "p.mono")
    index = EcoVectorIndex()
    with database.read() as connection:
        (tmp_path / "p.mono").unlink()
        assert index.search(connection, made[3], VectorQuery(1)).items == (4,)
    database.close()
