"""Time of a text of twice the length, as a multiple: 2 if linear, 4 if quadratic."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

from machine import console, machine, save, show

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from support.nasty_texts import NASTY, STAGES, of_length

LENGTHS = (65_536, 131_072)
"""A sign is held against so many others at most, and what is compiled cuts one block at most: both are above it."""
FLOOR = 0.002
"""Seconds that are added to every time: below, what is measured is the clock."""


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the least CPU time of some runs."""
    best = float("inf")
    for _ in range(repeats):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best + FLOOR


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--repeats", type=int, default=4)
parser.add_argument("--json", type=Path)
options = parser.parse_args()

rows = []
for stage, prepare in STAGES.items():
    growth = {}
    for name, unit in NASTY.items():
        short, long = (seconds(prepare(of_length(unit, length)), options.repeats) for length in LENGTHS)
        growth[name] = long / short
    worst = max(growth, key=lambda name: growth[name])
    rows.append((stage, f"{growth[worst]:.2f}", worst))
console.print(machine())
show("time of twice the length, worst of all texts", ("stage", "times", "text"), rows)
save(options.json, rows)
