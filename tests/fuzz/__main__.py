"""Random inputs: each case must return, or raise MonographError, within 20 seconds.

Any other exception, memory above the limit, or a signal that ends the process is a fault. Each part runs in its own
process. A case depends only on the seed and its number, so that it can be repeated::

    cd tests
    python -m fuzz 60                             all parts, in 60 seconds together
    python -m fuzz 10 blobs                       one part
    python -m fuzz blobs --seed 7 --case 123      one case
    python -m fuzz blobs --seed 7 --cases 50      the first cases, however long they take
"""

from __future__ import annotations

import argparse
import faulthandler
import itertools
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterable
from importlib import import_module
from itertools import islice
from pathlib import Path
from random import Random

from monograph.errors import MonographError
from monograph.read.child import limit_memory

PLACE = Path(__file__).resolve().parents[1]
"""Folder that contains this package."""
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
"""Relative share of the time for each part, a module of this package."""
MOST_SECONDS = 20.0
"""Limit for one case, with a margin for a busy machine."""
MOST_MEMORY = 3 << 30
"""Limit of the address space in bytes; libraries take a third of it."""
SLACK = 60.0
"""Additional seconds for the set-up of a part and its last case."""


def run(part: str, seed: int, seconds: float, numbers: Iterable[int], folder: Path) -> None:
    """Run cases of a part in this process, until the time is over; ``folder / "last"`` describes the current one."""
    warnings.simplefilter("ignore")
    faulthandler.enable()
    context = import_module(f"fuzz.{part}").cases(folder)
    if part != "readers":  # Readers run in processes with their own limits.
        limit_memory(MOST_MEMORY)
    last, end = folder / "last", time.monotonic() + seconds
    answered = refused = 0
    with context as draw:
        for number in numbers:
            description, work = draw(Random(f"{seed}/{number}"))
            last.write_text(f"{number}: {description:.4000}", "utf-8", "backslashreplace")
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
    print(f"{part}, seed {seed}: {answered} answered, {refused} refused", flush=True)


def start(part: str, options: list[str], seconds: float) -> bool:
    """Run a part in a new process; return whether it succeeded."""
    with tempfile.TemporaryDirectory(prefix=f"fuzz-{part}-") as place:
        command = [sys.executable, "-m", "fuzz", part, *options, "--folder", place]
        code = subprocess.run(command, cwd=PLACE, timeout=seconds + SLACK, check=False).returncode
        last = Path(place) / "last"
        if code and last.exists():
            print(f"{part} {' '.join(options)}: exit code {code} at the case {last.read_text()[:4_000]}", flush=True)
    return code == 0


def main() -> int:
    """Run the given parts; return 0 if there was no fault, else 1."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="+", help="seconds for all parts, and names of parts; all without a name")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--case", type=int)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--folder", type=Path, help="work here, in this process")
    given = parser.parse_args()
    total = next((float(word) for word in given.what if word not in PARTS), None)
    parts = [word for word in given.what if word in PARTS] or list(PARTS)
    if given.folder is not None:
        numbers = islice(itertools.count(), given.cases) if given.case is None else [given.case]
        run(parts[0], given.seed, given.seconds, numbers, given.folder)
        return 0
    succeeded = True
    for part in parts:
        options = ["--seed", str(given.seed)]
        for name, value in (("--case", given.case), ("--cases", given.cases)):
            options += [] if value is None else [name, str(value)]
        seconds = 600.0
        if total is not None:
            seconds = total * PARTS[part] / sum(PARTS[name] for name in parts)
            options += ["--seconds", f"{seconds:g}"]
        succeeded &= start(part, options, seconds)
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
