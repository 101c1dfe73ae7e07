"""A byte changed anywhere in the rows of a file: a check finds it, or nothing that anyone sees is changed by it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from monograph import Document, Embedder, Hit, Monograph, MonographError, Passage, Settings, strategies
from monograph.answer.ask import AnswerCache
from monograph.derive.loading import load_embedder, load_summarizer
from monograph.errors import DamagedFile
from monograph.models import Completion
from monograph.values import AssertedNode, AssertedRelation
from monograph.vectors.design import Design
from support.byte_flips import Cell, flip, sampled
from support.letter_corpus import FACTS, FILLER, STRANGERS
from support.paths import EXAMPLES

TEXTS = EXAMPLES / "texts" / "letters"
QUESTIONS = ("Whom did Tobias Renk meet in Vienna?", 'comet plates "Anna Calder"', "INV-1968-07 boiler in Salzburg")
HOWS = (*strategies(), "graph:faithful=true")


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return load_embedder("static")


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Path:
    return made(tmp_path_factory.mktemp("golden") / "golden.mono", embedder)


def made(path: Path, embedder: Embedder, key: str | None = None) -> Path:
    """A file with rows in every table that can have some between two writes."""
    settings = Settings(chunk_tokens=48, chunk_overlap=8, history=True)
    summarizer, now = load_summarizer("extractive"), [1_700_000_000]
    with Monograph.open(
        path, embedder, summarizer=summarizer, settings=settings, key=key, clock=lambda: now[0]
    ) as monograph:
        monograph._file.chunk_index.design = Design("graph", 8)
        monograph.sync(TEXTS)
        told = [*FACTS, *STRANGERS, f"{FACTS[0]} {FILLER}"]
        monograph.add([
            Document(text, id=f"d{at}", title=f"Letter {at}", uri=f"mem:{at}", metadata={"year": 1960 + at, "tags": ["x"]})
            for at, text in enumerate(told)
        ])  # fmt: skip
        vectors = np.eye(4, embedder.dimension, dtype=np.float32)
        passages = [Passage(f"Given passage {at} on lamps.", f"p{at}", {"page": at}, vectors[at]) for at in range(4)]
        monograph.add([Document(id="given", title="Given", passages=tuple(passages))])
        now[0] += 10
        monograph.remove(["d5"])
        monograph.add([Document("Given passages no more.", id="given")])
        monograph.add([Document(id="given", title="Given", passages=tuple(passages))])
        now[0] += 10
        monograph.add([Document(f"{told[0]} And then again.", id="d0", metadata={"year": 1960, "tags": ["x"]})])
        monograph.graph.keep_apart("Anna Calder", "Mary Poole")
        names = [
            AssertedNode("Anna Calder", "", "person", {"age": 40}, np.ones(3, dtype=np.float32), ("d1", "p1")),
            AssertedNode("x"),
        ]
        monograph.graph.add(names, [AssertedRelation("Anna Calder", "MET", "Mary Poole", {"on": "Sunday"}, ("p1",))])
        AnswerCache(monograph._file.database).keep(b"k" * 32, Completion("An answer.", 3, 2))
    return path


def answers(monograph: Monograph, question: str, how: str) -> list[Hit]:
    """Hits with all they tell, but for what they took: that hangs on how full the clusters are."""
    return [
        replace(hit, origins=tuple(replace(origin, effort=None) for origin in hit.origins))
        for hit in monograph.search(question, 6, how)
    ]


def seen(monograph: Monograph) -> list[Any]:
    """All that people see of a file: answers in every way to search, documents, chunks, the tree, the graph."""
    found: list[Any] = [answers(monograph, question, how) for question in QUESTIONS for how in HOWS]
    found.append(monograph.search("lamps", 4, "hybrid", {"year": {">=": 1962}}))
    listed = monograph.documents()
    found.append(listed)
    found += [(monograph.document(one.id), monograph.chunks(one.id)) for one in listed]
    found += [monograph.tree.outline(layers=9), monograph.graph.entities(400), monograph.graph.merges()]
    found.append(monograph.graph.neighbourhood("Tobias Renk", 2))
    told = monograph.graph.assertions()
    found += [told.relations, [(one.name, one.label, one.properties, one.origins) for one in told.nodes.values()]]
    found += [monograph.versions(name) for name in ("d0", "d5", "given")]
    found += [monograph.document(name, as_of=1_700_000_005) for name in ("d0", "d5", "given")]
    found.append([replace(one, size=0, synced=0) for one in monograph.files.sources() if one.documents])
    return found


@pytest.fixture(scope="module")
def truth(golden: Path, embedder: Embedder) -> list[Any]:
    with Monograph.open(golden, embedder) as monograph:
        assert monograph.check() == []
        return seen(monograph)


@pytest.fixture(scope="module")
def truths(golden: Path, truth: list[Any], embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """What is seen of a whole file, as it was built up, and after its vector indexes are made anew."""
    copy = tmp_path_factory.mktemp("rebuilt") / "rebuilt.mono"
    shutil.copy(golden, copy)
    found = [truth]
    with Monograph.open(copy, embedder) as monograph:
        for index in reversed(monograph._file.indexes):
            with monograph._file.database.write() as connection:
                index.rebuild(connection)
            found.append(seen(monograph))
        assert monograph.check() == []
    return found


def flipped(golden: Path, folder: Path, count: int, seed: int, key: str | None = None) -> Iterator[tuple[Cell, Path]]:
    """So many copies, each with one byte changed."""

    def every() -> Iterator[tuple[Cell, Path]]:
        for at, cell in enumerate(sampled(golden, seed, key)):
            copy = folder / f"{at}.mono"
            if flip(golden, copy, cell, seed + at, key):
                yield cell, copy
            copy.unlink()

    return islice(every(), count)


def judged(copy: Path, embedder: Embedder, truth: list[Any], key: str | None = None) -> str:
    """What a check makes of a file, whether rightly so; nothing raises anything but errors of ours."""
    try:
        with Monograph.open(copy, key=key) as monograph:
            findings = monograph.check()
            monograph._file.models.given_embedder = embedder
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


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("count", [10, pytest.param(300, marks=pytest.mark.long)])
def test_changed_byte_is_found_or_harmless(
    golden: Path, truth: list[Any], embedder: Embedder, tmp_path: Path, count: int
) -> None:
    verdicts: dict[str, list[str]] = {}
    for cell, copy in flipped(golden, tmp_path, count, seed=count):
        verdicts.setdefault(judged(copy, embedder, truth), []).append(str(cell))
    assert "MISSED" not in verdicts, verdicts["MISSED"]
    assert len(verdicts["found"]) > count // 2


@pytest.fixture
def locked(tmp_path: Path, embedder: Embedder) -> Path:
    pytest.importorskip("sqlcipher3", reason="the extra encrypt is not installed")
    return made(tmp_path / "locked.mono", embedder, key="a key")


@pytest.mark.long
def test_changed_byte_in_an_encrypted_file_is_found(locked: Path, embedder: Embedder, tmp_path: Path) -> None:
    with Monograph.open(locked, embedder, key="a key") as monograph:
        assert monograph.check() == []
        truth = seen(monograph)
    copies = flipped(locked, tmp_path, 12, seed=5, key="a key")
    verdicts = [judged(copy, embedder, truth, "a key") for _, copy in copies]
    assert "MISSED" not in verdicts
    assert verdicts.count("found") > 6


def test_changed_page_of_an_encrypted_file_is_found(locked: Path) -> None:
    data = bytearray(locked.read_bytes())
    data[len(data) // 2] ^= 1
    locked.write_bytes(data)
    with Monograph.open(locked, key="a key") as monograph:
        assert ("file", False) in {(one.table, one.repairable) for one in monograph.check()}


def mended(copy: Path, embedder: Embedder, truths: list[Any]) -> str:
    """What comes of a repair, where all that is found is said to be mended by it."""
    try:
        monograph = Monograph.open(copy)
    except DamagedFile:
        return "refused"
    with monograph:
        findings = monograph.check()
        monograph._file.models.given_embedder = embedder
        if not all(one.repairable for one in findings):
            with suppress(MonographError):
                monograph.check(repair=True)
            return "beyond repair"
        assert monograph.check(repair=True) == [], findings
        return "mended" if seen(monograph) in truths else "CHANGED"


@pytest.mark.long
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("count", [5, 120])
def test_repaired_file_is_as_before(
    golden: Path, truths: list[Any], embedder: Embedder, tmp_path: Path, count: int
) -> None:
    outcomes: dict[str, list[str]] = {}
    for cell, copy in flipped(golden, tmp_path, count, seed=count):
        outcomes.setdefault(mended(copy, embedder, truths), []).append(str(cell))
    assert "CHANGED" not in outcomes, outcomes["CHANGED"]
    assert len(outcomes["mended"]) > count // 3
