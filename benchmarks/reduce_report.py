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

CURVES = """\
Whole gold passages of the question sets (of LiHuaWorld and NQ the chunks of the gold documents that hold an answer).
*Kept* is the share of questions whose answer is still within one span; more is better. *Cut* is the share of the
passages' tokens that is removed. The parameter `cut` requests it; relevant passages lose less. Static word vectors.
The paper's windows have three sentences, overlap by two, and keep one more on both sides."""
HALVES = """\
The weights were chosen on the questions of SQuAD whose id has an even SHA-256, and on the dev halves of four other
sets. The other half of SQuAD keeps as much, in percent:"""
EMBEDDERS = """\
Cut and percent kept: the paper's windows by two embedders and Monograph's default, on at most 100 questions a set.
MiniLM is all-MiniLM-L6-v2, int8, by ONNX; the paper uses GTE-small. Whole sentences' vectors of both, tried as
features of Monograph's own model, added nothing."""
RANKS = """\
Mean reciprocal rank of the first gold document among ten hits; more is better. The hits are ordered by the search, by
Monograph's reduction or by the paper's best window."""
BUDGETED = """\
Percent of questions whose answer is in a context of at most so many tokens, headings included; more is better. All but
*chunks* use the same ten hits. *Truncated*: hits in order until the budget is spent, cut at a sentence. *Chunks x 0.6*
etc.: truncated too, from a file built with smaller chunks. With `cut`, contexts end earlier, after the tokens in
brackets. No cross-encoder was available offline."""


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
        *(f"-{cut} %" for cut in (10, 20, 30, 42, 50, 60)),
        "default",
        "windows",
        "same cut",
    )
    marks = [
        f"- {name} at -{cut:.0%}: {percent(at_cut(found[name]['ours'], cut))} % kept; floor {floor:.0f} %"
        + (f", goal {goal:.0f} %." if goal else ".")
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
        (half, *(percent(at_cut(points, cut)) for cut in (0.1, 0.2, 0.3, 0.42, 0.5, 0.6)))
        for half, points in found.get("squad", {}).get("halves", {}).items()
    ]
    return [
        CURVES,
        "Percent kept by Monograph at each cut; then pairs of cut and percent kept, by Monograph's default and by the"
        " paper's windows; last, percent kept by Monograph at the windows' cut:",
        table(headings, rows),
        "\n".join(marks),
        "![Kept against cut, of every set](reduce.png)",
        HALVES,
        table(("SQuAD", *(f"-{cut} %" for cut in (10, 20, 30, 42, 50, 60))), halves),
        "Tokens of a question's gold passages before and after; fewer is better. MobileRAG's Table 4: 155 → 90 for "
        "SQuAD, 309 → 287 for HotpotQA.",
        table(("set", "before", "default", "the paper's windows"), tokens),
        "Cut and percent kept by a simpler method: sentences scored by embedding + 2 x idf-weighted overlap, "
        "smoothed, are kept within a distance of the passage's best.",
        table(("set", *(f"within {distance}" for distance in DISTANCES)), prototype),
    ]


def _pair(point: Results) -> str:
    return f"-{abs(100 * point['cut']):.0f} %, {percent(point['kept'])}"


def embedders(found: Results) -> list[str]:
    if "missing" in found:
        return [f"Not measured: there is no model in `{found['missing']}`."]
    ways = ("static", "MiniLM", "ours")
    rows = [(name, str(one["ours"]["questions"]), *(_pair(one[way]) for way in ways)) for name, one in found.items()]
    return [EMBEDDERS, table(("set", "questions", "windows, static", "windows, MiniLM", "Monograph"), rows)]


def shapes(found: Results) -> list[str]:
    keys = [(point["window"], point["overlap"]) for point in next(iter(found.values()))]
    rows = [
        (f"{window}, {overlap}", *(_pair(points[place]) for points in found.values()))
        for place, (window, overlap) in enumerate(keys)
    ]
    note = (
        "Cut and percent kept by windows of other sizes and overlaps, with one more sentence on both sides (the "
        "paper's Fig. 12)."
    )
    return [note, table(("sentences, overlap", *found), rows)]


def facts(found: Results) -> list[str]:
    rows = [(one["way"], f"{100 * one['cut']:.0f}", percent(one["kept"])) for one in found["ways"]]
    return [
        f"MultiHop-RAG marks evidence sentences: {found['facts']} in complete articles. *Cut* is the percent of their "
        "chunks' tokens that is removed, *kept* the percent of these sentences that one span still has whole.",
        table(("way", "cut", "kept"), rows),
    ]


def ranks(found: Results) -> list[str]:
    rows = [(name, *(f"{one[way]:.3f}" for way in ("before", "ours", "windows"))) for name, one in found.items()]
    return [RANKS, table(("set", "search", "Monograph", "windows"), rows)]


def budgets(found: Results) -> list[str]:
    rows = []
    for name, one in found.items():
        for way, values in one["ways"].items():
            cells = [
                percent(kept) + (f" ({tokens:.0f})" if "cut" in way else "")
                for kept, tokens in zip(values["kept"], values["tokens"], strict=True)
            ]
            rows.append((f"{name}: {way}", *cells))
    return [BUDGETED, table(("set and way", *map(str, BUDGETS)), rows)]


def speed(found: Results) -> list[str]:
    return [
        f"Reducing ten documents of 300 words takes {found['words new']:.1f} ms if most words are new to the "
        f"process, which caches their tokens, else {found['words known']:.1f} ms, of which {found['processor']:.1f} "
        "ms are processor time. Medians of 60 such groups, each the best of five; the goal is 5 ms. If other "
        "programs use the processor, only processor time is reliable."
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
