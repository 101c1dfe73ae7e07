"""Best sentence of an answer and its confidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph, count_tokens
from monograph.answer.confidence import LEAST, excerpt
from monograph.answer.reading import runs_of, weigh_terms
from monograph.errors import InputError
from monograph.graph.names import stem
from monograph.values import ABSTENTION
from support.letter_corpus import PEOPLE, PLACES, THINGS
from support.properties import examples

TEXTS = [
    f"The winter of that year was long and the {THINGS[(n + 3) % 7]} stood in the yard under a cover of old canvas. "
    f"{PEOPLE[n % 5]} repaired the {THINGS[n % 7]} in {PLACES[n % 4]} on 3 March {1900 + n}, for {n + 12} crowns, "
    f"which {PEOPLE[(n + 1 + n // 7) % 5]} paid, after a long quarrel about the price of the parts and of the journey. "
    f"Nobody in the workshop remembered afterwards what had become of the invoice that was sent from {PLACES[n % 3]}."
    for n in range(40)
]
WORDS = (
    *PEOPLE, *THINGS, *PLACES, "who", "when", "where", "how many", "repaired", "the", "crowns", "1907", "zebra", "?",
)  # fmt: skip
QUESTIONS = st.one_of(
    st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join),
    st.sampled_from(["", "天文台", "Wer hat den Kometen repariert?"]),
    st.text(max_size=20),
)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monograph]:
    with Monograph.open(tmp_path_factory.mktemp("best") / "x.mono") as monograph:
        monograph.add(Document(text, id=f"{n}", title=f"Book {n}") for n, text in enumerate(TEXTS))
        monograph.tree.rebuild()
        yield monograph


@given(QUESTIONS, st.integers(1, 400), st.sampled_from(["auto", "lexical", "dense", "tree:detail=0.3"]))
@example("who repaired the boiler in Salzburg?", 40, "auto")
@example("when was the comet repaired?", 1, "auto")
@settings(max_examples=examples(150))
def test_the_best_sentence_stands_in_a_document_and_the_budget_holds(
    archive: Monograph, question: str, budget: int, how: str
) -> None:
    answer = archive.ask(question, budget, how=how)
    assert answer.text == ABSTENTION if answer.abstained else count_tokens([answer.text])[0] <= budget
    assert 0 <= answer.confidence <= 1
    best = answer.context.best
    for span in () if best is None else (best.span, *([best.within] if best.within else [])):
        assert archive.document(span.document_id).text[span.start : span.end] == span.text
    if best is not None:
        assert best.text.strip()
        assert 0 <= best.confidence <= answer.confidence
    if best is not None and best.within is not None:
        assert best.span.start <= best.within.start < best.within.end <= best.span.end


@given(QUESTIONS, st.lists(st.floats(0, 1), min_size=2, max_size=5))
@settings(max_examples=examples(80))
def test_higher_thresholds_answer_fewer_questions(archive: Monograph, question: str, thresholds: list[float]) -> None:
    answers = [archive.ask(question, threshold=one) for one in sorted(thresholds)]
    refused = [one.abstained for one in answers]
    assert refused == sorted(refused)
    assert len({one.confidence for one in answers}) == 1
    for threshold, answer in zip(sorted(thresholds), answers, strict=True):
        nothing = answer.context.best is None and not answer.context.citations
        assert answer.abstained == (answer.confidence < threshold or nothing)
        assert bool(archive.context(question, threshold=threshold).citations) == (
            answer.confidence >= threshold and bool(answer.context.citations)
        )
    assert archive.ask(question).abstained == (answers[0].confidence < LEAST)


@pytest.mark.parametrize("budget", [40, 120, 1000])
@pytest.mark.parametrize(
    ("question", "document", "within"),
    [
        ("Who repaired the boiler in Salzburg for 12 crowns?", "0", "Mrs Grubb"),
        ("When did Anna Calder repair the dome in Berlin?", "2", "3 March 1902"),
        ("Where did Tobias Renk repair the comet?", "26", "Berlin"),
    ],
)
def test_best_sentence_holds_the_answer(
    archive: Monograph, question: str, document: str, within: str, budget: int
) -> None:
    answer = archive.ask(question, budget)
    assert answer.best is not None
    assert answer.text.startswith(f"» {answer.best.text}")
    assert (answer.best.span.document_id, answer.best.title) == (document, f"Book {document}")
    assert answer.best.within is not None
    assert answer.best.within.text == within
    assert count_tokens([answer.text])[0] <= budget


def test_a_small_budget_yields_the_sentence_and_a_larger_one_passages_too(archive: Monograph) -> None:
    question = "Who repaired the boiler in Salzburg for 12 crowns?"
    small, large = archive.ask(question, 40), archive.ask(question, 1000)
    assert small.best is not None
    assert large.best is not None
    assert small.text == f"» {small.best.text}"
    assert small.best.text in large.best.text
    assert len(large.text) > len(large.best.text) * 2
    assert archive.ask(question, 40, threshold=1).best is None


def test_a_threshold_is_a_probability(archive: Monograph) -> None:
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(InputError, match="threshold is"):
            archive.ask("who?", threshold=wrong)
        with pytest.raises(InputError, match="threshold is"):
            archive.context("who?", threshold=wrong)


def test_confidence_is_lower_for_absent_answers(archive: Monograph) -> None:
    there = archive.ask("Who repaired the boiler in Salzburg?").confidence
    half = archive.ask("Who repaired the submarine in Salzburg?").confidence
    nothing = archive.ask("What did the king of Denmark eat for breakfast?").confidence
    assert there > half > nothing
    assert there > 0.5 > LEAST > nothing


@given(
    st.lists(st.sampled_from([*WORDS, "a,", "long sentence;", "(and so on)"]), min_size=1, max_size=40).map(" ".join),
    st.integers(0, 50),
    st.data(),
)
def test_an_excerpt_is_whole_words_within_its_budget(text: str, budget: int, data: st.DataObject) -> None:
    def letters(texts: Sequence[str]) -> list[int]:
        return [len(one) for one in texts]

    asked = weigh_terms("who repaired the boiler?", {}, 10)
    wanted = data.draw(st.none() | st.tuples(st.integers(0, len(text)), st.integers(0, len(text))))
    start, end = excerpt(asked, text, wanted, budget, letters)
    assert letters([text[start:end]])[0] <= budget
    assert text[start:end] == text[start:end].strip()
    assert text[:start].strip().split() + text[start:end].split() + text[end:].split() == text.split()
    fits = [one for one in text.split() if len(one) <= budget]
    assert bool(text[start:end]) == bool(fits)


def test_excerpts_hold_the_answer() -> None:
    text = TEXTS[0].split(". ")[1]
    asked = weigh_terms("Who paid for the boiler?", {}, 10)
    place = text.index("Tobias Renk")
    start, end = excerpt(asked, text, (place, place + len("Tobias Renk")), 20, count_tokens)
    assert "Tobias Renk" in text[start:end]


def test_a_heading_is_no_part_of_the_sentence() -> None:
    said = "Mrs Grubb repaired the boiler of the old dome on the third of March."
    text = f"# The year of the winter\n\n## 3 March\n\n{said}\n\nSnow again."
    asked = weigh_terms("Who repaired the boiler?", {}, 10)
    start, end = excerpt(asked, text, None, 500, count_tokens)
    assert text[start:end] == said


@given(st.lists(st.sampled_from(["the", "boilers", "boiler", "of", "Vienna"]), max_size=9), st.integers(1, 4))
def test_runs_of_words_equal_brute_force(words: list[str], length: int) -> None:
    stems = [stem(one.lower()) for one in words]
    expected = {tuple(stems[at : at + length]) for at in range(len(stems) - length + 1)}
    assert runs_of([one.lower() for one in words], length) == expected
