"""Monograph files of the question sets, built once per run, and functions that search and copy them."""

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
from monograph.search.one_file.file_reader import SearchCache
from monograph.search.query import Strategy
from monograph.values import Document, Hit

CACHE = Path(__file__).resolve().parent.parent / "build" / "graph"
SETS = ("hotpotqa", "2wikimultihopqa", "musique", "lihuaworld", "multihop-rag", "squad", "popqa-rebuilt")
UNTITLED = SETS[:3]
MIXED = ("hotpotqa", "2wikimultihopqa", "musique", "popqa-rebuilt")
MOST_QUESTIONS = {"squad": 400}
Results = dict[str, Any]
Changes = tuple[tuple[Any, str, Any], ...]

made: set[Path] = set()
"""Files that this run has built. Files of earlier runs are built again, because they may have another version."""


class Faithful:
    """Searcher that always uses MiniRAG's formulas, whatever mode is requested."""

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
    """Yield (label, set, whether with titles): first all sets with titles, then those of ``UNTITLED`` without."""
    yield from ((name, name, True) for name in sets)
    yield from ((f"{name}, no titles", name, False) for name in sets if name in UNTITLED)


def fresh(path: Path) -> Path:
    """Delete a file and its log, if they exist; return the path."""
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    return path


def copied(source: Path, target: Path) -> Path:
    """Copy a file, with the content of its log; return the path of the copy."""
    read, write = sqlite3.connect(source), sqlite3.connect(fresh(target))
    read.backup(write)
    read.close()
    write.close()
    return target


@contextmanager
def opened(name: str, titled: bool = True, spec: str = "static") -> Iterator[Monograph]:
    """Yield the file of a set, with or without titles."""
    path = CACHE / f"{name}{'' if titled else '-untitled'}-{spec.partition(':')[0]}.mono"
    if path not in made:
        documents = dataset(name).documents
        with Monograph.open(fresh(path), embedder=load_embedder(spec)) as monograph:
            monograph.add(documents if titled else [replace(one, title="") for one in documents])
        made.add(path)
    with Monograph.open(path, read_only=True, embedder=load_embedder(spec)) as monograph:
        yield monograph


def unresolved(monograph: Monograph) -> Path:
    """Return a copy of a file in which no names are merged: each name is a separate entity."""
    path = copied(monograph.path, CACHE / "unresolved.mono")
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("UPDATE names SET head = NULL, reason = NULL")
    connection.close()
    made.add(path)
    return path


def mixture(size: int) -> list[Document]:
    """Return passages of four sets in a fixed random order. After the last, they repeat with a serial number added."""
    every = [replace(one, id=f"{name}/{one.id}") for name in MIXED for one in dataset(name).documents]
    random.Random(7).shuffle(every)
    again = ((number, every[number % len(every)]) for number in range(len(every), size))
    more = [replace(one, id=f"{one.id}/{number}", text=f"{one.text} Number {number}.") for number, one in again]
    return [*every[:size], *more]


@contextmanager
def changed(changes: Changes) -> Iterator[None]:
    """Set attributes of modules and classes, given as (module or class, name, value), until the end of the block."""
    before = [(module, name, getattr(module, name)) for module, name, _ in changes]
    try:
        for module, name, value in changes:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def forgetful(*_: Any) -> SearchCache:
    """Return an empty cache, in place of :meth:`SearchCache.at`."""
    return SearchCache()
