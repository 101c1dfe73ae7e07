"""Report of benchmarks/reduce.py: docs/benchmarks/reduce.md, reduce.json and reduce.png."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from graph_report import percent, table
from monograph.values import DEFAULT_CUT
from page import NOISE, write_page

Results = dict[str, Any]
PAPERS_SETS = ("squad", "hotpotqa")
"""Sets for which MobileRAG's Table 4 has tokens."""

HALVES = ("chosen on", "others")
"""Halves of SQuAD in the results: the training half, and the half that is held out."""

GOALS = {"squad": (0.5, 98.5), "hotpotqa": (0.1, 97.0)}
"""Goals: (cut, percent of answers kept)."""

BUDGETS = (250, 500, 1000, 2000)
SHOWN_BUDGETS = (250, 1000)
"""Budgets that the page shows."""

DISTANCES = (0.1, 0.3, 0.6, 1.0, 1.6, 2.4)
"""Distances from the passage's best score within which the prototype keeps sentences."""

KEPT_AT = (0.1, 0.42, 0.5, 0.6)
"""Cuts at which the page shows the answers kept."""

SHOWN_WINDOWS = (1, 3, 5)
"""Sentences per window that the page shows."""

PACKINGS = {
    "reduce and pack": "Monograph",
    "reduce and pack, cut 0": "Monograph, `cut=0`",
    "truncated": "truncated",
    "the paper's windows": "the paper's windows",
    "chunks x 0.6": "smaller chunks",
}
"""Methods of packing a context that the page shows: their names in the results, and on the page."""

CURVES = """\
Each method reduces the gold passages of a question: the evidence documents, or, for LiHuaWorld and NQ, the chunks of
these documents that contain an answer. Embeddings are static word vectors.

- *Cut* is the share of the passages' tokens that the reduction removes.
- *Kept* is the share of questions with a whole answer in successive kept sentences; more is better.
- *Monograph's default* is `cut=0.42`, which aims at 42 % on SQuAD and removes less on other sets.
- *The paper's windows* is the method of MobileRAG (SCR). A window has three sentences, and two of them are also in the
  next window. The window nearest to the question is kept, and one sentence on each side.
- *Kept at … cut* is Monograph's *kept* if it removes this share of tokens, interpolated between the measured settings.
  A dash means that no setting removes so many tokens. The last column uses the cut of the paper's windows."""
PICTURE = """\
In the picture, *ours* is Monograph's reduction, and a star is Monograph's goal. *prototype* is a simpler method. It
scores sentences by cosine and by shared words with the question, and keeps the sentences with scores near the best."""
EMBEDDERS = """\
Are the paper's windows better with another embedder? The paper uses GTE-small. The table has windows that are chosen
with static word vectors, windows that are chosen with all-MiniLM-L6-v2 (int8, ONNX), and Monograph's default, on at
most 200 questions per set."""
SHAPES = """\
The table varies the number of sentences in the paper's windows, as the paper's Fig. 12 does. Each window shares all but
one of its sentences with the next window. The best window is kept with one more sentence on each side. At most 400
questions per set are asked."""
RANKS = """\
Does the reduction order documents better than the search? The same ten hits are in the order of the search, of the best
sentence of each hit, or of the best window of each hit (as in the paper). MRR is the mean reciprocal rank of the first
gold document (0 to 1); more is better. At most 100 questions per set are asked."""
BUDGETED = """\
The table shows the percent of questions whose answer is in a context of at most 250 or 1,000 tokens; more is
better. At most 100 questions per set are asked. All methods but the last use the same ten hits:

- *Monograph*: its context, with the default `cut=0.42`. Weak sentences are removed even if the budget has room. With
  `cut=0`, sentences are removed only if the budget is full.
- *truncated*: the hits in the order of the search until the budget is spent. The last hit is cut after a sentence.
- *the paper's windows*: the best window of each hit, best first, until the budget is spent.
- *smaller chunks*: *truncated*, on a file with chunks of 0.6 times the default size, and with 17 hits instead of ten.
  A dash means that this was not measured."""


def write(results: Results, folder: Path) -> list[Path]:
    """Write the page, the figures and the picture, with the sections that were measured."""
    sections = {  # sections of the page; reduce.json has all measured sections
        "curves": ("Answers kept, tokens cut", curves),
        "embedders": ("Another embedder", embedders),
        "shapes": ("Other windows", shapes),
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
        usual, paper = _usual(one), one["windows"][0]
        kept = [percent(at_cut(one["ours"], cut)) for cut in (*KEPT_AT, paper["cut"])]
        rows.append((name, str(usual["questions"]), _pair(usual), _pair(paper), *kept))
    headings = (
        "set",
        "questions",
        "Monograph's default",
        "the paper's windows",
        *(f"kept at {cut:.0%} cut, %".replace("%", " %", 1) for cut in KEPT_AT),
        "kept at the windows' cut, %",
    )
    made = [CURVES, table(headings, rows), "![Kept against cut, of every set](reduce.png)", PICTURE]
    if "squad" in found:
        training, held_out = (percent(at_cut(found["squad"]["halves"][half], 0.5)) for half in HALVES)
        made.append(
            "The weights of the sentence scores were chosen on a training half of SQuAD and on the dev halves of four "
            f"other sets. At a cut of 50 %, Monograph keeps {training} % of the answers on the training half, and "
            f"{held_out} % on the held-out half."
        )
    tokens = ", and ".join(
        f"from {_usual(found[name])['before']:.0f} to {_usual(found[name])['after']:.0f} on {name} (the paper's "
        f"windows: {found[name]['windows'][0]['after']:.0f})"
        for name in PAPERS_SETS
        if name in found
    )
    if tokens:
        made.append(
            f"Monograph's default reduces the mean number of tokens of a question's gold passages {tokens}. "
            "MobileRAG's Table 4 has 155 tokens before and 90 after for SQuAD, and 309 before and 287 after for "
            "HotpotQA."
        )
    return made


def _usual(found: Results) -> Results:
    """Return the point of a curve that was measured with the default cut."""
    return next(point for point in found["ours"] if point["asked"] == DEFAULT_CUT)


def _pair(point: Results) -> str:
    return f"cut {abs(100 * point['cut']):.0f} %, kept {percent(point['kept'])} %"


def embedders(found: Results) -> list[str]:
    if "missing" in found:
        return [f"Not measured: there is no model in `{found['missing']}`."]
    ways = ("static", "MiniLM", "ours")
    rows = [(name, str(one["ours"]["questions"]), *(_pair(one[way]) for way in ways)) for name, one in found.items()]
    return [EMBEDDERS, table(("set", "questions", "windows by static vectors", "windows by MiniLM", "Monograph"), rows)]


def shapes(found: Results) -> list[str]:
    rows = [
        (str(points[0]["window"]), *map(_pair, points))
        for points in zip(*found.values(), strict=True)
        if points[0]["window"] in SHOWN_WINDOWS and points[0]["overlap"] == points[0]["window"] - 1
    ]
    return [SHAPES, table(("sentences per window", *found), rows)]


def ranks(found: Results) -> list[str]:
    ways = ("before", "ours", "windows", "windows by MiniLM")
    rows = [(name, *(f"{one[way]:.3f}" if way in one else "—" for way in ways)) for name, one in found.items()]
    headings = ("set", "MRR, search", "sentences", "windows by static vectors", "windows by MiniLM")
    return [RANKS, table(headings, rows)]


def budgets(found: Results) -> list[str]:
    rows = [
        (
            f"{name}, {budget:,} tokens",
            *(
                percent(one["ways"][way]["kept"][BUDGETS.index(budget)] if way in one["ways"] else None)
                for way in PACKINGS
            ),
        )
        for name, one in found.items()
        for budget in SHOWN_BUDGETS
    ]
    return [BUDGETED, table(("set, budget", *PACKINGS.values()), rows)]


def speed(found: Results) -> list[str]:
    return [
        f"Reducing ten documents of 300 words takes {found['words new']:.1f} ms if most words are new to the process. "
        f"With known words, it takes {found['words known']:.1f} ms, of which {found['processor']:.1f} ms are processor "
        "time. The goal is 5 ms. All times are medians over groups of ten documents. With known words, the "
        "fastest of five runs of a group counts."
    ]


def draw(found: Results, path: Path) -> Path:
    """Draw the curves as a PNG, with a panel for each set; return its path."""
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
        for cut, goal in [GOALS[name]] if name in GOALS else []:
            panel.plot([100 * cut], [goal], "*", color="black", markersize=9)
        panel.set(title=name, xlabel="cut (%)", xlim=(0, 85))
        panel.grid(alpha=0.3)
    panels[0].set(ylabel="answers kept (%)", ylim=(60, 100.5))
    panels[0].legend(loc="lower left")
    figure.savefig(path, dpi=110)
    return path
