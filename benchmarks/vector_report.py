"""Report of benchmarks/vectors.py: the page docs/benchmarks/vectors.md and its plots."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Results = dict[str, Any]


def at_recall(curve: Sequence[Results], target: float = 0.95, what: str = "p50") -> tuple[float, float]:
    """Return (p50, recall) at a recall, interpolated between two settings, or at the best recall if none reaches it.

    ``what`` names another figure of the settings than p50.
    """
    if not curve:
        return float("nan"), 0.0
    for place, point in enumerate(curve):
        if point["recall"] >= target:
            if not place:
                return point[what], point["recall"]
            before = curve[place - 1]
            share = (target - before["recall"]) / (point["recall"] - before["recall"])
            return before[what] + share * (point[what] - before[what]), target
    best = max(curve, key=lambda point: point["recall"])
    return best[what], best["recall"]


def write(results: Results, folder: Path) -> None:
    """Write vectors.md, vectors.json and the plots."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "vectors.json").write_text(json.dumps(results, indent=1))
    parts = [
        "# The vector index, measured",
        f"Machine: {results['machine']}. Each index is built first; then a new process opens its files, and one "
        "Python thread sends one query at a time. Written by `make bench-vectors`; the figures are in "
        "[vectors.json](vectors.json). Differences below 1.5x between times are noise on this machine.",
    ]
    if any(section in results for section in SETS):
        parts.append(COLUMNS)
    parts += beside_rivals(results, folder)
    if "public" in results:
        parts += [
            "## Through the public class",
            PUBLIC,
            table(PUBLIC_HEADINGS, public_rows(results["public"])),
            FILTERED,
            table(FILTERED_HEADINGS, filtered_rows(results["public"])),
        ]
    if "threads" in results:
        parts += [
            "## Concurrent queries",
            threads_said(results["threads"]),
            table(THREADS_HEADINGS, threads_rows(results["threads"])),
        ]
    if "stopping" in results:
        parts += ["## Stopping early", STOPPING, stopping_table(results["stopping"])]
    if "changing" in results:
        parts += ["## Growing and shrinking", CHANGING, *changing_tables(results["changing"])]
    if "filtering" in results:
        parts += ["## Filters", FILTERING, search_table(results["filtering"], "share of vectors allowed")]
    if "sizing" in results:
        parts += [
            "## Cluster sizes",
            SIZING,
            search_table(results["sizing"], "vectors per cluster, design"),
        ]
    if "expected" in results:
        parts += ["## Expected and measured", EXPECTED, expected_table(results["expected"])]
    parts += ["## What was tried where Monograph is slower", TRIED]
    (folder / "vectors.md").write_text("\n\n".join(parts) + "\n")


def beside_rivals(results: Results, folder: Path) -> list[str]:
    """Return the paragraphs of each set on which rivals were measured."""
    parts = []
    for section, title in SETS.items():
        if section in results:
            parts += [
                f"## {title}",
                f"Vectors and queries: {results['recipes'][section]}.",
                rivals_table(results[section]),
            ]
            earlier = sorted({one["machine"] for one in results[section].values() if one.get("earlier")})
            if earlier:
                parts.append(f"\\* Measured in an earlier run: {'; '.join(earlier)}.")
            plot(results[section], folder / f"vectors-{section}.png", title)
            parts.append(f"![Recall against queries a second, and memory](vectors-{section}.png)")
    return parts


SETS = {"real": "Real embeddings", "synthetic": "A million easy vectors", "million": "A million real vectors"}
COLUMNS = (
    "The next sections compare indexes on several sets of vectors. The first line of a section says how its vectors "
    "were made, and how many queries were asked. *The shared texts* are the texts of the question sets. Later sections "
    "call the vectors of the first section real vectors. Each index has settings that trade recall for time. *p50* is "
    "the median time of a query, with the setting that reaches the recall@10 in the heading. If no setting reaches it, "
    "the column for recall 0.95 has the time at the best recall, and *recall@10 reached* shows this recall. The column "
    "for recall 0.99 then has a dash, with the best recall@10 in parentheses. *Anonymous memory* is the private memory "
    "of the index. *File pages* are parts of its files that are in memory and that the system may reclaim. *Cold "
    "start* is the time to open the index and run one query when nothing is cached. Less is better, except for recall."
)
STOPPING_HEADINGS = (
    "stop condition",
    "real set, loads to recall 0.95",
    "real set, loads to ranked recall 0.95",
    "easy set, loads to recall 0.95",
    "easy set, loads to ranked recall 0.95",
)
STOPPING = (
    "A query reads clusters one after the other until a stop condition ends it. The table shows the mean number of "
    "clusters that a query reads (*loads*) if each condition is set to reach the same recall; fewer is better. "
    "*Recall* is recall@10, and *ranked recall* is recall@10 weighted by rank. The target of both is 0.95. If 160 "
    "clusters do not reach 0.95, the target is 0.002 below the recall of 160 clusters. `RankAware` and `VBase` decide "
    "by the last loads; their window, the number of these loads, is set to reach the target. `Budget` stops after a "
    "fixed number of loads, and `Never` reads all clusters. The real set is a part of the real embeddings above, and "
    "the easy set a part of the million easy vectors; each has 100,000 vectors of unit length. The index has the "
    "`graph` design and ranks results by their codes."
)
CHANGING = (
    "An index of 40,000 real vectors gets 40,000 more vectors in batches of 1,000. Then 30 % of all vectors are "
    "deleted, also in batches. After the inserts and after the deletes, the changed index is compared with a new index "
    "that is built from the same vectors at once. All searches are for ten results, at the calibrated recall. Less is "
    "better, except for recall and for the results of a query."
)
PUBLIC = (
    "The vectors are static word vectors of sentences, with 256 values. The first two rows search by a vector for ten "
    "results: `Monograph.search` also returns the texts of the hits, and hnswlib is set to the same recall. In the "
    "last row, `Monograph.search` gets a question, embeds it, and returns five hits; its recall is recall@5."
)
FILTERED = (
    "The next table shows searches for ten results in Monograph's vector stores for LlamaIndex and LangChain. A "
    "metadata filter allows a share of the nodes, and recall@10 counts only the allowed nodes. All questions of a row "
    "use the same filter value, except in the last column: there, each question uses another value than the question "
    "before it."
)
PUBLIC_HEADINGS = ("search", "p50, µs", "recall@10, or @5 for a question", "p50 / hnswlib's p50")
FILTERED_HEADINGS = (
    "store, share of nodes allowed",
    "p50, µs",
    "recall@10",
    "p50 / p50 without a filter",
    "p50, a new filter value per question, µs",
)
STATES = {
    "grown": "after the inserts: 80,000 vectors",
    "grown, fresh build": "new index of the same 80,000",
    "shrunk": "after the deletes: 56,000 vectors",
    "shrunk, fresh build": "new index of the same 56,000",
}
COSTS = {
    "insert, us a vector in batches of 1,000": "insert in batches of 1,000, µs per vector",
    "delete, us a vector in batches of 1,000": "delete in batches of 1,000, µs per vector",
    "single insert with commit, ms": "insert of one vector, ms",
    "single delete with commit, ms": "delete of one vector, ms",
}
"""Labels of the rows of :func:`changing_tables`, by their keys in the results."""
FILTERING = (
    "The index has 100,000 real vectors. Searches are for ten results, at the calibrated recall of 0.95. A filter "
    "allows a share of the vectors, and recall@10 counts only the allowed vectors. The smallest share is searched by "
    "comparing all allowed vectors, so no cluster is read."
)
SIZING = (
    "The table shows 60,000 real vectors in clusters of different sizes. Searches are for ten results, at the "
    "calibrated recall of 0.95, with all clusters in memory."
)
EXPECTED = (
    "MobileRAG has cost models of vector indexes; this table compares them with measurements on the real set, with the "
    "models' errata corrected. Less is better. The models predict the memory of an index, and the time and energy of a "
    "query on the paper's phone. Measured memory is anonymous memory. Measured time is p50 on this machine, at recall "
    "0.95 or at the best recall reached. EcoVector is measured as the paper describes it literally, with one hnswlib "
    "file per cluster. Its model omits the time that hnswlib needs to load a file."
)


TRIED = """\
- **A query, compared with HNSW in memory.** Kept: a query prefetches the next cluster into the processor's cache, and
  the calibration chooses between reading more clusters and comparing more results by their values. Rejected: codes of
  one bit a value, because more results must then be compared by their values; clusters of 50, 64 or 200 vectors instead
  of 100; each vector in one cluster instead of two, because this halves the codes but needs two and a half times the
  loads of clusters.
- **Queries of many Python threads.** Kept: searches share no lock, each thread has its own connection, and each search
  makes one native call that runs without Python's global interpreter lock. Python code and SQLite still hold this lock
  for two thirds of the time of a query.
- **Inserting and deleting.** Kept: arrays record which vectors moved, the newest entries of a cluster stay decoded
  within a batch, and deleted entries are marked in place. Three tasks take the remaining time: coding each vector once
  for each of its clusters, the work of SQLite, and rewriting the newest entries of clusters. A batch of a thousand
  vectors rewrites them in half of all clusters.
- **A dense search through the public class.** Tried: two SQL statements for all hits, instead of two for each hit. At
  ten hits, this made no difference."""


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "| --- |" + " ---: |" * (len(headings) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(value: float | None, digits: int = 0) -> str:
    return "—" if value is None or math.isnan(value) else f"{value:,.{digits}f}"


def rivals_table(found: Results) -> str:
    rows = []
    ours = at_recall(found["Monograph"]["curve"])[0]
    for name, one in found.items():
        if "curve" not in one:
            rows.append([name, f"failed: {one.get('failed')}", *["—"] * 8])
            continue
        p50, recall = at_recall(one["curve"])
        higher, high = at_recall(one["curve"], 0.99)
        rows.append(
            [
                f"{name} *" if one.get("earlier") else name,
                number(p50),
                f"{recall:.3f}",
                f"{p50 / ours:.2f}",
                number(higher) if high >= 0.99 else f"— ({high:.3f})",
                number(one["anonymous"] / 1e6, 1),
                number(one["files"] / 1e6, 1),
                number(one.get("cold"), 1),
                number(one["build"]["seconds"], 1),
                number(one["build"]["bytes"] / 1e6),
            ]
        )
    heads = [
        "index",
        "p50 at recall 0.95, µs",
        "recall@10 reached",
        "p50 / Monograph's p50",
        "p50 at recall 0.99, µs",
        "anonymous memory, MB",
        "file pages in memory, MB",
        "cold start, ms",
        "build time, s",
        "size of files, MB",
    ]
    return table(heads, rows)


THREADS_HEADINGS = (
    "threads, target recall@10",
    "Monograph, queries/s",
    "Monograph, recall@10",
    "hnswlib, queries/s",
    "hnswlib, recall@10",
    "Monograph / hnswlib, queries/s",
)


def threads_said(found: Results) -> str:
    return (
        "The table shows the queries per second of one Python thread and of eight; more is better. Both indexes have "
        f"{found['vectors']:,} real vectors of {found['dimension']} values. The machine has {found['processors']} "
        "processors. Monograph keeps all codes in memory and gives each thread its own connection. Monograph and "
        "hnswlib "
        "are searched in the same process, in turn, for three rounds; the best round of each counts."
    )


def threads_rows(found: Results) -> list[list[str]]:
    """Rates of both at two recalls."""
    rows = []
    for target in (0.95, 0.99):
        for what, said in (("one", "one thread"), ("threads", "8 threads")):
            (our, recall), (their, other) = (
                at_recall(found["curves"][name], target, what) for name in ("Monograph", "hnswlib")
            )
            row = [
                f"{said}, {target}",
                number(our),
                f"{recall:.3f}",
                number(their),
                f"{other:.3f}",
                f"{our / their:.2f}",
            ]
            rows.append(row)
    return rows


def public_rows(found: Results) -> list[list[str]]:
    ours, theirs, asked = found["by vector"]["Monograph.search"], found["by vector"]["hnswlib"], found["by question"]
    count = f"{found['by vector']['vectors']:,} vectors"
    return [
        [
            f"`Monograph.search` with a vector, {count}",
            _micro(ours),
            _recall(ours),
            f"{ours['p50'] / theirs['p50']:.1f}",
        ],
        [f"hnswlib's `knn_query`, {count}", _micro(theirs), _recall(theirs), "1.0"],
        [f"`Monograph.search` with a question, {asked['texts']:,} texts", _micro(asked), _recall(asked), "—"],
    ]


def filtered_rows(found: Results) -> list[list[str]]:
    rows = []
    for store, shares in found["filtered"].items():
        plain = shares["all"]["p50"]
        for said, one in shares.items():
            other = f"{one['changing']:,.0f}" if "changing" in one else "—"
            rows.append([f"{store}, {said}", _micro(one), _recall(one), f"{one['p50'] / plain:.2f}", other])
    return rows


def _micro(one: Results) -> str:
    return f"{one['p50']:,.0f}"


def _recall(one: Results) -> str:
    return f"{one['recall']:.3f}"


def stopping_table(found: Results) -> str:
    names = [name for name in found["real"] if name not in ("the paper's X = 2", "Never", "calibrated")]
    rows = [
        [
            name,
            *(
                number(found[data][name][measure], 1)
                for data in ("real", "easy")
                for measure in ("recall", "ranked_recall")
            ),
        ]
        for name in names
    ]
    rows.append(["Never", *(number(found[data]["Never"]["recall"]) for data in ("real", "real", "easy", "easy"))])
    lines = [table(STOPPING_HEADINGS, rows)]
    for data in ("real", "easy"):
        two, own = found[data]["the paper's X = 2"], found[data]["calibrated"]
        lines.append(
            f"On the {data} set, the paper's window X = 2 stops after {two['loads']:.1f} loads on average, at recall "
            f"{two['reached']:.3f}. The window that Monograph calibrates for recall 0.95 is {own['window']}. It stops "
            "after "
            f"{own['loads']:.1f} loads on average, at recall {own['reached']:.3f}."
        )
    return "\n\n".join(lines)


def search_table(found: Results, what: str) -> str:
    rows = [
        [
            name,
            f"{one['recall']:.3f}",
            number(one["p50"]),
            number(one["loads"], 1),
            number(one["compared"]),
            str(one["fewest"]),
        ]
        for name, one in found.items()
    ]
    headings = (what, "recall@10", "p50, µs", "mean clusters read", "mean codes compared", "fewest results of a query")
    return table(headings, rows)


def changing_tables(found: Results) -> list[str]:
    searched = {STATES[name]: one for name, one in found.items() if "recall" in one}
    costs = [
        [COSTS[name], *(number(one[kind], 1) for kind in ("median", "mean", "worst"))]
        for name, one in found.items()
        if "median" in one
    ]
    return [
        search_table(searched, "index"),
        "The next table shows the time of each change, including its commit; less is better:",
        table(["change", "median", "mean", "worst"], costs),
    ]


def expected_table(found: Results) -> str:
    rows = [
        [
            name,
            number(one["memory"], 1),
            number(one["measured_memory"], 1),
            number(one["phone_ms"], 2),
            number(one["energy_mJ"], 1),
            number(one["measured_us"] / 1e3, 3),
        ]
        for name, one in found.items()
    ]
    return table(
        [
            "algorithm",
            "memory predicted, MB",
            "memory measured, MB",
            "time predicted for the phone, ms",
            "energy predicted for the phone, mJ",
            "time measured here, ms",
        ],
        rows,
    )


def plot(found: Results, path: Path, title: str) -> None:
    """Recall against queries a second, and memory beside it."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6), gridspec_kw={"width_ratios": [3, 2]})
    measured = {name: one for name, one in found.items() if "curve" in one}
    colours = plt.get_cmap("tab20")
    for place, (name, one) in enumerate(measured.items()):
        points = [point for point in one["curve"] if point["recall"] >= 0.7]
        ours = name.startswith("Monograph")
        left.plot(
            [point["recall"] for point in points],
            [1e6 / point["p50"] for point in points],
            marker="o" if ours else ".",
            linewidth=2.2 if ours else 1,
            label=name,
            color=colours(place % 20),
        )
    left.set(yscale="log", xlabel="recall@10", ylabel="queries a second (1 / p50)", title=title)
    left.grid(visible=True, which="both", alpha=0.3)
    left.legend(fontsize=7, loc="lower left")
    names = list(measured)
    places = range(len(names))
    anonymous = [max(0.0, measured[name]["anonymous"] / 1e6) for name in names]
    files = [max(0.0, measured[name]["files"] / 1e6) for name in names]
    right.barh(places, anonymous, color="tab:red", label="anonymous")
    right.barh(
        places, files, left=anonymous, color="tab:gray", alpha=0.5, label="of files (the system may take it back)"
    )
    right.set_yticks(list(places), names, fontsize=7)
    right.invert_yaxis()
    right.set(xlabel="MB in memory after the queries")
    right.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
