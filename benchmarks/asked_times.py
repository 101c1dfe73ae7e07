"""Recall on questions that ask for a time: with and without a lift for hits from that time, and with random dates."""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from machine import SHARED, console, machine, save, show
from monograph import Document, Monograph
from monograph.dates.relative import TIMES
from monograph.evaluate import run as runs
from monograph.evaluate.datasets import QuestionSet, load_dataset
from monograph.search import rerank

PLACES = (0, 5, 10, 15)
"""Numbers of places that hits from the requested time move up; 0 changes nothing."""

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--sets", default="lihuaworld,multihop-rag")
parser.add_argument("--json", type=Path)
options = parser.parse_args()


def documents(dataset: QuestionSet, lot: random.Random | None) -> Iterator[Document]:
    """Yield the documents with dates as their only metadata. ``lot`` shuffles the dates."""
    told = [one.metadata["date"] for one in dataset.documents if one.metadata.get("date")]
    if lot is not None:
        lot.shuffle(told)
    days = iter(told)
    for one in dataset.documents:
        metadata = {"date": next(days)} if one.metadata.get("date") else {}
        yield Document(one.text, id=one.id, title=one.title, metadata=metadata)


def measured(dataset: QuestionSet, lot: random.Random | None) -> Iterator[tuple[str, runs.Result]]:
    """Yield (label, result) of each lift, over the questions that ask for a time."""
    asked = [one for one in dataset.questions if one.evidence_ids and TIMES.search(one.question)]
    with tempfile.TemporaryDirectory() as folder, Monograph.open(Path(folder) / "set.mono") as monograph:
        monograph.add(documents(dataset, lot))
        for places in PLACES:
            rerank.PLACES = places
            yield f"{places} places" + (", by lot" if lot else ""), runs.evaluate(monograph, asked, "auto")


rows, kept = [], list[Any]()
for name in options.sets.split(","):
    loaded = load_dataset(SHARED / "data" / name)
    for lot in (None, random.Random(1)):
        for way, result in measured(loaded, lot):
            scores = result.scores
            figures = (scores.recall[0], scores.recall[4], scores.recall[9], scores.reciprocal_rank)
            rows.append([name, str(scores.questions), way, *(f"{one:.3f}" for one in figures)])
            kept.append({"set": name, "way": way, **asdict(result)})
console.print(machine())
show("times", ["set", "questions", "lift", "recall@1", "@5", "@10", "MRR"], rows)
save(options.json, kept)
