"""Report of benchmarks/answers.py: docs/benchmarks/answers.md and answers.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graph_report import percent, table
from monograph.answer.confidence import LEAST, LEAST_FOR_A_MODEL
from page import write_page

Results = dict[str, Any]

SHOWN_THRESHOLDS = (LEAST_FOR_A_MODEL, LEAST, 0.3, 0.5)
"""Thresholds that the page shows."""

LEADS = """\
An answer without a language model begins with the sentence most likely to answer the question (`answer.best`).
The columns show the share of questions whose expected answer is in a given text; more is better:

- *in the sentence*: the text is this first sentence.
- *in its 40-token version*: the text is this sentence, shortened to 40 tokens.
- *in any of ten passages*: the text is any of the ten passages that the search finds.
- *in the picked text*: the text is the name, date or number that Monograph picks from the sentence
  (`answer.best.within`). Only questions with such a text count; their number is in parentheses.

*Mean confidence* is the mean of `answer.best.confidence`. Compare confidences only within one file: between sets, the
mean confidence varies less than *in the sentence*. A confidence is not the probability that the answer is right.

The weights that rank sentences were chosen on all rows but the held-out half of SQuAD. One sentence rarely answers the
questions of MuSiQue, which need several steps, or of NQ, which are about long pages."""
SILENCE = """\
Monograph declines to answer a question ("I don't know") if `answer.confidence` is below a threshold. Three kinds of
questions are asked:

- *Answerable questions* have their answer in the file. To decline one is a mistake.
- *Null questions* are labelled by the set as unanswerable; only two sets have some.
- *Questions with hidden evidence* are the answerable questions again, with a filter that hides their evidence documents
  (only one of them in MuSiQue and HotpotQA). Similar documents remain.

Monograph should decline null questions and questions with hidden evidence.

For each set, the threshold and the weights that make up the confidence are chosen on the other sets. The threshold
declines 5 % of the other sets' answerable questions by mistake. Nothing is chosen on MultiHop-RAG, because each of its
questions names many things."""
RELIABILITY = """\
Is `answer.confidence` calibrated? If so, the mean confidence of a group equals the share of answerable questions in the
group. The table groups the questions of all three kinds by confidence, without MultiHop-RAG. The weights are chosen
as above. All sets count the same. In a set, answerable questions count as much as all others together."""
CURVE = """\
The last tables show how many questions are declined at other thresholds, with Monograph's default weights. The default
threshold is {least} without a language model and {model} with one."""
CURVES = {
    "answerable": "Share of answerable questions that are declined by mistake, in percent; less is better:",
    "null": "Share of null questions that are declined, in percent; more is better:",
    "taken out": "Share of questions with hidden evidence that are declined, in percent; more is better:",
}
CONTEXTUAL = """\
The next table shows the same with passages that are found by all-MiniLM-L6-v2 (ONNX) instead of static word vectors.
Confidence still compares words."""
HALF_NAMES = {"squad, chosen on": "squad, training half", "squad, others": "squad, held-out half"}
"""Labels of the halves of SQuAD, by their keys in the results."""


def write(results: Results, folder: Path) -> list[Path]:
    """Write the page and the figures, with the sections that were measured."""
    sections = {  # sections of the page; answers.json has all measured sections
        "leads": ("The sentence that leads", leads),
        "silence": ("Saying nothing", silence),
    }
    return write_page(results, folder / "answers.md", "Answers, measured", sections)


def leads(found: Results) -> list[str]:
    rows = [
        (
            HALF_NAMES.get(name, name),
            str(one["questions"]),
            *(percent(one[key]) for key in ("whole", "small", "found")),
            f"{percent(one['narrow'])} ({one['narrowed']})",
            percent(one["sure"]),
        )
        for name, one in found.items()
    ]
    headings = (
        "set",
        "questions",
        "in the sentence, %",
        "in its 40-token version, %",
        "in any of ten passages, %",
        "in the picked text, %",
        "mean confidence, %",
    )
    return [LEADS, table(headings, rows)]


def silence(found: Results) -> list[str]:
    reliability = [
        (f"{one['from']:.1f} to {one['from'] + 0.2:.1f}", f"{one['said']:.3f}", f"{one['true']:.3f}")
        for one in found["reliability"]
    ]
    parts = [SILENCE, *_left_out(found["static"])]
    if "contextual" in found:
        parts += [CONTEXTUAL, *_left_out(found["contextual"])]
    headings = ("confidence", "mean confidence", "share of answerable questions")
    return [
        *parts,
        RELIABILITY,
        table(headings, reliability),
        CURVE.format(least=LEAST, model=LEAST_FOR_A_MODEL),
        *(part for kind, caption in CURVES.items() for part in (caption, _curve(found["curve"], kind))),
    ]


def _curve(found: Results, kind: str) -> str:
    """Return the table of one kind of questions: a row for each threshold, a column for each set that has the kind."""
    sets = {name: rows for name, rows in found.items() if rows[0][kind] is not None}
    thresholds = [one["threshold"] for one in next(iter(sets.values()))]
    rows = [
        (f"{threshold:.2f}", *(f"{rows[place][kind]:.0%}"[:-1] for rows in sets.values()))
        for place, threshold in enumerate(thresholds)
        if threshold in SHOWN_THRESHOLDS
    ]
    return table(("threshold", *(f"{name}, %" for name in sets)), rows)


def _left_out(found: Results) -> list[str]:
    rows = [
        (
            name,
            f"{one['threshold']:.2f}",
            str(one["counts"]["answerable"]),
            percent(one["false"]),
            str(one["counts"]["null"] or "—"),
            percent(one["null"]),
            percent(one["taken out"]),
        )
        for name, one in found.items()
    ]
    headings = (
        "set",
        "threshold",
        "answerable questions",
        "declined by mistake, %",
        "null questions",
        "null questions declined, %",
        "declined when evidence is hidden, %",
    )
    return [table(headings, rows)]
