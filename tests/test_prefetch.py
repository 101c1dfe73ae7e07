"""Reading ahead changes nothing but the time a cold search takes."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from monograph.store import clusters, memo, vectors
from monograph.store.database import Database
from monograph.store.prefetch import Prefetcher
from monograph.vectors.design import Design
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.search import Query


def built(path: Path) -> tuple[Database, np.ndarray]:
    database = Database(path)
    made = np.random.default_rng(1).standard_normal((600, 16)).astype(np.float32)
    with database.write() as connection:
        memo.put(connection, memo.VECTOR, ((b"%d" % row, vectors.pack(one), 0) for row, one in enumerate(made)))
        EcoVectorIndex(design=Design(cluster_size=20)).insert(connection, np.arange(1, 601), made)
    return database, made


def test_what_is_not_there_may_be_announced(tmp_path: Path) -> None:
    database, _ = built(tmp_path / "p.mono")
    ahead = Prefetcher()
    with database.read() as connection:
        ahead.centroids(connection, clusters.CHUNKS)
        ahead.clusters(connection, [1, 2, 9_999])
        ahead.memos(connection, [1, 600, 10_000_000])
        ahead.close()
        ahead.close()
        ahead.clusters(connection, [3])
    ahead.close()
    database.close()


def test_a_closed_index_searches_again(tmp_path: Path) -> None:
    database, made = built(tmp_path / "p.mono")
    index = EcoVectorIndex()
    with database.read() as connection:
        first = index.search(connection, made[3], Query(5))
        index.close()
        assert index.search(connection, made[3], Query(5)) == first
    index.close()
    database.close()


def test_a_fork_searches_with_a_connection_of_its_own(tmp_path: Path) -> None:
    database, made = built(tmp_path / "p.mono")
    index = EcoVectorIndex()
    with database.read() as connection:
        expected = index.search(connection, made[3], Query(5))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with database.read() as connection:
                asked = index.search(connection, made[3], Query(5))
                other = index.search(connection, made[77], Query(5))
            status = 0 if asked == expected and other.items[0] == 78 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    with database.write() as connection:
        index.delete(connection, [4])
        assert 4 not in index.search(connection, made[3], Query(5)).items
    database.close()


def test_a_file_may_be_deleted_while_it_is_read_ahead(tmp_path: Path) -> None:
    database, made = built(tmp_path / "p.mono")
    index = EcoVectorIndex()
    with database.read() as connection:
        (tmp_path / "p.mono").unlink()
        assert index.search(connection, made[3], Query(1)).items == (4,)
    database.close()
