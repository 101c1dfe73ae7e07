"""Reading of texts against a question, compared with a word-by-word oracle."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.answer.reading import Reading, TitledText, compare, units, units_of_texts, weigh_terms
from monograph.derive.embed.static import StaticEmbedder, stored_vectors
from monograph.derive.sentences import sentence_spans, spans_of_texts
from monograph.graph.names import stem
from monograph.store.words.terms import words_of
from support.packing import PIECES
from support.properties import examples

TEXTS = st.lists(PIECES, max_size=5).map(" ".join) | st.text(max_size=200)
QUESTIONS = st.sampled_from(["Who found the comet?", "", "the of and", "彗星是谁发现的？", "Café cafe cafés?"]) | TEXTS


TITLED = st.lists(st.builds(TitledText, TEXTS, st.sampled_from(["", "The comet", "Café"])), min_size=1, max_size=4)
_FORM = re.compile(r"[\w\u0300-\u036f]+")


def cosines(words: list[str], others: tuple[str, ...]) -> np.ndarray:
    """Return cosines by the static embedder. An empty word gets the vector of the unknown token."""
    unknown = stored_vectors()[0].astype(np.float32)
    vectors = StaticEmbedder().embed([*words, *others])
    vectors[[place for place, word in enumerate(words) if not word]] = unknown / np.linalg.norm(unknown)
    return vectors[: len(words)] @ vectors[len(words) :].T


@settings(max_examples=examples(60))
@given(QUESTIONS, TITLED)
def test_nearness_equals_that_of_the_nearest_word(question: str, passages: list[TitledText]) -> None:
    asked = weigh_terms(question, {}, 9)
    found = Reading(asked, passages).nearness(passages)
    assert found.shape == (len(passages), len(asked.words))
    last = {one: place for place, one in enumerate(asked.stems)}
    for row, one in zip(found, passages, strict=True):
        words = ["", *(word for form in _FORM.findall(f"{one.title}\n{one.text}") for word in words_of(form) or [""])]
        stems = set(map(stem, words))
        nearest = cosines(words, asked.words).max(axis=0)
        stands = [one in stems and last[one] == place for place, one in enumerate(asked.stems)]
        np.testing.assert_allclose(row, np.where(stands, 1.0, np.maximum(nearest, 0.0)), atol=1e-6)


@settings(max_examples=examples(60))
@given(QUESTIONS, TITLED)
def test_reading_texts_before_changes_no_result(question: str, passages: list[TitledText]) -> None:
    asked = weigh_terms(question, {}, 9)
    together = Reading(asked, passages)
    both = together.sentences(passages)
    end = 0
    for passage, spans in zip(passages, both.spans, strict=True):
        own = slice(end, end := end + len(spans))
        reading = Reading(asked, [passage])
        alone = reading.sentences([passage])
        assert list(alone.spans) == [spans]
        for one, other in ((both.near, alone.near), (both.has, alone.has), (both.features, alone.features)):
            np.testing.assert_array_equal(one[own], other)
        np.testing.assert_array_equal(together.nearness([passage]), reading.nearness([passage]))
        assert together.triples([passage]) == reading.triples([passage])


def told(text: str, question: str = "Who found the comet?") -> list[float]:
    asked = weigh_terms(question, {}, 9)
    rows, _ = compare(asked, [text], [[(0, len(text))]])
    return [round(float(one), 3) for one in rows[0, 2 * len(asked.words) :]]


def test_word_features_are_read() -> None:
    names, time, amount, pairs = 0.333, 1.0, 1.0, 1.0
    assert told("Nothing at all.") == [0, 0, 0, 0]
    assert told("It was Ines.") == [names, 0, 0, 0]
    assert told("Ines found it, Tobias Renk and Mara Vogl and the Comet too.")[0] == 1.0
    assert told("The Comet, whom Found?") == [0, 0, 0, pairs]
    assert told("They found the comet.") == [0, 0, 0, 2 * pairs]
    for year in ("1963", "2010", "1960s", "80s", "May", "Februar", "yesterday", "century", "\u0661\u0669s"):
        assert told(f"so {year.lower()}")[1] == time, year
    assert told("in 963 or 3010 or 19630")[1:3] == [0, amount]
    for number in ("7", "B52", "twelve", "Half", "thousands", "²5", "\u0967"):
        assert told(f"so {number.lower()}")[2] == amount, number
    assert told("so ² Ⅷ many")[1:] == [0, 0, 0]


@given(st.lists(TEXTS, max_size=6))
def test_sentences_of_several_texts_are_those_of_each(texts: list[str]) -> None:
    assert spans_of_texts(texts) == list(map(sentence_spans, texts))
    assert spans_of_texts([text.strip() for text in texts]) == [sentence_spans(text.strip()) for text in texts]
    assert units_of_texts(texts) == list(map(units, texts))


def test_stretches_that_touch_are_one_word() -> None:
    asked = weigh_terms("Who found the comet?", {}, 9)
    text = "A com" + "et was found."
    for cut in ([(0, 5), (5, len(text))], [(0, len(text))]):
        assert all(one[1] <= other[0] for one, other in pairwise(cut))
        rows, wholes = compare(asked, [text], [cut])
        place = asked.words.index("comet")
        assert wholes[0, place] == 1.0
        assert (rows[:, place].max() == 1.0) == (len(cut) == 1)
