"""One index, built and searched in its own process, so that its memory can be measured.

``python vector_rivals.py build|start NAME FOLDER`` and ``python vector_rivals.py search NAME FOLDER SECONDS`` read
base.npy, queries.npy and truth.npy from the folder, and print one line of JSON. A search raises the rival's search
parameter (``dial``) until recall is above 0.99, for ten and for a hundred results. SECONDS limits the time of each of
the two passes at each value. All vectors have unit length, so every index ranks by inner product or cosine.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

KS = (10, 100)
"""Numbers of results that are searched for."""
Search = Callable[[Any, float, int], Iterable[int]]
"""Function from a query, a value of the dial and k to the rows found."""


@dataclass(frozen=True)
class Opened:
    """An open index. ``insert`` and ``delete`` are None if vectors cannot be both inserted and deleted.

    ``insert`` takes rows and their vectors, ``delete`` takes rows. Both commit if the index is a file. ``finish`` runs
    once after the last change.
    """

    find: Search
    insert: Callable[[Sequence[int], Any], object] | None = None
    delete: Callable[[Sequence[int]], object] | None = None
    finish: Callable[[], object] = lambda: None


class Rival(Protocol):
    """An index. ``dial`` has the values of its search parameter, cheapest first."""

    dial: tuple[float, ...]

    def build(self, base: Any, folder: Path) -> None: ...

    def open(self, folder: Path) -> Opened: ...


class Monograph:
    """Our index in a .mono file; the dial is the target recall."""

    dial = (0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995)

    def __init__(self, *, cache: int | None = None, kind: Literal["codes", "graph"] = "codes") -> None:
        self.cache, self.kind = cache, kind

    def build(self, base: Any, folder: Path) -> None:
        from monograph.store.file import memo
        from monograph.store.file.database import Database
        from monograph.store.vectors import vectors
        from monograph.vectors.design import DESIGNS
        from monograph.vectors.index import EcoVectorIndex

        database = Database(folder / "index.mono")
        with database.write() as connection:
            packed = ((b"%d" % row, vectors.pack(one), 0) for row, one in enumerate(base))
            memo.put(connection, memo.VECTOR, packed)
        started = time.perf_counter()
        index = EcoVectorIndex(design=DESIGNS[self.kind])
        with database.write() as connection:
            index.insert(connection, np.arange(1, len(base) + 1), base)
        self.seconds = time.perf_counter() - started
        database.close()

    def open(self, folder: Path) -> Opened:
        from monograph.store.file import memo
        from monograph.store.file.database import Database
        from monograph.store.vectors import vectors
        from monograph.vectors.index import DEFAULT_CACHE_BYTES, EcoVectorIndex
        from monograph.vectors.search import VectorQuery

        database = Database(folder / "index.mono")
        cache = DEFAULT_CACHE_BYTES if self.cache is None else self.cache
        held: dict[float, EcoVectorIndex] = {}
        queries = {k: VectorQuery(k) for k in KS}
        edited = EcoVectorIndex()

        def find(query: Any, target: float, k: int) -> list[int]:
            if target not in held:
                held.clear()
                held[target] = EcoVectorIndex(target_recall=target, cache_bytes=cache)
            with database.read() as connection:
                return [memo_row - 1 for memo_row in held[target].search(connection, query, queries[k]).items]

        def insert(rows: Sequence[int], some: Any) -> None:
            with database.write() as connection:
                values = ((b"%d" % row, vectors.pack(one), 0) for row, one in zip(rows, some, strict=True))
                stored = memo.put(connection, memo.VECTOR, values)
                edited.insert(connection, np.array([stored[b"%d" % row] for row in rows]), some)

        def delete(rows: Sequence[int]) -> None:
            with database.write() as connection:
                memos = [row + 1 for row in rows]
                edited.delete(connection, memos)
                memo.delete(connection, memos)

        return Opened(find, insert, delete)


class Hnswlib:
    dial = (10, 15, 20, 30, 40, 60, 80, 120, 200, 300, 500)

    def build(self, base: Any, folder: Path) -> None:
        import hnswlib

        index = hnswlib.Index("ip", base.shape[1])
        index.init_index(len(base), M=16, ef_construction=200, random_seed=1, allow_replace_deleted=True)
        index.add_items(base, num_threads=2)
        index.save_index(str(folder / "index.hnsw"))

    def open(self, folder: Path) -> Opened:
        import hnswlib

        index = hnswlib.Index("ip", dimension_of(folder))
        index.load_index(str(folder / "index.hnsw"), allow_replace_deleted=True)
        index.set_num_threads(1)
        held = [0.0]

        def find(query: Any, ef: float, k: int) -> Iterable[int]:
            if held[0] != ef:
                index.set_ef(int(ef))
                held[0] = ef
            return index.knn_query(query, k)[0][0].tolist()  # type: ignore[no-any-return]

        return Opened(
            find,
            lambda rows, vectors: index.add_items(vectors, rows, replace_deleted=True),
            lambda rows: [index.mark_deleted(row) for row in rows],
        )


class Usearch:
    dial = (10, 20, 40, 64, 100, 160, 300, 500)

    def __init__(self, *, view: bool) -> None:
        self.view = view

    def _index(self, dimension: int) -> Any:
        from usearch.index import Index

        return Index(ndim=dimension, metric="ip", dtype="f32", connectivity=16, expansion_add=200)

    def build(self, base: Any, folder: Path) -> None:
        index = self._index(base.shape[1])
        index.add(np.arange(len(base)), base, threads=2)
        index.save(str(folder / "index.usearch"))

    def open(self, folder: Path) -> Opened:
        index = self._index(dimension_of(folder))
        (index.view if self.view else index.load)(str(folder / "index.usearch"))

        def find(query: Any, ef: float, k: int) -> Iterable[int]:
            index.expansion_search = int(ef)
            return index.search(query, k, threads=1).keys.tolist()  # type: ignore[no-any-return]

        if self.view:
            return Opened(find)
        return Opened(
            find,
            lambda rows, vectors: index.add(np.array(rows), vectors, threads=1),
            lambda rows: index.remove(np.array(rows)),
        )


class Faiss:
    """Index from a factory string of faiss. ``mapped`` leaves the lists of an IVF in the file (OnDiskInvertedLists)."""

    def __init__(self, factory: str, dial: tuple[float, ...], parameter: str, *, mapped: bool = False) -> None:
        self.factory, self.dial, self.parameter, self.mapped = factory, dial, parameter, mapped

    def build(self, base: Any, folder: Path) -> None:
        import faiss

        faiss.omp_set_num_threads(2)
        factory = self.factory.replace("NC", str(len(base) // 250))
        index = faiss.index_factory(base.shape[1], factory, faiss.METRIC_INNER_PRODUCT)
        if hasattr(index, "hnsw"):
            index.hnsw.efConstruction = 200
        index.train(base[:: max(1, len(base) // 20_000)])
        index.add(base)
        faiss.write_index(index, str(folder / "index.faiss"))

    def open(self, folder: Path) -> Opened:
        import faiss

        faiss.omp_set_num_threads(1)
        index = faiss.read_index(str(folder / "index.faiss"), faiss.IO_FLAG_MMAP if self.mapped else 0)
        space, held = faiss.ParameterSpace(), [0.0]

        def find(query: Any, value: float, k: int) -> Iterable[int]:
            if held[0] != value:
                space.set_index_parameter(index, self.parameter, int(value))
                held[0] = value
            return index.search(query[None], k)[1][0].tolist()  # type: ignore[no-any-return]

        if self.mapped or hasattr(index, "hnsw"):
            return Opened(find)
        return Opened(
            find,
            lambda rows, vectors: index.add_with_ids(vectors, np.array(rows)),
            lambda rows: index.remove_ids(np.array(rows)),
        )


class Lance:
    dial = (10, 20, 40, 80, 160, 320)

    def build(self, base: Any, folder: Path) -> None:
        import lancedb

        made = lancedb.connect(folder / "lance").create_table("t", self._rows(range(len(base)), base))
        made.create_index(
            metric="cosine",
            num_partitions=max(8, int(len(base) ** 0.5)),
            num_sub_vectors=base.shape[1] // 8,
            index_type="IVF_PQ",
        )

    def _rows(self, rows: Sequence[int], vectors: Any) -> Any:
        import pyarrow as pa

        lists = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
        return pa.table({"id": np.array(rows), "vector": lists})

    def open(self, folder: Path) -> Opened:
        import lancedb

        table = lancedb.connect(folder / "lance").open_table("t")

        def find(query: Any, probes: float, k: int) -> list[int]:
            asked = table.search(query).distance_type("cosine").nprobes(int(probes)).refine_factor(10).limit(k)
            return asked.select(["id"]).to_arrow()["id"].to_pylist()  # type: ignore[no-any-return]

        return Opened(
            find,
            lambda rows, vectors: table.add(self._rows(rows, vectors)),
            lambda rows: table.delete(f"id IN ({', '.join(map(str, rows))})"),
            table.optimize,
        )


class Chroma:
    """Chroma. Its ef is stored with the collection, and read when a client opens it."""

    dial = (20, 40, 60, 100, 200, 400)

    def _collection(self, folder: Path) -> Any:
        import chromadb
        from chromadb.api.shared_system_client import SharedSystemClient

        SharedSystemClient.clear_system_cache()  # Otherwise the client of an earlier call is used again.
        client = chromadb.PersistentClient(str(folder / "chroma"), chromadb.Settings(anonymized_telemetry=False))
        hnsw = {"space": "ip", "ef_construction": 200, "max_neighbors": 16}
        return client.get_or_create_collection("vectors", configuration={"hnsw": hnsw}, embedding_function=None)

    def _add(self, collection: Any, rows: Sequence[int], vectors: Any) -> None:
        for start in range(0, len(rows), 5_000):
            some = slice(start, start + 5_000)
            collection.add(ids=[str(row) for row in rows[some]], embeddings=vectors[some])

    def build(self, base: Any, folder: Path) -> None:
        self._add(self._collection(folder), range(len(base)), base)

    def open(self, folder: Path) -> Opened:
        held: dict[float, Any] = {}
        collection = self._collection(folder)

        def find(query: Any, ef: float, k: int) -> list[int]:
            if ef not in held:
                held.clear()
                self._collection(folder).modify(configuration={"hnsw": {"ef_search": int(ef)}})
                held[ef] = self._collection(folder)
            return [int(row) for row in held[ef].query(query_embeddings=query[None], n_results=k, include=[])["ids"][0]]

        return Opened(
            find,
            lambda rows, vectors: self._add(collection, rows, vectors),
            lambda rows: collection.delete(ids=[str(row) for row in rows]),
        )


class SqliteVec:
    """sqlite-vec. Its search is exact and has no parameter."""

    dial = (1,)

    def _connect(self, folder: Path) -> Any:
        import sqlite_vec

        module: Any = sqlite3
        if not hasattr(sqlite3.Connection, "enable_load_extension"):
            import pysqlite3 as module
        connection = module.connect(folder / "vec.sqlite")
        connection.enable_load_extension(True)
        sqlite_vec.load(connection)
        return connection

    def _insert(self, connection: Any, rows: Sequence[int], vectors: Any) -> None:
        values = ((row + 1, one.tobytes()) for row, one in zip(rows, vectors, strict=True))
        connection.executemany("INSERT INTO t(rowid, v) VALUES (?, ?)", values)
        connection.commit()

    def build(self, base: Any, folder: Path) -> None:
        connection = self._connect(folder)
        connection.execute(f"CREATE VIRTUAL TABLE t USING vec0(v float[{base.shape[1]}] distance_metric=cosine)")
        self._insert(connection, range(len(base)), base)

    def open(self, folder: Path) -> Opened:
        connection = self._connect(folder)

        def find(query: Any, _: float, k: int) -> list[int]:
            found = connection.execute("SELECT rowid FROM t WHERE v MATCH ? AND k = ?", (query.tobytes(), k))
            return [row - 1 for (row,) in found.fetchall()]

        def delete(rows: Sequence[int]) -> None:
            connection.executemany("DELETE FROM t WHERE rowid = ?", ((row + 1,) for row in rows))
            connection.commit()

        return Opened(find, lambda rows, vectors: self._insert(connection, rows, vectors), delete)


class HnswlibFiles:
    """EcoVector as the paper describes it: one hnswlib file per cluster, loaded for each probe and released."""

    dial = (8, 16, 32, 64, 96)

    def build(self, base: Any, folder: Path) -> None:
        import hnswlib

        from monograph.vectors import partition

        centroids = partition.k_means(base, len(base) // 250)
        nearest = partition.assign(base, centroids, double=False)[:, 0]
        (folder / "clusters").mkdir()
        for cluster in range(len(centroids)):
            rows = np.flatnonzero(nearest == cluster)
            index = hnswlib.Index("ip", base.shape[1])
            index.init_index(max(1, len(rows)), M=8, ef_construction=64)
            index.add_items(base[rows], rows)
            index.save_index(str(folder / "clusters" / f"{cluster}.hnsw"))
        np.save(folder / "centroids.npy", centroids)

    def open(self, folder: Path) -> Opened:
        import hnswlib

        centroids = np.load(folder / "centroids.npy")

        def find(query: Any, probes: float, k: int) -> list[int]:
            found: list[tuple[float, int]] = []
            for cluster in np.argsort(-(centroids @ query))[: int(probes)]:
                index = hnswlib.Index("ip", len(query))
                index.load_index(str(folder / "clusters" / f"{cluster}.hnsw"))
                index.set_ef(40)
                count = min(k, index.get_current_count())
                rows, scores = index.knn_query(query, count, num_threads=1)
                found += zip(scores[0].tolist(), rows[0].tolist(), strict=True)
            return [row for _, row in sorted(found)[:k]]

        return Opened(find)


PROBES = (4, 8, 16, 32, 64, 96, 128, 192, 256)
WIDTHS = (10, 20, 40, 80, 160, 320)
RIVALS: dict[str, Rival] = {
    "Monograph": Monograph(),
    "Monograph, all in memory": Monograph(cache=1 << 30),
    "Monograph, cache_bytes=0": Monograph(cache=0),
    "Monograph, graph": Monograph(kind="graph"),
    "Monograph, graph, cache_bytes=0": Monograph(kind="graph", cache=0),
    "hnswlib": Hnswlib(),
    "usearch": Usearch(view=False),
    "faiss HNSW": Faiss("HNSW16", WIDTHS, "efSearch"),
    "faiss IVF": Faiss("IVFNC,Flat", PROBES, "nprobe"),
    "faiss IVF on disk": Faiss("IVFNC,Flat", PROBES, "nprobe", mapped=True),
    "usearch, view": Usearch(view=True),
    "hnswlib files": HnswlibFiles(),
    "LanceDB": Lance(),
    "Chroma": Chroma(),
    "sqlite-vec": SqliteVec(),
}
MODULES = {
    "monograph.vectors.index": "Monograph",
    "hnswlib": "hnswlib",
    "usearch.index": "usearch",
    "faiss": "faiss",
    "lancedb": "LanceDB",
    "chromadb": "Chroma",
    "sqlite_vec": "sqlite-vec",
}
SAME_FILES = {
    "Monograph, all in memory": "Monograph",
    "Monograph, cache_bytes=0": "Monograph",
    "Monograph, graph, cache_bytes=0": "Monograph, graph",
    "usearch, view": "usearch",
    "faiss IVF on disk": "faiss IVF",
}
"""Rivals that search the files of another one."""


def dimension_of(folder: Path) -> int:
    """Return the dimension of the vectors of an index, by the queries in its folder."""
    return int(np.load(folder / "queries.npy", mmap_mode="r").shape[1])


def memory() -> tuple[int, int]:
    """Return (anonymous bytes, bytes of files) in the memory of this process."""
    rows = dict(line.split(":") for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    rss, anonymous = (int(rows[name].split()[0]) * 1024 for name in ("Rss", "Anonymous"))
    return anonymous, rss - anonymous


def joules() -> float | None:
    """Return the energy in J that the processors have used so far, by RAPL; None if the system does not show it."""
    try:
        packages = [int(path.read_text()) for path in Path("/sys/class/powercap").glob("intel-rapl:?/energy_uj")]
    except OSError:
        return None
    return sum(packages) / 1e6 if packages else None


def folder_of(name: str, data: Path) -> Path:
    """Return the folder of a rival's files."""
    return data / SAME_FILES.get(name, name).replace(" ", "-").replace(",", "")


def build(name: str, data: Path) -> dict[str, Any]:
    rival, folder = RIVALS[name], folder_of(name, data)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    base = np.load(data / "base.npy")
    os.link(data / "queries.npy", folder / "queries.npy")
    started = time.perf_counter()
    rival.build(base, folder)
    seconds = time.perf_counter() - started
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and path.name != "queries.npy")
    return {"seconds": getattr(rival, "seconds", seconds), "bytes": size}


def drop(folder: Path) -> None:
    """Remove a folder's files from the page cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            handle = os.open(path, os.O_RDONLY)
            os.fsync(handle)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


def warm_up(name: str) -> None:
    """Import the rival's library, so that the import does not count as opening."""
    for module, rival_name in MODULES.items():
        if name.startswith(rival_name):
            importlib.import_module(module)


def start(name: str, data: Path) -> dict[str, Any]:
    """Return the milliseconds from opening to the first result, with none of the files in the page cache."""
    rival, folder = RIVALS[name], folder_of(name, data)
    query = np.load(data / "queries.npy")[0].copy()
    warm_up(name)
    drop(folder)
    started = time.perf_counter()
    found = list(rival.open(folder).find(query, rival.dial[len(rival.dial) // 3], KS[0]))
    return {"cold": (time.perf_counter() - started) * 1e3, "found": len(found)}


def timed(find: Search, queries: Any, truth: Any, value: float, k: int, seconds: float) -> dict[str, Any]:
    """Return recall@k and the times in us of the second of two passes, each of at most some seconds."""
    times: list[float] = []
    hits, before = 0, None
    for _ in range(2):
        times, hits, before, started = [], 0, joules(), time.perf_counter()
        for query, best in zip(queries, truth[:, :k], strict=True):
            begun = time.perf_counter()
            found = find(query, value, k)
            times.append(time.perf_counter() - begun)
            hits += len(set(found) & set(best.tolist()))
            if time.perf_counter() - started > seconds:
                break
    after = joules()
    p50, p95 = np.percentile(times, [50, 95]) * 1e6
    point = {"dial": value, "recall": hits / k / len(times), "p50": p50, "p95": p95, "queries": len(times)}
    return point if before is None or after is None else {**point, "mJ": (after - before) * 1e3 / len(times)}


def search(name: str, data: Path, seconds: float) -> dict[str, Any]:
    rival, folder = RIVALS[name], folder_of(name, data)
    queries, truth = np.load(data / "queries.npy"), np.load(data / "truth.npy")
    warm_up(name)
    before = memory()
    find = rival.open(folder).find
    curves: dict[str, list[dict[str, Any]]] = {}
    for k in KS:
        curve = curves[f"k={k}"] = []
        for value in rival.dial:
            curve.append(timed(find, queries, truth, value, k, seconds))
            if curve[-1]["recall"] > 0.99:
                break
    anonymous, files = memory()
    return {"curves": curves, "anonymous": anonymous - before[0], "files": files - before[1]}


if __name__ == "__main__":
    action, name, data = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    if action == "search":
        done = search(name, data, float(sys.argv[4]))
    else:
        done = (build if action == "build" else start)(name, data)
    print(json.dumps(done))
