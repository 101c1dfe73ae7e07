"""Metrics of answers compared with SQuAD's script, and runs with a scripted model and without one."""

from __future__ import annotations

import json
import re
import string
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Document, Monograph
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.evaluate.answers import (
    UNANSWERABLE,
    evaluate_answers,
    exact_match,
    f1,
    normalised_words,
    word_recall,
)
from monograph.evaluate.datasets import EvaluationQuestion
from support.corpora import copy_archive
from support.forks import run
from support.model_server import ModelServer
from support.properties import examples

DOCUMENTS = [
    Document("Ines Calder found the comet on the eleventh of April.", id="log"),
    Document("The boiler is serviced every October by Mrs Grubb.", id="boiler"),
    Document("The apple tree was planted in 1987 by Tobias Renk.", id="garden"),
]
COMET = EvaluationQuestion("comet", "Who found the comet?", ("Ines Calder",))
BOILER = EvaluationQuestion("boiler", "Who services the boiler?", ("Mrs Grubb", "Grubb"))
TREE = EvaluationQuestion("tree", "When was the apple tree planted?", ("1987",))
NOTHING = EvaluationQuestion("nothing", "When was the comet planted by Mrs Grubb?", (UNANSWERABLE,))


def squad_words(text: str) -> list[str]:
    """Return the words that ``normalize_answer`` of SQuAD's evaluate-v2.0.py returns."""
    text = "".join(character for character in text.lower() if character not in set(string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split()).split()


def squad_f1(gold: str, predicted: str) -> float:
    """Return what ``compute_f1`` of SQuAD's evaluate-v2.0.py returns."""
    golds, words = squad_words(gold), squad_words(predicted)
    same = sum((Counter(golds) & Counter(words)).values())
    if len(golds) == 0 or len(words) == 0:
        return float(golds == words)
    if same == 0:
        return 0.0
    precision, recall = same / len(words), same / len(golds)
    return (2 * precision * recall) / (precision + recall)


@pytest.mark.parametrize(
    ("text", "answers", "exact", "expected_f1", "recall"),
    [
        ("The Denver Broncos!", ["Denver Broncos"], 1.0, 1.0, 1.0),
        ("Denver Broncos", ["Carolina Panthers", "the broncos"], 0.0, 2 / 3, 1 / 3),
        ("U.S. Army's", ["us armys"], 1.0, 1.0, 1.0),
        ("It was 1,000 of them", ["1000"], 0.0, 1 / 3, 1.0),
        ("an answer, a theory", ["answer theory"], 1.0, 1.0, 1.0),
        ("to be or not to be", ["to to be"], 0.0, 2 * 3 / 9, 1.0),
        ("Paris", ["London"], 0.0, 0.0, 0.0),
        ("", ["London"], 0.0, 0.0, 0.0),
        ("The", ["a"], 1.0, 1.0, 1.0),
    ],
)
def test_answer_metrics_equal_those_by_hand(
    text: str, answers: list[str], exact: float, expected_f1: float, recall: float
) -> None:
    assert exact_match(text, answers) == exact
    assert f1(text, answers) == pytest.approx(expected_f1)
    assert word_recall(text, answers) == pytest.approx(recall)


WORDS = st.lists(
    st.sampled_from(["the", "An", "a", "Köln", "Zoë's", "x-y", "1,5", "«q»", "10", " \n", "."]), max_size=8
)
TEXTS = WORDS.map(" ".join) | st.text(max_size=12)


@settings(max_examples=examples(150))
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=3))
def test_answer_metrics_equal_the_script_of_squad(text: str, answers: list[str]) -> None:
    assert normalised_words(text) == squad_words(text)
    assert exact_match(text, answers) == max(float(squad_words(one) == squad_words(text)) for one in answers)
    assert f1(text, answers) == pytest.approx(max(squad_f1(one, text) for one in answers))
    assert 0.0 <= word_recall(text, answers) <= 1.0
    assert word_recall(" ".join(answers), answers) == 1.0


def test_answers_of_a_model_are_measured_and_its_failures_counted(tmp_path: Path) -> None:
    with ModelServer() as server, Monograph.open(copy_archive(tmp_path / "x.mono", DOCUMENTS)) as archive:
        server.say("<think>Hm.</think>Ines Calder [1].", containing=f"Question: {COMET.question}")
        server.say("Mr Renk did [1].", containing=f"Question: {BOILER.question}")
        server.say("I don't know.", containing=f"Question: {NOTHING.question}")
        server.fail(400, containing=f"Question: {TREE.question}", message="overloaded")
        model = OpenAICompatible(server.url, "scripted")
        asked = [COMET, BOILER, TREE, NOTHING, EvaluationQuestion("q", "Who found the comet first?")]
        first, second = (evaluate_answers(archive, asked, "hybrid", 3, model) for _ in range(2))
    assert (first.questions, first.failed) == (3, 1)
    assert "overloaded" in first.failure
    assert (first.contained, first.exact, first.f1, first.recall) == (2 / 3,) * 4
    assert (first.abstained, first.wrong) == (1 / 3, 1 / 3)
    assert first.tokens_in > 100
    assert 3 < first.tokens_out < 20
    assert first.first_token > 0
    assert second.failed == 0
    assert second.questions == 4
    assert second.tokens_out > 3  # no answer of the first run is reused


def test_a_sentence_is_measured_without_a_model(tmp_path: Path) -> None:
    with Monograph.open(copy_archive(tmp_path / "x.mono", DOCUMENTS)) as archive:
        scores = evaluate_answers(archive, [COMET, BOILER, TREE])
        none = evaluate_answers(archive, [])
    assert scores.contained == scores.recall + 1 / 9  # all but one of Mrs, Grubb and Grubb
    assert (scores.contained, scores.exact, scores.abstained, scores.wrong, scores.tokens_in) == (1, 0, 0, 0, 0)
    assert 0 < scores.f1 < 1
    assert (scores.first_token, none.questions, none.failed, none.contained) == (0, 0, 0, 0.0)


def test_eval_command_measures_answers(tmp_path: Path) -> None:
    file, mine = copy_archive(tmp_path / "x.mono", DOCUMENTS), tmp_path / "mine.jsonl"
    lines = [{"question": one.question, "answers": one.answers} for one in (COMET, BOILER)]
    mine.write_text("\n".join(map(json.dumps, lines)))
    asked = ("eval", "--file", file, "--queries", mine, "--how", "lexical")
    with ModelServer() as server:
        server.fail(400, containing=BOILER.question)
        printed = run(*asked, "--how", "dense", "--model", f"openai:{server.url}#scripted")
    assert "contained" in printed
    assert "lexical: the model did not answer 1 questions" in printed
    assert "dense: the model" not in printed
    (result,) = json.loads(run(*asked, "--json"))
    assert result["answers"]["contained"] == 1.0
    mine.write_text(json.dumps({"question": COMET.question}))
    assert "contained" not in run(*asked)
    assert "no question has answers" in run(*asked, "--model", "openai:http://localhost:9/v1#m")
