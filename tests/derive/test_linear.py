"""Time of derivation, proportional to the length of a text."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log2
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Settings
from monograph.derive import sentences as of_text
from monograph.derive.chunk import cut
from monograph.derive.embed.static import StaticEmbedder
from monograph.derive.extract.pattern import PatternExtractor, key_phrases
from monograph.derive.stretches import stretches
from monograph.derive.tokens import count_tokens, first_tokens
from monograph.graph.build import document_part
from monograph.values import Chunk
from support.properties import examples

NASTY = {
    "fences": "```\n", "backticks": "`", "tildes": "~~~\n", "fences in prose": "```\nword\n", "double backticks": "``",
    "straight quotes": '"', "apostrophes": "'", "two apostrophes": "''", "opening quotes": "“", "closing quotes": "”",
    "quotes that nothing closes": "“a. ", "guillemets": "«", "guillemets the other way": "» a. « ",
    "low quotes": "„", "quotes of all kinds": "\"'`“‘«", "quotes in brackets": '("a." [‘b.’] {', "CJK quotes": "「",
    "CJK quotes closed": "「啊。", "nested quotes": "“‘’", "quotes that alternate": "‛‟", "low quotes and stops": "。‚《",
    "quotes and backticks": "“``« é ", "quotes in items": "\n- :漢‘›''", "stops and quotes": '." ' + ".' ",
    "round brackets": "(", "closed brackets": "()", "square brackets": "[", "braces": "{", "angle brackets": "<",
    "references": "[1]", "references after stops": "a.[1] ", "dots": ".", "dots and blanks": ". ", "ellipses": "…",
    "ellipses and marks": "…!", "marks": "?!", "digits": "1", "digits and dots": "1.", "numbers and dots": "1. ",
    "items": "1) a ", "capitals and dots": "A.", "initials": "A. ", "abbreviations": "Mr. ", "small abbreviations": "e.g. ",
    "combining marks": "\u0301", "zero-width joiners": "\u200d", "families": "👩\u200d", "emoji": "🦉", "one word": "a",
    "one name": "A", "one name of parts": "Ab", "Han": "漢字", "Han with stops": "漢字。", "kana": "あ", "Hangul": "가",
    "Thai": "กิ", "Hebrew": "א", "Devanagari": "क्", "Devanagari with stops": "क। ", "scripts that alternate": "aжא漢",
    "newlines": "\n", "lines": "a\n", "paragraphs": "A\n\n", "blanks": " ", "tabs": "\t", "blank lines": " \n",
    "carriage returns": "\r\n", "no-break blanks": "\u00a0", "byte order marks": "\ufeff", "line separators": "\u2028",
    "bars": "|", "rows": "|a|b|\n", "tables": "|a|\n|-|\n", "dashes": "-", "words with dashes": "a-", "headings": "# a\n",
    "underscores": "_", "stars": "**a", "addresses": "a@", "mail": "a@b.c ", "paths": "/a", "commas": ",",
    "names and commas": "Ann, ", "names and ands": "Ann and ", "names and ofs": "Bank of ", "speakers": "Ann: hi\n",
    "elisions": "O'", "possessives": "Ann's ", "dates": "1 May 2020 ", "entities": "&amp;", "tags": "<p>", "zeros": "\0",
}  # fmt: skip

EMBEDDER = StaticEmbedder()
SMALL = Settings(chunk_tokens=16, chunk_overlap=4)


def whole(text: str) -> Chunk:
    return Chunk("c", "d", text, 0, len(text), 0)


def extract(text: str) -> object:
    return list(PatternExtractor().extract([whole(text)]))


def part(text: str) -> Callable[[], object]:
    extractions = list(PatternExtractor().extract([whole(text)]))
    return lambda: document_part("Notes", [text], extractions, set())


STAGES: dict[str, Callable[[str], Callable[[], object]]] = {
    "sentences": lambda text: lambda: of_text.sentence_spans(text),
    "chunks": lambda text: lambda: cut(Document(text, id="d"), Settings()),
    "small chunks": lambda text: lambda: cut(Document(text, id="d"), SMALL),
    "tokens": lambda text: lambda: (count_tokens([text]), first_tokens(text, 200)),
    "names": lambda text: lambda: extract(text),
    "phrases": lambda text: lambda: list(key_phrases(text, "english")),
    "graph": part,
    "vector": lambda text: lambda: EMBEDDER.embed([text]),
}
FLOOR = 0.002
"""Seconds that are added to every time: below, what is measured is the clock."""

TRIES = (1, 4)
"""Of a time that seems too long, the best of more tries is taken: others work on this machine as well."""


def seconds(work: Callable[[], object], tries: int) -> float:
    """Of the processor, the best of some tries."""
    best = float("inf")
    for _ in range(tries):
        begun = time.process_time()
        work()
        best = min(best, time.process_time() - begun)
    return best + FLOOR


def of_length(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def growth(work: Callable[[str], Callable[[], object]], unit: str, sizes: Sequence[int], tries: int) -> float:
    """How many times as long twice the length takes, at most."""
    taken = [seconds(work(of_length(unit, size)), tries) for size in sizes]
    doublings = [log2(after / before) for before, after in pairwise(sizes)]
    return max(
        float((after / before) ** (1 / doubling))
        for (before, after), doubling in zip(pairwise(taken), doublings, strict=True)
    )


def assert_linear(stage: str, name: str, *sizes: int) -> None:
    """In proportion twice the length takes twice as long, with the square four times."""
    found = next((one for tries in TRIES if (one := growth(STAGES[stage], NASTY[name], sizes, tries)) < 3.2), None)
    assert found is not None, (stage, name)


@pytest.mark.parametrize("name", ["fences", "quotes of all kinds", "Han with stops", "emoji"])
def test_worst_texts_take_linear_time(name: str) -> None:
    assert_linear("chunks", name, 4_096, 32_768)


@pytest.mark.long
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("stage", STAGES)
def test_nasty_texts_take_linear_time(stage: str) -> None:
    EMBEDDER.embed(["warm"])
    # A sign is held against so many others at most, and what is compiled cuts one block at most: only above both is
    # the time of sentences in proportion.
    cuts = stage in ("sentences", "chunks", "small chunks")
    sizes = (65_536, 131_072) if cuts else (8_192, 16_384, 32_768)
    for name in NASTY:
        assert_linear(stage, name, *sizes)


def blocks_of(text: str) -> list[str]:
    return [text[first:last] for first, last in of_text.blocks(text)]


@pytest.mark.long
def test_real_texts_are_segmented_by_sentencex(shared: Path) -> None:
    # Its sentences are then sentencex's own, and chunks are cut as ever.
    seen = 0
    for corpus in sorted((shared / "data").glob("*/corpus.jsonl.gz")):
        with gzip.open(corpus, "rt", encoding="utf-8") as lines_of_json:
            texts = [json.loads(line)["text"] for line in lines_of_json]
        # Many texts as one paragraph: no paragraph of a book is as long.
        lines = "\n".join(line for text in texts for line in text.splitlines() if line.strip())[:1_000_000]
        for text in (*texts, lines, lines.replace("\n", " ")):
            assert all(list(stretches(block)) == [(0, len(block))] for block in blocks_of(text) if block)
            seen += 1
    assert seen > 20_000


PIECES = st.sampled_from([*NASTY.values(), "A word. ", "\n\n", "lorem ipsum ", "don't ", "“Well,” he said. "])
RUNS = st.lists(st.tuples(PIECES, st.integers(1, 1_500)), max_size=6)


@settings(max_examples=examples(60))
@given(runs=RUNS)
def test_stretches_cover_the_text(runs: list[tuple[str, int]]) -> None:
    text = "".join(unit * count for unit, count in runs)
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
