"""A byte changed anywhere in the rows of a file: a check finds it, or nothing that anyone sees is changed by it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flips import Cell, flip, sampled
from letters import FACTS, FILLER, STRANGERS
from monograph import Document, Embedder, Monograph, MonographError, Passage, Settings, strategies
from monograph.answer.cache import AnswerCache
from monograph.derive.embed import load_embedder
from monograph.derive.summarize import load_summarizer
from monograph.errors import DamagedFile, DamageWarning
from monograph.models import Completion
from monograph.vectors.design import Design

TEXTS = Path(__file__).resolve().parents[1] / "examples" / "texts" / "letters"
QUESTIONS = ("Whom did Tobias Renk meet in Vienna?", 'comet plates "Anna Calder"', "INV-1968-07 boiler in Salzburg")
HOWS = (*strategies(), "graph:faithful=true")


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder("static")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Path:
    """A file with rows in every table that can have some between two writes."""
    path = tmp_path_factory.mktemp("golden") / "golden.mono"
    settings = Settings(chunk_tokens=48, chunk_overlap=8)
    with Monograph.open(path, embedder, summarizer=load_summarizer("extractive"), settings=settings) as monograph:
        monograph._file.chunk_index.design = Design(cluster_size=8, cluster_search="graph")
        monograph.sync(TEXTS)
        told = [*FACTS, *STRANGERS, f"{FACTS[0]} {FILLER}"]
        monograph.add([
            Document(text, id=f"d{at}", title=f"Letter {at}", uri=f"mem:{at}", metadata={"year": 1960 + at, "tags": ["x"]})
            for at, text in enumerate(told)
        ])  # fmt: skip
        vectors = np.eye(4, embedder.dimension, dtype=np.float32)
        passages = [Passage(f"Given passage {at} on lamps.", f"p{at}", {"page": at}, vectors[at]) for at in range(4)]
        monograph.add([Document(id="given", title="Given", passages=tuple(passages))])
        monograph.remove(["d5"])
        monograph.graph.set_apart("Anna Calder", "Mary Poole")
        AnswerCache(monograph._file.database).keep(b"k" * 32, Completion("An answer.", 3, 2))
    return path


def seen(monograph: Monograph) -> list[Any]:
    """All that people see of a file: answers in every way to search, documents, chunks, the tree, the graph."""
    found: list[Any] = [monograph.search(question, 6, how) for question in QUESTIONS for how in HOWS]
    found.append(monograph.search("lamps", 4, "hybrid", {"year": {">=": 1962}}))
    listed = monograph.documents()
    found.append(listed)
    found += [(monograph.document(one.id), monograph.chunks(one.id)) for one in listed]
    found += [monograph.tree.outline(layers=9), monograph.graph.entities(400), monograph.graph.merges()]
    found.append(monograph.graph.neighbourhood("Tobias Renk", 2))
    return found


@pytest.fixture(scope="module")
def truth(golden: Path, embedder: Embedder) -> list[Any]:
    with Monograph.open(golden, embedder) as monograph:
        assert monograph.check() == []
        return seen(monograph)


def flipped(golden: Path, folder: Path, count: int, seed: int) -> Iterator[tuple[Cell, Path]]:
    """So many copies, each with one byte changed."""

    def every() -> Iterator[tuple[Cell, Path]]:
        for at, cell in enumerate(sampled(golden, seed)):
            copy = folder / f"{at}.mono"
            if flip(golden, copy, cell, seed + at):
                yield cell, copy
            copy.unlink()

    return islice(every(), count)


def judged(copy: Path, embedder: Embedder, truth: list[Any]) -> str:
    """What a check makes of a file, whether rightly so; nothing raises anything but errors of ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamageWarning)
        try:
            with Monograph.open(copy) as monograph:
                findings = monograph.check()
                monograph._file.given_embedder = embedder
                try:
                    same = seen(monograph) == truth
                except MonographError as error:
                    assert str(copy) in str(error), error
                    same = False
        except DamagedFile as error:
            assert str(copy) in str(error), error
            return "refused"
    if findings:
        return "found"
    return "harmless" if same else "MISSED"


@pytest.mark.parametrize("count", [60, pytest.param(500, marks=pytest.mark.long)])
def test_a_changed_byte_is_found_or_does_no_harm(
    golden: Path, truth: list[Any], embedder: Embedder, tmp_path: Path, count: int
) -> None:
    verdicts: dict[str, list[str]] = {}
    for cell, copy in flipped(golden, tmp_path, count, seed=count):
        verdicts.setdefault(judged(copy, embedder, truth), []).append(str(cell))
    assert "MISSED" not in verdicts, verdicts["MISSED"]
    assert len(verdicts["found"]) > count // 2
