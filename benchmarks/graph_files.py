"""Monograph files of the question sets, built once a run, and functions that search and copy them."""

from __future__ import annotations

import argparse
import random
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from machine import SHARED
from monograph import Graph, Monograph
from monograph.derive.loading import load_embedder
from monograph.evaluate.datasets import EvaluationQuestion, QuestionSet, load_dataset
from monograph.search.query import Strategy
from monograph.values import Document, Hit

CACHE = Path(__file__).resolve().parent.parent / "build" / "graph"
SETS = ("hotpotqa", "2wikimultihopqa", "musique", "lihuaworld", "multihop-rag", "squad", "popqa-rebuilt")
UNTITLED = SETS[:3]
MIXED = ("hotpotqa", "2wikimultihopqa", "musique", "popqa-rebuilt")
MOST_QUESTIONS = {"squad": 400}
Results = dict[str, Any]

made: set[Path] = set()
"""Files that this run has built; files of earlier runs may have another version."""


class Faithful:
    """MiniRAG's formulas as a searcher of their own, however it is asked for."""

    def __init__(self, monograph: Monograph) -> None:
        self.monograph = monograph

    def search(self, query: str, k: int = 5, how: str | Strategy = "graph") -> list[Hit]:
        return self.monograph.search(query, k, how=Graph(faithful=True))


@cache
def dataset(name: str) -> QuestionSet:
    return load_dataset(SHARED / "data" / name)


def questions(name: str, options: argparse.Namespace) -> Sequence[EvaluationQuestion]:
    most = min(options.questions or sys.maxsize, MOST_QUESTIONS.get(name, sys.maxsize))
    return dataset(name).questions[:most]


def rows_of(sets: Sequence[str]) -> Iterator[tuple[str, str, bool]]:
    """(what it is called, set, whether with titles): all sets as they are, then those that are told without titles."""
    yield from ((name, name, True) for name in sets)
    yield from ((f"{name}, no titles", name, False) for name in sets if name in UNTITLED)


def fresh(path: Path) -> Path:
    """A path at which there is no file any more."""
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    return path


def copied(source: Path, target: Path) -> Path:
    """A copy of a file, with what its log still holds."""
    read, write = sqlite3.connect(source), sqlite3.connect(fresh(target))
    read.backup(write)
    read.close()
    write.close()
    return target


@contextmanager
def opened(name: str, titled: bool = True, spec: str = "static") -> Iterator[Monograph]:
    """A set's file, with its titles or without."""
    path = CACHE / f"{name}{'' if titled else '-untitled'}-{spec.partition(':')[0]}.mono"
    if path not in made:
        documents = dataset(name).documents
        with Monograph.open(fresh(path), embedder=load_embedder(spec)) as monograph:
            monograph.add(documents if titled else [replace(one, title="") for one in documents])
        made.add(path)
    with Monograph.open(path, read_only=True) as monograph:
        yield monograph


def unresolved(monograph: Monograph) -> Path:
    """A copy of a file in which every name is an entity of its own."""
    path = copied(monograph.path, CACHE / "unresolved.mono")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE names SET head = NULL, reason = NULL")
    connection.close()
    made.add(path)
    return path


def mixture(size: int) -> list[Document]:
    """Passages of four sets in a fixed random order; after all of them the same again, with a serial number."""
    every = [replace(one, id=f"{name}/{one.id}") for name in MIXED for one in dataset(name).documents]
    random.Random(7).shuffle(every)
    again = ((number, every[number % len(every)]) for number in range(len(every), size))
    more = [replace(one, id=f"{one.id}/{number}", text=f"{one.text} Number {number}.") for number, one in again]
    return [*every[:size], *more]
