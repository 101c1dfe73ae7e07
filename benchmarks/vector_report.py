"""Report of benchmarks/vectors.py: the page docs/benchmarks/vectors.md and its plots."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from monograph.vectors.stop import Exponential
from page import NOISE, write_page

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


def write(results: Results, folder: Path) -> list[Path]:
    """Write vectors.md, vectors.json and the plot; return the paths."""
    sections: dict[str, tuple[str, Callable[[Results], list[str]]]] = {
        "real": ("Real embeddings", real),
        "cold": ("Cold storage", lambda found: [cold_said(found), table(COLD_HEADINGS, cold_rows(found))]),
        "million": ("A million vectors", million),
        "public": ("Through the public class", public),
        "threads": (
            "Concurrent queries",
            lambda found: [threads_said(found), table(THREADS_HEADINGS, threads_rows(found))],
        ),
        "stopping": ("Stopping early", stopping),
        "churn": ("Inserts and deletes", lambda found: [churn_said(found), table(CHURN_HEADINGS, churn_rows(found))]),
        "centroids": ("Nearest centroids", lambda found: [CENTROIDS, table(CENTROID_HEADINGS, centroid_rows(found))]),
    }
    paths = write_page(results, folder / "vectors.md", "The vector index, measured", sections, remark=REMARK)
    if "real" in results:
        paths.append(folder / "vectors-real.png")
        plot(results["real"]["found"]["indexes"], paths[-1])
    return paths


def real(found: Results) -> list[str]:
    """Return the paragraphs on the rivals on real embeddings, and on the paper's cost models."""
    has_rapl = any(one["measured_mJ"] is not None for one in found["expected"].values())
    columns = len(EXPECTED_HEADINGS) if has_rapl else -1
    return [
        REAL.format(found["recipe"], found["instructions"]),
        rival_table({name: one for name, one in found["indexes"].items() if name not in COLD_ONLY}, TIMES | SIZES),
        "![Recall against queries a second, and memory](vectors-real.png)",
        EXPECTED + (RAPL if has_rapl else NO_RAPL),
        table(EXPECTED_HEADINGS[:columns], [row[:columns] for row in expected_rows(found["expected"])]),
    ]


def million(found: Results) -> list[str]:
    """Return the paragraphs on a million vectors of each set."""
    indexes = {f"{name}: {index}": one for name in found for index, one in found[name]["indexes"].items()}
    return [
        " ".join(f"*{name.capitalize()}* vectors are {one['recipe']}." for name, one in found.items()),
        rival_table(indexes, {heading: TIMES[heading] for heading in MANY_TIMES} | SIZES),
    ]


def public(found: Results) -> list[str]:
    """Return the paragraphs on searches through public classes."""
    return [
        PUBLIC,
        table(PUBLIC_HEADINGS, public_rows(found)),
        FILTERED,
        table(FILTERED_HEADINGS, filtered_rows(found)),
    ]


REMARK = (
    " Each index is built first; then a new process opens its files, and one Python thread sends one query at a time."
    f" The JSON has more settings.{NOISE}"
)
COLD_ONLY = ("Monograph, cache_bytes=0", "Monograph, graph, cache_bytes=0", "hnswlib files")
"""Indexes whose rows are in the table of cold queries only."""
REAL = (
    "Vectors and queries are made by {} (the texts of the question sets). All indexes were measured in one run; the "
    "kernel of Monograph uses {}. The first columns show the median time of a query in µs (p50) with the setting that "
    "reaches the column's recall@k. If no setting has this recall, the time is for the recall in parentheses. "
    "*Anonymous memory* is the private memory of the index. *File pages* are parts of its files in memory that the "
    "system may reclaim. *Cold start* is the time to open the index and run one query when nothing is cached. Less is "
    "better. Monograph has its default cache or a cache for all vectors; *graph* is the design `graph`. *faiss IVF on "
    "disk* has its lists in a mapped file (OnDiskInvertedLists). *usearch, view* is an HNSW graph in a mapped file."
)
STOPPING = (
    "A query reads clusters one by one until a stop condition ends it. The table shows the mean number of clusters that "
    "questions read (*loads*) if each condition is set to the same recall or ranked recall; fewer is better. `VBase` "
    "stops after a window of loads without a new result. `RankAware` with an epsilon above 0 ignores new results of low "
    "weight; the best of six combinations of epsilon, tau and beta counts. `Budget` stops after a fixed number of loads, "
    "and `Never` reads all clusters. *Calibrated* is the condition that Monograph chooses on vectors of the index, with "
    "the value that it reached for questions in parentheses. Each set has 100,000 of the MiniLM or easy vectors above, "
    "in the default design; [vectors.json](vectors.json) has the `graph` design, too."
)
STOPPED_CONTEXTS = (
    "The next table shows the share of questions whose context contains the answer, and the mean loads. The "
    "{questions} questions and {passages:,} passages are of SQuAD, HotpotQA, 2WikiMultihopQA, MuSiQue and PopQA, with "
    "static word vectors. More answers and fewer loads are better."
)
MISSING_RANKS = (
    "The last table shows what one missing passage costs (the paper's Fig. 3). Of 20 passages that an exact `dense` "
    "search finds, the passage of one rank is left out. An answer is lost if no other passage contains it. {found} of the "
    "questions have an answer among the 20. The weight is `Exponential()` at that rank."
)
PUBLIC = (
    "The vectors are static word vectors of sentences, with 256 values. The first two rows search by a vector for ten "
    "results; `Monograph.search` also returns the texts of the hits. In the last row, `Monograph.search` embeds a "
    "question and returns five hits."
)
FILTERED = (
    "The next table shows searches for ten results in the vector stores for LlamaIndex and LangChain: p50 in µs, and "
    "recall@10 in parentheses. A metadata filter allows a share of the nodes. All questions have the same filter value, "
    "or each has a new one."
)
PUBLIC_HEADINGS = ("search", "p50, µs", "recall@10, or @5 for a question")
FILTERED_HEADINGS = ("store", "all", "10 %", "10 %, new value", "0.1 %", "0.1 %, new value")
EXPECTED = (
    "MobileRAG has cost models of vector indexes. The next table compares their predictions for the paper's phone with "
    "measurements of the same run; errata of the models are corrected. IVF, HNSW and IVF-DISK are measured with faiss, "
    "EcoVector with hnswlib files. Measured memory is anonymous memory, and measured time is p50 at recall@10 0.95, or "
    "at the best recall. Predicted energy is V (I_s t_s + I_d t_d). The model of EcoVector omits the time to parse a file."
)
RAPL = " Measured energy is that of the whole processor (RAPL), per query."
NO_RAPL = " This machine does not show its energy (RAPL), so energy is predicted only."
EXPECTED_HEADINGS = (
    "algorithm",
    "memory predicted, MB",
    "memory measured, MB",
    "time predicted, ms",
    "time measured, ms",
    "energy predicted, mJ",
    "energy measured, mJ",
)
MEASURED = {
    "IVF": "faiss IVF",
    "HNSW": "faiss HNSW",
    "IVF-DISK": "faiss IVF on disk",
    "EcoVector": "hnswlib files",
    "Monograph": "Monograph",
}
"""Algorithms in the table of the models, and the index that each is measured with."""
COLD_HEADINGS = (
    "index",
    "recall@10",
    "p50, ms",
    "p50, limited, ms",
    "reads per query",
    "MB read per query",
    "anonymous memory, MB",
    "energy by the model, mJ",
)
CHURN_HEADINGS = (
    "index",
    "inserts/s",
    "deletes/s",
    "one insert, ms",
    "one delete, ms",
    "recall@10 after",
    "recall@10, new index",
    "p50 after, µs",
    "p50, new index, µs",
)
CENTROIDS = (
    "The design `graph` keeps an HNSW graph of its centroids in memory. The table compares it with hnswlib and with a "
    "comparison of all codes, for the 32 nearest centroids of MiniLM vectors: recall@32 and p50, size, and build time. "
    "Both graphs have the same parameters. Codes and Monograph's graph have one byte per value."
)
CENTROID_HEADINGS = ("centroids", "all codes", "Monograph", "hnswlib")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "| --- |" + " ---: |" * (len(headings) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(value: float | None, digits: int = 0) -> str:
    return "—" if value is None or math.isnan(value) else f"{value:,.{digits}f}"


def at_target(curve: Sequence[Results], target: float, what: str = "p50") -> str:
    """Return a figure at a recall; if the curve does not have this recall, the nearest one follows in parentheses."""
    value, recall = at_recall(curve, target, what)
    return number(value) if round(recall, 3) == target else f"{number(value)} ({recall:.3f})"


def _time(k: int, target: float) -> Callable[[Results], str]:
    return lambda one: at_target(one["curves"][f"k={k}"], target)


TIMES: dict[str, Callable[[Results], str]] = {
    f"k = {k}, recall {target:.2f}": _time(k, target) for k in (10, 100) for target in (0.9, 0.95, 0.99)
}
SIZES: dict[str, Callable[[Results], str]] = {
    "anonymous memory, MB": lambda one: number(one["anonymous"] / 1e6, 1),
    "file pages in memory, MB": lambda one: number(one["files"] / 1e6, 1),
    "size of files, MB": lambda one: number(one["build"]["bytes"] / 1e6),
    "cold start, ms": lambda one: number(one["cold"], 1),
    "build time, s": lambda one: number(one["build"]["seconds"], 1),
}


MANY_TIMES = ("k = 10, recall 0.95", "k = 10, recall 0.99", "k = 100, recall 0.95")


def rival_table(found: Results, columns: dict[str, Callable[[Results], str]]) -> str:
    """Return a table with a row for each index, and the given columns."""
    rows = [
        [name, *(column(one) for column in columns.values())]
        if "curves" in one
        else [name, f"failed: {one.get('failed')}", *["—"] * (len(columns) - 1)]
        for name, one in found.items()
    ]
    return table(("index", *columns), rows)


def cold_said(found: Results) -> str:
    is_limited = all(one["limited"]["is_limited"] for one in found["indexes"].values() if "failed" not in one)
    return (
        "The table shows 50 queries of the indexes that can stay on disk. *hnswlib files* is EcoVector as in MobileRAG: one "
        "hnswlib file per cluster. Before each query, the system drops all pages of the index's files; memory of the index "
        "itself is kept. Each index has the cheapest setting with "
        "recall@10 0.95 or more on all queries, or else its best setting. *Limited* means 1,000 reads per second, "
        + (
            "which the system enforces (cgroup)."
            if is_limited
            else "computed: the system cannot enforce it here, so the time is that of all reads at this rate, if longer."
        )
        + f" The system reads mapped files ahead by up to {found['read_ahead_kb']:,} KB; Linux's default is 128 KB."
        " Energy is the paper's model with the measured times: t_s is the time with warm files, and t_d is the rest. "
        "Less is better, except for recall."
    )


def cold_rows(found: Results) -> list[list[str]]:
    return [
        [
            name,
            f"{one['cold']['recall']:.3f}",
            number(one["cold"]["p50"], 1),
            number(one["limited"]["p50"], 1),
            number(one["cold"]["reads"]),
            number(one["cold"]["bytes"] / 1e6, 1),
            number(one["cold"]["anonymous"] / 1e6, 1),
            number(one["energy_mJ"]),
        ]
        if "failed" not in one
        else [name, f"failed: {one['failed']}", *["—"] * 6]
        for name, one in found["indexes"].items()
    ]


def churn_said(found: Results) -> str:
    return (
        f"A fifth of {found['vectors']:,} MiniLM vectors is deleted and replaced by others: first 50 one by one, then "
        "batches of 1,000. One thread makes the changes. Monograph, LanceDB, Chroma and sqlite-vec commit each batch to "
        "their files; LanceDB also updates its index at the end. The others change memory only. The changed index is "
        "compared with a new index of the same vectors, at the setting that gives the new one recall 0.95. More is "
        "better, except for times."
    )


def churn_rows(found: Results) -> list[list[str]]:
    rows = []
    for name, one in found.items():
        if name == "vectors":
            continue
        if "new" not in one:
            rows.append([name, f"failed: {one.get('failed')}", *["—"] * 7])
            continue
        rows.append(
            [
                name,
                *(number(one[f"{work}s per second"]) for work in ("insert", "delete")),
                *(number(one[f"one {work}, ms"], 2) for work in ("insert", "delete")),
                *(f"{one[state]['recall']:.3f}" for state in ("changed", "new")),
                *(number(one[state]["p50"]) for state in ("changed", "new")),
            ]
        )
    return rows


def centroid_rows(found: Results) -> list[list[str]]:
    def cell(one: Results) -> str:
        return (
            f"{one['recall']:.3f} in {one['p50']:.0f} µs, {one['bytes'] / 1e6:.1f} MB, {one['seconds'] * 1e3:,.0f} ms"
        )

    return [[f"{int(count):,}", *map(cell, indexes.values())] for count, indexes in found.items()]


THREADS_HEADINGS = (
    "index",
    *(f"{threads}, recall {target}" for target in (0.95, 0.99) for threads in ("one thread", "8 threads")),
)


def threads_said(found: Results) -> str:
    return (
        "The table shows the queries per second of one Python thread and of eight; more is better. Both indexes have "
        f"{found['vectors']:,} MiniLM vectors. The machine has {found['processors']} processors. Monograph keeps all "
        "codes in memory. The best of three rounds counts. In Monograph, Python "
        "code and SQLite hold Python's global interpreter lock for two thirds of the time of a query."
    )


def threads_rows(found: Results) -> list[list[str]]:
    """Return the rates of both indexes at two recalls."""
    return [
        [name, *(at_target(curve, target, what) for target in (0.95, 0.99) for what in ("one", "threads"))]
        for name, curve in found["curves"].items()
    ]


def public_rows(found: Results) -> list[list[str]]:
    ours, theirs, asked = found["by vector"]["Monograph.search"], found["by vector"]["hnswlib"], found["by question"]
    count = f"{found['by vector']['vectors']:,} vectors"
    return [
        [f"`Monograph.search` with a vector, {count}", _micro(ours), _recall(ours)],
        [f"hnswlib's `knn_query`, {count}", _micro(theirs), _recall(theirs)],
        [f"`Monograph.search` with a question, {asked['texts']:,} texts", _micro(asked), _recall(asked)],
    ]


def filtered_rows(found: Results) -> list[list[str]]:
    def cells(one: Results) -> list[str]:
        return [f"{_micro(one)} ({_recall(one)})", *([number(one["changing"])] if "changing" in one else [])]

    return [
        [store, *(cell for share in ("all", "10 %", "0.1 %") for cell in cells(shares[share]))]
        for store, shares in found["filtered"].items()
    ]


def _micro(one: Results) -> str:
    return f"{one['p50']:,.0f}"


def _recall(one: Results) -> str:
    return f"{one['recall']:.3f}"


def stopping(found: Results) -> list[str]:
    """Return the paragraphs and tables on stop conditions."""
    rows = []
    for name, label in (("MiniLM", "MiniLM"), ("synthetic", "easy")):
        for case, one in found["loads"][f"{name}, codes"].items():
            k, measure = case.split(", ")
            calibrated = f"{number(one['loads'], 1)} ({one['reached']:.3f})"
            cells = [number(one[kind], 1) for kind in ("VBase", "RankAware", "Budget")]
            rows.append([f"{label}, {k} results, {measure}", *cells, number(one["Never"]), calibrated])
    contexts = [
        [label, *(cell for one in row.values() for cell in (f"{one['held']:.3f}", number(one["loads"], 1)))]
        for label, row in found["contexts"].items()
    ]
    lost, weights = found["lost"], Exponential().of_ranks(len(found["lost"]))
    ranks = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 10), (10, 20)]
    missing = [
        [
            str(first) if last == first + 1 else f"{first}–{last - 1}, mean",
            f"{100 * float(np.mean(lost[first:last])):.2f} %",
            f"{float(np.mean(weights[first:last])):.2f}",
        ]
        for first, last in ranks
    ]
    headings = ("vectors, target", "`VBase`", "`RankAware`", "`Budget`", "`Never`", "calibrated")
    return [
        STOPPING,
        table(headings, rows),
        STOPPED_CONTEXTS.format(**found),
        table(("stop", "answers, `dense`", "loads", "answers, `hybrid`", "loads"), contexts),
        MISSING_RANKS.format(found=f"{found['found']:.1%}".replace("%", " %")),
        table(("rank", "answers lost", "weight"), missing),
    ]


def expected_rows(found: Results) -> list[list[str]]:
    return [
        [
            name,
            number(found[name]["memory"], 1),
            number(found[name]["measured_memory"], 1),
            number(found[name]["phone_ms"], 2),
            number(found[name]["measured_us"] / 1e3, 3),
            number(found[name]["energy_mJ"], 1),
            number(found[name]["measured_mJ"], 1),
        ]
        for name in MEASURED
    ]


def plot(found: Results, path: Path) -> None:
    """Plot recall against queries per second, and the memory of each index."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(13, 6), gridspec_kw={"width_ratios": [3, 2]})
    measured = {name: one for name, one in found.items() if "curves" in one}
    colours = plt.get_cmap("tab20")
    for place, (name, one) in enumerate(measured.items()):
        points = [point for point in one["curves"]["k=10"] if point["recall"] >= 0.7]
        ours = name.startswith("Monograph")
        left.plot(
            [point["recall"] for point in points],
            [1e6 / point["p50"] for point in points],
            marker="o" if ours else ".",
            linewidth=2.2 if ours else 1,
            label=name,
            color=colours(place % 20),
        )
    left.set(yscale="log", xlabel="recall@10", ylabel="queries a second (1 / p50)", title="Real embeddings")
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
