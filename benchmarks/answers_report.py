"""Report of benchmarks/answers.py: docs/benchmarks/answers.md and answers.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graph_report import percent, table
from monograph.answer.confidence import LEAST, LEAST_FOR_A_MODEL
from page import write_page

Results = dict[str, Any]

LEADS = """\
An answer without a language model begins with one sentence, the one most likely to answer the question (`answer.best`).
The columns show the share of questions whose expected answer is in a given text; more is better:

- *answer in the sentence*: the text is this first sentence.
- *in its 40-token version*: the text is this sentence, shortened to 40 tokens.
- *in the first passage*: the text is the passage that the search ranks first.
- *in any of ten passages*: the text is any of the ten passages that the search finds.
- *mean confidence*: the mean of `answer.best.confidence`, for comparison.
- *questions with a picked text*: the number of questions for which Monograph also picks a name, date or number from the
  sentence (`answer.best.within`).
- *answer in the picked text*: the share of those questions whose expected answer is in the picked text.

The weights were chosen on the other three sets and on a training half of SQuAD, the questions whose id has an even
SHA-256. The other half of SQuAD is held out. One sentence rarely answers the questions of MuSiQue, which need several
steps, or of NQ, which are about long pages. Mean confidence differs less between sets than the share of answers in the
sentence does. So use confidences only to compare answers from the same file, and do not read a confidence as the
probability that the answer is right."""
LEFT_OUT = """\
Do the weights fit sets that they were not chosen on? The table counts only questions for which at least one sentence in
the ten passages found contains the expected answer. It shows the share of these questions for which the sentence ranked
first contains it; more is better. One column uses weights that were chosen on all four sets. The other uses weights
that were chosen on the three other sets. Of SQuAD, only the training half is used."""
SILENCE = """\
Monograph declines to answer a question ("I don't know") if `answer.confidence` is below a threshold. Three kinds of
questions are asked:

- *Answerable questions* have their answer in the file. To decline one is a mistake.
- *Null questions* are labelled by the set itself as unanswerable. Monograph should decline them.
- *Questions with hidden evidence* are the answerable questions again, with a filter that hides their evidence
  documents. In MuSiQue and HotpotQA, whose questions need several documents, it hides one of them. Similar documents
  remain. Monograph should decline these questions.

For each set, the weights and the threshold are chosen on the other sets. The threshold is chosen so that 5 % of the
answerable questions of those other sets are declined by mistake. MultiHop-RAG is never used to choose weights or
thresholds, because each of its questions names many things."""
OWN_THRESHOLD = """\
The next table uses the same weights, but another threshold for each set: the one that declines 5 % of the set's own
answerable questions by mistake. It shows how well confidence separates answerable questions from the two other kinds;
more is better."""
RELIABILITY = """\
Is `answer.confidence` calibrated? The table groups the questions of all three kinds by confidence. MultiHop-RAG is
excluded, and the weights for each set were chosen on the other sets. If confidence is calibrated, the mean confidence
of a group equals the share of answerable questions in the group. All sets have the same weight in these figures. Within
each set, answerable and unanswerable questions have the same weight."""
CURVE = """\
The last tables show which questions are declined at other thresholds, with Monograph's default weights. The default
threshold is {least} without a language model and {model} with one. The parameter `threshold` of `ask` and `context`
sets another threshold."""
CURVES = {
    "answerable": "Share of answerable questions that are declined by mistake, in percent; less is better:",
    "null": "Share of null questions that are declined, in percent; more is better:",
    "taken out": "Share of questions with hidden evidence that are declined, in percent; more is better:",
}
CONTEXTUAL = """\
The next tables show the same with passages that are found by all-MiniLM-L6-v2 (ONNX) instead of static word vectors.
Confidence still compares words."""
HALF_NAMES = {"squad, chosen on": "squad, training half", "squad, others": "squad, held-out half"}
"""Labels of the halves of SQuAD, by their keys in the results."""


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
            HALF_NAMES.get(name, name),
            str(one["questions"]),
            *(percent(one[key]) for key in ("whole", "small", "passage", "found", "sure")),
            str(one["narrowed"]),
            percent(one["narrow"]),
        )
        for name, one in found.items()
    ]
    headings = (
        "set",
        "questions",
        "answer in the sentence, %",
        "in its 40-token version, %",
        "in the first passage, %",
        "in any of ten passages, %",
        "mean confidence, %",
        "questions with a picked text",
        "answer in the picked text, %",
    )
    return [LEADS, table(headings, rows)]


def weights(found: Results) -> list[str]:
    rows = [(name, percent(one["chosen on"]), percent(one["left out"])) for name, one in found["left out"].items()]
    headings = (
        "set",
        "first sentence right, weights of all sets, %",
        "first sentence right, weights of the three others, %",
    )
    return [LEFT_OUT, table(headings, rows)]


def silence(found: Results) -> list[str]:
    reliability = [
        (
            f"{one['from']:.1f} to {one['from'] + 0.2:.1f}",
            f"{one['share']:.3f}",
            f"{one['said']:.3f}",
            f"{one['true']:.3f}",
        )
        for one in found["reliability"]
    ]
    parts = [SILENCE, *_left_out(found["static"])]
    if "contextual" in found:
        parts += [CONTEXTUAL, *_left_out(found["contextual"])]
    headings = ("confidence", "share of all questions", "mean confidence", "share of answerable questions")
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
    own = [(name, *(percent(one["at own"][kind]) for kind in ("null", "taken out"))) for name, one in found.items()]
    return [
        table(headings, rows),
        OWN_THRESHOLD,
        table(("set", "null questions declined, %", "declined when evidence is hidden, %"), own),
    ]
