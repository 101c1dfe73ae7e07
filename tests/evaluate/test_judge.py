"""Metrics of answers, and the scripted model as a judge."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from monograph.derive.openai_compatible import OpenAICompatible
from monograph.evaluate.answers import ReductionCase, exact_match, f1, reduction
from monograph.evaluate.judge import CRITERIA, Case, Pair, judge, win_rates
from support.model_server import ModelServer


@pytest.mark.parametrize(
    ("answer", "right", "exact", "overlap"),
    [
        ("The Comet!", ["comet"], 1.0, 1.0),
        ("a green comet", ["the comet"], 0.0, 2 / 3),
        ("Zürich", ["Zurich", "Bern"], 1.0, 1.0),
        ("", ["comet"], 0.0, 0.0),
        ("comet", [], 0.0, 0.0),
        ("comet comet", ["comet"], 0.0, 2 / 3),
    ],
)
def test_exact_match_and_f1_equal_those_by_hand(answer: str, right: list[str], exact: float, overlap: float) -> None:
    assert exact_match(answer, right) == exact
    assert f1(answer, right) == pytest.approx(overlap)


def test_reductions_are_measured() -> None:
    made = reduction(
        [
            ReductionCase(["a comet came", "x"], ["comet"], 10, 4, ["comet"]),
            ReductionCase(["a comet came"], ["came"], 10, 6, ["comet"]),
            ReductionCase(["nothing"], [], 20, 0, ["comet"]),
        ]
    )
    assert (made.questions, made.cut, made.kept) == (3, 0.75, 0.5)
    assert (made.tokens_before, made.tokens_after) == (40 / 3, 10 / 3)


def judging(decide: Callable[[str], str]) -> ModelServer:
    return ModelServer(script=decide)


def test_a_judge_counts_right_wrong_and_unknown() -> None:
    cases = [Case("q", ["green"], answer) for answer in ("green", "red", "I don't know.", "blue")]
    verdict = {"green": "Right.", "red": "WRONG", "I don't know.": "unknown", "blue": "well, hm"}

    def decide(prompt: str) -> str:
        return verdict[prompt.partition("System's answer: ")[2].partition("\n")[0]]

    with judging(decide) as server:
        made = judge(OpenAICompatible(server.url, "judge"), cases, repeats=4)
        assert (made.accuracy, made.error, made.abstention, made.unclear) == (0.25, 0.5, 0.25, 0.25)
        assert server.calls == 16
        orders = {re.search(r"one word: ([^.]+)\.", one.prompt)[1] for one in server.asked}  # type: ignore[index]
    assert len(orders) > 1


def test_the_longer_answer_wins_whichever_comes_first() -> None:
    def decide(prompt: str) -> str:
        first, second = re.findall(r"^(?:First|Second) answer: (.*)$", prompt, re.MULTILINE)
        return "first" if len(first) > len(second) else "Second"

    pairs = [Pair("q", "long and full", "short"), Pair("q", "no", "much longer"), Pair("q", "also long", "tiny")]
    with judging(decide) as server:
        rates = win_rates(OpenAICompatible(server.url, "judge"), pairs)
    assert [rate.criterion for rate in rates] == [name for name, _ in CRITERIA]
    assert all(rate.one == pytest.approx(2 / 3) and rate.other == pytest.approx(1 / 3) for rate in rates)


@pytest.mark.parametrize("said", ["first", "second", "neither"])
def test_a_judge_that_looks_only_at_places_gives_a_tie(said: str) -> None:
    with judging(lambda _: said) as server:
        rates = win_rates(OpenAICompatible(server.url, "judge"), [Pair("q", "a", "b")] * 3)
    assert {(rate.one, rate.other) for rate in rates} == {(0.5, 0.5)}


def test_judging_nothing_gives_zeros() -> None:
    with judging(lambda _: "right") as server:
        model = OpenAICompatible(server.url, "judge")
        assert judge(model, []).accuracy == 0.0
        assert reduction([]).cut == 0.0
