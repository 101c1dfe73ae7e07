"""What is read of texts, and held against a question: the same as word by word, whatever was read before."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.answer import forms, reading
from monograph.answer.forms import Forms
from monograph.answer.overlap import Comparison, nearness, runs_of_words
from monograph.answer.query_terms import weighed
from monograph.answer.reading import _FOLDED_ALONE, _WORD
from monograph.answer.units import units
from monograph.derive.embed.words import WordVectors
from monograph.graph.names import stem
from monograph.store.terms import words_of

PIECES = st.sampled_from(
    [
        "The comet was found in April 1963 by Ines Okafor.",
        "the comet was found",
        "It rained.",
        "天文台は一九五二年に建てられた。那颗彗星是谁发现的？",
        "¿Quién encontró el cometa?",
        "Cafe\u0301 \u0301 ™ Foo™ ½ litre 1½ coŀlegi ŉ ß straße",
        "word " * 200,
        "x" * 900,
        "\n\n",
        "Dr. Brandl, i.e. the keeper, saw No. 4417 at 3.15 a.m.",
        "…“quoted”—and ‘so’ on",
    ]
)
TEXTS = st.lists(PIECES, max_size=5).map(" ".join) | st.text(max_size=200)
QUESTIONS = st.sampled_from(["Who found the comet?", "", "the of and", "彗星是谁发现的？", "Café cafe cafés?"]) | TEXTS


def test_what_is_folded_alone_is_one_word_alone_and_among_others() -> None:
    simple = [chr(code) for code in range(sys.maxunicode + 1) if _FOLDED_ALONE.fullmatch(chr(code))]
    assert len(simple) > 400
    for sign in simple:
        assert len(words_of(sign)) == len(_WORD.findall(sign)), hex(ord(sign))
    everything = " ".join(simple) + "".join(simple) + "".join(reversed(simple))
    assert words_of(everything) == [word for one in _WORD.findall(everything) for word in words_of(one)]


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_stretches_are_read_as_their_words_are(texts: list[str]) -> None:
    table = Forms()
    for text in texts:
        spans = units(text)
        parts = reading.read(table, text, spans)
        for read, stretches in (
            (parts, [text[start:end] for start, end in spans]),
            (reading.as_one(table, text, spans, parts), [text]),
        ):
            written = [word for one in stretches for word in ("", *_WORD.findall(one))]
            folded = [word for one in stretches for word in ("", *words_of(one))]
            assert read.forms.tolist() == table.numbers(written)
            assert read.words.tolist() == table.numbers_of_words(folded)
            assert read.counts.tolist() == [1 + len(_WORD.findall(one)) for one in stretches]
            assert read.word_counts.tolist() == [1 + len(words_of(one)) for one in stretches]


@settings(max_examples=60, deadline=None)
@given(QUESTIONS, st.lists(st.tuples(st.sampled_from(["", "The comet", "Café"]), TEXTS), min_size=1, max_size=4))
def test_nearness_is_that_of_the_nearest_word(question: str, titled: list[tuple[str, str]]) -> None:
    asked = weighed(question, {}, 9)
    found = nearness(asked, titled)
    assert found.shape == (len(titled), len(asked.words))
    last = {one: place for place, one in enumerate(asked.stems)}
    for row, (title, text) in zip(found, titled, strict=True):
        words = ["", *(word for one in _WORD.findall(f"{title}\n{text}") for word in words_of(one) or [""])]
        stems = set(map(stem, words))
        cosines = WordVectors().cosines(words, asked.words).max(axis=0)
        stands = [one in stems and last[one] == place for place, one in enumerate(asked.stems)]
        np.testing.assert_allclose(row, np.where(stands, 1.0, np.maximum(cosines, 0.0)), atol=1e-6)


@given(QUESTIONS, st.lists(TEXTS, min_size=1, max_size=4), st.integers(1, 3))
def test_runs_that_are_shared(question: str, texts: list[str], length: int) -> None:
    held = Comparison(weighed(question, {}, 9))
    read = reading.joined([held.text(text) for text in texts])
    runs = runs_of_words(question, length)
    assert held.shared_runs(read, length).tolist() == [len(runs & runs_of_words(text, length)) for text in texts]


def test_a_table_starts_afresh_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("monograph.answer.forms.REMEMBERED", 20)
    asked, later = (weighed("Who found the comet?", {}, 9) for _ in range(2))
    texts = [("", "The comets were found by Ines."), ("Comet", " ".join(f"word{n}" for n in range(40)))]
    first, table = nearness(asked, texts), forms.forms()
    assert len(table) <= 20
    np.testing.assert_array_equal(nearness(asked, texts), first)
    np.testing.assert_allclose(nearness(later, texts), first, atol=1e-6)


def test_threads_share_a_table() -> None:
    table = Forms()
    texts = [" ".join(f"Word{(n * step) % 3_000}" for n in range(1_500)) for step in range(1, 9)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda text: reading.read(table, text, [(0, len(text))]), texts))
    assert len(table) == 1 + len({word for text in texts for word in text.split()})
    for text, read in zip(texts, found, strict=True):
        assert read.forms.tolist() == table.numbers(["", *text.split()])
        assert read.words.tolist() == table.numbers_of_words(["", *text.lower().split()])
