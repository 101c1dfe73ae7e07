"""Recall@5 without a reranker, with a reranker at several weights, and with the reranker alone.

No cross-encoder is available here. By default, the reranker is the cosine of MiniLM's embeddings, which embed the text
without the question. ``--reranker`` takes another one.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from statistics import mean, median

from machine import SHARED, console, machine, save, show
from monograph import Monograph
from monograph.derive.loading import load_reranker
from monograph.derive.rerank.function import ScoringFunction
from monograph.evaluate.datasets import load_dataset
from monograph.evaluate.metrics import recall_at_k

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--sets", default="musique,hotpotqa,lihuaworld,squad")
parser.add_argument("--questions", type=int, default=100)
parser.add_argument("--reranker", default=f"embedder:onnx:{SHARED / 'models' / 'all-MiniLM-L6-v2'}")
parser.add_argument("--weights", default="0.5,1,2,1e7", help="the last is taken for that of the reranker alone")
parser.add_argument("--json", type=Path)
options = parser.parse_args()
CHUNKS = 20
"""Chunks of a search. The first five documents among them count."""

made = load_reranker(options.reranker)
weights = [float(one) for one in options.weights.split(",")]
table: dict[str, dict[str, float]] = {}
rows = []
seconds: list[float] = []
for name in options.sets.split(","):
    dataset = load_dataset(SHARED / "data" / name)
    asked = [one for one in dataset.questions if one.evidence_ids]
    questions = asked[:: max(1, len(asked) // options.questions)][: options.questions]
    with tempfile.TemporaryDirectory() as folder, Monograph.open(Path(folder) / "set.mono") as monograph:
        monograph.add(dataset.documents)
        for how in ("hybrid", "graph"):
            found: dict[str, float] = {}
            for weight in (None, *weights):
                reranker = "" if weight is None else ScoringFunction(made.score, made.key, weight)
                recalls = []
                for question in questions:
                    started = time.process_time()
                    hits = monograph.search(question.question, CHUNKS, how, reranker=reranker)
                    if weight == weights[0]:  # Later weights use stored scores.
                        seconds.append(time.process_time() - started)
                    documents = tuple(dict.fromkeys(hit.chunk.document_id for hit in hits))
                    recalls.append(recall_at_k(documents, question.evidence_ids, 5))
                found["off" if weight is None else "alone" if weight > 1e6 else f"weight {weight:g}"] = mean(recalls)
            table[f"{name}: {how}"] = found
            rows.append((f"{name}: {how}", str(len(questions)), *(f"{100 * value:.1f}" for value in found.values())))
            console.print(*rows[-1])
console.print(machine())
show("recall@5, in percent", ("set", "questions", *next(iter(table.values()))), rows)
console.print(f"{1000 * median(seconds):.0f} ms of a processor a question, at the median")
save(options.json, table)
