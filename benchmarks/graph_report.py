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
"""Floor and goal of the other sets: points above hybrid."""

RECALL = """\
The table shows recall@5 in percent: the share of a question's evidence documents among the first five documents; more
is better. All modes use static word vectors and names found by patterns, and no language model.

- *graph* is mode `auto`, the default of a file with a graph.
- *faithful* follows MiniRAG's formulas (`faithful=True`).
- *floor* is the recall that *graph* must reach, and *goal* is the recall that it should reach. Both were set before the
  measurement. For MultiHop-RAG, they are 5 and 10 points above *hybrid*. The questions of SQuAD and PopQA need one hop
  only, so the floor is the recall of *hybrid*.
- *reached* says whether *graph* reached the goal, or only the floor."""
RECALL_NOTES = """\
Of each of the first five sets, half of the questions are asked (the dev half); the other half is held out. The graph's
weights were chosen on the dev halves, which raises these figures a little. Of SQuAD, the first 400 questions are asked.
The evidence of PopQA is guessed: the document's title is the name in the question, and its text contains an answer.
MultiHop-RAG is rebuilt from parts. Use the figures of PopQA and MultiHop-RAG only to compare versions of Monograph.

Other systems report recall@5 on similar corpora. For HotpotQA / 2WikiMultiHopQA / MuSiQue, HippoRAG 2 reaches 96.3 /
90.4 / 74.7, with an embedder of 7 billion parameters and a language model of 70 billion. ColBERTv2 reaches 79.3 / 68.2
/ 49.2."""
LANGUAGES = """\
Recall@5 in percent; more is better. The static word vectors are of English words, and names are found by patterns. Two
kinds of sets are searched:

- *XQuAD* has the same 240 paragraphs of Wikipedia and the same questions in four languages. Every third question is
  asked. All titles are English.
- *Two hops* is synthetic, because no such questions were available in Chinese or German. For each language,
  `benchmarks/two_hops.py` fills templates to write 60 pages about invented films, directors and towns, and 60
  questions. Each question needs two pages. The patterns that find names were improved on this set, so its figures do
  not predict the recall on other texts."""
ABLATIONS = """\
Each row shows the recall@5 in percent if one part of the search is switched off or changed; more is better. Documents
have their titles. {usual}

- *no definition links*: a definition link leads from a name in a chunk to a document about this name. Without
  definition links, the search reaches such a document only as one of the chunks that mention the name.
- *no mention links*: a mention link leads from a name in a chunk to another chunk that mentions the same name.
- *no clauses*: the search does not split the question into clauses.
- *no coverage order*: chunks are ordered by probability alone. By default, a chunk moves up if it has words of the
  question that the chunks before it lack.
- *no hop* and *one hop*: the search follows no links, or follows them once. Without a hop, it uses only the names in
  the question.
- *3 starts* and *10 starts*: each hop follows the links of the 3 or 10 most probable chunks.
- *no resolution of names*: spellings of one name are not merged. Each spelling is an entity.
- *faithful*: the search uses MiniRAG's own formulas (`faithful=True`). Without entity–entity edges, each path has only
  one entity. Without entity–chunk edges, no path leads to a chunk, and only dense search remains."""
CONTEXTUAL = """\
Recall@5 in percent, with all-MiniLM-L6-v2 (int8, ONNX) instead of static word vectors; more is better. *graph* embeds
the question alone, and then again together with each of the most probable chunks. *graph, one step* omits the second
step. *auto* is the default mode. *faithful* uses MiniRAG's own formulas."""
SENSITIVITY = """\
The table shows *faithful* (MiniRAG's own formulas) with one parameter changed, on the first 100 questions of two sets.
R@5 is recall@5 in percent; more is better. There are three parameters: the hop radius of Eq. 2, the number of paths
that are kept for each starting entity, and the length of a path. The paper calls the length of a path n. It uses one
number k for both the radius and the number of paths, so a row *k = …* sets the radius and the number of paths to k.

For comparison, the paper's Tables A3 and A4 give accuracy as judged by a language model: 48 / 54 / 64 % for k = 4 / 10
/ 50, and 52 / 54 / 50 % for n = 2 / 4 / 8."""
BUILD = """\
The passages come from HotpotQA, 2WikiMultiHopQA, MuSiQue and PopQA, in random order. After {distinct:,} passages they
repeat, each with a serial number added. All files use static word vectors. Times are medians of the runs. Less is
better, except for speeds.

- *add s*: seconds of `add()`.
- *no names s*: seconds of `add()` with an extractor that finds no names.
- *graph s*: the difference between *add s* and *no names s*. This is the time of extraction, names, edges and
  resolution. It excludes the graph's use of titles and words, which both calls of `add()` include.
- *passages/s*: passages divided by *graph s*. *80-word passages/s* is the same speed, converted to passages of 80
  words.
- *file MB*: size of the file without free pages. *without graph MB* also excludes the graph's tables and the stored
  extractions. *graph adds* is the difference, as a share of *without graph MB*."""
QUERY = """\
Latency of a search for 5 hits, in milliseconds; less is better. {questions} questions of the four sets above are asked
one at a time, in two passes; only the second pass counts. The larger file repeats its passages, so a name occurs in
more passages than in real texts."""
EDIT = """\
Time of one change with its commit, in a file of {documents:,} documents, over {edits} changes of each kind; less is
better. Each change updates the full-text index, the vectors and the graph. The test `tests/graph/test_graph.py` checks
that the changed graph equals the graph of a new file with the same documents."""
MODEL = """\
Each cell has the number of completions that a system requests from a language model, and the tokens that the model
reads and writes for them; fewer is better. {documents} chats of LiHuaWorld ({words:.0f} words on average) are added
first. Then one more chat is added, and added again without a change. Then a sentence is appended to another chat (*edit
one*), and a third chat is deleted.

All systems run with their defaults, on the same scripted server with the OpenAI interface, which counts calls and
tokens. The server returns capitalised phrases as names and always describes a name in the same words, so no system has
to summarise differing descriptions."""
MINIRAG = """\
MiniRAG's only version on PyPI, 0.0.2, cannot be imported (`NameError: name 'abstractmethod' is not defined`), and its
wheel lacks its storage modules, `minirag.kg`. For this benchmark, the import was repaired and storage in memory was
supplied. MiniRAG cannot delete a document: an edit adds the new text and keeps the old one. LightRAG edits a document
by deleting it and inserting it again.

LightRAG and MiniRAG ask the model a second time about every chunk, for names that it missed. Their own tokenizer would
have to be downloaded, so both split texts with a simple tokenizer of words and punctuation marks; the server counts the
tokens of all systems in the same way. Monograph cuts texts into smaller chunks, so it has more chunks to ask about."""


def write(results: Results, folder: Path) -> list[Path]:
    """Write graph.md, graph.json and the plot; returns what was written."""
    folder.mkdir(parents=True, exist_ok=True)
    sections = {
        "recall": ("What is found", recall),
        "languages": ("Other languages", languages),
        "ablations": ("Recall without each part", ablations),
        "contextual": ("With an embedder that reads in context", contextual),
        "sensitivity": ("MiniRAG's parameters", sensitivity),
        "build": ("Build time and file size", build),
        "query": ("Search latency", query),
        "edit": ("Edit latency", edit),
        "model": ("What a language model is asked", model),
    }
    written = write_page(results, folder / "graph.md", "The graph, measured", sections, remark=NOISE)
    if "recall" in results:
        picture = folder / "graph-recall.png"
        plot(results["recall"]["found"], picture)
        written.append(picture)
    return written


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table whose source is aligned too; every column but the first is of numbers."""
    widths = [max(4, *(len(row[place]) for row in [headings, *rows])) for place in range(len(headings))]

    def line(cells: Sequence[str]) -> str:
        first, *others = zip(cells, widths, strict=True)
        return "| " + " | ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]) + " |"

    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(headings), line(rule), *(line(row) for row in rows)])


def percent(share: float | None) -> str:
    return "—" if share is None else f"{100 * share:.1f}"


def marks(name: str, hybrid: float) -> tuple[float | None, float | None]:
    """Floor and goal of a set, in percent; ``hybrid`` in percent too."""
    if name not in ABOVE_HYBRID:
        return MARKS.get(name, (None, None))
    floor, goal = (None if more is None else hybrid + more for more in ABOVE_HYBRID[name])
    return floor, goal


def recall(found: Results) -> list[str]:
    rows, more = [], []
    for name, ways in found.items():
        shares = {way: ways[way]["recall@5"] for way in WAYS}
        floor, goal = marks(name, 100 * shares["hybrid"])
        marked = ["—" if one is None else f"{one:.1f}" for one in (floor, goal)]
        best = "goal" if reached(shares["graph"], goal) else "floor" if reached(shares["graph"], floor) else "below"
        questions = str(ways["graph"]["questions"])
        rows.append([name, questions, *(percent(shares[way]) for way in WAYS), *marked, best])
        for way in WAYS:
            one = ways[way]
            told = (percent(one[measure]) for measure in ("recall@5", "recall@10", "all@5"))
            more.append([f"{name}: {way}", *told, f"{one['MRR']:.3f}", f"{one['p50']:.1f}"])
    return [
        RECALL,
        table(["set", "questions", *WAYS, "floor", "goal", "reached"], rows),
        "![Recall@5 of every set, with floors and goals](graph-recall.png)",
        RECALL_NOTES,
        "The next table has more measures of the same searches. Recall and all@5 are in percent; *all@5* is the "
        "share of "
        "questions whose evidence documents are all among the first 5. *MRR* is the mean reciprocal rank (0 to 1) of "
        "the "
        "first evidence document. *p50* is the median latency; less is better. Of the other measures, more is better.",
        table(["set and mode", "recall@5", "recall@10", "all@5", "MRR", "p50 ms"], more),
    ]


def reached(share: float, mark: float | None) -> bool:
    """Whether a share is at a mark, as both are shown."""
    return mark is not None and round(100 * share, 1) >= round(mark, 1)


def languages(found: Results) -> list[str]:
    ways = [one for one in next(iter(found.values())) if one not in ("documents", "questions")]
    rows = [[name, str(one["questions"]), *(percent(one[way]) for way in ways)] for name, one in found.items()]
    return [LANGUAGES, table(["set", "questions", *ways], rows)]


def ablations(found: Results) -> list[str]:
    sets = list(next(iter(found["rows"].values())))
    rows = [[row, *(percent(shares.get(name)) for name in sets)] for row, shares in found["rows"].items()]
    usual = f"By default there are {found['hops']} hops, each from the {found['starts']} most probable chunks."
    return [ABLATIONS.format(usual=usual), table(["recall@5", *sets], rows)]


def contextual(found: Results) -> list[str]:
    ways = list(next(iter(found.values())))
    rows = [
        [name, str(one["auto"]["questions"]), *(percent(one[way]["recall@5"]) for way in ways)]
        for name, one in found.items()
    ]
    last, one = list(found.items())[-1]
    took = (
        f"On *{last}*, the median search takes {one['graph, one step']['p50']:.1f} ms with one step and "
        f"{one['graph']['p50']:.1f} ms with two steps, because the second step computes three more embeddings."
    )
    return [CONTEXTUAL, table(["set", "questions", *ways], rows), took]


def sensitivity(found: Results) -> list[str]:
    sets = list(next(iter(found.values())))
    rows = [
        [row, *(cell for name in sets for cell in (percent(one[name]["recall@5"]), f"{one[name]['p50']:.1f}"))]
        for row, one in found.items()
    ]
    headings = [heading for name in sets for heading in (f"{name} R@5", "p50 ms")]
    return [SENSITIVITY, table(["faithful", *headings], rows)]


def build(found: Results) -> list[str]:
    rows, slow = [], []
    for size, one in found["sizes"].items():
        seconds = one["seconds"] - one["seconds without"]
        slow.append(1e3 * seconds / int(size))
        speed = int(size) / seconds
        more = one["megabytes"] / one["megabytes without"] - 1
        rows.append(
            [
                f"{int(size):,}",
                str(one["repeats"]),
                *(f"{value:.2f}" for value in (one["seconds"], one["seconds without"], seconds)),
                f"{speed:,.0f}",
                f"{speed * one['words'] / 80:,.0f}",
                f"{one['megabytes']:.1f}",
                f"{one['megabytes without']:.1f}",
                f"+{100 * more:.0f} %",
            ]
        )
    headings = [
        "passages",
        "runs",
        "add s",
        "no names s",
        "graph s",
        "passages/s",
        "80-word passages/s",
        "file MB",
        "without graph MB",
        "graph adds",
    ]
    words = ", ".join(f"{one['words']:.0f}" for one in found["sizes"].values())
    linear = (
        "*graph s* divided by passages, in milliseconds, from the smallest file to the largest: "
        f"{', '.join(f'{one:.2f}' for one in slow)}. The last value is {slow[-1] / slow[0]:.2f} times the first; a "
        f"ratio of 1 means that the cost is linear. Mean words in a passage, in the same order: {words}."
    )
    return [BUILD.format(distinct=found["distinct"]), table(headings, rows), linear]


def query(found: Results) -> list[str]:
    rows = [
        [f"{int(size):,}: {way}", f"{one['p50']:.1f}", f"{one['p95']:.1f}"]
        for size, ways in found.items()
        for way, one in ways.items()
    ]
    questions = next(iter(found.values()))["hybrid"]["times"]
    return [QUERY.format(questions=questions), table(["passages and mode", "p50 ms", "p95 ms"], rows)]


def edit(found: Results) -> list[str]:
    rows = [[name, f"{one['p50']:.1f}", f"{one['p95']:.1f}"] for name, one in found["works"].items()]
    return [EDIT.format(**found), table(["change", "median ms", "p95 ms"], rows)]


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
    """Recall@5 of every set, with floors and goals."""
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
