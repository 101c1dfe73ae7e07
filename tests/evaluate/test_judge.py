"""The judge of ``benchmarks/judge.py``: its prompts, its replies, and runs with a scripted judge over a socket."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import pytest

from monograph import Document, Monograph
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import MonographError
from monograph.evaluate.datasets import EvaluationQuestion
from support.corpora import copy_archive
from support.forks import run
from support.model_server import ModelServer
from support.paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import judge

DOCUMENTS = [
    Document("Ines Calder found the comet on the eleventh of April.", id="log"),
    Document("The boiler is serviced every October by Mrs Grubb.", id="boiler"),
]
COMET = EvaluationQuestion("1", "Who found the comet?", ("Ines Calder",))
BOILER = EvaluationQuestion("2", "Who services the boiler?", ("Mrs Grubb",))
PAGE = ROOT / "docs" / "explanation" / "measuring.md"


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("Verdict: 1", 1),
        ("1", 1),
        (" -1\n", -1),
        ("They agree in all but the date.\n\n**Verdict:** 0.", 0),
        ("- `verdict: −1`", -1),
        ('"verdict": -1,', -1),
        ("Verdict: 1\nVerdict: 1", 1),
        ("<think>Verdict: 1?\nVerdict: 1</think>\nVerdict: -1", -1),
        ("Verdict: 1\nVerdict: 0", None),
        ("Verdict: 1 or 0", None),
        ("Verdict: 10", None),
        ("Verdict - 1", None),
        ("1. Both name a bottle.\n2. So they agree.", None),
        ("The response is correct.", None),
        ("", None),
    ],
)
def test_verdicts_are_read_or_unreadable(reply: str, verdict: int | None) -> None:
    assert judge.read_correctness(reply) == verdict


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("Diversity: 1", 1),
        ("Overall: 1\n- **Diversity**: Answer 2\nEmpowerment: 1", 2),
        ("Diversity: 1 and 2", None),
        ("Diversity: 3", None),
        ("Diversity: tie", None),
        ("Diversity: 1\nDiversity: 2", None),
    ],
)
def test_preferences_are_read_or_unreadable(reply: str, number: int | None) -> None:
    assert judge.read_number(reply, "Diversity", "1|2") == number


def test_prompts_contain_both_texts_in_an_order_that_varies() -> None:
    prompts = [judge.correctness_prompt(COMET, "Otto Calder", number) for number in range(20)]
    assert all(COMET.question in one and "Insufficient information" in one for one in prompts)
    assert {one.index("Ines Calder") < one.index("Otto Calder") for one in prompts} == {True, False}
    prompt = judge.preference_prompt(COMET.question, "a first", "a second")
    assert prompt.index("Answer 1:\na first") < prompt.index("Answer 2:\na second")
    assert all(f"- {name}: " in prompt for name in judge.CRITERIA)


def test_correctness_is_judged_in_three_rounds(tmp_path: Path) -> None:
    lost = EvaluationQuestion("0", "Who found a comet?", ("Ines Calder",))
    with ModelServer() as server:
        server.fail(400, containing=f"knowledge.\n\nQuestion: {lost.question}")
        server.say("Verdict: 1", containing=f"knowledge.\n\nQuestion: {COMET.question}")
        server.say("Verdict: -1", containing=f"knowledge.\n\nQuestion: {BOILER.question}")
        model = OpenAICompatible(server.url, "scripted")
        with Monograph.open(copy_archive(tmp_path / "x.mono", DOCUMENTS), model=model) as archive:
            asked = [lost, COMET, BOILER, EvaluationQuestion("3", "Why?")]
            found = judge.judge_correctness(archive, asked, "hybrid", 3, model)
            server.heal()
            server.say("Hard to tell.", containing="Compare a response")
            unclear = judge.judge_correctness(archive, [COMET], "hybrid", 3, model)
    assert (found.accuracy, found.error, found.same) == ((0.5, 0.0), (0.5, 0.0), 1.0)
    assert (found.questions, found.unreadable, found.failed) == (2, 0, 1)
    assert (unclear.questions, unclear.unreadable, unclear.same) == (1, judge.ROUNDS, 0.0)


def test_two_modes_are_compared_in_both_orders(tmp_path: Path) -> None:
    reply = "Comprehensiveness: 1\nDiversity: 2\nEmpowerment: both\nOverall: 1"
    with ModelServer() as server:
        server.say(reply, containing="Compare two answers")
        model = OpenAICompatible(server.url, "scripted")
        with Monograph.open(copy_archive(tmp_path / "x.mono", DOCUMENTS), model=model) as archive:
            found = judge.judge_preference(archive, [COMET, BOILER], ("lexical", "dense"), 3, model)
            server.heal()
            server.fail(400, containing="Compare two answers")
            failed = judge.judge_preference(archive, [COMET], ("lexical", "dense"), 3, model)
    assert (found.questions, found.unreadable, found.failed) == (2, 4, 0)
    assert found.wins == (0.5, 0.5, 0.0, 0.5)  # A judge that prefers a position favours no mode.
    assert (failed.questions, failed.unreadable, failed.failed) == (0, 0, 1)


def test_a_missing_file_is_not_created(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").write_text(json.dumps({"question": COMET.question, "answers": COMET.answers}))
    model = "openai:http://localhost:9/v1#m"
    with pytest.raises(MonographError, match="none.mono"):
        judge.main([str(tmp_path / "none.mono"), str(tmp_path), "--model", model, "--judge", model])
    assert not (tmp_path / "none.mono").exists()


@pytest.mark.long
def test_commands_for_figures_with_a_model_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All commands of the page's section run, with a small set and a scripted model."""
    section = PAGE.read_text().partition("## Figures of the papers that need a language model")[2].partition("\n## ")[0]
    (folder := tmp_path / "set").mkdir()
    corpus = "\n".join(json.dumps({"id": one.id, "text": one.text}) for one in DOCUMENTS)
    (folder / "corpus.jsonl").write_text(corpus)
    (folder / "queries.jsonl").write_text(json.dumps({"question": COMET.question, "answers": COMET.answers}))
    with ModelServer() as server:
        server.say("Verdict: 1", containing="Compare a response")
        server.say("\n".join(f"{name}: 1" for name in judge.CRITERIA), containing="Compare two answers")
        model = f"openai:{server.url}#scripted"
        given = {"set.mono": str(tmp_path / "set.mono"), "corpus.jsonl": str(folder / "corpus.jsonl")}
        given |= {"SET": str(folder), "MODEL": model, "JUDGE": model, "llm:MODEL": f"llm:{model}"}
        commands = re.findall(r"^(monograph .+)$|`((?:monograph eval|python benchmarks/judge\.py) .+?)`", section, re.M)
        for program, *words in (shlex.split(first or second) for first, second in commands):
            arguments = [given.get(word, word) for word in words]
            if program == "monograph":
                run(*arguments)
            else:
                judge.main(arguments[1:])
    assert [len(first) > 0 for first, _ in commands] == [True, *[False] * 6]
    printed = capsys.readouterr().out
    assert "100.0% ± 0.0%" in printed
    assert re.search(r"tree +hybrid +50\.0%", printed)
