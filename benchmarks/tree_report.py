"""Report of benchmarks/tree.py: the page docs/benchmarks/tree.md and its plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Results = dict[str, Any]
GROWTH = """\
The documents are chunks of long texts and short passages, in random order, one chunk per document. A file starts with
half of them and grows in ten steps of 5 %. Then a fifth of the documents is deleted and a tenth is edited. A second
file gets the same documents, and its tree is rebuilt from nothing at every step. Less is better in all columns except
*chunks*.

- *summaries* is the number of summaries that a step makes.
- *tokens* is the number of tokens that the summarizer reads for them. The summarizer is extractive, so these tokens
  cost nothing; a language model would charge for them.
- *seconds* is the time of `add()`, which also updates the tree.
- *rebuild summaries*, *rebuild tokens* and *rebuild seconds* are the same figures for the second file. *rebuild
  seconds* includes `add()` and the rebuild."""
SINGLE = """\
Fifty documents are inserted and fifty are deleted, one at a time, in two files; less is better. The documents of the
first file are the *chunks* of the section above. The documents of the second file are single *sentences* of all sets.
*Summaries* are those that one change makes, and *tokens* are those that the summarizer reads for them. *Share of
rebuild* divides the mean tokens by the tokens that a rebuild of the tree would read: the tokens of all documents, and a
hundred tokens for each summary. *Median ms* is the time of a change."""
RECALL = """\
Recall@5 in percent, counted by document; more is better. If a hit is a summary, it counts for the document of the chunk
that is nearest to it. Embeddings are static word vectors. *tree* searches chunks and summaries together; *tree, detail
0.7* takes 70 % of the hits from chunks and the rest from summaries."""
ROUGE = """\
Do summaries help to answer questions whose answer is a summary? {questions} questions about {documents} long documents
have a reference summary; each document is in its own file. Each method fills a context with hits up to a number of
tokens. A cell has the ROUGE-L recall of the context against the reference, and ROUGE-L F in parentheses, both in
percent; more is better. *flat* uses chunks only, ranked by cosine. *tree* uses chunks and summaries, *tree, detail 0.5*
uses half of the tokens for chunks, and *summaries alone* uses no chunks. The scores are computed by the package
rouge-score."""
CONTEXTS = """\
The table compares `context(question, budget)` from a file without a tree and from the same file with a tree. One column
uses `how="tree"` with the second file. Each set is one file; *whole* marks questions about a whole document or the
whole file.

- *budget* is the maximum number of tokens in the context.
- *ROUGE-2* is the recall of the context against the reference answer, in percent; more is better.
- *evidence* is the share of the evidence documents that the context quotes, in percent; more is better.
- *documents* and *tokens* are the mean numbers of documents that a context quotes and of its tokens.

Questions of longdoc-summary are worded alike, so a filter selects the right document. The questions of ultradomain-mix,
and those about a whole in books, have no reference and no evidence. For these questions, the number of documents shows
how many documents a context covers, but not how good the context is."""
TOLD = """\
A search recognises questions about a whole by patterns. It recognises: {counts}. We checked the recognised questions by
hand. In longdoc-summary, they are exactly the questions about a whole. In quality-sample, they ask which option best
summarizes the story, and in books they ask for the whole story. All questions of ultradomain-mix are broad, but the
search misses those that do not mention the dataset. No question of the other sets is recognised."""
COVERAGE = """\
Does it matter how much of the corpus the first build has? The first build has a share of MultiHop-RAG, and ten steps
add the rest. Recall is in percent; more is better. *cosine* is the mean cosine inside a segment. For comparison, in the
paper's Table IV the accuracy rises from 41 to 63 with the share.

With random planes, all trees are equal. Learned planes are learned from the chunks that are present when a file reaches
64, 512 and 4,096 chunks. These chunks depend on the share, so the planes and trees differ. Each tree equals a new tree
that is built at once with its planes."""
TOLERANCE = """\
The table varies the bounds of a segment's size around the same middle (the paper's Table V), on QuALITY. The first
build has half of the chunks, and ten steps add the rest. Recall is in percent; more is better. Fewer summaries and
tokens are better. In Monograph the bounds are strict, so the upper bound must be at least twice the lower bound minus
one."""
RAPTOR = """\
Monograph is compared with RAPTOR (llama-index-packs-raptor: UMAP, Gaussian mixtures, three levels) on the first
{chunks} chunks of the section on growth; less is better. Both start with half of the chunks, and ten steps add the
rest. Monograph updates its tree at every step. RAPTOR cannot update a tree: it builds a new one, which is measured at
steps 1, 5 and 10. Both use static word vectors and the same extractive summaries. *Calls* are calls of the summarizer,
and *tokens* are those that it reads."""


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
            f"Together, the ten steps read {share:.0%} of the tokens that the ten rebuilds read, in {seconds:.0%} of "
            "their"
            f" time. Deleting {found['removed']['chunks']:,} chunks made {found['removed']['calls']:,} new summaries, "
            "and"
            f" editing {found['edited']['chunks']:,} chunks made {found['edited']['calls']:,}.",
            f"After the deletes and edits, the tree {'equals' if found['equal'] else '**differs from**'} a new tree "
            "of the "
            f"same documents with the same planes, in the keys and texts of all nodes. `check` finds {found['faults']} "
            f"faults in the two files. The tree has these numbers of summaries in its layers, the lowest layer first: "
            f"{found['layers']}. A segment is a group of nodes that one summary covers. Segments by their number of "
            "nodes "
            f"(nodes: segments): {sizes}. Mean cosine inside a segment: {found['cosine']:.2f}.",
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
        f"Indexing the {one['chunks']:,} {name} took {one['index seconds']:.1f} s, without the extraction of names. "
        f"Building the tree took {one['build seconds']:.1f} s, and `plan()` of one new file took "
        f"{one['plan seconds']:.2f} s. After the changes, `check` finds {one['faults']} faults. The new tree had these "
        f"numbers of summaries in its layers, the lowest layer first: {one['layers']}."
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
        f"Monograph's ten steps read {found['share']:.0%} of the tokens of ten builds by RAPTOR, if each of the builds "
        f"that were not measured reads the mean of the three that were. Adding one more passage of two sentences reads "
        f"{found['share of one']:.1%} of the tokens of RAPTOR's last build."
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
