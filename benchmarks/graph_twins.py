"""What native code finds beside its Python twins: every question of every set, hit by hit."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graph_files import opened, questions, rows_of
from machine import console
from monograph import Monograph
from monograph.evaluate.datasets import Question
from monograph.vectors import kernel

WAYS = ("lexical", "hybrid", "graph", "graph:faithful=true")
K = 10
HERE = Path(__file__).resolve().parent
Found = list[list[list[Any]]]
Results = dict[str, Any]
TWIN = "import nothing_compiled, graph_twins; graph_twins.plain()"
"""Run in a process of its own."""


def found(monograph: Monograph, asked: Sequence[Question], how: str) -> Found:
    """[id, score, path and its score] of the hits of each question."""
    return [
        [
            [hit.chunk.id, hit.score, None if hit.path is None else [[n.id for n in hit.path.nodes], hit.path.score]]
            for hit in monograph.search(question.question, K, how)
        ]
        for question in asked
    ]


def twins(options: argparse.Namespace) -> Results:
    """How many questions have the same hits, in order, with the same paths; and by how much scores differ at most."""
    results: Results = {}
    for called, name, titled in rows_of(options.sets):
        asked = questions(name, options)
        with opened(name, titled) as monograph:
            native = {way: found(monograph, asked, way) for way in WAYS}
            command = [sys.executable, "-c", TWIN, str(monograph.path), name, str(len(asked))]
            plain = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=HERE).stdout)
        row = results[called] = {way: _held(native[way], plain[way]) for way in WAYS}
        console.print(f"{called:30} {row}")
    return results


def _held(native: Found, plain: Found) -> Results:
    """One way of searching held against the other."""
    pairs = list(zip(native, plain, strict=True))
    both = [(one, other) for some, others in pairs for one, other in zip(some, others, strict=False)]
    return {
        "questions": len(pairs),
        "hits": sum([one[0] for one in some] == [one[0] for one in others] for some, others in pairs),
        "paths": sum([_way(one) for one in some] == [_way(one) for one in others] for some, others in pairs),
        "difference": max((abs(one[1] - other[1]) for one, other in both if one[0] == other[0]), default=0.0),
    }


def _way(one: list[Any]) -> tuple[Any, Any]:
    return one[0], one[2] and one[2][0]


def plain() -> None:
    """Print what the twins find in a file, as JSON: FILE SET COUNT."""
    path, name, count = sys.argv[1:]
    assert kernel.IMPLEMENTATION == "numpy"
    with Monograph.open(Path(path), read_only=True) as monograph:
        asked = questions(name, argparse.Namespace(questions=None))[: int(count)]
        print(json.dumps({way: found(monograph, asked, way) for way in WAYS}))
