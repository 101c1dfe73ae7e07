"""Chance against all that takes what others wrote: each case is answered, or refused by an error of ours, in its time.

Another exception, a case of more than 20 seconds, memory above the limit or the end of the process by a signal is a fault.
A part runs in a process of its own. What is drawn hangs on the seed and the number of the case alone, so that one comes
again::

    cd tests
    python -m fuzz 60                             all parts, which share so many seconds
    python -m fuzz 10 blobs                       one part
    python -m fuzz blobs --seed 7 --case 123      one case
    python -m fuzz blobs --seed 7 --cases 50      the first cases, however long they take
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import TypeAlias

from monograph.errors import MonographError
from monograph.read.child import limit_memory

Case: TypeAlias = tuple[str, Callable[[], object]]
"""What it is, and what is done, which may raise MonographError alone."""

PLACE = Path(__file__).resolve().parents[1]
"""The folder of this package."""
PARTS = {
    "readers": 0.4,
    "blobs": 0.25,
    "filters": 0.12,
    "queries": 0.12,
    "requests": 0.08,
    "agents": 0.05,
    "carried": 0.1,
    "strings": 0.08,
    "bounds": 0.15,
    "ignored": 0.05,
    "cut": 0.1,
}
"""The share of the time; each part is a module of this package with ``cases(seed, folder, first)``."""
MOST_SECONDS = 20.0
"""For one case, on a machine that has other things to do."""
MOST_MEMORY = 3 << 30
"""Bytes of address space, of which the libraries take a third."""
SLACK = 60.0
"""Seconds for the set-up of a part and its last case."""


def survive(cases: Iterator[Case], end: float, last: Path) -> tuple[int, int]:
    """Do cases until that time; how many were answered, and how many refused. ``last`` is told what is being done."""
    answered = refused = 0
    for name, work in cases:
        last.write_text(name, "utf-8", "backslashreplace")
        faulthandler.dump_traceback_later(MOST_SECONDS, exit=True)
        try:
            work()
            answered += 1
        except MonographError as error:
            str(error).encode("utf-8", "backslashreplace")
            refused += 1
        faulthandler.cancel_dump_traceback_later()
        if time.monotonic() > end:
            break
    last.unlink()
    return answered, refused


def run(part: str, seed: int, seconds: float, first: int, most: int | None, folder: Path) -> None:
    """The cases of a part, in this process."""
    warnings.simplefilter("ignore")
    faulthandler.enable()
    made = import_module(f"fuzz.{part}").cases(seed, folder, first)
    if part != "readers":  # These have processes of their own, with limits.
        limit_memory(MOST_MEMORY)
    with contextlib.closing(made):
        answered, refused = survive(islice(made, most), time.monotonic() + seconds, folder / "last")
    print(f"{part}, seed {seed}: {answered} answered, {refused} refused", flush=True)


def start(part: str, options: list[str], seconds: float) -> bool:
    """A part in a process of its own; whether it came to a good end."""
    with tempfile.TemporaryDirectory(prefix=f"fuzz-{part}-") as place:
        command = [sys.executable, "-m", "fuzz", part, *options, "--folder", place]
        code = subprocess.run(command, cwd=PLACE, timeout=seconds + SLACK, check=False).returncode
        last = Path(place) / "last"
        if code and last.exists():
            print(f"{part} {' '.join(options)}: exit code {code} at the case {last.read_text()[:4_000]}", flush=True)
    return code == 0


def main() -> int:
    """Fuzz, and say what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", help="seconds for all parts, and names of parts; all without a name")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--case", type=int)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--folder", type=Path, help="work here, in this process")
    given = parser.parse_args()
    numbers = [float(one) for one in given.what if one not in PARTS]
    parts = [one for one in given.what if one in PARTS] or list(PARTS)
    if given.folder is not None:
        first, most = (0, given.cases) if given.case is None else (given.case, 1)
        run(parts[0], given.seed, given.seconds, first, most, given.folder)
        return 0
    whole = sum(PARTS[one] for one in parts)
    good = True
    for part in parts:
        options = ["--seed", str(given.seed)]
        for name, value in (("--case", given.case), ("--cases", given.cases)):
            options += [] if value is None else [name, str(value)]
        seconds = numbers[0] * PARTS[part] / whole if numbers else 600.0
        if numbers:
            options += ["--seconds", f"{seconds:g}"]
        good &= start(part, options, seconds)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
