"""What benchmarks/tree.py measured, as a page of the documentation with its plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Results = dict[str, Any]
GROWTH = """\
Chunks of long texts and short passages in random order, each a document of its own: half of them, ten times a twentieth, then
a fifth is deleted and a tenth edited. *Tokens* are those that a summarizer reads; it is the extractive one, so none are paid
here. A rebuild is ours, from nothing, at every step. Seconds are those of the whole `add()`,
and of `add()` with a rebuild after it."""
SINGLE = """\
Fifty chunks inserted, and fifty deleted, one at a time. *Chunks* are those of above; *sentences* are single sentences of all
sets, so that there are many. The share is that of the tokens that a rebuild of ours reads. The plan is `plan()` of one new file."""
RECALL = """\
Recall@5 in percent, by document; a summary counts for the document of the chunk nearest to it. Static word vectors."""
ROUGE = """\
ROUGE-L recall (and F) of the packed context against the reference, in percent, with rouge-score: {questions} questions about
{documents} long documents, each document a file of its own. *flat* packs chunks by cosine, the others chunks and summaries,
all as many as fit into so many tokens."""
CONTEXTS = """\
`context(question, budget)` of one file a set, without a tree and with one; *tree* is `how="tree"`. ROUGE-2 recall is that of
the context's text against the reference, in percent; evidence is the share of the right documents that stand in it; documents
and tokens are means. For longdoc-summary a filter names the document. Broad questions of ultradomain-mix, books and
multihop-rag have no references: how many documents are told of says how wide a context is, not whether it is good."""
TOLD = """\
Told from their words as questions about a whole: {counts}. Read by hand, all of longdoc-summary's that ask for a whole are
among them, and none that asks for something in it; quality-sample's ask which option best summarizes the story, those of books
for the whole story; all of ultradomain-mix's are broad, and those that do not speak of the dataset are not told. No question
of the other sets is taken for one."""
COVERAGE = """\
MultiHop-RAG, the first build with a share of the corpus, the rest in ten steps (the paper's Table IV: accuracy 41 to 63 with
the share). With random planes the tree is the same each time. Learned planes come from the chunks that were there at 64, 512
and 4,096, so they differ, and trees with them; each still equals a fresh build with its own planes."""
TOLERANCE = """\
QuALITY, half and ten steps (the paper's Table V): bounds of segments around the same middle. Ours are hard, and need a most of
at least twice the least less one."""
RAPTOR = """\
The first {chunks} chunks of above, half and ten steps, beside RAPTOR as llama-index-packs-raptor makes it (UMAP, Gaussian
mixtures, three levels), built anew at steps 1, 5 and 10; both with static word vectors and the same extractive summaries as
the model's answers."""


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
    sizes = ", ".join(f"{size}: {count}" for size, count in found["sizes"])
    return "\n\n".join(
        [
            "## Growth, and equality",
            GROWTH,
            _table(
                ["step", "chunks", "summaries", "tokens", "seconds", "rebuilt", "tokens of it", "seconds of it"], rows
            ),
            f"The ten steps read {share:.0%} of the tokens of their rebuilds, in {seconds:.0%} of the time. Deleting"
            f" {found['removed']['chunks']:,} chunks made {found['removed']['calls']:,} summaries anew, editing"
            f" {found['edited']['chunks']:,} made {found['edited']['calls']:,}.",
            f"After all of it the tree {'equals' if found['equal'] else '**differs from**'} a fresh build with the same planes, keys"
            f" and texts; faults found by `check` in either: {found['faults']}. Layers: {found['layers']}. Segments by size:"
            f" {sizes}. Mean cosine inside a segment: {found['cosine']:.2f}.",
            "![Tokens read at each step, beside a rebuild](tree.png)",
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
    told = [
        f"{one['chunks']:,} {name}: indexed in {one['index seconds']:.1f} s (nothing extracted), the tree built in"
        f" {one['build seconds']:.1f} s, a plan in {one['plan seconds']:.2f} s, faults {one['faults']}, layers {one['layers']}."
        for name, one in ((name, found[name]) for name in ("chunks", "sentences"))
    ]
    return "\n\n".join(
        [
            "## One more, one less",
            SINGLE,
            _table(["", "layers", "summaries", "at most", "tokens", "of a rebuild", "ms"], rows),
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
    headings = ["questions", "n", "budget", "ROUGE-2 without", "with", "tree", "evidence without", "with"]
    headings += ["documents without", "with", "tokens without", "with"]
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
    headings = ["planes, share of the first build", "recall@5", "cosine", "learned from", "same as 0 %"]
    return "\n\n".join(["## Share of the first build", COVERAGE, _table(headings, rows)])


def _tolerance(found: Results) -> str:
    rows = [
        [
            name, f"{100 * one['recall@5']:.1f}", f"{one['summaries']:,}", f"{one['tokens']:,}", f"{one['cosine']:.3f}",
        ]
        for name, one in found.items()
        if isinstance(one, dict)
    ]  # fmt: skip
    headings = ["segment of", "recall@5", "summaries made", "tokens read", "cosine"]
    return "\n\n".join(["## Sizes of segments", TOLERANCE, _table(headings, rows)])


def _raptor(found: Results) -> str:
    rows = [
        [
            step, f"{found['ours'][int(step) - 1]['calls']:,}", f"{found['ours'][int(step) - 1]['tokens']:,}",
            f"{found['ours'][int(step) - 1]['seconds']:.1f}", f"{one['calls']:,}", f"{one['tokens']:,}", f"{one['seconds']:.1f}",
        ]
        for step, one in found["theirs"].items()
    ]  # fmt: skip
    headings = ["step", "ours: calls", "tokens", "seconds", "RAPTOR: calls", "tokens", "seconds"]
    told = (
        f"Ten steps of ours read {found['share']:.0%} of what RAPTOR reads for them (its unmeasured steps at the mean of"
        f" the three), and one new passage of two sentences {found['share of one']:.1%}."
    )
    return "\n\n".join(["## Beside RAPTOR", RAPTOR.format(chunks=found["chunks"]), _table(headings, rows), told])


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
