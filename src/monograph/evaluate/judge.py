"""A language model as a judge: whether answers are right, as in MiniRAG, and which of two is better, as in EraRAG."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from monograph.evaluate.metrics import mean
from monograph.models import LanguageModel
from monograph.regex import regex

CRITERIA = (
    ("comprehensiveness", "covers all sides of the question in detail"),
    ("diversity", "offers varied views and insights"),
    ("empowerment", "helps the reader to understand and to judge for himself"),
)
"""What EraRAG's pairs are judged by, and what each means."""

VERDICTS = ("right", "wrong", "unknown")
MOST_TOKENS = 20

_RIGHT = (
    "A question, its right answers, and the answer of a system. Say whether the system's answer is right, wrong, or"
    " says that it does not know. Write one word: {choices}.\n\nQuestion: {question}\nRight answers: {right}\n"
    "System's answer: {answer}\nVerdict:"
)
_BETTER = (
    "Two answers to one question. Which one is better in this: it {meaning}? Write one word: first or second.\n\n"
    "Question: {question}\n\nFirst answer: {first}\n\nSecond answer: {second}\n\nBetter:"
)
_WORD = regex(r"[a-z]+")


@dataclass(frozen=True, slots=True)
class Judgement:
    """Shares of answers that are right, wrong, or say that they do not know; together 1.

    ``unclear`` is the share of verdicts that said nothing of the kind and count as wrong.
    """

    accuracy: float
    error: float
    abstention: float
    unclear: float


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the answers that are right, and what a system answered."""

    question: str
    right: Sequence[str]
    answer: str


def judge(model: LanguageModel, cases: Sequence[Case], repeats: int = 3, seed: int = 7) -> Judgement:
    """Let a model say of each answer whether it is right: MiniRAG's accuracy and error.

    Each is judged several times, the words of the verdict named in another order: models like what is named first.

    Raises
    ------
    ModelUnavailable
        If the model does not answer.
    """
    order = random.Random(seed)  # noqa: S311 - no secret
    verdicts = [_verdict(model, case, order) for case in cases for _ in range(repeats)]
    shares = {name: mean([float(one == name) for one in verdicts]) for name in (*VERDICTS, "")}
    return Judgement(shares["right"], shares["wrong"] + shares[""], shares["unknown"], shares[""])


def _verdict(model: LanguageModel, case: Case, order: random.Random) -> str:
    choices = order.sample(VERDICTS, len(VERDICTS))
    prompt = _RIGHT.format(
        choices=", ".join(choices), question=case.question, right="; ".join(case.right), answer=case.answer
    )
    return _first(model.complete(prompt, MOST_TOKENS).text, VERDICTS)


@dataclass(frozen=True, slots=True)
class Pair:
    """A question, and what two systems answered."""

    question: str
    one: str
    other: str


@dataclass(frozen=True, slots=True)
class WinRate:
    """By one criterion: shares of the pairs in which the one or the other is better; a tie is half a win of each."""

    criterion: str
    one: float
    other: float


def win_rates(model: LanguageModel, pairs: Sequence[Pair], repeats: int = 2, seed: int = 7) -> list[WinRate]:
    """Let a model compare pairs of answers by EraRAG's criteria.

    Each pair is shown several times, every second time the other way round, which comes first by lot. A pair is won by
    the answer that is preferred more often; verdicts that are none do not count.

    Returns
    -------
    One a criterion of :data:`CRITERIA`, in order.

    Raises
    ------
    ModelUnavailable
        If the model does not answer.
    """
    order = random.Random(seed)  # noqa: S311 - no secret
    rates = []
    for criterion, meaning in CRITERIA:
        won = mean([_won(model, pair, meaning, repeats, turned=order.random() < 0.5) for pair in pairs])
        rates.append(WinRate(criterion, won, 1.0 - won))
    return rates


def _won(model: LanguageModel, pair: Pair, meaning: str, repeats: int, *, turned: bool) -> float:
    """1 where the one is better, 0 where the other is, else a half."""
    votes = 0
    for number in range(repeats):
        other_first = turned != bool(number % 2)
        first, second = (pair.other, pair.one) if other_first else (pair.one, pair.other)
        prompt = _BETTER.format(meaning=meaning, question=pair.question, first=first, second=second)
        verdict = _first(model.complete(prompt, MOST_TOKENS).text, ("first", "second"))
        votes += {"": 0, "first": 1, "second": -1}[verdict] * (-1 if other_first else 1)
    return 0.5 if votes == 0 else float(votes > 0)


def _first(said: str, words: Sequence[str]) -> str:
    """The first of some words in what a model said, or nothing."""
    return next((word for word in _WORD.findall(said.lower()) if word in words), "")
