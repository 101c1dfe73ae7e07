"""Report of benchmarks/tree.py: the page docs/benchmarks/tree.md and its plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Results = dict[str, Any]
SHOWN_STEPS = (0, 1, 5, 10)
"""Steps of growth that the page shows; 0 is the first build."""

SHOWN_BUDGET = "1000"
"""Budget of the contexts that the page shows: the default of ``context``."""

SHOWN_SHARES = ("random, 0%", "random, 100%", "learned, 0%", "learned, 50%", "learned, 100%")
"""Planes and shares of the first build that the page shows."""

FEW_QUESTIONS = 10
"""Groups of fewer questions are not shown."""

GROWTH = """\
A file starts with half of the documents, and grows in ten steps of 5 %. A document is a short passage, or a part of a
long text, and has about one chunk. A second file gets the same documents, and its tree is rebuilt from nothing at every
step. Less is better in all columns except *chunks*.

- *summaries* is the number of summaries that a step makes.
- *tokens* is the number of tokens that the summarizer reads. The extractive summarizer reads them for free; a language
  model would charge.
- *seconds* is the time of `add()`, which also updates the tree.
- The columns with *rebuild* have the figures of the second file. Their seconds include `add()` and the rebuild."""
SINGLE = """\
Fifty documents are inserted and fifty are deleted, one at a time, in two files; less is better. The first file has the
chunks of the section above, the second has single sentences as documents. *Summaries* is the number of summaries that
one change makes, and *tokens* the number of tokens read for them. *Share of rebuild* divides the mean tokens by an
estimate for a rebuild: the tokens of all documents, and 100 tokens per summary."""
RECALL = """\
Recall@5 in percent, counted by document; more is better. If a hit is a summary, the document of the chunk nearest to
the summary counts. Embeddings are static word vectors. *tree* searches chunks and summaries together; *tree, detail
0.7* takes 70 % of the hits from chunks."""
CONTEXTS = """\
The table compares `context(question)`, with its default of at most {budget} tokens, on a file without a tree and on the
same file with a tree. One column is for `context(question, how="tree")`. Each set is one file; *whole* marks questions
about a whole document or the whole file. Groups of fewer than {few} questions are left out.

- *ROUGE-2* is the recall of the context against the reference answer, in percent; more is better.
- *evidence* is the share of the evidence documents that the context quotes, in percent; more is better.
- *documents* is the mean number of documents that a context quotes, and *tokens* the mean size of a context.

Questions of longdoc-summary are alike, so each is asked with a filter for its document. The questions of
ultradomain-mix have no reference and no evidence. For them, *documents* shows how many documents a context covers, but
not how good the context is."""
TOLD = """\
Patterns recognise questions about a whole document or file: {counts}, and none of the {others:,} questions of
{sets} other sets. In longdoc-summary, they recognise exactly the right questions (checked by hand). All questions of
ultradomain-mix are broad, but the patterns miss questions that do not mention the dataset."""
COVERAGE = """\
Does it matter how much of the corpus the first build has? The first build has a share of MultiHop-RAG, and ten steps
add the rest. Recall is in percent; more is better. *Cosine* is the mean cosine between chunks of one segment
(the chunks under one summary). In EraRAG's Table IV, the accuracy rises from 41 to 63 with the share.

[Planes](../explanation/tree.md#how-the-tree-is-built) divide chunks into segments. With random planes, all trees are
equal. *Learned* planes come from all chunks in the file after an `add()` that passes 64, 512 or 4,096 chunks. These
chunks depend on the share, so the planes and trees differ."""
RAPTOR = """\
RAPTOR (llama-index-packs-raptor: UMAP, Gaussian mixtures, three levels) and Monograph start with half of the first
{chunks} chunks of the section on growth, and ten steps add the rest. Monograph updates its tree at every step. RAPTOR
cannot update a tree: it builds a new one, which is measured at steps 1, 5 and 10. Both use static word vectors and the
same extractive summaries. *Calls* are calls of the summarizer, and *tokens* the tokens read; less is better."""


def write(results: Results, folder: Path) -> None:
    """Write tree.md, and tree.png if growth was measured."""
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
            f"step {number}" if number else one["name"], f"{one['chunks']:,}", f"{one['summaries']:,}",
            f"{one['tokens']:,}", f"{one['seconds']:.1f}", f"{one['rebuild summaries']:,}",
            f"{one['rebuild tokens']:,}", f"{one['rebuild seconds']:.1f}",
        ]
        for number, one in enumerate(found["steps"])
        if number in SHOWN_STEPS
    ]  # fmt: skip
    share, seconds = found["tokens"] / found["rebuild tokens"], found["seconds"] / found["rebuild seconds"]
    spent = ("summaries", "tokens", "seconds")
    return "\n\n".join(
        [
            "## Growth, and equality",
            GROWTH,
            _table(["step", "chunks", *spent, *(f"rebuild {one}" for one in spent)], rows),
            f"Together, the ten steps read {share:.0%} of the tokens that the ten rebuilds read, in {seconds:.0%} of "
            f"their time. Then {found['removed']['chunks']:,} documents are deleted and {found['edited']['chunks']:,} "
            f"edited, which makes {found['removed']['calls']:,} and {found['edited']['calls']:,} new summaries. The "
            f"tree then {'equals' if found['equal'] else '**differs from**'} a tree built anew from the same documents "
            f"and [planes](../explanation/tree.md#how-the-tree-is-built), and `check` finds {found['faults']} faults.",
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
                    f"{one['chunks']:,} {name}, {what}", f"{row['summaries']:.1f}", str(row["most summaries"]),
                    f"{row['tokens']:,.0f}", f"{row['tokens'] / one['rebuild tokens']:.2%}",
                    f"{row['milliseconds']:.0f}",
                ]
            )  # fmt: skip
    headings = ["change", "mean summaries", "most summaries", "mean tokens", "share of rebuild", "median ms"]
    chunks, sentences = found["chunks"], found["sentences"]
    told = (
        f"Building the tree took {chunks['build seconds']:.1f} s for the chunks and {sentences['build seconds']:.1f} s "
        f"for the sentences. All other indexing took {chunks['index seconds']:.1f} s and "
        f"{sentences['index seconds']:.1f} s, without the extraction of names."
    )
    return "\n\n".join(["## Single inserts and deletes", SINGLE, _table(headings, rows), told])


def _recall(found: Results) -> str:
    sets = {name: ways for name, ways in found.items() if isinstance(ways, dict)}
    ways = list(next(iter(sets.values())))
    rows = [
        [name, str(by_way[ways[0]]["questions"]), *(f"{100 * by_way[way]['recall@5']:.1f}" for way in ways)]
        for name, by_way in sets.items()
    ]
    return "\n\n".join(["## Evidence", RECALL, _table(["set", "questions", *ways], rows)])


def _contexts(found: Results) -> str:
    rows = []
    for group, by_budget in found.items():
        if not isinstance(by_budget, dict) or group == "told":
            continue
        ways = by_budget[SHOWN_BUDGET]
        if ways["with"]["questions"] < FEW_QUESTIONS:
            continue
        rows.append(
            [
                group, str(ways["with"]["questions"]),
                *(_percent(ways[way]["ROUGE-2 recall"]) for way in ("without", "with", "tree")),
                *(_percent(ways[way]["evidence"]) for way in ("without", "with")),
                *(f"{ways[way]['documents']:.1f}" for way in ("without", "with")),
                *(f"{ways[way]['tokens']:,.0f}" for way in ("without", "with")),
            ]
        )  # fmt: skip
    headings = ["questions", "count", "ROUGE-2 without tree", "ROUGE-2 with tree", 'ROUGE-2 how="tree"']
    headings += [f"{one} {way} tree" for one in ("evidence", "documents", "tokens") for way in ("without", "with")]
    made = CONTEXTS.format(budget=f"{int(SHOWN_BUDGET):,}", few=FEW_QUESTIONS)
    return "\n\n".join(["## Contexts", made, _table(headings, rows), _recognised(found["told"])])


def _recognised(told: dict[str, tuple[int, int]]) -> str:
    """Return the paragraph on the sets whose questions the patterns recognise, and the sum of all other sets."""
    some = {name: pair for name, pair in told.items() if pair[0]}
    none = [count for name, (_, count) in told.items() if name not in some]
    counts = ", ".join(f"{whole:,} of {count:,} in {name}" for name, (whole, count) in some.items())
    return TOLD.format(counts=counts, others=sum(none), sets=len(none))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _coverage(found: Results) -> str:
    rows = [
        [
            name, f"{100 * one['recall@5']:.1f}", f"{one['cosine']:.3f}", f"{one['learned from']:,}",
            "yes" if one["the same tree"] else "no",
        ]
        for name, one in found.items()
        if isinstance(one, dict) and name in SHOWN_SHARES
    ]  # fmt: skip
    headings = ["planes, share of the first build", "recall@5", "cosine", "chunks learned from", "same tree as 0%"]
    return "\n\n".join(["## Share of the first build", COVERAGE, _table(headings, rows)])


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
        f"Monograph's ten steps read {found['share']:.0%} of the tokens of ten builds by RAPTOR, if each build reads "
        "the mean of the three measured builds."
    )
    return "\n\n".join(["## Compared with RAPTOR", RAPTOR.format(chunks=found["chunks"]), _table(headings, rows), told])


SECTIONS = {  # sections of the page; tree.json has all measured sections
    "growth": _growth,
    "single": _single,
    "raptor": _raptor,
    "recall": _recall,
    "contexts": _contexts,
    "coverage": _coverage,
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
