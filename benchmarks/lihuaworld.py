"""Evidence recall of search modes on the dev questions of LiHuaWorld, whose chats are synced from a folder."""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import asdict
from pathlib import Path

from machine import SHARED, console, machine, save, show
from monograph import Monograph
from monograph.evaluate import run as runs
from monograph.evaluate.datasets import load_dataset, write_texts
from monograph.evaluate.run import save_plot

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--data", type=Path, default=SHARED / "data/lihuaworld")
parser.add_argument("--how", default="lexical,tfidf,dense,hybrid,graph")
parser.add_argument("--json", type=Path)
parser.add_argument("--plot", type=Path)
options = parser.parse_args()

dataset = load_dataset(options.data)
with tempfile.TemporaryDirectory() as folder:
    texts = Path(folder) / "texts"
    write_texts(dataset, texts)
    with Monograph.open(Path(folder) / "set.mono") as monograph:
        report = monograph.sync(texts)
        results = runs.compare(monograph, dataset.questions, options.how.split(","))
        size = monograph.stats().file_bytes
console.print(machine())
console.print(
    f"{dataset.name}: {report.added} documents, {report.chunks_added} chunks in {report.seconds:.2f} s, {size / 1e6:.1f} MB"
)
show("recall", runs.headings(5), [runs.row(result) for result in results])
show("cost", runs.COST_HEADINGS, [runs.cost_row(result) for result in results])
save(options.json, [asdict(result) for result in results])
if options.plot:
    save_plot(results, dataset.name, options.plot)
