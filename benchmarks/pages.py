"""Time of reads of a cluster's size and of small writes, by SQLite's page size, with and without a memory map."""

from __future__ import annotations

import argparse
import os
import sqlite3
import tempfile
import time
from pathlib import Path
from statistics import median

from machine import console, machine, save, show

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--rows", type=int, default=200)
parser.add_argument("--json", type=Path)
options = parser.parse_args()


def microseconds(work: object, repeats: int) -> float:
    times = []
    for number in range(repeats):
        started = time.perf_counter()
        work(number)  # type: ignore[operator]
        times.append((time.perf_counter() - started) * 1e6)
    return median(times)


def measure(page_size: int, mapped: bool, folder: str) -> tuple[float, float, float]:
    path = Path(folder) / f"{page_size}-{mapped}.db"
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute(f"PRAGMA page_size = {page_size}")
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute(f"PRAGMA mmap_size = {2_000_000_000 if mapped else 0}")
    connection.execute("CREATE TABLE blobs (id INTEGER PRIMARY KEY, value BLOB)")
    connection.execute("CREATE TABLE small (id INTEGER PRIMARY KEY, value BLOB)")
    connection.execute("BEGIN")
    for number in range(options.rows):
        connection.execute("INSERT INTO blobs VALUES (?, ?)", (number, os.urandom(98_304)))
        connection.execute("INSERT INTO blobs VALUES (?, ?)", (number + 1_000_000, os.urandom(196_608)))
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def read(first: int) -> object:
        return lambda number: connection.execute(
            "SELECT value FROM blobs WHERE id = ?", (first + number % options.rows,)
        ).fetchone()

    def write(number: int) -> None:
        connection.execute("INSERT INTO small VALUES (?, ?)", (number, b"x" * 300))

    microseconds(read(0), options.rows)
    microseconds(read(1_000_000), options.rows)
    result = (
        microseconds(read(0), 5 * options.rows),
        microseconds(read(1_000_000), 5 * options.rows),
        microseconds(write, 500),
    )
    connection.close()
    path.unlink()
    return result


rows = []
with tempfile.TemporaryDirectory() as place:
    for size in (4096, 8192, 16_384, 32_768, 65_536):
        for memory_map in (False, True):
            row = measure(size, memory_map, place)
            rows.append(
                (f"{size // 1024} KB, mmap {'on' if memory_map else 'off'}", *(f"{value:.0f}" for value in row))
            )
console.print(machine())
show("SQLite pages, microseconds, medians", ("page", "read 96 KB", "read 192 KB", "write 300 B + commit"), rows)
save(options.json, rows)
