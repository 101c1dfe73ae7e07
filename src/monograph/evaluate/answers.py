"""Evaluation of answers, of a language model or without one: metrics of one answer, and a run over questions."""

from __future__ import annotations

import string
import time
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph.answer.ask import CITED
from monograph.errors import ModelUnavailable
from monograph.evaluate.datasets import EvaluationQuestion
from monograph.evaluate.metrics import contains_answer, mean
from monograph.regex import regex
from monograph.values import Answer
from monograph.values.work import Progress

if TYPE_CHECKING:
    from monograph.library.questions import Questions
    from monograph.models import LanguageModel
    from monograph.search.query import Strategy
    from monograph.values.work import OnProgress

UNANSWERABLE = "Insufficient information"
"""Expected answer of a question that the documents do not answer, in LiHuaWorld and MultiHop-RAG."""

_ARTICLE = regex(r"\b(?:a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised_words(text: str) -> list[str]:
    """Return the words of a text as SQuAD compares them: in lower case, without ASCII punctuation and articles."""
    return _ARTICLE.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()


def exact_match(text: str, answers: Collection[str]) -> float:
    """Return 1 if the text has the same words as one of the answers, in the same order, else 0 (SQuAD)."""
    return float(normalised_words(text) in [normalised_words(answer) for answer in answers])


def f1(text: str, answers: Collection[str]) -> float:
    """Return SQuAD's F1: 2 · shared words / (words of the text + words of the answer), for the most similar answer.

    A word that occurs several times counts as often as it is in both. Two texts without words have an F1 of 1.
    """
    words = normalised_words(text)

    def against(expected: list[str]) -> float:
        return 2 * _shared(words, expected) / (len(words) + len(expected)) if words or expected else 1.0

    return max((against(normalised_words(answer)) for answer in answers), default=0.0)


def word_recall(text: str, answers: Collection[str]) -> float:
    """Return the share of the words of all answers together that the text contains; 1 if they have no words.

    EraRAG reports a recall without a formula. In its Table II, recall exceeds accuracy on HotpotQA, where questions
    have one answer. So recall counts words, not whole answers.
    """
    expected = [word for answer in answers for word in normalised_words(answer)]
    return _shared(normalised_words(text), expected) / len(expected) if expected else 1.0


def _shared(some: list[str], others: list[str]) -> int:
    return (Counter(some) & Counter(others)).total()


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Mean scores of the answers to the questions that have expected answers.

    ``questions`` is the number of questions that were answered. All other fields but ``failed`` and ``failure`` are
    means over these questions.

    ``contained``: the answer contains an expected answer (EraRAG's accuracy). ``exact``: :func:`exact_match` (Terminus'
    accuracy). ``f1``: :func:`f1`. ``recall``: :func:`word_recall` (EraRAG). ``abstained``: the answer is "I don't
    know". ``wrong``: the answer neither abstains nor contains an expected answer (MiniRAG's error rate, without a
    judge). An abstention is right, with 1 in the first four scores, if :data:`UNANSWERABLE` is expected.

    ``tokens_in`` and ``tokens_out`` are the tokens that the model read and wrote for an answer. ``seconds`` is the time
    of an answer, with its search. ``first_token`` is the time from the question to the model's first word (MobileRAG's
    TTFT), of the answers for which the model was called; 0 without a model.

    ``failed`` is the number of questions for which the model did not answer, and ``failure`` the first error's message.
    """

    questions: int
    contained: float
    exact: float
    f1: float
    recall: float
    abstained: float
    wrong: float
    tokens_in: float
    tokens_out: float
    seconds: float
    first_token: float
    failed: int
    failure: str


MEANS = ("contained", "exact", "f1", "recall", "abstained", "wrong", "tokens_in", "tokens_out", "seconds")
"""Fields of AnswerScores that are means over the answered questions."""


def evaluate_answers(
    archive: Questions,
    questions: Sequence[EvaluationQuestion],
    how: str | Strategy = "auto",
    k: int = 5,
    model: LanguageModel | None = None,
    progress: OnProgress | None = None,
) -> AnswerScores:
    """Ask the questions that have expected answers, and return the scores of the answers.

    ``k`` is the number of hits that an answer is made from. Without a model, the sentence that most likely answers the
    question is the answer. Answers are neither read from the file's cache nor stored in it. A question for which the
    model raises ModelUnavailable counts as failed, and the run goes on.
    """
    asked = [question for question in questions if question.answers]
    rows: list[dict[str, float]] = []
    first_tokens: list[float] = []
    failures: list[str] = []
    for number, question in enumerate(asked):
        if progress is not None:
            progress(Progress(f"answer, {how}", number, len(asked), "questions"))
        started = time.perf_counter()
        try:
            answer = archive.ask(question.question, k=k, how=how, remember=False, model=model)
        except ModelUnavailable as error:
            failures.append(error.message)
            continue
        seconds = time.perf_counter() - started
        spent = {"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out, "seconds": seconds}
        rows.append(score(answer, question.answers) | spent)
        if answer.model:
            first_tokens.append(answer.seconds.first_token)
    return AnswerScores(
        questions=len(rows),
        **{name: mean([row[name] for row in rows]) for name in MEANS},
        first_token=mean(first_tokens),
        failed=len(failures),
        failure=failures[0] if failures else "",
    )


def score(answer: Answer, answers: Collection[str]) -> dict[str, float]:
    """Return the scores of one answer, 0 to 1, by the names of the fields of :class:`AnswerScores`.

    An answer of a model is compared without its citations. Of an answer without a model, only the best sentence is
    compared.
    """
    if answer.abstained:
        right = exact_match(UNANSWERABLE, answers)
        return dict.fromkeys(("contained", "exact", "f1", "recall"), right) | {"abstained": 1.0, "wrong": 0.0}
    best = None if answer.model else answer.best
    text = CITED.sub("", answer.text) if best is None else best.text
    contained = contains_answer(text, answers)
    return {
        "contained": contained,
        "exact": exact_match(text, answers),
        "f1": f1(text, answers),
        "recall": word_recall(text, answers),
        "abstained": 0.0,
        "wrong": 1.0 - contained,
    }


HEADINGS = ("how", "answers", "contained", "exact", "F1", "recall", "abstained", "wrong")
"""Headings of the columns of :func:`row`."""

COST_HEADINGS = ("how", "failed", "tokens read", "tokens written", "seconds to first token", "seconds per answer")
"""Headings of the columns of :func:`cost_row`."""


def row(how: str, scores: AnswerScores) -> tuple[str, ...]:
    """Return the scores of a search mode's answers as a row of a table: see HEADINGS."""
    shares = (scores.contained, scores.exact, scores.f1, scores.recall, scores.abstained, scores.wrong)
    return (how, str(scores.questions), *(f"{share:.3f}" for share in shares))


def cost_row(how: str, scores: AnswerScores) -> tuple[str, ...]:
    """Return the failures, and the tokens and time of an answer, as a row of a table: see COST_HEADINGS."""
    counts = (f"{scores.tokens_in:.0f}", f"{scores.tokens_out:.0f}")
    return (how, str(scores.failed), *counts, f"{scores.first_token:.3f}", f"{scores.seconds:.3f}")
