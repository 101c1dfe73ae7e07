"""Metrics of answers and of what they are made from, each a pure function of texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from monograph.evaluate.metrics import contains_answer, mean, words_of_answer


def exact_match(answer: str, right: Collection[str]) -> float:
    """1 if an answer is a right one, case, accents, punctuation and English articles aside, else 0 (SQuAD)."""
    words = words_of_answer(answer)
    return float(any(words == words_of_answer(one) for one in right))


def f1(answer: str, right: Collection[str]) -> float:
    """The best harmonic mean of precision and recall of an answer's words against any right one (SQuAD's measure)."""
    return max((_overlap(words_of_answer(answer), words_of_answer(one)) for one in right), default=0.0)


def _overlap(answer: Sequence[str], right: Sequence[str]) -> float:
    shared = sum((Counter(answer) & Counter(right)).values())
    if not answer or not right:
        return float(answer == right)
    return 2 * shared / (len(answer) + len(right))


@dataclass(frozen=True, slots=True)
class Reduction:
    """What a reduction leaves of some texts: mean tokens of a question's texts, and the share of answers still there.

    ``kept`` is of the questions whose texts held an answer before; ``cut`` the share of all tokens that went.
    """

    questions: int
    tokens_before: float
    tokens_after: float
    cut: float
    kept: float


@dataclass(frozen=True, slots=True)
class ReductionCase:
    """One question's texts before and after, their tokens, and the right answers."""

    before: Sequence[str]
    after: Sequence[str]
    tokens_before: int
    tokens_after: int
    answers: Sequence[str]


def reduction(cases: Sequence[ReductionCase]) -> Reduction:
    """What a reduction comes to over questions, as in MobileRAG's Table 4, with answers in place of accuracy.

    An answer counts where it stands within one text, or within one span of what is left of it.
    """
    held = [one for one in cases if any(contains_answer(text, one.answers) for text in one.before)]
    left = [one for one in held if any(contains_answer(text, one.answers) for text in one.after)]
    before = sum(one.tokens_before for one in cases)
    after = sum(one.tokens_after for one in cases)
    return Reduction(
        questions=len(cases),
        tokens_before=mean([one.tokens_before for one in cases]),
        tokens_after=mean([one.tokens_after for one in cases]),
        cut=1.0 - after / before if before else 0.0,
        kept=len(left) / len(held) if held else 1.0,
    )
