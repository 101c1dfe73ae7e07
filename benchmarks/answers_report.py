"""Report of benchmarks/answers.py: docs/benchmarks/answers.md and answers.json."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from graph_report import percent, table
from monograph.answer.confidence import LEAST, LEAST_FOR_A_MODEL
from page import write_page

Results = dict[str, Any]

LEADS = """\
Without a model, an answer begins with the sentence most likely to answer (`answer.best`). The columns show the share
of questions whose expected answer is in this sentence, in this sentence shortened to 40 tokens, in the first passage
found, and in any of the ten passages found; more is better. Confidence is the mean of `answer.best.confidence`. For
some questions Monograph also picks a name, date or number from the sentence (`answer.best.within`). The last two columns
show the number of such questions, and the share of them whose expected answer is in the picked text.

The weights were chosen on a training half of SQuAD, the questions whose id has an even SHA-256, and on the other three
sets. The other half of SQuAD is held out. One sentence rarely answers questions of MuSiQue, which take several steps,
or of NQ, which are about long pages. Confidence differs less between sets than the share of right sentences does:
compare confidences within one file, and do not read them as that share."""
LEFT_OUT = """\
Do the weights fit sets that they were not chosen on? Of the questions whose expected answer is in some sentence of the
ten passages found, the table shows the share for which it is in the sentence ranked first; more is better. The weights
were chosen on all four sets, or on the three others. Of SQuAD, only the training half is counted."""
SILENCE = """\
Monograph declines a question ("I don't know") if `answer.confidence` is below a threshold. Three kinds of questions are
asked:

- *Answerable questions* have their answer in the file. To decline one is a mistake.
- *Null questions* are those that the set itself labels as unanswerable. Monograph should decline them.
- *Evidence hidden*: the answerable questions again, while a filter hides their documents (of MuSiQue and HotpotQA one
  of several) and leaves similar ones. Monograph should decline these too.

For each set, weights and threshold are chosen on the other sets, so that 5 % of the answerable questions there are
declined by mistake. None are chosen on MultiHop-RAG, whose questions name many things at once."""
OWN_THRESHOLD = """\
The same weights, with a threshold that declines 5 % of the set's own answerable questions by mistake. This shows how
well confidence separates the kinds of questions; more is better."""
RELIABILITY = """\
Is the confidence calibrated? The answerable, null and evidence-hidden questions of all sets but MultiHop-RAG are
grouped by confidence, with weights that were chosen on the other sets. In each row, mean confidence and share of
answerable questions should be equal. All sets weigh the same, and in each set so do questions with and without an
answer."""
CURVE = """\
Questions declined at other thresholds, with the weights in use. Without a model the threshold is {least}, with one
{model}; `threshold` of `ask` and `context` sets another."""
CURVES = {
    "answerable": "Answerable questions declined by mistake, in percent of them; less is better:",
    "null": "Null questions declined, in percent of them; more is better:",
    "taken out": "Questions declined while their evidence is hidden, in percent of them; more is better:",
}
CONTEXTUAL = """\
The same, with passages found by all-MiniLM-L6-v2 (ONNX) instead of the static embedder. Confidence still compares
words."""
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
