"""docs/benchmarks/answers.md and answers.json, from what benchmarks/answers.py measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graph_report import percent, table
from monograph.answer.confidence import LEAST, LEAST_FOR_A_MODEL
from page import write_page

Results = dict[str, Any]

LEADS = """\
Without a model the one sentence most likely to answer comes first. Percent of questions whose answer stands in it
(*sentence*), in the answer to a budget of 40 tokens (*40 tokens*), in the first passage found, and in any of ten. *Sure*:
what `answer.best.confidence` is on average. *Narrowed*: questions of which a name, date or number within it is told, and
how often that holds the answer. The weights were chosen on SQuAD's questions whose id has an even SHA-256 and on the
questions of the other three sets; SQuAD's others had no part in it. Questions of MuSiQue take several steps, and those of
NQ are about pages that are long: there one sentence is seldom enough. How sure it says it is differs less from set to set
than how right it is: it compares answers to questions of one file, and is not to be taken as a share of right ones."""
LEFT_OUT = """\
Of the questions that some sentence of ten hits answers (of SQuAD those the weights were chosen on): how often the sentence
that leads does, with weights chosen on all four sets, and on the other three alone."""
SILENCE = """\
A question goes unanswered where `answer.confidence` is below a threshold. *False*: answerable questions that go
unanswered. *Null*: those that the set says nothing answers. *Taken out*: the same answerable questions, with their
documents filtered away (of MuSiQue and HotpotQA one of several), while all that is like them stays in the file.

Each set judged by weights and a threshold chosen on the other sets alone, for 5 % false there; MultiHop-RAG, whose
questions name many things at once, had no part in any choice. In brackets what is caught where the threshold is such that
5 % are false on that very set: how well answerable questions are told from others, wherever the limit is."""
RELIABILITY = """\
What is said, and how often it is so: of questions of sets that the weights were not chosen on, those with an answer and
those without weighing as much."""
CURVE = """\
With the weights in use, percent of answerable questions that go unanswered / of null ones / of those whose document was
taken out. Without a model the threshold is {least}, with one {model}; `threshold` of `ask` and `context` sets another."""
CONTEXTUAL = """\
The same, where passages are found with all-MiniLM-L6-v2 (by ONNX) instead of the static embedder: what is read is words
all the same."""


def write(results: Results, folder: Path) -> list[Path]:
    """Write the page and the figures; those sections that were measured."""
    sections = {
        "leads": ("The sentence that leads", leads),
        "weights": ("Sets that had no part in it", weights),
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
    return [LEFT_OUT, table(("set", "all sets", "the others alone"), rows)]


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
        table(("confidence", "share of questions", "said", "is so"), reliability),
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
    return table(("set", "threshold", "answerable", "false", "null", "null, caught", "taken out, caught"), rows)
