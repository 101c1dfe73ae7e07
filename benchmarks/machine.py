"""Functions that all benchmarks share: name of the machine, medians of repeats, tables and JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

console = Console(width=140, soft_wrap=True, highlight=False, markup=False)
CHILD_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""Environment of measured processes. Python stores the bytecode of our modules, as pip does for installed packages."""


def machine() -> str:
    """Return processor, cores, Python and SQLite in one line."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        model = next(
            (line.split(":")[1].strip() for line in info.read_text().splitlines() if "model name" in line), model
        )
    return f"{model}, {os.cpu_count()} cores, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"


def median_seconds(work: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median wall time of some runs, in seconds."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def in_threads(work: Callable[[int], object], count: int) -> float:
    """Call ``work`` in ``count`` threads with numbers from 0; return the seconds. Raises a thread's first error."""
    failed: list[BaseException] = []

    def run(number: int) -> None:
        try:
            work(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return time.perf_counter() - started


def show(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print an aligned table. All columns but the first have numbers."""
    table = Table(box=SIMPLE_HEAD, title=title, title_justify="left", pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def save(path: Path | None, value: Any) -> None:
    """Write results and the name of the machine as JSON."""
    if path is not None:
        path.write_text(json.dumps({"machine": machine(), "results": value}, indent=2))


def run_sections(
    sections: Mapping[str, Callable[[argparse.Namespace], Any]], options: argparse.Namespace, saved: Path, limits: str
) -> dict[str, Any]:
    """Measure the requested sections; keep earlier results of the others in ``saved``. Return all results."""
    results: dict[str, Any] = json.loads(saved.read_text()) if saved.exists() else {}
    for section in options.only:
        begun = time.perf_counter()
        found = sections[section](options)
        seconds = time.perf_counter() - begun
        results[section] = {"machine": machine(), "limits": limits, "seconds": seconds, "found": found}
        saved.write_text(json.dumps(results, indent=1))
        console.print(f"{section}: {seconds:,.0f} s")
    return results


SHARED = Path(__file__).resolve().parents[2] / "shared"
