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
        "Python thread sends one query at a time. Written by `make bench-vectors`; the figures, with more indexes and "
        "settings, are in [vectors.json](vectors.json). Differences below 1.5x between times are noise on this "
        "machine.",
    ]
    if any(section in results for section in LISTED):
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
    if "expected" in results:
        parts += ["## Expected and measured", EXPECTED, *expected(results["expected"], results.get("real", {}))]
    (folder / "vectors.md").write_text("\n\n".join(parts) + "\n")


def beside_rivals(results: Results, folder: Path) -> list[str]:
    """Return the paragraphs on the sets on which rivals were measured, and plot each set."""
    parts = []
    for heading, sets in SETS.items():
        rows, recipes, plots, listed = [], [], [], []
        for section, label in sets.items():
            if section in results:
                found = {name: results[section][name] for name in LISTED[section] if name in results[section]}
                listed += list(found.values())
                rows += rival_rows(found, PREFIXES[section])
                recipes.append(f"{label} {results['recipes'][section]}.")
                plot(results[section], folder / f"vectors-{section}.png", PLOTS[section])
                plots.append(f"![Recall against queries a second, and memory](vectors-{section}.png)")
        if rows:
            parts += [f"## {heading}", " ".join(recipes), table(RIVAL_HEADINGS, rows), *earlier_run(listed), *plots]
    return parts


def earlier_run(listed: Sequence[Results]) -> list[str]:
    """Return the note on the starred rows, if there are any."""
    machines = sorted({one["machine"] for one in listed if one.get("earlier")})
    return [f"\\* Measured in an earlier run: {'; '.join(machines)}."] if machines else []


SETS = {
    "Real embeddings": {"real": "Vectors and queries are made by"},
    "A million vectors": {"synthetic": "*Easy* vectors lie around centres and are", "million": "*Real* vectors are"},
}
"""Headings, and the sets below each; the recipe of a set continues the text."""
PREFIXES = {"real": "", "synthetic": "easy: ", "million": "real: "}
PLOTS = {"real": "Real embeddings", "synthetic": "A million easy vectors", "million": "A million real vectors"}
LISTED = {
    "real": (
        "Monograph",
        "Monograph, all in memory",
        "Monograph, cache_bytes=0",
        "hnswlib",
        "usearch",
        "faiss HNSW",
        "usearch, view",
        "LanceDB",
        "Chroma",
        "sqlite-vec",
    ),
    "synthetic": ("Monograph", "hnswlib"),
    "million": ("Monograph", "Monograph, all in memory", "hnswlib"),
}
"""Indexes in the table of each set; the plots and the JSON have all of them."""
COLUMNS = (
    "The next two sections compare indexes. Each index has settings that trade recall for time. *p50* is the median "
    "time of a query, with the setting that reaches the column's recall@10. If no setting has this recall, the "
    "time is for the recall in parentheses. *Anonymous memory* is the private memory of the index. *File pages* are "
    "parts of its files in memory that the system may reclaim. *Cold start* is the time to open the index and run one "
    "query when nothing is cached. Less is better. Monograph has its default cache, a cache for all vectors, or no "
    "cache. *usearch, view* maps its file into memory. *The shared texts* are the texts of the question sets."
)
STOPPED = {
    "RankAware, exponential": "`RankAware`",
    "VBase, e = k": "`VBase`",
    "Budget": "`Budget`",
}
"""Labels of the stop conditions in the table."""
STOPPING = (
    "A query reads clusters one by one until a stop condition ends it. The table shows the mean number of clusters "
    "that a query reads (*loads*) if each condition is set to recall@10 0.95; fewer is better. `RankAware` and `VBase` "
    "are the same rule here: stop after X loads in a row without a new result in the ten best. `Budget` stops after a "
    "fixed number of loads, and `Never` reads all clusters. The last two rows are `RankAware` with a given X; the "
    "recall is in parentheses. Each set has 100,000 of the MiniLM or easy vectors above. The index has the `graph` "
    "design and ranks results by their codes."
)
CHANGING = (
    "An index of 40,000 MiniLM vectors gets 40,000 more vectors in batches of 1,000. Then 30 % of all vectors are "
    "deleted, also in batches. The changed index is compared with new indexes of the same vectors. Searches are for "
    "ten results, and calibrated for a recall of 0.95. Less is better, except for recall."
)
PUBLIC = (
    "The vectors are static word vectors of sentences, with 256 values. The first two rows search by a vector for ten "
    "results; `Monograph.search` also returns the texts of the hits. In the last row, `Monograph.search` embeds a "
    "question and returns five hits."
)
FILTERED = (
    "The next table shows searches for ten results in the vector stores for LlamaIndex and LangChain. A metadata filter "
    "allows a share of the nodes. All questions of a row use the same filter value, but in the last column, the value "
    "changes with every question."
)
FILTERED_SHARES = ("all", "10 %", "0.1 %")
PUBLIC_HEADINGS = ("search", "p50, µs", "recall@10, or @5 for a question")
FILTERED_HEADINGS = (
    "store, share of nodes allowed",
    "p50, µs",
    "recall@10",
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
EXPECTED = (
    "MobileRAG has cost models of vector indexes. The table compares their predictions with measurements on the MiniLM "
    "vectors; errata of the models are corrected. Less is better. The time is predicted for the paper's phone. "
    "Measured memory is anonymous memory. Measured time is p50 at recall 0.95, or at the best recall reached. IVF, "
    "HNSW and IVF-DISK are measured with faiss. EcoVector is measured with one hnswlib file per cluster, as in the "
    "paper. The model of EcoVector omits the time to load such a file."
)
PREDICTED = {
    "IVF": "faiss IVF",
    "HNSW": "faiss HNSW",
    "IVF-DISK": "faiss IVF-DISK",
    "EcoVector": "hnswlib files",
    "Monograph": "Monograph",
}
"""Algorithms in the table of the models, and the index that each is measured with."""


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "| --- |" + " ---: |" * (len(headings) - 1)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def number(value: float | None, digits: int = 0) -> str:
    return "—" if value is None or math.isnan(value) else f"{value:,.{digits}f}"


def at_target(curve: Sequence[Results], target: float, what: str = "p50") -> str:
    """Return a figure at a recall; if the curve does not have this recall, the nearest one follows in parentheses."""
    value, recall = at_recall(curve, target, what)
    return number(value) if round(recall, 3) == target else f"{number(value)} ({recall:.3f})"


RIVAL_HEADINGS = (
    "index",
    "p50 at recall 0.95, µs",
    "p50 at recall 0.99, µs",
    "anonymous memory, MB",
    "file pages in memory, MB",
    "cold start, ms",
    "build time, s",
    "size of files, MB",
)


def starred(name: str, one: Results) -> str:
    """Return a row's label, with a star if it was measured in an earlier run."""
    return f"{name} *" if one.get("earlier") else name


def rival_rows(found: Results, prefix: str) -> list[list[str]]:
    rows = []
    for name, one in found.items():
        label = prefix + starred(name, one)
        if "curve" not in one:
            rows.append([label, f"failed: {one.get('failed')}", *["—"] * (len(RIVAL_HEADINGS) - 2)])
            continue
        rows.append(
            [
                label,
                at_target(one["curve"], 0.95),
                at_target(one["curve"], 0.99),
                number(one["anonymous"] / 1e6, 1),
                number(one["files"] / 1e6, 1),
                number(one.get("cold"), 1),
                number(one["build"]["seconds"], 1),
                number(one["build"]["bytes"] / 1e6),
            ]
        )
    return rows


THREADS_HEADINGS = ("threads, recall@10", "Monograph, queries/s", "hnswlib, queries/s")


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
        [f"{said}, {target}", *(at_target(found["curves"][name], target, what) for name in ("Monograph", "hnswlib"))]
        for target in (0.95, 0.99)
        for what, said in (("one", "one thread"), ("threads", "8 threads"))
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
    rows = []
    for store, shares in found["filtered"].items():
        for said in FILTERED_SHARES:
            one = shares[said]
            other = f"{one['changing']:,.0f}" if "changing" in one else "—"
            rows.append([f"{store}, {said}", _micro(one), _recall(one), other])
    return rows


def _micro(one: Results) -> str:
    return f"{one['p50']:,.0f}"


def _recall(one: Results) -> str:
    return f"{one['recall']:.3f}"


def stopping_table(found: Results) -> str:
    sets = [found["real"], found["easy"]]
    rows = [[label, *(number(one[name]["recall"], 1) for one in sets)] for name, label in STOPPED.items()]
    rows.append(["`Never`", *(number(one["Never"]["recall"]) for one in sets)])
    windows = {"the paper's X = 2": "X = 2, as in the paper", "calibrated": "X that Monograph calibrates"}
    for name, label in windows.items():
        rows.append([label, *(f"{number(one[name]['loads'], 1)} ({one[name]['reached']:.3f})" for one in sets)])
    return table(("stop condition", "MiniLM vectors, loads", "easy vectors, loads"), rows)


def search_table(found: Results, what: str) -> str:
    rows = [[name, f"{one['recall']:.3f}", number(one["p50"]), number(one["loads"], 1)] for name, one in found.items()]
    return table((what, "recall@10", "p50, µs", "mean clusters read"), rows)


def changing_tables(found: Results) -> list[str]:
    searched = {STATES[name]: one for name, one in found.items() if "recall" in one}
    costs = [
        [COSTS[name], *(number(one[kind], 1) for kind in ("median", "worst"))]
        for name, one in found.items()
        if "median" in one
    ]
    return [
        search_table(searched, "index"),
        "The next table shows the time of each change, including its commit; less is better:",
        table(["change", "median", "worst"], costs),
    ]


def expected(found: Results, real: Results) -> list[str]:
    """Return the table of the models, and a note on its starred rows."""
    measured = {name: real.get(rival, {}) for name, rival in PREDICTED.items() if name in found}
    rows = [
        [
            starred(name, one),
            number(found[name]["memory"], 1),
            number(found[name]["measured_memory"], 1),
            number(found[name]["phone_ms"], 2),
            number(found[name]["measured_us"] / 1e3, 3),
        ]
        for name, one in measured.items()
    ]
    headings = ("algorithm", "memory predicted, MB", "memory measured, MB", "time predicted, ms", "time measured, ms")
    return [table(headings, rows), *earlier_run(list(measured.values()))]


def plot(found: Results, path: Path, title: str) -> None:
    """Plot recall against queries per second, and the memory of each index."""
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
