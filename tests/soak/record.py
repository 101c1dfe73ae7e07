"""Counts and faults of a part of the soak, and their record in ``docs/explanation/reliability.md``."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"
_NO_FAULT = "**No fault was found.**"


@dataclass(frozen=True, slots=True)
class Fault:
    """Fault, with its place, its description, and the arguments of the command that repeats it."""

    where: str
    what: str
    again: str


@dataclass(slots=True)
class Tally:
    """Counts of a part of the soak, by the name and then the outcome of operations, and its faults."""

    part: str
    done: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    seconds: float = 0.0

    def count(self, what: str, how: str, times: int = 1) -> None:
        self.done.setdefault(what, Counter())[how] += times

    def include(self, other: Tally) -> None:
        for what, hows in other.done.items():
            self.done.setdefault(what, Counter()).update(hows)
        self.faults += other.faults

    def total(self, how: str) -> int:
        """Return the count of an outcome over all operations."""
        return sum(hows[how] for hows in self.done.values())

    def table(self) -> Iterator[str]:
        """Yield a Markdown table: a row for each operation, a column for each outcome, and a row of sums."""
        hows = sorted({how for counts in self.done.values() for how, count in counts.items() if count})
        yield f"| {self.part} | {' | '.join(hows)} |"
        yield f"| --- | {' | '.join('---:' for _ in hows)} |"
        for what, counts in [*sorted(self.done.items()), ("**all**", sum(self.done.values(), Counter()))]:
            yield f"| {what} | {' | '.join(f'{counts.get(how, 0):,}' for how in hows)} |"


def replace_record(page: str, tallies: list[Tally], seed: int) -> str:
    """Return a page with the record of a run in place of the previous one.

    Raises
    ------
    ValueError
        If the page lacks the markers.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    faults = [fault for tally in tallies for fault in tally.faults]
    machine = (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}"
    )
    minutes = sum(tally.seconds for tally in tallies) / 60
    lines = [f"{datetime.now(UTC):%Y-%m-%d}, seed {seed}, {minutes:.0f} minutes: {machine}.", ""]
    lines += [f"**{len(faults)} faults:**", ""] if faults else [_NO_FAULT]
    lines += [f"- {fault.where}: {fault.what.splitlines()[0]}" for fault in faults]
    for tally in tallies:
        lines += ["", *tally.table()]
    return "\n".join([before + BEGIN, *lines, END + after])
