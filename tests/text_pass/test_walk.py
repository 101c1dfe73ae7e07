"""Compiled pass over the first texts of a graph search, compared with plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.graph.names import LONGEST_KEY, key_of
from monograph.graph.text import sentence_starts
from monograph.search.names import LONGEST_TITLE, MOST_SMALL
from monograph.search.question import Question
from monograph.search.reader import Counts
from monograph.text_pass import compiled
from support import evaluation_data, multilingual
from support.oracles import walk as oracle
from support.oracles.words import hashes, words
from support.properties import examples


def assert_same_titles(texts: list[str]) -> None:
    none = FUNCTION_WORDS["english"]
    made = compiled.title_phrases(texts, none, LONGEST_TITLE, MOST_SMALL, LONGEST_KEY)
    assert made == [oracle.title_phrases(text) for text in texts]


PARTS = (
    "The", "Lord", "of", "the", "a", "Rings", "I", "U.S.", "St. Ives", "Mr. Fox. ", "end. Then", "abc.\x1cX", "a.b. C", "1984", "²x", "Ⅷ", "_", "x_Y_the",
    "The_End", "ǅa", "O'Neill’s", "?", "!", ";", "(", ")", '"', "\n", "\t", "—", "北京大学", "Ёлка", "É", "e\u0301", "Ⓐ", "İ", "\u0378", "z" * 330, "ß",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(PARTS) | multilingual.WORDS, max_size=40).map(" ".join) | multilingual.TEXTS


@settings(max_examples=examples(1_000))
@given(st.lists(TEXTS, max_size=3))
def test_compiled_titles_equal_plain_ones(texts: list[str]) -> None:
    assert_same_titles(texts)


def asking(text: str) -> Question:
    """A question of the words of a text, the further on the heavier."""
    asked = hashes(words(text))[:64]
    weights = np.power(np.arange(1, len(asked) + 1), 1.5, dtype=np.float64)
    place = {word: at for at, word in enumerate(asked.tolist())}
    weights = weights / weights.sum() if len(asked) else weights
    return Question(text, frozenset(), asked, weights, place, (), (), (text,), Counts(0, {}))


def assert_same_beside(
    question: Question, title: str, text: str, keys: Sequence[str], where: list[tuple[int, ...]]
) -> None:
    compared = compiled.AskedWords(question.words.tolist(), question.weights.tolist())
    made = compared.beside(text, key_of(title), list(keys), where, sentence_starts(text))
    wanted = oracle.beside(question, title, text, keys, where)
    assert [(count, weight.hex()) for count, weight in made] == [(count, weight.hex()) for count, weight in wanted]


WHERE = st.lists(st.integers(0, 8) | st.just(255), max_size=2).map(tuple)


@settings(max_examples=examples(1_000))
@given(TEXTS, TEXTS, TEXTS, st.lists(st.tuples(TEXTS, WHERE), max_size=6))
def test_compiled_words_beside_names_equal_plain_ones(
    asked: str, title: str, text: str, names: list[tuple[str, tuple[int, ...]]]
) -> None:
    mixed = " ".join((asked, text[: len(text) // 2]))
    assert_same_beside(asking(mixed), title, text, [key for key, _ in names], [where for _, where in names])


def test_title_arguments_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="words ascend"):
        compiled.AskedWords([2, 1], [0.5, 0.5])
    with pytest.raises(ValueError, match="words ascend"):
        compiled.AskedWords([1, 2], [0.5])
    with pytest.raises(ValueError, match="words ascend"):
        compiled.AskedWords(list(range(65)), [0.0] * 65)
    asked = compiled.AskedWords([1, 2], [0.5, 0.5])
    with pytest.raises(ValueError, match="sentences of each name"):
        asked.beside("a", "b", ["c"], [], [0])
    for starts in ([], [1], [0, 3], [0, 2, 1]):
        with pytest.raises(ValueError, match="sentences ascend"):
            asked.beside("ab", "b", ["c"], [(0,)], starts)
    with pytest.raises(TypeError, match="a text is a str"):
        compiled.title_phrases([1], (), 8, 3, 160)  # type: ignore[list-item]


@pytest.mark.long
@pytest.mark.parametrize("name", evaluation_data.CORPORA)
def test_compiled_titles_and_words_beside_names_of_corpora_equal_plain_ones(shared: Path, name: str) -> None:
    texts = list(evaluation_data.corpus(shared, name, 1_000))
    assert_same_titles(texts)
    for before, text in zip(texts, texts[1:], strict=False):
        keys = sorted(oracle.title_phrases(text))[:20]
        where: list[tuple[int, ...]] = [(at % 7, at % 3) for at in range(len(keys))]
        assert_same_beside(asking(text[:200] + before[:100]), before[:30], text, keys, where)
