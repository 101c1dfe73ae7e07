"""Reduction of texts: verbatim and idempotent."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Hit, Monograph, Windows
from monograph.answer.reading import QueryTerms, Reading, TitledText, content_words, read_hits, units, weigh_terms
from monograph.answer.reduce import (
    _CUTS,
    SentenceScores,
    least_value,
    reduce_to_windows,
    score_sentences,
)
from monograph.answer.reduce import reduce as reduce_reading
from monograph.derive.sentences import sentence_spans
from monograph.errors import InputError
from monograph.values import DEFAULT_CUT, ReducedHit, Summary
from support.models import HashEmbedder
from support.packing import PIECES, hit
from support.properties import examples

TEXTS = st.lists(PIECES, max_size=12).map(" ".join) | st.text(max_size=300)
QUESTIONS = st.text(max_size=60) | st.sampled_from(
    ["Who found the comet?", "", "?", "comet", "Wer hat den Kometen gefunden?", "彗星是谁发现的？", "the of and", "x" * 5000]
)  # fmt: skip
CUTS = st.floats(0, 1)


def reduce(question: QueryTerms, hits: Sequence[Hit], cut: float = DEFAULT_CUT) -> list[ReducedHit]:
    return reduce_reading(read_hits(question, hits), hits, cut)


@settings(max_examples=examples(80))
@given(st.lists(TEXTS, max_size=4), QUESTIONS, CUTS)
def test_reduction_keeps_text_verbatim_and_is_idempotent(texts: list[str], question: str, cut: float) -> None:
    hits = [hit(text, rank, start=7 * rank) for rank, text in enumerate(texts)]
    documents = {one.chunk.document_id: "\0" * one.chunk.start + one.chunk.text for one in hits}
    made = reduce(weigh_terms(question, {"comet": 3}, 50), hits, cut)
    assert [one.hit for one in made] == hits
    for one in made:
        assert all(documents[s.document_id][s.start : s.end] == s.text != "" for s in one.spans)
        ends = [at for s in one.spans for at in (s.start, s.end)]
        assert ends == sorted(ends)
        assert bool(one.spans) == bool(one.hit.text.strip())
    again = reduce(weigh_terms(question, {"comet": 3}, 50), [one.hit for one in made], cut)
    assert again == made


@settings(max_examples=examples(60))
@given(TEXTS, QUESTIONS, CUTS, CUTS)
def test_more_is_kept_of_a_text_where_less_is_to_go(text: str, question: str, one: float, other: float) -> None:
    low, high = sorted((one, other))
    more, less = (reduce(weigh_terms(question, {}, 9), [hit(text)], cut)[0].spans for cut in (low, high))
    kept = {at for s in more for at in range(s.start, s.end)}
    assert {at for s in less for at in range(s.start, s.end)} <= kept


@pytest.mark.parametrize("cut", [-0.1, 1.1, math.nan])
def test_reduction_cuts_a_share(cut: float) -> None:
    with pytest.raises(InputError, match="cut is"):
        reduce(weigh_terms("x", {}, 9), [hit("x")], cut)


def test_more_goes_where_more_is_asked_for() -> None:
    values = [least_value(cut) for cut in sorted({*_CUTS, 0.05, 0.35, 0.9})]
    assert values == sorted(values)
    assert len(set(values)) == len(values)


FILLER = (
    "The library opens at nine on every day of the week except Sunday. Visitors leave their coats at the entrance hall. "
    "Books may be borrowed for two weeks and kept for two more. The reading room has a view of the river and the old bridge. "
)
COMET = "Ines Okafor found the comet on the eleventh of April in 1963. "


def test_two_sentences_stay_where_both_are_good_and_the_gap_is_marked() -> None:
    second = "The comet was found again by Karl Brandl a year later."
    (made,) = reduce(weigh_terms("Who found the comet?", {"comet": 1}, 100), [hit(COMET + FILLER * 2 + second)])
    assert len(made.spans) == 2
    assert made.text.startswith(COMET.strip())
    assert made.text.endswith(" … " + second)


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("Just one sentence of which nothing can be left out.", 1.0),
        ("天文台の時計は毎朝巻かれる。", 1.0),
        ("x", 1.0),
        ("彗星は四月に発見された。図書館は九時に開く。" * 20, DEFAULT_CUT),  # The text has no word of the question.
        ("The clock is here. The comet is there. " * 20, 0.0),
    ],
)
def test_short_texts_and_those_without_words_of_the_question_stay_whole(text: str, cut: float) -> None:
    (made,) = reduce(weigh_terms("Who found the library clock?", {}, 9), [hit(text)], cut)
    assert made.text == text.strip()


def test_a_summary_stays_whole() -> None:
    (made,) = reduce(weigh_terms("Who?", {}, 9), [hit("x", summary=Summary("s", 1, FILLER, ("c0",)))])
    assert (made.text, made.spans) == (FILLER, ())


@pytest.mark.parametrize(
    ("text", "question", "frequency", "answer", "most"),
    [
        (FILLER + COMET + FILLER, "Who found the comet?", {"comet": 1, "found": 20}, COMET.strip(), len(FILLER)),
        (
            "".join(f"Entry {n} says that boat {n * 7} was seen near the pier.\n" for n in range(50_000)),
            "Which boat was seen in entry 31415?", {"boat": 9}, "Entry 31415 says that boat 219905 was seen", 1_400_000,
        ),
        (  # A very long sentence is divided into parts.
            "word " * 3000 + "the comet was found by Ines " + "word " * 3000,
            "Who found the comet?", {"comet": 1}, "the comet was found by Ines", 4000,
        ),
    ],
    ids=["short", "fifty thousand sentences", "endless"],
)  # fmt: skip
def test_the_sentence_with_the_answer_stays(
    text: str, question: str, frequency: dict[str, int], answer: str, most: int
) -> None:
    (made,) = reduce(weigh_terms(question, frequency, 100), [hit(text)], 0.7)
    assert answer in made.text
    assert len(made.text) < most


def test_a_chat_without_punctuation_and_a_table_are_cut_at_lines() -> None:
    chat = "\n".join(f"anna {n}: the lamp number {n} is broken again please send one" for n in range(40))
    (made,) = reduce(
        weigh_terms("Which lamp did bert paint green?", {"green": 1}, 99),
        [hit(chat + "\nbert: I painted lamp 7 green\n" + chat)],
    )
    assert "painted lamp 7 green" in made.text
    assert len(made.text) < len(chat)
    assert all(line in chat.splitlines() or "bert" in line for s in made.spans for line in s.text.splitlines())


@settings(max_examples=examples(60))
@given(TEXTS)
def test_units_hold_every_character_but_white_space(text: str) -> None:
    found = units(text)
    inside = "".join(text[start:end] for start, end in found)
    assert "".join(inside.split()) == "".join(text.split())
    assert all(one[1] <= two[0] for one, two in zip(found, found[1:], strict=False))


def judged(question: str, texts: Sequence[str]) -> list[SentenceScores]:
    passages = list(map(TitledText, texts))
    return score_sentences(Reading(weigh_terms(question, {}, 9), passages), passages)


@settings(max_examples=examples(40))
@given(st.lists(TEXTS, min_size=1, max_size=4), QUESTIONS)
def test_a_passage_is_judged_alike_alone_and_among_others(texts: list[str], question: str) -> None:
    together = judged(question, texts)
    for text, one in zip(texts, together, strict=True):
        (alone,) = judged(question, [text])
        assert alone.spans == one.spans
        np.testing.assert_allclose(alone.values, one.values, atol=1e-4)


def test_telling_words_are_read_from_the_question() -> None:
    assert content_words("Who was the keeper of the observatory's clock?") == ("keeper", "observatory", "clock")
    assert content_words("the of and") == ("the", "of", "and")
    assert content_words("") == ()
    rare = weigh_terms("comet clock", {"comet": 1, "clock": 90}, 100)
    assert rare.weights[0] > rare.weights[1] > 0
    assert rare.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Who?", "person"),
        ("Where is it?", "place"),
        ("Wann?", "date"),
        ("How many boats?", "quantity"),
        ("Why?", "other"),
    ],
)
def test_kind_of_the_answer_is_read_from_the_question(question: str, kind: str) -> None:
    assert weigh_terms(question, {}, 9).kind == kind


def brute_force_windows(embedder: HashEmbedder, question: str, text: str, windows: Windows) -> tuple[int, int, float]:
    """Return (start, end, cosine) of the best window, by the steps of MobileRAG."""
    sentences = sentence_spans(text)
    (asked,) = embedder.embed([question], "query")
    best = (0, 0, -2.0)
    first = 0
    while True:
        last = min(len(sentences), first + windows.window)
        (vector,) = embedder.embed([text[sentences[first][0] : sentences[last - 1][1]]], "document")
        if float(vector @ asked) > best[2] + 1e-6:
            best = (first, last, float(vector @ asked))
        if last == len(sentences):
            break
        first += windows.window - windows.overlap
    first, last = max(0, best[0] - windows.context), min(len(sentences), best[1] + windows.context)
    return sentences[first][0], sentences[last - 1][1], best[2]


@settings(max_examples=examples(40))
@given(
    st.lists(st.sampled_from(["boats sail. ", "comets shine. ", "a clock ticks. ", "boats and clocks. "]), min_size=1, max_size=12),
    st.integers(1, 4), st.integers(0, 3), st.integers(0, 2),
)  # fmt: skip
def test_windows_are_the_papers(parts: Sequence[str], window: int, overlap: int, context: int) -> None:
    windows = Windows(window, min(overlap, window - 1), context)
    text = "".join(f"{n} {part}".capitalize() for n, part in enumerate(parts))
    embedder = HashEmbedder()
    (made,) = reduce_to_windows(embedder, "a clock", [hit(text)], windows)
    start, end, value = brute_force_windows(embedder, "a clock", text, windows)
    assert (made.spans[0].start, made.spans[0].end) == (start, end)
    assert made.value == pytest.approx(value, abs=1e-5)
    (again,) = reduce_to_windows(embedder, "a clock", [hit(text)], windows)
    assert again == made


def test_windows_value_hits_by_their_best() -> None:
    hits = [hit("", 0), hit("Nothing of note. " * 8, 1), hit("Boats sail. " * 4 + "A clock ticks. " * 3, 2)]
    made = reduce_to_windows(HashEmbedder(), "A clock ticks.", hits, Windows())
    assert [one.hit for one in made] == hits
    assert made[0].value < made[1].value < made[2].value
    assert made[0].spans == ()
    assert reduce_to_windows(HashEmbedder(), "x", [], Windows()) == []


@pytest.mark.parametrize("numbers", [(0, 0, 0), (3, 3, 1), (3, -1, 1), (3, 2, -1)])
def test_windows_refuse_values_of_no_use(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(InputError, match="window is"):
        Windows(*numbers)


def test_a_file_reduces_its_hits(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with Monograph.open(tmp_path / "x.mono") as monograph:
        monograph.add([Document(FILLER + COMET + FILLER, id="log", title="Logbook"), Document(FILLER, id="rules")])
        hits = monograph.search("Who found the comet?", 2)
        made = monograph.reduce("Who found the comet?", hits)
        assert made[0].hit.chunk.document_id == "log"
        for one in made:
            text = monograph.document(one.hit.chunk.document_id).text
            assert all(text[s.start : s.end] == s.text for s in one.spans)
        windows = monograph.reduce("Who found the comet?", hits, windows=Windows())
        assert COMET.strip() in windows[0].text
        assert len(windows[0].spans) == 1
        embedder = HashEmbedder()
        given = monograph.reduce("Who found the comet?", hits, windows=Windows(), embedder=embedder)
        assert given == reduce_to_windows(embedder, "Who found the comet?", hits, Windows())
