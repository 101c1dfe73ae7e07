"""Factor by which each stage takes longer for a text of twice the length: 2 if linear, 4 if quadratic."""

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
"""Characters. In shorter texts, the work of finding sentences may be quadratic, up to ``MOST_WORK`` of sentences.py."""
FLOOR = 0.002
"""Seconds added to every time. Shorter times would show the clock's error, not the work."""


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the least CPU time of some runs, plus ``FLOOR``."""
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
