"""Comparison of texts with a question, equal to NumPy to the bit."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.answer.reading import compare, units, weigh_terms
from monograph.derive.embed.static import stored_vectors
from monograph.derive.tokens import tokenizer
from monograph.text_pass import compiled
from support import multilingual
from support.oracles import compared as oracle
from support.properties import examples

PARTS = (
    "The", "comets", "comet", "found", "Ines", "It", "this", "May", "1963", "1960s", "2010", "19a0", "\u0661963", "seven", "Half", "²x", "Ⅷ", "x_Y_the", "ǅa",
    "O'Neill’s", ".", "! ", "?", "\n", "\n\n", "\t", "—", "北京大学", "是谁发现的？", "ภาษาไทย", "Ёлка", "É", "e\u0301", "\u0301", "Ⓐ", "İ", "\u0378", "ß", "ﬁnd",
    "coŀlegi", "ŉ", "™", "½", "\0", "z" * 330, "Ω", "ΑΣ", "K", "가나다", "\u1100\u1161",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS) | multilingual.WORDS, max_size=40).map(" ".join) | multilingual.TEXTS
QUESTIONS = st.sampled_from(["Who found the comet?", "", "the of and", "彗星是谁发现的？", "Café cafe cafés?"]) | TEXTS


def assert_same(question: str, texts: Sequence[str], stretches: Sequence[Sequence[tuple[int, int]]]) -> None:
    asked = weigh_terms(question, {}, 9)
    expected = oracle.compare(asked.words, asked.every, texts, stretches)
    for made, one in zip(compare(asked, texts, stretches), expected, strict=True):
        np.testing.assert_array_equal(made, one)


@settings(max_examples=examples(300))
@given(QUESTIONS, st.lists(TEXTS, max_size=3))
def test_compared_texts_by_sentences_equal_plain_ones(question: str, texts: list[str]) -> None:
    whole = [text for text in texts if not any(0xD800 <= ord(sign) < 0xE000 for sign in text)]
    assert_same(question, whole, list(map(units, whole)))


@settings(max_examples=examples(200))
@given(QUESTIONS, TEXTS, st.lists(st.integers(0, 400), max_size=8))
def test_compared_texts_cut_anywhere_equal_plain_ones(question: str, text: str, cuts: list[int]) -> None:
    places = sorted({0, len(text), *(min(one, len(text)) for one in cuts)})
    assert_same(question, [text, text[::-1]], [list(zip(places, places[1:], strict=False)), [(0, len(text))]])


def test_compared_characters_equal_plain_ones() -> None:
    """Alone, within a word, and at both ends of one."""
    signs = [
        chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cn", "Co", "Cs")
    ]
    for step in (1, 251):
        some = signs[::step] if step > 1 else signs[:0x800]
        text = " ".join(f"{one} a{one} {one}b a{one}b" for one in some)
        assert_same("The comet aé b", [text], [[(0, len(text))]])


def test_compared_texts_that_do_not_fit_are_refused() -> None:
    table = stored_vectors().view(np.uint16)
    clues = compiled.Clues({"may": 2})
    asked = compiled.AskedTerms(tokenizer(), table, ["comet"], ["the", "comet"], clues)
    rows, whole = np.empty((1, 6)), np.empty((1, 3))
    asked.compare(["a comet"], [[(0, 7)]], rows, whole)
    for spans, out, wholes in (
        ([[(0, 8)]], rows, whole),
        ([[(5, 4)]], rows, whole),
        ([[(0, 7)], []], rows, whole),
        ([[]], rows, whole),
        ([[(0, 7)]], np.empty((1, 5)), whole),
        ([[(0, 7)]], rows, np.empty((2, 3))),
    ):
        with pytest.raises(ValueError, match=r"stretch|rows"):
            asked.compare(["a comet"], spans, out, wholes)
    with pytest.raises(ValueError, match="64"):
        compiled.Clues({"z" * 65: 1})
    with pytest.raises(ValueError, match="64"):
        compiled.AskedTerms(tokenizer(), table, [f"w{n}" for n in range(65)], [], clues)
    with pytest.raises(ValueError, match="16"):
        compiled.AskedTerms(tokenizer(), np.ascontiguousarray(table[:, :40]), ["comet"], [], clues)
    with pytest.raises(ValueError, match="row"):
        compiled.AskedTerms(tokenizer(), np.ascontiguousarray(table[:9]), ["comet"], [], clues)
