"""Report of benchmarks/answers.py: docs/benchmarks/answers.md and answers.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graph_report import percent, table
from monograph.answer.confidence import LEAST, LEAST_FOR_A_MODEL
from page import write_page

Results = dict[str, Any]

LEADS = """\
Without a model, the sentence most likely to answer comes first. Percent of questions whose answer is in this
*sentence*, in an answer of *40 tokens*, in the *first passage* and in *any of ten*; more is better. *Sure* is the mean
of `answer.best.confidence`. *Narrowed*: number of questions for which a name, date or number is picked from the
sentence, and percent of these where it has the answer. The weights were chosen on SQuAD's questions whose id has an
even SHA-256 and on the other three sets; SQuAD's others are held out. One sentence rarely answers questions of
MuSiQue, which take several steps, or of NQ, which are about long pages. Confidence differs less between sets than the
share of right answers: compare it within one file, and do not read it as that share."""
LEFT_OUT = """\
Percent of questions that the first sentence answers, of those that some sentence of ten hits answers (of SQuAD those
the weights were chosen on); more is better. Weights are chosen on all four sets, or on the other three."""
SILENCE = """\
A question is not answered if `answer.confidence` is below a threshold. *False*: percent of answerable questions not
answered; less is better. *Null*: questions that nothing answers, by the set. *Taken out*: the answerable questions,
with their documents filtered away (of MuSiQue and HotpotQA one of several), while similar ones stay in the file.

Weights and threshold for each set are chosen on the others, for 5 % false there; none are chosen on MultiHop-RAG,
whose questions name many things at once. *Caught*: percent not answered; more is better. In brackets the threshold
gives 5 % false on the set itself, which shows how well confidence separates the questions."""
RELIABILITY = """\
Percent of all questions, mean confidence, and percent answerable; the last two should be equal. The weights were
chosen on other sets; questions with and without an answer weigh the same."""
CURVE = """\
Percent not answered by threshold, with the weights in use: of answerable questions (less is better) / of null ones /
of those taken out (more is better). Without a model the threshold is {least}, with one {model}; `threshold` of `ask`
and `context` sets another."""
CONTEXTUAL = """\
The same with passages found by all-MiniLM-L6-v2 (ONNX) instead of the static embedder; confidence still compares
words."""


def write(results: Results, folder: Path) -> list[Path]:
    """Write the page and the figures, with the sections that were measured."""
    sections = {
        "leads": ("The sentence that leads", leads),
        "weights": ("Weights chosen without the set", weights),
        "silence": ("Saying nothing", silence),
    }
    return write_page(results, folder / "answers.md", "Answers, measured", sections)


def leads(found: Results) -> list[str]:
    rows = [
        (
            name,
            str(one["questions"]),
            *(percent(one[key]) for key in ("whole", "small", "passage", "found", "sure")),
            f"{one['narrowed']}, {percent(one['narrow'])}",
        )
        for name, one in found.items()
    ]
    return [
        LEADS,
        table(
            ("set", "questions", "sentence", "40 tokens", "first passage", "any of ten", "sure", "narrowed"),
            rows,
        ),
    ]


def weights(found: Results) -> list[str]:
    rows = [(name, percent(one["chosen on"]), percent(one["left out"])) for name, one in found["left out"].items()]
    return [LEFT_OUT, table(("set", "all sets", "other sets"), rows)]


def silence(found: Results) -> list[str]:
    reliability = [
        (
            f"{one['from']:.1f} to {one['from'] + 0.2:.1f}",
            percent(one["share"]),
            percent(one["said"]),
            percent(one["true"]),
        )
        for one in found["reliability"]
    ]
    thresholds = [one["threshold"] for one in next(iter(found["curve"].values()))]
    curve = [
        (
            name,
            *(
                " / ".join(
                    "—" if one[key] is None else f"{one[key]:.0%}"[:-1] for key in ("answerable", "null", "taken out")
                )
                for one in rows
            ),
        )
        for name, rows in found["curve"].items()
    ]
    parts = [SILENCE, _left_out(found["static"])]
    if "contextual" in found:
        parts += [CONTEXTUAL, _left_out(found["contextual"])]
    return [
        *parts,
        RELIABILITY,
        table(("confidence", "share of questions", "mean confidence", "answerable"), reliability),
        CURVE.format(least=LEAST, model=LEAST_FOR_A_MODEL),
        table(("set", *(f"{one:.2f}" for one in thresholds)), curve),
    ]


def _left_out(found: Results) -> str:
    def caught(one: Results, kind: str) -> str:
        return "—" if one[kind] is None else f"{percent(one[kind])} ({percent(one['at own'][kind])})"

    rows = [
        (
            name,
            f"{one['threshold']:.2f}",
            str(one["counts"]["answerable"]),
            percent(one["false"]),
            str(one["counts"]["null"] or "—"),
            caught(one, "null"),
            caught(one, "taken out"),
        )
        for name, one in found.items()
    ]
    return table(("set", "threshold", "answerable", "false", "null", "null caught", "taken out caught"), rows)
