"""Cost of keeping previous versions, and of reading snapshots.

``python benchmarks/history.py --passages 5000`` stores passages in a file that keeps previous versions and in one
that keeps none, and changes a tenth of them in both. It prints the processor time of the changes, the file sizes, the
time to open snapshots from before and after the changes, and the time of a search in each snapshot and in the file.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from machine import console
from monograph import Document, Monograph, Settings
from search import passages, questions

START = 1_700_000_000


def seconds(work: Callable[[], object]) -> float:
    """Return the processor seconds of a call, in all threads of this process."""
    started = time.process_time()
    work()
    return time.process_time() - started


def least(archive: Monograph, asked: list[str]) -> float:
    """Return the processor milliseconds of a default search: the median over questions of the least of three runs."""
    times = []
    for question in asked:
        spent = []
        for _ in range(3):
            started = time.thread_time()
            archive.search(question, 10)
            spent.append(time.thread_time() - started)
        times.append(min(spent))
    return median(times) * 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=5_000)
    given = parser.parse_args()
    documents = list(passages(given.passages))
    edited = [replace(one, text=f"{one.text} It was gone over once more.", id=one.id) for one in documents[::10]]
    asked = questions(20)
    now = [START]
    with TemporaryDirectory() as folder:
        for kept in (False, True):
            path = Path(folder) / f"{kept}.mono"
            now[0] = START
            archive = Monograph.open(path, settings=Settings(history=kept), clock=lambda: now[0])
            stored = seconds(lambda archive=archive: archive.add(documents))  # type: ignore[misc]
            now[0] += 10
            changed = seconds(lambda archive=archive: archive.add(edited))  # type: ignore[misc]
            size = archive.stats().file_bytes / 1e6
            said = "keeps previous versions" if kept else "keeps none"
            console.print(
                f"{said}: stored in {stored:.2f} s, {len(edited):,} changed in {changed:.2f} s, {size:.1f} MB"
            )
            console.print(f"  a search: {least(archive, asked):.2f} ms")
        one = Document("One change more.", id="one")
        now[0] += 10
        archive.add([one])
        for what, moment in (("after the changes", START + 15), ("before them", START + 5)):
            views: list[Monograph] = []
            spent = seconds(lambda moment=moment, views=views: views.append(archive.as_of(moment)))  # type: ignore[misc]
            console.print(f"  as it stood {what}: there in {spent:.2f} s; a search: {least(views[0], asked):.2f} ms")
        spent = seconds(lambda: archive.document(documents[0].id, as_of=START + 5))
        console.print(f"  one document as it was: {spent * 1_000:.2f} ms")


if __name__ == "__main__":
    main()
