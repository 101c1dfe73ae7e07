"""The record of a run in ``docs/explanation/reliability.md``: between two marks, so that the rest of the page stays."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from soak.tally import Tally

BEGIN, END = "<!-- soak: begin -->", "<!-- soak: end -->"
_NO_FAULT = "**None raised anything that is no error of ours, none hung, none crashed; nothing was lost.**"


@dataclass(frozen=True, slots=True)
class Ran:
    """One part of a run: its name, what it did, and how long that took."""

    name: str
    tally: Tally
    seconds: float


def written(page: str, ran: list[Ran], seed: int) -> str:
    """A page with the record of a run in the place of the one before.

    Raises
    ------
    ValueError
        If the page lacks the marks.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{record(ran, seed)}\n{END}{after}"


def record(ran: list[Ran], seed: int) -> str:
    """What was done, when and where, and how it ended, as Markdown."""
    faults = [fault for one in ran for fault in one.tally.faults]
    minutes = sum(one.seconds for one in ran) / 60
    lines = [
        f"{datetime.now(UTC):%Y-%m-%d}, seed {seed}, {minutes:.0f} minutes: {_machine()}.",
        "",
        _NO_FAULT if not faults else f"**{len(faults)} faults:**",
        *([""] + [f"- {fault.where}: {fault.what.splitlines()[0]}" for fault in faults] if faults else []),
    ]
    for one in ran:
        lines += ["", *table(one)]
    return "\n".join(lines)


def _machine() -> str:
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"SQLite {sqlite3.sqlite_version}"
    )


def table(ran: Ran) -> Iterator[str]:
    """One row a thing that was done, one column a way in which it ended, and a row of sums."""
    hows = sorted({how for counts in ran.tally.done.values() for how, count in counts.items() if count})
    yield f"| {ran.name} | {' | '.join(hows)} |"
    yield f"| --- | {' | '.join('---:' for _ in hows)} |"
    for what, counts in sorted(ran.tally.done.items()):
        yield _row(what, hows, counts)
    yield _row("**all**", hows, sum(ran.tally.done.values(), Counter()))


def _row(what: str, hows: list[str], counts: Mapping[str, int]) -> str:
    return f"| {what} | {' | '.join(f'{counts.get(how, 0):,}' for how in hows)} |"


def write(path: Path, ran: list[Ran], seed: int) -> None:
    """Write the record into a page."""
    path.write_text(written(path.read_text(), ran, seed))
