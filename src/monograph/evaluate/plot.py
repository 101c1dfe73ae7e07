"""Results as a picture (extra ``bench``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from monograph.errors import MissingExtra
from monograph.evaluate.run import Result


def save_plot(results: Sequence[Result], name: str, path: Path) -> None:
    """Write a PNG: recall@k for k = 1 to 10 by mode, and recall against latency.

    Raises
    ------
    MissingExtra
        If matplotlib is not installed.
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("plots need matplotlib", 'pip install "monograph[bench]"') from error
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    curve, speed = figure.subplots(1, 2)
    for result in results:
        ks = range(1, len(result.scores.recall) + 1)
        curve.plot(ks, result.scores.recall, marker="o", markersize=3, label=result.how)
        at_k = result.scores.recall[min(result.k, len(result.scores.recall)) - 1]
        speed.scatter(result.p50, at_k, label=result.how)
        speed.annotate(result.how, (result.p50, at_k), textcoords="offset points", xytext=(6, 4))
    curve.set(xlabel="k (documents)", ylabel="recall@k", title=name, ylim=(0, 1))
    curve.grid(alpha=0.3)
    curve.legend(loc="lower right")
    speed.set(
        xlabel="p50 latency (ms)", ylabel=f"recall@{results[0].k}", title="recall against latency", xlim=(0, None)
    )
    speed.grid(alpha=0.3)
    figure.savefig(path, dpi=150)
