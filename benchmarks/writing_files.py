"""Measurements of files as they grow: cost per passage, the graph alone, bytes by table."""

from __future__ import annotations

import random
import resource
import sqlite3
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from graph_files import mixture
from monograph import Document, Monograph, Passage, Settings
from monograph.derive.sentences import sentence_spans

WORDS = 80
PART = 2_000
AT_ONCE = 1_000
"""Texts per call: so few that no other process is started, which would take half a second."""
DIMENSION = 384
PER_DOCUMENT = 10


def processor() -> float:
    """Return processor seconds of this process and of the finished child processes."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def passages(count: int) -> Iterator[str]:
    """Yield texts of 80 consecutive words from four question sets."""
    every = (word for document in mixture(2 * count) for word in document.text.split())
    return (" ".join(islice(every, WORDS)) for _ in range(count))


def growth(count: int) -> dict[str, float]:
    """Return processor microseconds per passage, by the number of passages in the file."""
    every = passages(count)
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as place, Monograph.open(Path(place) / "file.mono") as archive:
        for first in range(0, count, PART):
            some = [Document(next(every), id=f"{number:07}") for number in range(first, first + PART)]
            before = processor()
            for start in range(0, PART, AT_ONCE):
                archive.add(some[start : start + AT_ONCE])
            found[str(first + PART)] = (processor() - before) / PART * 1e6
    return found


def graph_alone(count: int) -> dict[str, float]:
    """Return processor microseconds per passage: without the graph, and for the graph and trigrams built later."""
    every = list(passages(count))
    with (
        tempfile.TemporaryDirectory() as place,
        Monograph.open(Path(place) / "file.mono", settings=Settings(graph=False)) as archive,
    ):
        before = processor()
        archive.add([Document(text, id=f"{number:07}") for number, text in enumerate(every)])
        between = processor()
        archive.graph.build()
        after = processor()
    return {
        "vectors and words, at once": (between - before) / count * 1e6,
        "graph and trigrams, later": (after - between) / count * 1e6,
    }


def contents(path: Path) -> dict[str, float]:
    """Return the bytes of a file's tables (each with its indexes), of the whole file, and of its log."""
    log = path.with_name(f"{path.name}-wal")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        names = dict(connection.execute("SELECT name, tbl_name FROM sqlite_schema"))
        sizes: dict[str, float] = {}
        for name, size in connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"):
            table = names.get(name, name)
            table = table.partition("_")[0] if table.startswith(("words_", "trigrams_")) else table
            sizes[table] = sizes.get(table, 0) + size
    connection.close()
    return {
        **dict(sorted(sizes.items(), key=lambda one: -one[1])),
        "in all": float(path.stat().st_size),
        "log": float(log.stat().st_size) if log.exists() else 0.0,
    }


def bytes_of_nodes(count: int) -> dict[str, float]:
    """Return the bytes per node, by table, of nodes with 80 words and a given vector, as a framework adds them."""
    numbers = np.random.default_rng(7).normal(size=(count, DIMENSION)).astype(np.float32)
    every = passages(count)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "file.mono"
        with Monograph.open(path, settings=Settings(graph=False)) as archive:
            for first in range(0, count, AT_ONCE):
                archive.put(
                    [
                        Document(
                            id=f"{start:07}",
                            passages=tuple(
                                Passage(next(every), id=f"{number:07}", vector=numbers[number])
                                for number in range(start, start + PER_DOCUMENT)
                            ),
                        )
                        for start in range(first, min(first + AT_ONCE, count), PER_DOCUMENT)
                    ]
                )
        return {name: size / count for name, size in contents(path).items()}


def shuffled(count: int) -> Iterator[str]:
    """Yield texts of 80 words from random sentences."""
    every = [text for one in mixture(25_000) for text in _sentences(one.text)]
    chance = random.Random(7)
    for _ in range(count):
        words: list[str] = []
        while len(words) < WORDS:
            words += chance.choice(every).split()
        yield " ".join(words[:WORDS])


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]
