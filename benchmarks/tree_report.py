"""Report of benchmarks/tree.py: the page docs/benchmarks/tree.md and its plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Results = dict[str, Any]
GROWTH = """\
Chunks of long texts and short passages in random order, one document each. The file starts with half of them and grows
in ten steps of 5 %; then a fifth is deleted and a tenth edited. *Tokens* are those that a summarizer reads; less is
better. This summarizer is extractive, so they cost nothing. Rebuilds are ours, from nothing, at every step. Seconds
are those of `add()`, alone and with a rebuild after it."""
SINGLE = """\
Fifty chunks are inserted and fifty deleted, one at a time; less is better. *Chunks* are those from above; *sentences*
are single sentences of all sets. The share compares with the tokens that our rebuild reads. The plan is `plan()` of
one new file."""
RECALL = """\
Recall@5 in percent, by document; more is better. A summary counts for its nearest chunk's document. Static word
vectors."""
ROUGE = """\
ROUGE-L recall (and F) of the packed context against the reference, in percent, by rouge-score; more is better.
{questions} questions about {documents} long documents, one file each. *flat* packs chunks by cosine, the others chunks
and summaries (*detail*: share of chunks), each up to that number of tokens."""
CONTEXTS = """\
`context(question, budget)` from one file a set, without a tree and with it (also with `how="tree"`). ROUGE-2 recall is
that of the context against the reference; evidence is the share of the right documents that the context quotes. Both
are in percent; more is better. Documents and tokens are means. For longdoc-summary a filter names the document. Broad
questions of ultradomain-mix, books and multihop-rag have no references; their documents show how wide a context is,
not how good."""
TOLD = """\
The search recognises these questions as about a whole: {counts}. We checked them by hand. Of longdoc-summary they
include every question about a whole and no other. Of quality-sample they ask which option best summarizes the story,
of books for the whole story. All questions of ultradomain-mix are broad; those that do not mention the dataset are
missed. No question of the other sets is recognised."""
COVERAGE = """\
The first build has a share of MultiHop-RAG, ten steps add the rest (the paper's Table IV: accuracy 41 to 63 with the
share). Recall is in percent; more is better. With random planes the trees are equal. Learned planes come from the
chunks present at 64, 512 and 4,096, so planes and trees differ; each tree equals a fresh build with its planes."""
TOLERANCE = """\
Segment bounds around the same middle, on QuALITY, half and ten steps (the paper's Table V). Ours are hard; the upper
must be at least twice the lower minus one."""
RAPTOR = """\
Monograph and RAPTOR on the first {chunks} chunks from above, half and ten steps; less is better.
llama-index-packs-raptor (UMAP, Gaussian mixtures, three levels) builds from nothing at steps 1, 5 and 10. Both use
static word vectors and the same extractive summaries."""


def write(results: Results, folder: Path) -> None:
    """Write tree.md, and tree.png where growth was measured."""
    parts = [
        "# The tree, measured",
        f"Machine: {results['machine']}. Written by `make bench-tree`; the figures are in [tree.json](tree.json).",
    ]
    for name, section in SECTIONS.items():
        if name in results and results[name].get("installed", True):
            parts.append(section(results[name]))
    if "growth" in results:
        _plot(results["growth"], folder / "tree.png")
    (folder / "tree.md").write_text("\n\n".join(parts) + "\n")


def _growth(found: Results) -> str:
    rows = [
        [
            one["name"], f"{one['chunks']:,}", f"{one['summaries']:,}", f"{one['tokens']:,}", f"{one['seconds']:.1f}",
            f"{one['rebuild summaries']:,}", f"{one['rebuild tokens']:,}", f"{one['rebuild seconds']:.1f}",
        ]
        for one in found["steps"]
    ]  # fmt: skip
    share, seconds = found["tokens"] / found["rebuild tokens"], found["seconds"] / found["rebuild seconds"]
    spent = ("summaries", "tokens", "seconds")
    sizes = ", ".join(f"{size}: {count}" for size, count in found["sizes"])
    return "\n\n".join(
        [
            "## Growth, and equality",
            GROWTH,
            _table(
                ["step", "chunks", *spent, *(f"rebuild {one}" for one in spent)],
                rows,
            ),
            f"The ten steps read {share:.0%} of the tokens of their rebuilds, in {seconds:.0%} of the time. Deleting"
            f" {found['removed']['chunks']:,} chunks made {found['removed']['calls']:,} new summaries, editing"
            f" {found['edited']['chunks']:,} made {found['edited']['calls']:,}.",
            f"At the end the tree {'equals' if found['equal'] else '**differs from**'} a fresh build with the same "
            f"planes, in keys and texts; faults found by `check` in both: {found['faults']}. Summaries a layer: "
            f"{found['layers']}. Segments by size (nodes: segments): {sizes}. Mean cosine inside a segment: "
            f"{found['cosine']:.2f}.",
            "![Tokens read at each step, and by a rebuild](tree.png)",
        ]
    )


def _single(found: Results) -> str:
    rows = []
    for name in ("chunks", "sentences"):
        one = found[name]
        for what in ("inserted", "deleted"):
            row = one[what]
            rows.append(
                [
                    f"{one['chunks']:,} {name}, {what}", str(len(one["layers"])), f"{row['summaries']:.1f}",
                    str(row["most summaries"]), f"{row['tokens']:,.0f}", f"{row['tokens'] / one['rebuild tokens']:.2%}",
                    f"{row['milliseconds']:.0f}",
                ]
            )  # fmt: skip
    headings = ["change", "layers", "mean summaries", "most summaries", "mean tokens", "share of rebuild", "median ms"]
    told = [
        f"{one['chunks']:,} {name}: indexed in {one['index seconds']:.1f} s (without extraction), the tree built in "
        f"{one['build seconds']:.1f} s, a plan in {one['plan seconds']:.2f} s, {one['faults']} faults, summaries a "
        f"layer {one['layers']}."
        for name, one in ((name, found[name]) for name in ("chunks", "sentences"))
    ]
    return "\n\n".join(
        [
            "## Single inserts and deletes",
            SINGLE,
            _table(headings, rows),
            *told,
        ]
    )


def _recall(found: Results) -> str:
    sets = {name: ways for name, ways in found.items() if isinstance(ways, dict)}
    ways = list(next(iter(sets.values())))
    rows = [
        [name, str(by_way[ways[0]]["questions"]), *(f"{100 * by_way[way]['recall@5']:.1f}" for way in ways)]
        for name, by_way in sets.items()
    ]
    return "\n\n".join(["## Evidence", RECALL, _table(["set", "questions", *ways], rows)])


def _rouge(found: Results) -> str:
    budgets = list(next(iter(found["ways"].values())))
    rows = [
        [way, *(f"{100 * one[most]['recall']:.1f} ({100 * one[most]['F']:.1f})" for most in budgets)]
        for way, one in found["ways"].items()
    ]
    headings = ["context", *(f"{int(most):,} tokens" for most in budgets)]
    return "\n\n".join(
        ["## Summary questions", ROUGE.format(questions=found["questions"], documents=33), _table(headings, rows)]
    )


def _contexts(found: Results) -> str:
    rows = []
    for group, by_budget in found.items():
        if not isinstance(by_budget, dict) or group == "told":
            continue
        for most, ways in by_budget.items():
            rows.append(
                [
                    group, str(ways["with"]["questions"]), f"{int(most):,}",
                    *(_percent(ways[way]["ROUGE-2 recall"]) for way in ("without", "with", "tree")),
                    *(_percent(ways[way]["evidence"]) for way in ("without", "with")),
                    *(f"{ways[way]['documents']:.1f}" for way in ("without", "with")),
                    *(f"{ways[way]['tokens']:,.0f}" for way in ("without", "with")),
                ]
            )  # fmt: skip
    headings = ["questions", "count", "budget", "ROUGE-2 without tree", "ROUGE-2 with tree", 'ROUGE-2 how="tree"']
    headings += [f"{one} {way} tree" for one in ("evidence", "documents", "tokens") for way in ("without", "with")]
    counts = ", ".join(f"{name} {whole:,} of {count:,}" for name, (whole, count) in found["told"].items())
    return "\n\n".join(["## Contexts", CONTEXTS, _table(headings, rows), TOLD.format(counts=counts)])


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _coverage(found: Results) -> str:
    rows = [
        [
            name, f"{100 * one['recall@5']:.1f}", f"{one['cosine']:.3f}", f"{one['learned from']:,}",
            "yes" if one["the same tree"] else "no",
        ]
        for name, one in found.items()
        if isinstance(one, dict)
    ]  # fmt: skip
    headings = ["planes, share of the first build", "recall@5", "cosine", "chunks learned from", "same tree as 0%"]
    return "\n\n".join(["## Share of the first build", COVERAGE, _table(headings, rows)])


def _tolerance(found: Results) -> str:
    rows = [
        [
            name, f"{100 * one['recall@5']:.1f}", f"{one['summaries']:,}", f"{one['tokens']:,}", f"{one['cosine']:.3f}",
        ]
        for name, one in found.items()
        if isinstance(one, dict)
    ]  # fmt: skip
    headings = ["nodes a segment", "recall@5", "summaries made", "tokens read", "cosine"]
    return "\n\n".join(["## Sizes of segments", TOLERANCE, _table(headings, rows)])


def _raptor(found: Results) -> str:
    rows = [
        [
            step, f"{found['ours'][int(step) - 1]['calls']:,}", f"{found['ours'][int(step) - 1]['tokens']:,}",
            f"{found['ours'][int(step) - 1]['seconds']:.1f}", f"{one['calls']:,}", f"{one['tokens']:,}",
            f"{one['seconds']:.1f}",
        ]
        for step, one in found["theirs"].items()
    ]  # fmt: skip
    spent = ("calls", "tokens", "seconds")
    headings = ["step", *(f"{one} {what}" for one in ("Monograph", "RAPTOR") for what in spent)]
    told = (
        f"Monograph's ten steps read {found['share']:.0%} of RAPTOR's tokens (its unmeasured steps at the mean of "
        f"the three), and one new passage of two sentences {found['share of one']:.1%} of its last build."
    )
    return "\n\n".join(["## Compared with RAPTOR", RAPTOR.format(chunks=found["chunks"]), _table(headings, rows), told])


SECTIONS = {
    "growth": _growth,
    "single": _single,
    "raptor": _raptor,
    "recall": _recall,
    "rouge": _rouge,
    "contexts": _contexts,
    "coverage": _coverage,
    "tolerance": _tolerance,
}


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[place]) for row in [headings, *rows]) for place in range(len(headings))]

    def line(cells: Sequence[str]) -> str:
        first, *others = [
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return "| " + " | ".join([first, *others]) + " |"

    rule = (
        "| "
        + " | ".join(
            ":" + "-" * (width - 1) if not place else "-" * (width - 1) + ":" for place, width in enumerate(widths)
        )
        + " |"
    )
    return "\n".join([line(headings), rule, *map(line, rows)])


def _plot(found: Results, path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    steps = found["steps"][1:]
    figure, (tokens, seconds) = pyplot.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for axis, what, unit in ((tokens, "tokens", "tokens read"), (seconds, "seconds", "seconds")):
        axis.plot(range(1, len(steps) + 1), [one[f"rebuild {what}"] for one in steps], label="a rebuild", color="0.6")
        axis.plot(range(1, len(steps) + 1), [one[what] for one in steps], label="the tree follows", color="teal")
        axis.set_xlabel("step of 5 %")
        axis.set_ylabel(unit)
        axis.set_ylim(bottom=0)
        axis.legend(frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
