"""Report of benchmarks/reduce.py: docs/benchmarks/reduce.md, reduce.json and reduce.png."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from graph_report import percent, table
from page import NOISE, write_page

Results = dict[str, Any]
FLOORS = {"squad": (0.42, 94.0, 98.0), "hotpotqa": (0.10, 97.0, None)}
BUDGETS = (250, 500, 1000, 2000)
DISTANCES = (0.1, 0.3, 0.6, 1.0, 1.6, 2.4)
"""Distances from the passage's best score within which the prototype keeps sentences."""

KEPT_AT = tuple(f"answers kept at {cut} % cut, %" for cut in (10, 20, 30, 42, 50, 60))
HALF_NAMES = {"chosen on": "training half", "others": "held-out half"}
"""Labels of the halves of SQuAD, by their keys in the results."""

CURVES = """\
Each method reduces the gold passages of a question. Gold passages are the evidence documents; for LiHuaWorld and NQ,
they are the chunks of the evidence documents that contain an answer.

- *Cut* is the share of the passages' tokens that the reduction removes.
- *Kept* is the share of questions whose answer is still complete within one span after the reduction; more is better.
- *Monograph* is Monograph's reduction. Its parameter `cut` requests a cut. From relevant passages, it removes less than
  requested.
- *The paper's windows* is the method of MobileRAG (SCR). A window is three sentences, and overlaps the next window by
  two. The best window of a passage is kept, with one more sentence on each side.

Embeddings are static word vectors."""
CUTS = """\
The columns *answers kept at … cut* belong to Monograph. Each is interpolated between the measured settings of `cut`; a
dash means that no setting removes so many tokens. *Monograph's default* is `cut=0.42`. The last column shows the
answers that Monograph keeps when it removes as many tokens as the paper's windows do."""
HALVES = """\
Monograph's weights were chosen on a training half of SQuAD (the questions whose id has an even SHA-256) and on the dev
halves of four other sets. The table shows that Monograph keeps about as many answers on the held-out half of SQuAD as
on the training half:"""
PROTOTYPE = """\
The next table shows a simpler method, for comparison. It scores each sentence by the cosine between the embeddings of
the sentence and the question, plus twice the overlap of the sentence with the question's words (weighted by idf).
Scores are smoothed over the neighbouring sentences. The method keeps a sentence if its score is at most a given
distance below the best score in the passage. Each column has the cut and the answers kept at one distance:"""
EMBEDDERS = """\
Do the paper's windows become better with another embedder? The table compares windows that are chosen with static word
vectors, windows that are chosen with all-MiniLM-L6-v2 (int8, ONNX), and Monograph at its default; the paper itself uses
GTE-small. Each cell has the cut and the answers kept, on at most 100 questions per set. Monograph's own model was also
tried with sentence embeddings of both embedders as features; they did not improve it."""
RANKS = """\
Does the reduction order documents better than the search? Each search returns ten hits, and three methods order the
same ten hits: the search itself, Monograph's reduction (by the best sentence of each hit), and the paper's windows (by
the best window of each hit). MRR is the mean reciprocal rank of the first gold document (0 to 1); more is better. At
most 100 questions per set are asked."""
BUDGETED = """\
The table shows the percent of questions whose answer is in a context of at most 250, 500, 1,000 or 2,000 tokens,
including headings; more is better. At most 100 questions per set are asked. The methods are:

- *reduce and pack*: the context that Monograph makes.
- *reduce and pack, cut 0.42*: the same with `cut=0.42`. This context can end before the budget is spent, so its mean
  length is in parentheses.
- *truncated*: the hits in the order of the search until the budget is spent. The last hit is cut after a sentence.
- *the paper's windows*: the best window of each hit, in the order of the windows' scores, until the budget is spent.
- *chunks x 0.6* to *chunks x 0.9*: the method *truncated* on a file with smaller chunks. The number is the factor by
  which the chunks are smaller. The search returns more hits accordingly.

All methods except those with smaller chunks use the same ten hits. A cross-encoder was not measured, because none was
available offline."""


def write(results: Results, folder: Path) -> list[Path]:
    """Write the page, the figures and the picture, with the sections that were measured."""
    sections = {
        "curves": ("Answers kept, tokens cut", curves),
        "embedders": ("Another embedder", embedders),
        "shapes": ("Other windows", shapes),
        "facts": ("Gold sentences", facts),
        "ranks": ("Order of the documents", ranks),
        "budgets": ("Answers within a budget of tokens", budgets),
        "speed": ("Speed", speed),
    }
    written = write_page(results, folder / "reduce.md", "Reduction, measured", sections, remark=NOISE)
    return [*written, *([draw(results["curves"]["found"], folder / "reduce.png")] if "curves" in results else [])]


def at_cut(points: Sequence[Results], cut: float) -> float | None:
    """Return the share that a curve keeps at a cut, interpolated between its points; None outside them."""
    ordered = sorted([{"cut": 0.0, "kept": 1.0}, *points], key=lambda one: one["cut"])
    for one, other in pairwise(ordered):
        if one["cut"] <= cut <= other["cut"]:
            step = (cut - one["cut"]) / max(1e-9, other["cut"] - one["cut"])
            return one["kept"] + step * (other["kept"] - one["kept"])
    return None


def curves(found: Results) -> list[str]:
    rows = []
    for name, one in found.items():
        usual = next(point for point in one["ours"] if point["asked"] == 0.42)
        paper = one["windows"][0]
        kept = [percent(at_cut(one["ours"], cut)) for cut in (0.1, 0.2, 0.3, 0.42, 0.5, 0.6)]
        rows.append(
            (
                name,
                str(usual["questions"]),
                *kept,
                _pair(usual),
                _pair(paper),
                percent(at_cut(one["ours"], paper["cut"])),
            )
        )
    headings = (
        "set",
        "questions",
        *KEPT_AT,
        "Monograph's default",
        "the paper's windows",
        "answers that Monograph keeps at the windows' cut, %",
    )
    marks = [
        f"- {name} with {100 * cut:.0f} % of the tokens cut: {percent(at_cut(found[name]['ours'], cut))} % of the "
        "answers kept;"
        f" required {floor:.0f} %" + (f", goal {goal:.0f} %." if goal else ".")
        for name, (cut, floor, goal) in FLOORS.items()
        if name in found
    ]
    tokens = [
        (name, f"{point['before']:.0f}", f"{point['after']:.0f}", f"{one['windows'][0]['after']:.0f}")
        for name, one in found.items()
        for point in one["ours"]
        if point["asked"] == 0.42
    ]
    prototype = [
        (
            name,
            *(_pair(point) for point in one["prototype"]),
        )
        for name, one in found.items()
    ]
    halves = [
        (HALF_NAMES[half], *(percent(at_cut(points, cut)) for cut in (0.1, 0.2, 0.3, 0.42, 0.5, 0.6)))
        for half, points in found.get("squad", {}).get("halves", {}).items()
    ]
    return [
        CURVES,
        CUTS,
        table(headings, rows),
        "\n".join(marks),
        "![Kept against cut, of every set](reduce.png)",
        HALVES,
        table(("half of SQuAD", *KEPT_AT), halves),
        "The next table shows the mean number of tokens of a question's gold passages before and after the reduction; "
        "fewer after it is better. For comparison, MobileRAG's Table 4 has 155 tokens before and 90 after for SQuAD, "
        "and "
        "309 before and 287 after for HotpotQA.",
        table(("set", "tokens before", "tokens after Monograph's default", "tokens after the paper's windows"), tokens),
        PROTOTYPE,
        table(("set", *(f"distance {distance}" for distance in DISTANCES)), prototype),
    ]


def _pair(point: Results) -> str:
    return f"cut {abs(100 * point['cut']):.0f} %, kept {percent(point['kept'])} %"


def embedders(found: Results) -> list[str]:
    if "missing" in found:
        return [f"Not measured: there is no model in `{found['missing']}`."]
    ways = ("static", "MiniLM", "ours")
    rows = [(name, str(one["ours"]["questions"]), *(_pair(one[way]) for way in ways)) for name, one in found.items()]
    return [EMBEDDERS, table(("set", "questions", "windows by static vectors", "windows by MiniLM", "Monograph"), rows)]


def shapes(found: Results) -> list[str]:
    keys = [(point["window"], point["overlap"]) for point in next(iter(found.values()))]
    rows = [
        (f"{window}, {overlap}", *(_pair(points[place]) for points in found.values()))
        for place, (window, overlap) in enumerate(keys)
    ]
    note = (
        "The table varies the size and the overlap of the paper's windows, as the paper's Fig. 12 does. Each row "
        "gives the "
        "sentences in a window, then the sentences that it shares with the next window. The best window is kept with "
        "one "
        "more sentence on each side. Cells have the cut and the answers kept, on at most 400 questions per set."
    )
    return [note, table(("sentences per window, of overlap", *found), rows)]


def facts(found: Results) -> list[str]:
    rows = [
        (
            one["way"].replace("ours, ", "Monograph, cut of ").replace("asked for", "requested").replace("%", " %"),
            f"{100 * one['cut']:.0f}",
            percent(one["kept"]),
        )
        for one in found["ways"]
    ]
    return [
        f"MultiHop-RAG marks the sentences that are evidence for a question. {found['facts']} of these sentences are "
        "in "
        "articles that the set contains completely. Each method reduces the chunks with these sentences. A sentence "
        "counts as kept if one span of the result contains all of it.",
        table(("method", "tokens cut, %", "evidence sentences kept, %"), rows),
    ]


def ranks(found: Results) -> list[str]:
    rows = [(name, *(f"{one[way]:.3f}" for way in ("before", "ours", "windows"))) for name, one in found.items()]
    headings = ("set", "MRR, search", "MRR, Monograph's reduction", "MRR, the paper's windows")
    return [RANKS, table(headings, rows)]


def budgets(found: Results) -> list[str]:
    rows = []
    for name, one in found.items():
        for way, values in one["ways"].items():
            cells = [
                percent(kept) + (f" ({tokens:,.0f} tokens)" if "cut" in way else "")
                for kept, tokens in zip(values["kept"], values["tokens"], strict=True)
            ]
            rows.append((f"{name}: {way}", *cells))
    return [BUDGETED, table(("set: method", *(f"answer in {budget:,} tokens, %" for budget in BUDGETS)), rows)]


def speed(found: Results) -> list[str]:
    return [
        f"Reducing ten documents of 300 words takes {found['words new']:.1f} ms if the process has not seen most of "
        "their "
        "words before. The process caches the tokens of each word: if it has seen the words, the reduction takes "
        f"{found['words known']:.1f} ms, of which {found['processor']:.1f} ms are processor time. The goal is 5 ms. "
        "60 groups of ten documents are reduced several times each. The first figure is the median of the first "
        "runs. The "
        "other figures are medians over the groups, and each group counts with the best of its five further runs. If "
        "other programs use the processor, only processor time is reliable."
    ]


def draw(found: Results, path: Path) -> Path:
    """The curves as a PNG: a panel a set."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.1 * len(found), 3.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(found), squeeze=False, sharey=True)[0]
    for panel, (name, one) in zip(panels, found.items(), strict=True):
        for way, mark in (("ours", "o-"), ("prototype", "x--"), ("windows", "s")):
            points = sorted(one[way], key=lambda point: point["cut"])
            panel.plot(
                [100 * point["cut"] for point in points],
                [100 * point["kept"] for point in points],
                mark,
                markersize=4,
                label=way,
            )
        for cut, floor, goal in [FLOORS[name]] if name in FLOORS else []:
            panel.plot([100 * cut], [goal or floor], "*", color="black", markersize=9)
        panel.set(title=name, xlabel="cut (%)", xlim=(0, 85))
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="answers kept (%)", ylim=(60, 100.5))
    panels[0].legend(loc="lower left")
    figure.savefig(path, dpi=110)
    return path
