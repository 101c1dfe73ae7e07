"""Recall@5 on the dev sets by the weight of dense scores in the fusion."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from machine import SHARED, console, machine, save, show
from monograph import Monograph
from monograph.evaluate.datasets import load_dataset
from monograph.evaluate.run import evaluate
from monograph.search import fusion

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--sets", default="lihuaworld,hotpotqa,multihop-rag,squad")
parser.add_argument("--questions", type=int, default=300)
parser.add_argument("--json", type=Path)
options = parser.parse_args()
DENSE_WEIGHTS = (0.2, 0.5, 1.0)

table: dict[str, dict[str, float]] = {}
for name in options.sets.split(","):
    dataset = load_dataset(SHARED / "data" / name)
    questions = dataset.questions[: options.questions]
    with tempfile.TemporaryDirectory() as folder, Monograph.open(Path(folder) / "set.mono") as monograph:
        monograph.add(dataset.documents)
        for mode in ("lexical", "dense"):
            table.setdefault(mode, {})[name] = evaluate(monograph, questions, mode).scores.recall[4]
        for weight in DENSE_WEIGHTS:
            fusion.WEIGHTS["dense"] = weight
            recall = evaluate(monograph, questions, "hybrid").scores.recall[4]
            table.setdefault(f"hybrid, dense x {weight}", {})[name] = recall
names = options.sets.split(",")
rows = [(label, *(f"{found[name]:.3f}" for name in names)) for label, found in table.items()]
console.print(machine())
show("recall@5, dev questions", ("weight", *names), rows)
save(options.json, table)
