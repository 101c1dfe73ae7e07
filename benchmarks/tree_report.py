"""Report of benchmarks/tree.py: the page docs/benchmarks/tree.md and its plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

Results = dict[str, Any]
BUDGET = 1_000
"""Tokens of a context: the default of ``context``."""
TREES = ("update", "rebuild")
SHOWN_STEPS = (0, 1, 5, 10, 15, 20)
"""Steps of growth that the page shows; 0 is the first build."""

FEW_QUESTIONS = 10
"""Groups of fewer questions are not shown."""

GROWTH = """\
A file starts with half of {documents:,} documents, and grows in twenty insertions of 2.5 %. The documents are the
paragraphs of HotpotQA and 2WikiMultihopQA, about one chunk each. *Update* is the tree of this file, which every
insertion updates. *Rebuild* is the tree of a second file, which is built from nothing at every step. Both trees are
equal at {equal} of {steps} steps, so they have the same recall and answers.

*Tokens* is the number of tokens that the summarizer reads. The extractive summarizer reads them for free; a language
model would charge. *Seconds* include embedding and storing the new documents. *Recall@5* and *answer* are in percent,
over the *questions* whose evidence is all in the file. *Answer* is the share of questions whose answer is among the
first {budget:,} tokens of the hits. Passages and summaries are searched together, by cosine; a summary counts as the
document of its nearest passage. More recall and more answers are better; fewer tokens and seconds are better."""
RAPTOR = """\
RAPTOR (llama-index-packs-raptor: UMAP, Gaussian mixtures, three levels) cannot update a tree: every change costs a new
build. Here are builds of both over the same documents, with the same static word vectors and extractive summaries.
Both search passages and summaries together. The documents and columns are those of the section above."""
SINGLE = """\
Fifty documents are inserted and fifty are deleted, one at a time, in two files; less is better. The documents of the
first file are short passages and parts of long texts, those of the second are single sentences. *Summaries* is the
number of summaries that one change makes, and *tokens* the number of tokens read for them. *Share of rebuild* divides
the mean tokens by an estimate for a rebuild: the tokens of all documents, and 100 tokens per summary."""
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
SWEEPS = """\
Each table changes one setting; the others have their defaults. *Recall* is the recall@5 of `how="tree"`, in percent.
*Context* is measured for contexts of {budget:,} tokens, in percent: the share of questions whose answer the context
contains (multihop-rag, lihuaworld), or the ROUGE-2 recall against the answer (quality-sample, longdoc-summary). At most
{questions} questions of each set are asked. More is better. *Tokens* are read to build the trees of all sets; less is
better."""
BOUNDS = """\
`segment_least` and `segment_most`, the bounds of a segment (EraRAG's S_min and S_max). The default is 6 to 12."""
CHUNKS = """\
`chunk_tokens`, with an overlap of an eighth. The default is 256."""
DETAIL = """\
`Tree(detail=p)`: the share p of the hits that are chunks; *none* ranks chunks and summaries together, the default. The
contexts are those of `context(question, how=Tree(detail=p))`."""


def write(results: Results, folder: Path) -> None:
    """Write tree.md, and tree.png if growth was measured."""
    parts = [
        "# The tree, measured",
        f"Machine: {results['machine']}. Written by `make bench-tree`; the figures are in [tree.json](tree.json).",
    ]
    for name, section in SECTIONS.items():
        if name in results:
            parts.append(section(results[name]))
    if "growth" in results:
        _plot(results["growth"], folder / "tree.png")
    (folder / "tree.md").write_text("\n\n".join(parts) + "\n")


def _growth(found: Results) -> str:
    rows = [
        [
            f"{number}", f"{one['chunks']:,}", *(_whole(one[tree]["tokens"]) for tree in ("ours", "rebuild")),
            *(f"{one[tree]['seconds']:,.1f}" for tree in ("ours", "rebuild")), f"{one['ours']['questions']}",
            _percent(one["ours"]["recall@5"]), _percent(one["ours"]["answer in context"]),
        ]
        for number, one in enumerate(found["steps"])
        if number in SHOWN_STEPS
    ]  # fmt: skip
    headings = ["step", "chunks", *(f"{what}, {tree}" for what in ("tokens", "seconds") for tree in TREES)]
    headings += ["questions", "recall@5", "answer"]
    share, seconds = found["tokens"] / found["rebuild tokens"], found["seconds"] / found["rebuild seconds"]
    equal = sum(one["equal"] for one in found["steps"])
    introduction = GROWTH.format(
        documents=found["documents"], equal="all" if equal == len(found["steps"]) else equal,
        steps=len(found["steps"]), budget=BUDGET,
    )  # fmt: skip
    removed, edited = found["removed"], found["edited"]
    return "\n\n".join(
        [
            "## Growth, and equality",
            introduction,
            _table(headings, rows),
            f"Together, the {len(found['steps']) - 1} updates read {share:.0%} of the tokens that the rebuilds read, in "
            f"{seconds:.0%} of their time. Then {removed['documents']:,} documents are deleted and "
            f"{edited['documents']:,} edited, which makes {removed['summaries']:,} and {edited['summaries']:,} new "
            f"summaries. The tree then {'equals' if found['equal'] else '**differs from**'} a tree built from the same "
            f"documents in another order, and `check` finds {found['faults']} faults.",
            "![Tokens, seconds, recall and answers at each step](tree.png)",
        ]
    )


def _raptor(found: Results) -> str:
    sizes = {count: one for count, one in found.items() if isinstance(one, dict)}
    rows = [
        [
            f"{int(count):,}, {name}", _whole(one[tree]["summaries"]), _whole(one[tree]["tokens"]),
            f"{one[tree]['seconds']:,.1f}", f"{one[tree]['questions']}", _percent(one[tree]["recall@5"]),
            _percent(one[tree]["answer in context"]),
        ]
        for count, one in sizes.items()
        for tree, name in (("ours", "Monograph"), ("raptor", "RAPTOR"))
    ]  # fmt: skip
    headings = ["documents", "summaries", "tokens", "seconds", "questions", "recall@5", "answer"]
    return "\n\n".join(["## Compared with RAPTOR", RAPTOR, _table(headings, rows)])


def _whole(value: float) -> str:
    return f"{value:,.0f}"


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
    for group, ways in found.items():
        if not isinstance(ways, dict) or group == "told" or ways["with"]["questions"] < FEW_QUESTIONS:
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
    made = CONTEXTS.format(budget=f"{BUDGET:,}", few=FEW_QUESTIONS)
    return "\n\n".join(["## Contexts", made, _table(headings, rows), _recognised(found["told"])])


def _recognised(told: dict[str, tuple[int, int]]) -> str:
    """Return the paragraph on the sets whose questions the patterns recognise, and the sum of all other sets."""
    some = {name: pair for name, pair in told.items() if pair[0]}
    none = [count for name, (_, count) in told.items() if name not in some]
    counts = ", ".join(f"{whole:,} of {count:,} in {name}" for name, (whole, count) in some.items())
    return TOLD.format(counts=counts, others=sum(none), sets=len(none))


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


def _sweeps(found: Results) -> str:
    parts = ["## Settings", SWEEPS.format(budget=BUDGET, questions=found["questions"])]
    for name, text, heading in (("bounds", BOUNDS, "bounds"), ("chunks", CHUNKS, "tokens"), ("detail", DETAIL, "p")):
        sets = list(next(iter(found[name].values())))
        has_tokens = name != "detail"
        rows = [
            [
                setting, *(_percent(by_set[one]["recall@5"]) for one in sets),
                *(_percent(by_set[one]["context"]) for one in sets),
                *([_whole(sum(by_set[one]["tokens"] for one in sets))] if has_tokens else []),
            ]
            for setting, by_set in found[name].items()
        ]  # fmt: skip
        headings = [heading, *(f"{what}, {one}" for what in ("recall", "context") for one in sets)]
        parts += [text, _table(headings + (["tokens"] if has_tokens else []), rows)]
    return "\n\n".join(parts)


SECTIONS = {  # sections of the page; tree.json has all measured sections
    "growth": _growth,
    "raptor": _raptor,
    "single": _single,
    "recall": _recall,
    "contexts": _contexts,
    "sweeps": _sweeps,
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

    steps = range(len(found["steps"]))
    figure, axes = pyplot.subplots(1, 4, figsize=(15, 3.4), layout="constrained")
    for axis, what in zip(axes, ("tokens", "seconds", "recall@5", "answer in context"), strict=True):
        if what in ("tokens", "seconds"):
            axis.plot(steps, [one["rebuild"][what] for one in found["steps"]], label=TREES[1], color="0.6")
        axis.plot(steps, [one["ours"][what] for one in found["steps"]], label=TREES[0], color="teal")
        axis.set_xlabel("insertion")
        axis.set_title(what)
        axis.set_ylim(bottom=0)
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
