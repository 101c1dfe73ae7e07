"""Report of benchmarks/graph.py: the page docs/benchmarks/graph.md and its plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from page import NOISE, write_page

Results = dict[str, Any]
WAYS = ("lexical", "hybrid", "graph", "faithful")
MARKS = {
    "hotpotqa": (92.0, 96.0),
    "2wikimultihopqa": (95.0, 98.0),
    "musique": (63.0, 72.0),
    "lihuaworld": (90.0, 93.0),
    "hotpotqa, no titles": (81.2, None),
    "2wikimultihopqa, no titles": (83.9, None),
    "musique, no titles": (58.7, None),
}
"""Floor and goal of the graph's recall@5, in percent."""

ABOVE_HYBRID = {"multihop-rag": (5.0, 10.0), "squad": (0.0, None), "popqa-rebuilt": (0.0, None)}
"""Floor and goal of the other sets, in percentage points above hybrid."""

MORE = (
    " The JSON file also has recall@10, all@5 (all evidence found), reciprocal rank and latency of each mode, and"
    " MiniRAG's formulas with other parameters."
)
RECALL = """\
The table shows recall@5 in percent: the share of a question's evidence among the first five documents; more
is better. All modes use static word vectors and names found by patterns, and no language model.

- *graph* is mode `auto`, the default.
- *faithful* follows MiniRAG's formulas (`faithful=True`).
- *floor* is the recall that *graph* must reach, *goal* what it should reach. Both were set before the measurement.
  For MultiHop-RAG, they are 5 and 10 points above *hybrid*; for SQuAD and PopQA, the floor is *hybrid*."""
RECALL_NOTES = """\
In the first five sets, only the dev half of the questions is asked. The weights of the graph search were chosen on
the dev halves, which raises these figures a little ([by how much](weights.md)). The evidence of PopQA is
guessed, and half of MultiHop-RAG's articles are excerpts. Use these two sets only to compare versions of Monograph.

Other systems report recall@5 on similar corpora. For HotpotQA / 2WikiMultiHopQA / MuSiQue, HippoRAG 2 reaches 96.3 /
90.4 / 74.7, with an embedder of 7 billion parameters and a language model of 70 billion. ColBERTv2 reaches 79.3 / 68.2
/ 49.2."""
LANGUAGES = """\
Recall@5 in percent; more is better. The word vectors are of English words, and names are found by patterns.

- *XQuAD* has the same 240 paragraphs of Wikipedia and 397 questions in four languages. All titles are
  English.
- *Two hops* is synthetic, because no such questions were available in Chinese or German. Each language has 60 pages
  without titles and 60 questions that each need two pages. The patterns that find names were improved on this set, so
  its figures do not predict the recall on other texts."""
LANGUAGE_MODES = ("lexical", "dense", "hybrid", "auto")
ABLATIONS = """\
The table shows the recall@5 of mode `graph` in percent; more is better. All rows but *default* switch one part
off. {usual}

- *no definition links*: a definition link leads from a name in a chunk to a document about this name.
- *no mention links*: a mention link leads from a name in a chunk to another chunk that mentions the same name.
- *no clauses*: the search does not split the question into clauses.
- *no coverage order*: chunks are ordered by probability alone. By default, a chunk moves up if it has words of the
  question that the chunks before it lack.
- *no hop* and *one hop*: the search follows no links, or follows them once.
- *no resolution of names*: spellings of one name are not merged."""
ABLATED = (
    "default",
    "no definition links",
    "no mention links",
    "no clauses",
    "no coverage order",
    "no hop",
    "one hop",
    "no resolution of names",
)
ABLATED_SETS = ("hotpotqa", "2wikimultihopqa", "musique", "lihuaworld", "multihop-rag")
"""Columns of the table; its rows are ``ABLATED``. On the other sets, nearly all questions need one hop."""
RELATIONS = """\
Recall@5 of the default mode in percent; more is better. A scripted extractor stands for a language model. It finds
names by patterns, and states the evidence that the sets annotate ({stated}). It also relates the first name of each
passage to other names in the same sentence, at a third of the strength. The recall is an upper bound: a language model
states less of the evidence, and more of other texts.

- *patterns*: names by patterns, the default extractor; no relations.
- *no relations*: the scripted extractor's names without its relations.
- *no strength*, *no keywords*, *no description*: relations without this field."""
CONTEXTUAL = """\
Recall@5 in percent, with all-MiniLM-L6-v2 (int8, ONNX) instead of static word vectors; more is better. Mode
*graph* embeds the question alone, and then together with each of the 3 most probable chunks. *graph, one step* omits
the second step. *auto* is the default mode."""
CONTEXTUAL_SETS = (*ABLATED_SETS, "musique, no titles")
BUILD = """\
The passages come from HotpotQA, 2WikiMultiHopQA, MuSiQue and PopQA. After {distinct:,} passages they repeat, each with a
serial number added. Times are medians of 3 builds (50,000 passages: one build).

- *add*: time of `add()`.
- *graph*: how much longer `add()` takes than with an extractor that finds no names. Titles and words, which the graph
  also uses, are in both times.
- *file growth*: share by which the graph's tables and the stored extractions make the file larger."""
QUERY = """\
Milliseconds of a search for 5 hits; less is better. {questions} questions of the four sets in the section above are
asked one at a time, twice; the second time counts. The larger file repeats its passages, so a name occurs in more
passages than in real texts."""
EDIT = """\
Time of one change with its commit, in a file of {documents:,} documents, over {edits} changes of each kind; less is
better. Each change updates the full-text index, the vectors and the graph."""
MODEL = """\
Each cell has the completions that a system requests from a language model, and the tokens that the model
reads and writes; fewer is better. {documents} chats of LiHuaWorld are added first. Then one more chat is added, and the
same chat again. Then a sentence is appended to another chat (*edit one*), and a third chat is deleted.
All systems run with their defaults. The language model is a script that returns capitalised phrases as names."""
MINIRAG = """\
LightRAG and MiniRAG ask the model twice about every chunk, the second time for missed names. Both use a simple
tokenizer, because their own must be downloaded. Monograph has smaller chunks, so it asks about more chunks.
MiniRAG 0.0.2 from PyPI cannot be imported and lacks its storage modules; the benchmark repairs it. MiniRAG cannot
delete a document: an edit adds the new text and keeps the old one."""


def write(results: Results, folder: Path) -> list[Path]:
    """Write graph.md, graph.json and the plot; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = {
        "recall": ("What is found", recall),
        "languages": ("Other languages", languages),
        "ablations": ("Recall without each part", ablations),
        "relations": ("With relations from a model", relations),
        "contextual": ("With an embedder that reads in context", contextual),
        "build": ("Build time and file size", build),
        "query": ("Search latency", query),
        "edit": ("Edit latency", edit),
        "model": ("What a language model is asked", model),
    }
    written = write_page(results, folder / "graph.md", "The graph, measured", sections, remark=NOISE + MORE)
    if "recall" in results:
        picture = folder / "graph-recall.png"
        plot(results["recall"]["found"], picture)
        written.append(picture)
    return written


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned source. All columns but the first have numbers."""
    widths = [max(4, *(len(row[place]) for row in [headings, *rows])) for place in range(len(headings))]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "| " + " | ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]) + " |"

    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(headings), line(rule), *(line(row) for row in rows)])


def percent(share: float | None) -> str:
    return "—" if share is None else f"{100 * share:.1f}"


def marks(name: str, hybrid: float) -> tuple[float | None, float | None]:
    """Return the floor and goal of a set in percent; ``hybrid`` is in percent too."""
    if name not in ABOVE_HYBRID:
        return MARKS.get(name, (None, None))
    floor, goal = (None if more is None else hybrid + more for more in ABOVE_HYBRID[name])
    return floor, goal


def recall(found: Results) -> list[str]:
    rows = []
    for name, ways in found.items():
        shares = {way: ways[way]["recall@5"] for way in WAYS}
        marked = ["—" if one is None else f"{one:.1f}" for one in marks(name, 100 * shares["hybrid"])]
        rows.append([name, str(ways["graph"]["questions"]), *(percent(shares[way]) for way in WAYS), *marked])
    return [
        RECALL,
        table(["set", "questions", *WAYS, "floor", "goal"], rows),
        "![Recall@5 of every set, with floors and goals](graph-recall.png)",
        RECALL_NOTES,
    ]


def languages(found: Results) -> list[str]:
    rows = [
        [name, *(percent(one[way]) for way in LANGUAGE_MODES)]
        for name, one in found.items()
        if not name.startswith("two hops:")
    ]
    return [LANGUAGES, table(["set", *LANGUAGE_MODES], rows)]


def ablations(found: Results) -> list[str]:
    rows = [[row, *(percent(found["rows"][row].get(name)) for name in ABLATED_SETS)] for row in ABLATED]
    usual = f"The default follows links {found['hops']} times, each from the {found['starts']} most probable chunks."
    return [ABLATIONS.format(usual=usual), table(["recall@5", *ABLATED_SETS], rows)]


def relations(found: Results) -> list[str]:
    sets = list(found["stated"])
    stated = ", ".join(f"{name}: {count} facts" for name, count in found["stated"].items() if "titles" not in name)
    rows = [[row, *(percent(shares[name]) for name in sets)] for row, shares in found["rows"].items()]
    return [RELATIONS.format(stated=stated), table(["recall@5", *sets], rows)]


def contextual(found: Results) -> list[str]:
    ways = list(next(iter(found.values())))
    rows = [
        [name, *(percent(one[way]["recall@5"]) for way in ways)]
        for name, one in found.items()
        if name in CONTEXTUAL_SETS
    ]
    last, one = list(found.items())[-1]
    took = (
        f"On *{last}*, the median search takes {one['graph, one step']['p50']:.1f} ms with one step and "
        f"{one['graph']['p50']:.1f} ms with two steps: the second step computes 3 more embeddings."
    )
    return [CONTEXTUAL, table(["set", *ways], rows), took]


def build(found: Results) -> list[str]:
    rows = []
    for size, one in found["sizes"].items():
        seconds = one["seconds"] - one["seconds without"]
        more = one["megabytes"] / one["megabytes without"] - 1
        rows.append(
            [
                f"{int(size):,}",
                f"{one['seconds']:.2f}",
                f"{seconds:.2f}",
                f"{int(size) / seconds:,.0f}",
                f"{one['megabytes']:.1f}",
                f"+{100 * more:.0f} %",
            ]
        )
    headings = ["passages", "add, s", "graph, s", "graph, passages/s", "file, MB", "file growth"]
    return [BUILD.format(distinct=found["distinct"]), table(headings, rows)]


def query(found: Results) -> list[str]:
    rows = [
        [f"{int(size):,}: {way}", f"{one['p50']:.1f}", f"{one['p95']:.1f}"]
        for size, ways in found.items()
        for way, one in ways.items()
    ]
    questions = next(iter(found.values()))["hybrid"]["times"]
    return [QUERY.format(questions=questions), table(["passages and mode", "p50, ms", "p95, ms"], rows)]


def edit(found: Results) -> list[str]:
    rows = [[name, f"{one['p50']:.1f}", f"{one['p95']:.1f}"] for name, one in found["works"].items()]
    return [EDIT.format(**found), table(["change", "median, ms", "p95, ms"], rows)]


def model(found: Results) -> list[str]:
    rows, notes = [], []
    steps = list(found["systems"]["Monograph"])
    for name, one in found["systems"].items():
        rows.append([name, *(_asked(one.get(step)) for step in steps)])
        if "failed" in one:
            notes.append(f"{name} did not run to its end here: `{one['failed']}`")
    return [
        MODEL.format(**found),
        table(
            ["calls / tokens", *(f"{step} {found['documents']}" if step == "build" else step for step in steps)], rows
        ),
        MINIRAG,
        *notes,
    ]


def _asked(one: Results | None) -> str:
    if one is None:
        return "—"
    return "not possible" if "no way" in one["note"] else f"{one['calls']:,} / {one['tokens']:,}"


def plot(found: Results, path: Path) -> None:
    """Plot recall@5 of every set, with floors and goals."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    shown = {"hybrid": "tab:gray", "graph": "tab:blue", "faithful": "tab:orange"}
    figure, axes = plt.subplots(figsize=(13, 5.5))
    width = 0.26
    for at, (way, colour) in enumerate(shown.items()):
        heights = [100 * ways[way]["recall@5"] for ways in found.values()]
        places = [place + (at - 1) * width for place in range(len(found))]
        axes.bar(places, heights, width, label=way, color=colour)
        for place, height in zip(places, heights, strict=True):
            axes.text(place, height + 0.6, f"{height:.0f}", ha="center", fontsize=7)
    floors, goals = zip(*(marks(name, 100 * ways["hybrid"]["recall@5"]) for name, ways in found.items()), strict=True)
    for label, some, style in (("floor", floors, "-"), ("goal", goals, ":")):
        lines = [(place, mark) for place, mark in enumerate(some) if mark is not None]
        places, heights = [place for place, _ in lines], [mark for _, mark in lines]
        starts, ends = [place - 1.6 * width for place in places], [place + 1.6 * width for place in places]
        axes.hlines(heights, starts, ends, colors="black", linestyles=style, linewidth=1.4, label=label)
    names = [name.replace(", ", "\n") for name in found]
    axes.set_xticks(range(len(found)), names, fontsize=8)
    axes.set(
        ylabel="recall@5, %", ylim=(0, 118), title="Recall@5 with a graph, beside the hybrid search it starts from"
    )
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.legend(fontsize=8, loc="upper left", ncols=5)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
