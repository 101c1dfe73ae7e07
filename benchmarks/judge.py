"""Answers of a language model, judged by a language model, as MiniRAG and EraRAG measure them.

MiniRAG (Sec. 4.1 and A.4): the judge compares each answer with the expected answer, three times. Printed are accuracy
and error rate, and the share of answers that get the same verdict each time::

    python benchmarks/judge.py notes.mono SET --how graph --model openai:URL#MODEL --judge openai:URL#MODEL

EraRAG (Exp. 2, Table III): with --against, the judge compares the answers of two search modes, without expected
answers. Printed is how often the first mode wins. The judge sees each pair in both orders::

    python benchmarks/judge.py notes.mono SET --how tree --against hybrid --model … --judge …

A reply without a clear verdict is counted as unreadable, and a question for which a model fails as failed. Neither
counts in the shares.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from machine import console, show
from monograph import Monograph
from monograph.derive.loading import load_model
from monograph.derive.replies import remove_thoughts
from monograph.errors import ModelUnavailable
from monograph.evaluate.answers import UNANSWERABLE
from monograph.evaluate.datasets import EvaluationQuestion, questions_of
from monograph.models import LanguageModel

ROUNDS = 3
VERDICT_TOKENS = 1_000
"""Tokens that the judge may write: its reasons and its verdict."""

CORRECTNESS = """\
Compare a response to a question with the expected answer. Judge only whether they agree; do not use your own knowledge.

Question: {question}
{texts}

End with a line that has only "Verdict: " and one of three numbers:
1 if the response gives the expected answer, in the same or other words, perhaps with more details;
0 if the response says that it does not know;
-1 if the response gives incorrect information.
If the expected answer is "{unanswerable}", a response that says that it does not know has the verdict 1."""

CRITERIA = {
    "Comprehensiveness": "How much detail does the answer give, to cover all parts of the question?",
    "Diversity": "How varied is the answer, in different perspectives and insights?",
    "Empowerment": "How well does the answer help the reader to understand the topic and to make judgements?",
    "Overall": "Which answer is better, by the three criteria together?",
}
"""Criteria of EraRAG's comparison, each with the question that the judge answers."""

PREFERENCE = """\
Compare two answers to a question by these criteria:
{criteria}

Question: {question}

Answer 1:
{first}

Answer 2:
{second}

End with one line for each criterion. It has only the name of the criterion, ": ", and the number of the better answer,
1 or 2."""

_DASHES = str.maketrans("\N{MINUS SIGN}\N{EN DASH}", "--")
_MARKUP = r"[\s*_`\"#]*"


def correctness_prompt(question: EvaluationQuestion, response: str, number: int) -> str:
    """Return the prompt that compares a response with the expected answers in a round, whose number is ``number``.

    The order of the two texts depends on the question and the round (MiniRAG: "order randomization").
    """
    texts = [f"Expected answer: {' or: '.join(question.answers)}", f"Response: {response}"]
    if hashlib.sha256(f"{number} {question.id}".encode()).digest()[0] % 2:
        texts.reverse()
    return CORRECTNESS.format(question=question.question, texts="\n".join(texts), unanswerable=UNANSWERABLE)


def preference_prompt(question: str, first: str, second: str) -> str:
    """Return the prompt that compares two answers by :data:`CRITERIA`."""
    criteria = "\n".join(f"- {name}: {meaning}" for name, meaning in CRITERIA.items())
    return PREFERENCE.format(criteria=criteria, question=question, first=first, second=second)


def read_number(reply: str, name: str, numbers: str) -> int | None:
    """Return the number in the line ``name: number`` of a reply.

    ``numbers`` is a pattern of all valid numbers. Thoughts, case, Markdown and the word "answer" before the number are
    ignored. Return None without such a line, or if several differ.
    """
    line = rf"^[-\s]*{_MARKUP}{name}{_MARKUP}:{_MARKUP}(?:answer\s*)?({numbers}){_MARKUP}[.,]?{_MARKUP}$"
    text = remove_thoughts(reply).translate(_DASHES)
    found = set(re.findall(line, text, re.IGNORECASE | re.MULTILINE))
    return int(found.pop()) if len(found) == 1 else None


def read_correctness(reply: str) -> int | None:
    """Return the verdict 1, 0 or -1 of a reply; None if it is unclear. A reply may consist of the number alone."""
    bare = remove_thoughts(reply).translate(_DASHES).strip()
    return int(bare) if bare in ("1", "0", "-1") else read_number(reply, "verdict", "-1|0|1")


@dataclass(frozen=True, slots=True)
class Correctness:
    """Verdicts on the answers to questions, as shares from 0 to 1.

    ``accuracy`` and ``error`` are the shares of the verdicts 1 and -1, as (mean, standard deviation) of the rounds.
    ``same`` is the share of the questions whose verdicts are equal in all rounds.
    """

    questions: int
    accuracy: tuple[float, float]
    error: tuple[float, float]
    same: float
    unreadable: int
    failed: int


def judge_correctness(
    archive: Monograph, questions: Sequence[EvaluationQuestion], how: str, k: int, judge: LanguageModel
) -> Correctness:
    """Ask the questions that have expected answers, and let the judge compare each answer ROUNDS times."""
    verdicts: list[list[int | None]] = []
    asked = [question for question in questions if question.answers]
    for question in asked:
        try:
            response = archive.ask(question.question, k=k, how=how).text
            prompts = [correctness_prompt(question, response, number) for number in range(ROUNDS)]
            verdicts.append([read_correctness(judge.complete(one, VERDICT_TOKENS).text) for one in prompts])
        except ModelUnavailable as error:
            console.print(f"{question.id}: {error}")

    def share(verdict: int) -> tuple[float, float]:
        rounds = [[one for one in found if one is not None] for found in zip(*verdicts, strict=True)]
        shares = [found.count(verdict) / len(found) for found in rounds if found]
        return (mean(shares), stdev(shares)) if len(shares) == ROUNDS else (0.0, 0.0)

    return Correctness(
        questions=len(verdicts),
        accuracy=share(1),
        error=share(-1),
        same=mean([found[0] is not None and len(set(found)) == 1 for found in verdicts] or [0]),
        unreadable=sum(found.count(None) for found in verdicts),
        failed=len(asked) - len(verdicts),
    )


@dataclass(frozen=True, slots=True)
class Preference:
    """Comparison of two search modes by their answers to questions.

    ``wins`` has the share of readable verdicts in which the first mode wins, 0 to 1, in the order of CRITERIA.
    """

    questions: int
    wins: tuple[float, ...]
    unreadable: int
    failed: int


def judge_preference(
    archive: Monograph, questions: Sequence[EvaluationQuestion], hows: tuple[str, str], k: int, judge: LanguageModel
) -> Preference:
    """Ask the questions in two search modes, and let the judge compare each pair of answers in both orders."""
    won: dict[str, list[bool]] = {name: [] for name in CRITERIA}
    failed = 0
    for question in questions:
        try:
            ours, theirs = (archive.ask(question.question, k=k, how=how).text for how in hows)
            replies = [
                judge.complete(preference_prompt(question.question, *pair), VERDICT_TOKENS).text
                for pair in ((ours, theirs), (theirs, ours))
            ]
        except ModelUnavailable as error:
            console.print(f"{question.id}: {error}")
            failed += 1
            continue
        for our_number, reply in enumerate(replies, start=1):
            for name, verdicts in won.items():
                better = read_number(reply, name, "1|2")
                if better is not None:
                    verdicts.append(better == our_number)
    compared = len(questions) - failed
    return Preference(
        questions=compared,
        wins=tuple(mean(verdicts or [0]) for verdicts in won.values()),
        unreadable=2 * compared * len(CRITERIA) - sum(map(len, won.values())),
        failed=failed,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="the .mono file that answers")
    parser.add_argument("set", type=Path, help="a folder with queries.jsonl")
    parser.add_argument("--how", default="auto", help="search mode")
    parser.add_argument("--against", help="second search mode, to compare answers of two modes")
    parser.add_argument("-k", type=int, default=5, help="hits that an answer is made from")
    parser.add_argument("--model", required=True, help="model that answers: openai:URL#MODEL")
    parser.add_argument("--judge", required=True, help="model that judges: openai:URL#MODEL")
    parser.add_argument("--api-key", default=os.environ.get("MONOGRAPH_API_KEY", ""), help="key of the model's server")
    parser.add_argument(
        "--judge-key", default=os.environ.get("MONOGRAPH_API_KEY", ""), help="key of the judge's server"
    )
    parser.add_argument("--questions", type=int, help="most questions")
    options = parser.parse_args(arguments)
    questions = questions_of(options.set)[: options.questions]
    judge = load_model(options.judge, options.judge_key)
    with Monograph.open(options.file, create=False, model=load_model(options.model, options.api_key)) as archive:
        if options.against:
            modes = (options.how, options.against)
            preference = judge_preference(archive, questions, modes, options.k, judge)
            counts = (preference.questions, preference.unreadable, preference.failed)
            headings = ("wins of", "against", *CRITERIA, "questions", "unreadable", "failed")
            show("preference", headings, [(*modes, *(f"{one:.1%}" for one in preference.wins), *map(str, counts))])
        else:
            found = judge_correctness(archive, questions, options.how, options.k, judge)
            shares = [f"{average:.1%} ± {deviation:.1%}" for average, deviation in (found.accuracy, found.error)]
            counts = (found.questions, found.unreadable, found.failed)
            headings = ("how", "accuracy", "error rate", "same verdicts", "questions", "unreadable", "failed")
            show("correctness", headings, [(options.how, *shares, f"{found.same:.1%}", *map(str, counts))])


if __name__ == "__main__":
    main()
