"""One index, built and searched in its own process, so that its memory can be measured.

``python vector_rivals.py build|cold NAME FOLDER METRIC`` and ``python vector_rivals.py search NAME FOLDER METRIC
SECONDS`` read base.npy, queries.npy and truth.npy from the folder, and print one line of JSON. A search raises the
rival's search parameter (``dial``) until recall@10 is above 0.99. SECONDS limits the time at each value.
"""

from __future__ import annotations

import importlib
import json
import os
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

K = 10
Search = Callable[[Any, float], Iterable[int]]


class Rival(Protocol):
    """An index. ``dial`` has the values of its search parameter, cheapest first."""

    dial: tuple[float, ...]

    def build(self, base: Any, metric: str, folder: Path) -> None: ...

    def open(self, metric: str, folder: Path) -> Search: ...


class Monograph:
    """Our index in a .mono file; the dial is the target recall."""

    dial = (0.8, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995)

    def __init__(self, *, cache: int | None = None, kind: Literal["codes", "graph"] = "codes") -> None:
        self.cache, self.kind = cache, kind

    def build(self, base: Any, metric: str, folder: Path) -> None:
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

    def open(self, metric: str, folder: Path) -> Search:
        from monograph.store.file.database import Database
        from monograph.vectors.index import DEFAULT_CACHE_BYTES, EcoVectorIndex
        from monograph.vectors.search import VectorQuery

        database = Database(folder / "index.mono")
        cache = DEFAULT_CACHE_BYTES if self.cache is None else self.cache
        held: dict[float, EcoVectorIndex] = {}
        asked = VectorQuery(K)

        def search(query: Any, target: float) -> list[int]:
            if target not in held:
                held.clear()
                held[target] = EcoVectorIndex(target_recall=target, cache_bytes=cache)
            with database.read() as connection:
                return [row - 1 for row in held[target].search(connection, query, asked).items]

        return search


class Hnswlib:
    dial = (10, 15, 20, 30, 40, 60, 80, 120, 200, 300)

    def build(self, base: Any, metric: str, folder: Path) -> None:
        import hnswlib

        index = hnswlib.Index("l2" if metric == "l2" else "ip", base.shape[1])
        index.init_index(len(base), M=16, ef_construction=200, random_seed=1)
        index.add_items(base, num_threads=2)
        index.save_index(str(folder / "index.hnsw"))

    def open(self, metric: str, folder: Path) -> Search:
        import hnswlib

        index = hnswlib.Index(
            "l2" if metric == "l2" else "ip", int(np.load(folder / "queries.npy", mmap_mode="r").shape[1])
        )
        index.load_index(str(folder / "index.hnsw"))
        index.set_num_threads(1)
        held = [0.0]

        def search(query: Any, ef: float) -> Iterable[int]:
            if held[0] != ef:
                index.set_ef(int(ef))
                held[0] = ef
            return index.knn_query(query, K)[0][0].tolist()  # type: ignore[no-any-return]

        return search


class Usearch:
    dial = (10, 20, 40, 64, 100, 160, 300, 500)

    def __init__(self, *, view: bool) -> None:
        self.view = view

    def _index(self, metric: str, dimension: int) -> Any:
        from usearch.index import Index

        return Index(
            ndim=dimension, metric="l2sq" if metric == "l2" else "ip", dtype="f32", connectivity=16, expansion_add=200
        )

    def build(self, base: Any, metric: str, folder: Path) -> None:
        index = self._index(metric, base.shape[1])
        index.add(np.arange(len(base)), base, threads=2)
        index.save(str(folder / "index.usearch"))

    def open(self, metric: str, folder: Path) -> Search:
        index = self._index(metric, int(np.load(folder / "queries.npy", mmap_mode="r").shape[1]))
        (index.view if self.view else index.load)(str(folder / "index.usearch"))

        def search(query: Any, ef: float) -> Iterable[int]:
            index.expansion_search = int(ef)
            return index.search(query, K, threads=1).keys.tolist()  # type: ignore[no-any-return]

        return search


class Faiss:
    """Index from a factory string of faiss; ``mapped`` leaves the lists in the file."""

    def __init__(self, factory: str, dial: tuple[float, ...], parameter: str, *, mapped: bool = False) -> None:
        self.factory, self.dial, self.parameter, self.mapped = factory, dial, parameter, mapped

    def build(self, base: Any, metric: str, folder: Path) -> None:
        import faiss

        faiss.omp_set_num_threads(2)
        kind = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
        index = faiss.index_factory(base.shape[1], self.factory.replace("NC", str(len(base) // 250)), kind)
        if "HNSW" in self.factory and hasattr(index, "hnsw"):
            index.hnsw.efConstruction = 200
        index.train(base[:: max(1, len(base) // 20_000)])
        index.add(base)
        faiss.write_index(index, str(folder / "index.faiss"))

    def open(self, metric: str, folder: Path) -> Search:
        import faiss

        faiss.omp_set_num_threads(1)
        flags = faiss.IO_FLAG_MMAP if self.mapped else 0
        index = faiss.read_index(str(folder / "index.faiss"), flags)
        space, held = faiss.ParameterSpace(), [0.0]

        def search(query: Any, value: float) -> Iterable[int]:
            if held[0] != value:
                space.set_index_parameter(index, self.parameter, int(value))
                held[0] = value
            return index.search(query[None], K)[1][0].tolist()  # type: ignore[no-any-return]

        return search


class Lance:
    dial = (10, 20, 40, 80, 160, 320)

    def build(self, base: Any, metric: str, folder: Path) -> None:
        import lancedb
        import pyarrow as pa

        table = pa.table(
            {
                "id": np.arange(len(base)),
                "vector": pa.FixedSizeListArray.from_arrays(pa.array(base.ravel()), base.shape[1]),
            }
        )
        made = lancedb.connect(folder / "lance").create_table("t", table)
        made.create_index(
            metric="l2" if metric == "l2" else "cosine",
            num_partitions=max(8, int(len(base) ** 0.5)),
            num_sub_vectors=base.shape[1] // 8,
            index_type="IVF_PQ",
        )

    def open(self, metric: str, folder: Path) -> Search:
        import lancedb

        table = lancedb.connect(folder / "lance").open_table("t")
        kind = "l2" if metric == "l2" else "cosine"

        def search(query: Any, probes: float) -> list[int]:
            asked = table.search(query).distance_type(kind).nprobes(int(probes)).refine_factor(10).limit(K)
            return asked.select(["id"]).to_arrow()["id"].to_pylist()  # type: ignore[no-any-return]

        return search


class Chroma:
    """Chroma. Its ef is set at the build, because a later change has no effect until the process ends."""

    dial = (60,)

    def build(self, base: Any, metric: str, folder: Path) -> None:
        import chromadb

        client = chromadb.PersistentClient(str(folder / "chroma"), chromadb.Settings(anonymized_telemetry=False))
        space = "l2" if metric == "l2" else "ip"
        hnsw = {"space": space, "ef_construction": 200, "max_neighbors": 16, "ef_search": int(self.dial[0])}
        made = client.create_collection("vectors", configuration={"hnsw": hnsw}, embedding_function=None)
        for start in range(0, len(base), 5_000):
            part = base[start : start + 5_000]
            made.add(ids=[str(row) for row in range(start, start + len(part))], embeddings=part)

    def open(self, metric: str, folder: Path) -> Search:
        import chromadb

        client = chromadb.PersistentClient(str(folder / "chroma"), chromadb.Settings(anonymized_telemetry=False))
        held = client.get_collection("vectors", embedding_function=None)

        def search(query: Any, _: float) -> list[int]:
            return [int(row) for row in held.query(query_embeddings=query[None], n_results=K, include=[])["ids"][0]]

        return search


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

    def build(self, base: Any, metric: str, folder: Path) -> None:
        connection = self._connect(folder)
        kind = "" if metric == "l2" else " distance_metric=cosine"
        connection.execute(f"CREATE VIRTUAL TABLE t USING vec0(v float[{base.shape[1]}]{kind})")
        rows = ((row + 1, one.tobytes()) for row, one in enumerate(base))
        connection.executemany("INSERT INTO t(rowid, v) VALUES (?, ?)", rows)
        connection.commit()

    def open(self, metric: str, folder: Path) -> Search:
        connection = self._connect(folder)

        def search(query: Any, _: float) -> list[int]:
            found = connection.execute("SELECT rowid FROM t WHERE v MATCH ? AND k = ?", (query.tobytes(), K))
            return [row - 1 for (row,) in found.fetchall()]

        return search


class PurePython:
    """EcoVector as the paper describes it: one hnswlib file per cluster, loaded for each probe and released."""

    dial = (4, 8, 16, 32, 64, 96)

    def build(self, base: Any, metric: str, folder: Path) -> None:
        import hnswlib

        from monograph.vectors import partition

        centroids = partition.k_means(base, len(base) // 250)
        nearest = partition.assign(base, centroids, double=False)[:, 0]
        (folder / "clusters").mkdir()
        for cluster in range(len(centroids)):
            rows = np.flatnonzero(nearest == cluster)
            index = hnswlib.Index("l2" if metric == "l2" else "ip", base.shape[1])
            index.init_index(max(1, len(rows)), M=8, ef_construction=64)
            index.add_items(base[rows], rows)
            index.save_index(str(folder / "clusters" / f"{cluster}.hnsw"))
        np.save(folder / "centroids.npy", centroids)

    def open(self, metric: str, folder: Path) -> Search:
        import hnswlib

        centroids = np.load(folder / "centroids.npy")
        half = 0.5 * np.einsum("ij,ij->i", centroids, centroids) * (metric == "l2")

        def search(query: Any, probes: float) -> list[int]:
            found: list[tuple[float, int]] = []
            for cluster in np.argsort(-(centroids @ query - half))[: int(probes)]:
                index = hnswlib.Index("l2" if metric == "l2" else "ip", len(query))
                index.load_index(str(folder / "clusters" / f"{cluster}.hnsw"))
                index.set_ef(40)
                count = min(K, index.get_current_count())
                rows, scores = index.knn_query(query, count, num_threads=1)
                found += zip(scores[0].tolist(), rows[0].tolist(), strict=True)
            return [row for _, row in sorted(found)[:K]]

        return search


PROBES = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 192)
WIDTHS = (10, 20, 40, 80, 160, 320)
RIVALS: dict[str, Rival] = {
    "Monograph": Monograph(),
    "Monograph, all in memory": Monograph(cache=1 << 30),
    "Monograph, cache_bytes=0": Monograph(cache=0),
    "Monograph, graph": Monograph(kind="graph"),
    "hnswlib": Hnswlib(),
    "usearch": Usearch(view=False),
    "faiss HNSW": Faiss("HNSW16", WIDTHS, "efSearch"),
    "usearch, view": Usearch(view=True),
    "LanceDB": Lance(),
    "Chroma": Chroma(),
    "sqlite-vec": SqliteVec(),
    "hnswlib files": PurePython(),
    "faiss IVF": Faiss("IVFNC,Flat", PROBES, "nprobe"),
    "faiss IVFPQ": Faiss("IVFNC,PQ64", PROBES, "nprobe"),
    "faiss HNSWPQ": Faiss("HNSW16_PQ64", WIDTHS, "efSearch"),
    "faiss IVF-DISK": Faiss("IVFNC,Flat", PROBES, "nprobe", mapped=True),
    "faiss IVFPQ-DISK": Faiss("IVFNC,PQ64", PROBES, "nprobe", mapped=True),
    "faiss IVF-HNSW": Faiss("IVFNC_HNSW16,Flat", PROBES, "nprobe"),
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
    "usearch, view": "usearch",
    "faiss IVF-DISK": "faiss IVF",
    "faiss IVFPQ-DISK": "faiss IVFPQ",
}
"""Rivals that search the files of another one."""


def memory() -> tuple[int, int]:
    """Return (anonymous bytes, bytes of files) in the memory of this process."""
    rows = dict(line.split(":") for line in Path("/proc/self/smaps_rollup").read_text().splitlines()[1:])
    rss, anonymous = (int(rows[name].split()[0]) * 1024 for name in ("Rss", "Anonymous"))
    return anonymous, rss - anonymous


def folder_of(name: str, data: Path) -> Path:
    """Return the folder of a rival's files."""
    return data / SAME_FILES.get(name, name).replace(" ", "-").replace(",", "")


def build(name: str, data: Path, metric: str) -> dict[str, Any]:
    rival, folder = RIVALS[name], folder_of(name, data)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    base = np.load(data / "base.npy")
    os.link(data / "queries.npy", folder / "queries.npy")
    started = time.perf_counter()
    rival.build(base, metric, folder)
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


def cold(name: str, data: Path, metric: str) -> dict[str, Any]:
    """Return the milliseconds from opening to the first result, with none of the files in the page cache."""
    rival, folder = RIVALS[name], folder_of(name, data)
    query = np.load(data / "queries.npy")[0].copy()
    warm_up(name)
    drop(folder)
    started = time.perf_counter()
    found = list(rival.open(metric, folder)(query, rival.dial[len(rival.dial) // 3]))
    return {"cold": (time.perf_counter() - started) * 1e3, "found": len(found)}


def search(name: str, data: Path, metric: str, seconds: float) -> dict[str, Any]:
    rival, folder = RIVALS[name], folder_of(name, data)
    queries, truth = np.load(data / "queries.npy"), np.load(data / "truth.npy")
    warm_up(name)
    before = memory()
    find = rival.open(metric, folder)
    curve = []
    for value in rival.dial:
        times, hits, started = [], 0, time.perf_counter()
        for _ in range(2):  # Once to warm up.
            times, hits = [], 0
            for query, best in zip(queries, truth, strict=True):
                begun = time.perf_counter()
                found = find(query, value)
                times.append(time.perf_counter() - begun)
                hits += len(set(found) & set(best.tolist()))
                if time.perf_counter() - started > seconds:
                    break
        recall = hits / K / len(times)
        p50, p95 = np.percentile(times, [50, 95]) * 1e6
        curve.append({"dial": value, "recall": recall, "p50": p50, "p95": p95, "queries": len(times)})
        if recall > 0.99:
            break
    anonymous, files = memory()
    return {
        "curve": curve,
        "anonymous": anonymous - before[0],
        "files": files - before[1],
    }


if __name__ == "__main__":
    action, name, data, metric = sys.argv[1], sys.argv[2], Path(sys.argv[3]), sys.argv[4]
    if action == "search":
        done = search(name, data, metric, float(sys.argv[5]))
    else:
        done = (build if action == "build" else cold)(name, data, metric)
    print(json.dumps(done))
