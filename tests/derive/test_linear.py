"""Work of derivation grows in proportion to the length of a text."""

from __future__ import annotations

import gc
import gzip
import itertools
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.derive import sentences as of_text
from monograph.derive.sentences import ALWAYS_TAKEN, MOST_WORK, stretches, work
from support.nasty_texts import NASTY, STAGES, of_length
from support.properties import examples

DIVIDED = ("sentences", "chunks", "small chunks")
"""Stages that divide a text that needs too much work. For short texts their work grows with the square."""


def steps(work: Callable[[], object]) -> int:
    """Count the calls and returns of functions, including functions in C."""
    number = itertools.count()

    def count(frame: object, event: str, argument: object) -> None:
        next(number)

    gc.disable()  # Calls by the garbage collector would be counted too.
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        gc.enable()
    return next(number)


def assert_linear(stage: str, name: str) -> None:
    """Check that a text of twice the length takes about twice as many steps; quadratic work would take four times."""
    length = 16_384 if stage in DIVIDED else 8_192
    once, twice = (steps(STAGES[stage](of_length(NASTY[name], size))) for size in (length, 2 * length))
    assert twice < 2.5 * once, (stage, name)  # The longer text may be divided one time more.


@pytest.mark.parametrize("name", ["fences", "quotes of all kinds", "Han with stops", "emoji"])
def test_worst_texts_take_linear_steps(name: str) -> None:
    assert_linear("chunks", name)


@pytest.mark.long
@pytest.mark.parametrize("stage", STAGES)
def test_nasty_texts_take_linear_steps(stage: str) -> None:
    STAGES[stage]("warm")()
    for name in NASTY:
        assert_linear(stage, name)


def test_sentencex_gets_linear_work() -> None:
    """The estimated work of sentencex, which is compiled, is bounded; ``benchmarks/linear.py`` measures its time."""
    for name, unit in NASTY.items():
        text = of_length(unit, 8_192)
        given = [text[first:last] for first, last in stretches(text)]
        assert all(len(one) <= ALWAYS_TAKEN or work(one) <= MOST_WORK * len(one) for one in given), name


def blocks_of(text: str) -> list[str]:
    return [text[first:last] for first, last in of_text.blocks(text)]


@pytest.mark.long
def test_real_texts_are_segmented_by_sentencex(shared: Path) -> None:
    # No block is divided, so that the sentences are those of sentencex.
    seen = 0
    for corpus in sorted((shared / "data").glob("*/corpus.jsonl.gz")):
        with gzip.open(corpus, "rt", encoding="utf-8") as lines_of_json:
            texts = [json.loads(line)["text"] for line in lines_of_json]
        # Many texts as one paragraph, longer than any paragraph of a book.
        lines = "\n".join(line for text in texts for line in text.splitlines() if line.strip())[:1_000_000]
        for text in (*texts, lines, lines.replace("\n", " ")):
            assert all(list(stretches(block)) == [(0, len(block))] for block in blocks_of(text) if block)
            seen += 1
    assert seen > 20_000


PIECES = st.sampled_from([*NASTY.values(), "A word. ", "\n\n", "lorem ipsum ", "don't ", "“Well,” he said. "])
RUNS = st.lists(st.tuples(PIECES, st.integers(1, 1_500)), max_size=6)


@settings(max_examples=examples(250))
@given(
    text=RUNS.map(lambda runs: "".join(unit * count for unit, count in runs))
    | st.text(alphabet="aB.!? \n\"'1。", max_size=80)
)
def test_stretches_and_sentences_cover_the_text(text: str) -> None:
    found = list(stretches(text))
    assert "".join(text[first:last] for first, last in found) == text
    assert all(first < last for first, last in found)
    spans = of_text.sentence_spans(text)
    covered = [at for first, last in spans for at in range(first, last)]
    assert covered == sorted(set(covered))
    within = set(covered)
    assert all(character.isspace() or at in within for at, character in enumerate(text))


def test_only_an_expensive_paragraph_is_divided() -> None:
    prose = "He came. She went to Dr. Grubb's at 5 p.m. today.\n\n" * 40
    nasty = "``«“ é" * 4_000
    text = f"{prose}{nasty}\n\n{prose}"
    spans = of_text.sentence_spans(text)
    before = of_text.sentence_spans(prose)
    assert spans[: len(before)] == before
    moved = len(prose) + len(nasty) + 2
    assert spans[-len(before) :] == [(first + moved, last + moved) for first, last in before]
    assert len(list(stretches(text))) > 3
