"""Cost of searching a part of a file: with a filter, in a view, and in a file of only that part.

``python benchmarks/views.py --passages 25000`` prints the processor time of a question for each mode: the median over
questions of the least of some repeats. It also prints the time of the first read of a view after a change.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from machine import console
from monograph import Document, Monograph
from search import passages, questions

WAYS = ("lexical", "dense", "hybrid", "graph", "auto")
K = 10
REPEATS = 3


def parted(count: int) -> list[Document]:
    """Return passages with metadata that marks a tenth and a hundredth of them."""
    return [
        replace(one, metadata={**one.metadata, "tenth": place % 10 == 0, "hundredth": place % 100 == 0})
        for place, one in enumerate(passages(count))
    ]


def least(search: Callable[[str], object], asked: Sequence[str]) -> float:
    """Return the median over questions of the least time of some repeats, in processor milliseconds of this thread."""
    times = []
    for question in asked:
        spent = []
        for _ in range(REPEATS):
            started = time.thread_time()
            search(question)
            spent.append(time.thread_time() - started)
        times.append(min(spent))
    return statistics.median(times) * 1_000


def searching(archive: Monograph, how: str, where: dict[str, object] | None = None) -> Callable[[str], object]:
    """Return a function that searches an archive for a question."""
    return lambda question: archive.search(question, K, how, where)


def first_after_a_change(archive: Monograph, view: Monograph) -> float:
    """Return the processor milliseconds of the first read of a view after the file has changed."""
    spent = []
    for number in range(3):
        archive.add([Document(f"A change, the {number}th.", id="change")])
        started = time.thread_time()
        view.listed(limit=1)
        spent.append(time.thread_time() - started)
    archive.remove(["change"])
    return min(spent) * 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=25_000)
    parser.add_argument("--questions", type=int, default=30)
    given = parser.parse_args()
    asked = questions(given.questions)
    documents = parted(given.passages)
    with tempfile.TemporaryDirectory() as folder:
        archive = Monograph.open(Path(folder) / "whole.mono")
        archive.add(documents)
        alone = Monograph.open(Path(folder) / "alone.mono")
        alone.add(one for one in documents if one.metadata["hundredth"])
        tenth, hundredth = archive.within({"tenth": True}), archive.within({"hundredth": True})
        console.print(f"{given.passages:,} passages; milliseconds a question")
        console.print("way       whole  filter 10%  view 10%  worst/whole   view 1%  alone  view/alone")
        for how in WAYS:
            whole = least(searching(archive, how), asked)
            filtered = least(searching(archive, how, {"tenth": True}), asked)
            seen = least(searching(tenth, how), asked)
            few, own = least(searching(hundredth, how), asked), least(searching(alone, how), asked)
            console.print(
                f"{how:8} {whole:6.2f} {filtered:11.2f} {seen:9.2f} {max(filtered, seen) / whole:12.2f}"
                f" {few:9.2f} {own:6.2f} {few / own:11.2f}"
            )
        for name, view in (("10%", tenth), ("1%", hundredth)):
            console.print(
                f"first reading of a view of {name} after a change: {first_after_a_change(archive, view):.0f} ms"
            )
        archive.close()
        alone.close()


if __name__ == "__main__":
    main()
