"""Queries of an index on disk whose file pages the system drops before each query, with and without a limit on reads.

``python vector_cold.py NAME FOLDER DIAL [GROUP]`` runs the queries of one index, which is built already, and prints a
line of JSON. The control group GROUP counts and limits the reads of the process.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from vector_cost import Latency, energy
from vector_rivals import KS, RIVALS, drop, folder_of, memory, warm_up

ON_DISK = (
    "Monograph",
    "Monograph, cache_bytes=0",
    "Monograph, graph, cache_bytes=0",
    "faiss IVF on disk",
    "usearch, view",
    "hnswlib files",
    "LanceDB",
    "sqlite-vec",
)
LIMIT = 1_000
"""Reads per second in the second run of each index."""
UNLIMITED = 1_000_000
QUERIES = 50
TARGET = 0.95
_CONTROL = Path("/sys/fs/cgroup")
_FORGET = 4
"""MADV_DONTNEED."""
Results = dict[str, Any]


@contextmanager
def read_limit(folder: Path, limit: int) -> Iterator[Path | None]:
    """Yield a control group that may read a folder's disk ``limit`` times a second; None if the system allows none."""
    device = _device(folder)
    controllers = _CONTROL / "cgroup.subtree_control"
    if controllers.exists() and "io" in controllers.read_text().split():
        group, file, line = _CONTROL / "monograph-bench", "io.max", f"{device} riops={limit}"
    else:
        group = _CONTROL / "blkio" / "monograph-bench"
        file, line = "blkio.throttle.read_iops_device", f"{device} {limit}"
    try:
        group.mkdir()
        (group / file).write_text(line)
    except OSError:
        yield None
        return
    try:
        yield group
    finally:
        group.rmdir()


def _device(folder: Path) -> str:
    """Return the number of the disk that holds a folder, such as 254:0."""
    number = folder.stat().st_dev
    disk = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    return (disk.parent / "dev" if (disk / "partition").exists() else disk / "dev").read_text().strip()


def reads(group: Path | None, folder: Path) -> int:
    """Return how often a group has read a folder's disk, or all processes if there is no group."""
    device = _device(folder)
    if group is None:
        return int(Path(f"/sys/dev/block/{device}/stat").read_text().split()[0])
    if (group / "io.stat").exists():
        lines = [line.split() for line in (group / "io.stat").read_text().splitlines()]
        return sum(int(part[5:]) for disk, *parts in lines if disk == device for part in parts if part[:5] == "rios=")
    lines = [line.split() for line in (group / "blkio.throttle.io_serviced").read_text().splitlines()]
    return sum(int(line[2]) for line in lines if line[:2] == [device, "Read"])


def forget(folder: Path) -> None:
    """Unmap the pages of a folder's files that this process has mapped, and remove them from the page cache."""
    madvise = ctypes.CDLL(None, use_errno=True).madvise
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, *_, path = line.split(maxsplit=5)
        if path.startswith(f"{folder}/"):
            first, end = (int(address, 16) for address in addresses.split("-"))
            madvise(ctypes.c_void_p(first), ctypes.c_size_t(end - first), _FORGET)
    drop(folder)


def queried(name: str, data: Path, dial: float, group: Path | None) -> Results:
    """Return the p50 in ms of cold queries, their recall@10, and the reads and bytes that a query reads from the disk."""
    folder = folder_of(name, data).resolve()
    queries, truth = np.load(data / "queries.npy")[: QUERIES + 1], np.load(data / "truth.npy")
    warm_up(name)
    before = memory()
    find = RIVALS[name].open(folder).find
    find(queries[0], dial, KS[0])
    if group is not None:
        (group / "cgroup.procs").write_text(str(os.getpid()))
    times, hits, counted, read = [], 0, 0, 0
    for query, best in zip(queries[1:], truth[1:, : KS[0]], strict=False):
        forget(folder)
        begun_reads, begun_bytes = reads(group, folder), bytes_read()
        begun = time.perf_counter()
        found = find(query, dial, KS[0])
        times.append(time.perf_counter() - begun)
        counted += reads(group, folder) - begun_reads
        read += bytes_read() - begun_bytes
        hits += len(set(found) & set(best.tolist()))
    return {
        "p50": float(np.median(times)) * 1e3,
        "recall": hits / KS[0] / len(times),
        "reads": counted / len(times),
        "bytes": read / len(times),
        "anonymous": memory()[0] - before[0],
        "is_limited": group is not None,
    }


def bytes_read() -> int:
    """Return the bytes that this process has read from disks."""
    return int(Path("/proc/self/io").read_text().split("\nread_bytes: ")[1].split()[0])


def measured(folder: Path, run: Callable[..., Results], curve_of: Callable[[str], Sequence[Results]]) -> Results:
    """Measure cold queries of each index, at the cheapest setting whose recall@10 is 0.95 or its best.

    ``run`` runs a script with arguments in its own process, and returns its JSON. ``curve_of`` returns the settings of
    an index with their warm times (none if it failed), and builds the index if necessary.
    """
    ahead = int(Path(f"/sys/dev/block/{_device(folder)}/queue/read_ahead_kb").read_text())
    results: Results = {}
    for name in ON_DISK:
        curve = curve_of(name)
        if not curve:
            results[name] = {"failed": "see the section on real embeddings"}
            continue
        best = max(point["recall"] for point in curve)
        point = next(point for point in curve if point["recall"] >= min(TARGET, best))
        results[name] = one = {"dial": point["dial"]}
        for label, limit in (("cold", UNLIMITED), ("limited", LIMIT)):
            with read_limit(folder, limit) as group:
                arguments = [name, str(folder), str(point["dial"]), *([str(group)] if group else [])]
                one[label] = run("vector_cold.py", *arguments)
        failed = [one[label]["failed"] for label in ("cold", "limited") if "failed" in one[label]]
        if failed:
            one["failed"] = failed[0]
            continue
        if not one["limited"]["is_limited"]:
            one["limited"]["p50"] = max(one["cold"]["p50"], one["cold"]["reads"] / LIMIT * 1e3)
        warm, cold = point["p50"] / 1e3, one["cold"]["p50"]
        one["energy_mJ"] = energy(Latency(warm, max(0.0, cold - warm))) / 1e3
        print(f"{name:32} cold {cold:8.1f} ms, limited {one['limited']['p50']:8.1f} ms", flush=True)
    return {"read_ahead_kb": ahead, "indexes": results}


if __name__ == "__main__":
    name, data, dial, *groups = sys.argv[1:]
    print(json.dumps(queried(name, Path(data), float(dial), Path(groups[0]) if groups else None)))
