"""Benchmark of answers without a model: accuracy of the first sentence, and abstention where the file has no answer.

``make bench-answers`` runs all sections and writes docs/benchmarks/answers.md. ``--only leads`` runs one section, and
``--questions 50`` limits the questions of each set. ``--files FOLDER`` uses existing files SET-static.mono.
``--contextual FOLDER`` also measures files of another embedder, SET-onnx.mono. The benchmark chooses the weights of
answer/confidence.py again and prints them. It needs the question sets, and downloads nothing.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import answers_report
import graph_files
from graph_files import dataset, fresh
from machine import SHARED, console, run_sections
from monograph import Monograph
from monograph.answer import confidence, context
from monograph.answer.pack import Packing
from monograph.answer.reading import query_terms, read_hits
from monograph.derive.loading import load_embedder
from monograph.derive.tokens import count_tokens
from monograph.evaluate.datasets import EvaluationQuestion
from monograph.evaluate.metrics import contains_answer, mean
from monograph.graph.evidence import Float64, Model
from monograph.values import Hit

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs" / "benchmarks"
CACHE = HERE.parent / "build" / "answers"
LEADS = ("squad", "nq-sample", "lihuaworld", "musique")
CHOSEN_ON = ("lihuaworld", "nq-sample", "musique", "squad", "hotpotqa")
"""Sets on which the weights of the confidence are chosen, without MultiHop-RAG: its questions are too unlike others."""

SILENCE = (*CHOSEN_ON, "multihop-rag")
MANY_HOPS = ("musique", "hotpotqa")
CONTEXTUAL = ("lihuaworld", "musique")
MINILM = SHARED / "models" / "all-MiniLM-L6-v2"
MOST = {"squad": 600, "hotpotqa": 100, "multihop-rag": 60}
"""Most answerable questions of a set in the section `silence`: those whose ids have the lowest SHA-256."""

FALSE = 0.05
"""Share of answerable questions that a chosen threshold may leave unanswered."""

THRESHOLDS = (0.06, 0.10, 0.14, 0.18, 0.20, confidence.LEAST, 0.25, 0.30, 0.35, 0.40, 0.50)
OTHERS = 60.0
"""Total weight of a set's questions when the sentence weights are chosen; in SQuAD, each question has weight 1."""

SMALL = 40
FOUND = 10
Results = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """A question that was searched for, with the features that the confidence model reads (``read``).

    ``kind`` is ``answerable``; ``null`` if the set labels the question as unanswerable; or ``taken out`` if a filter
    hid its evidence documents (for the sets ``MANY_HOPS``, one of them).
    """

    kind: str
    read: Float64


def parity(key: str) -> int:
    return int(hashlib.sha256(key.encode()).hexdigest(), 16)


@contextmanager
def opened(name: str, folder: Path | None, spec: str = "static") -> Iterator[Monograph]:
    """Yield the file of a set: the existing one in ``folder``, or, without a folder, one built for this run."""
    if folder is None:
        with graph_files.opened(name, spec=spec) as monograph:
            yield monograph
        return
    path = folder / f"{name}-{spec.partition(':')[0]}.mono"
    with Monograph.open(path, read_only=True, embedder=load_embedder(spec)) as monograph:
        yield monograph


def worded(question: EvaluationQuestion) -> bool:
    """Return whether a question has evidence, and none of its expected answers is yes, no or empty."""
    return bool(question.evidence_ids) and not {one.lower() for one in question.answers} & {"yes", "no", ""}


def leads(options: argparse.Namespace) -> Results:
    """Measure how often the first sentence has the answer: whole, within 40 tokens, and in its name, date or number."""
    results: Results = {}
    for name in LEADS:
        rows = []
        with opened(name, options.files) as monograph:
            for question in [one for one in dataset(name).questions if worded(one)][: options.questions or None]:
                hits = monograph.search(question.question, FOUND)
                with monograph._file.reading() as reader:
                    whole, small = (
                        context.make_context(reader, question.question, hits, Packing(budget), None)
                        for budget in (1000, SMALL)
                    )
                text = f"» {small.best.text}" if small.best else ""
                assert count_tokens([text])[0] <= SMALL
                narrow = whole.best.within if whole.best else None
                rows.append(
                    {
                        "half": parity(question.id) % 2,
                        "sure": whole.best.confidence if whole.best else 0.0,
                        "whole": contains_answer(whole.best.text if whole.best else "", question.answers),
                        "small": contains_answer(text, question.answers),
                        "passage": contains_answer(hits[0].text if hits else "", question.answers),
                        "found": max((contains_answer(hit.text, question.answers) for hit in hits), default=0.0),
                        "narrow": None if narrow is None else contains_answer(narrow.text, question.answers),
                    }
                )
        parts = {name: rows}
        if name == "squad":
            parts = {
                "squad, chosen on": [one for one in rows if not one["half"]],
                "squad, others": [one for one in rows if one["half"]],
            }
        for part, some in parts.items():
            narrow = [one["narrow"] for one in some if one["narrow"] is not None]
            results[part] = {"questions": len(some), "narrowed": len(narrow), "narrow": mean(narrow)} | {
                key: mean([one[key] for one in some]) for key in ("whole", "small", "passage", "found", "sure")
            }
            console.print(f"{part}: {results[part]}")
    return results


@cache
def cases(name: str, folder: Path | None, most: int | None, spec: str = "static") -> list[Case]:
    """Return the cases of a set: answerable questions, the same questions with hidden evidence, and null questions."""
    asked = sorted(dataset(name).questions, key=lambda one: parity(one.id))
    nothing = [one for one in asked if one.type.lower().startswith("null")]
    told = [one for one in asked if one.evidence_ids][: min(MOST.get(name, len(asked)), most or len(asked))]
    made = []
    with opened(name, folder, spec) as monograph, monograph._file.reading() as snapshot:

        def case(kind: str, question: EvaluationQuestion, where: dict[str, Any] | None = None) -> Case:
            hits = monograph.search(question.question, FOUND, where=where)
            terms = query_terms(snapshot, question.question)
            return Case(kind, confidence.read(read_hits(terms, hits), hits) if hits and terms.words else np.zeros(2))

        for question in told:
            gone = list(question.evidence_ids)
            if name in MANY_HOPS:
                gone = [gone[parity(question.id + "hop") % len(gone)]]
            made.append(case("answerable", question))
            made.append(case("taken out", question, {"$document": {"nin": gone}}))
        made += [case("null", question) for question in nothing]
    console.print(f"{name}: {len(told)} answerable, {len(nothing)} that nothing answers")
    return made


def silence(options: argparse.Namespace) -> Results:
    """Measure abstention on questions that a file answers and on those that it does not."""
    every = {name: cases(name, options.files, options.questions) for name in SILENCE}
    model = chosen({name: every[name] for name in CHOSEN_ON})
    console.print(f"CONFIDENCE: {model}")
    results: Results = {
        "weights": [model.bias, *model.weights],
        "static": left_out(every),
        "curve": curve(every),
        "reliability": reliability(every),
    }
    if options.contextual is not None:
        beside = {name: cases(name, options.contextual, options.questions, f"onnx:{MINILM}") for name in CONTEXTUAL}
        results["contextual"] = left_out(every, beside)
    return results


def left_out(every: dict[str, list[Case]], judged: dict[str, list[Case]] | None = None) -> Results:
    """Test each set with weights and a threshold that were chosen on the other sets."""
    results: Results = {}
    for name, some in (judged or every).items():
        others = {one: held for one, held in every.items() if one in CHOSEN_ON and one != name}
        model = chosen(others)
        limit = threshold([of_kind(model, held, "answerable") for held in others.values()])
        found = {kind: of_kind(model, some, kind) for kind in ("answerable", "null", "taken out")}
        least = float(np.quantile(found["answerable"], FALSE))
        results[name] = {
            "counts": {kind: len(values) for kind, values in found.items()},
            "threshold": limit,
            "false": share(found["answerable"], limit),
            **{kind: share(found[kind], limit) for kind in ("null", "taken out")},
            "at own": {kind: share(found[kind], least) for kind in ("null", "taken out")},
        }
        console.print(f"left out {name}: {results[name]}")
    return results


def threshold(some: Sequence[Float64]) -> float:
    """Return the quantile ``FALSE`` of all values, with the same total weight for each set."""
    values = np.concatenate(some)
    weights = np.concatenate([np.full(len(one), 1 / len(one)) for one in some])
    order = np.argsort(values)
    return float(values[order][np.searchsorted(np.cumsum(weights[order]), FALSE * len(some))])


def chosen(sets: dict[str, list[Case]]) -> Model:
    """Return a logistic model of whether a question is answerable. Sets weigh the same, as do both classes in each."""
    rows, truth, weights = [], [], []
    for some in sets.values():
        kinds = sorted({one.kind for one in some})
        for kind in kinds:
            held = [one for one in some if one.kind == kind]
            half = 1.0 if kind == "answerable" else 1.0 / (len(kinds) - 1)
            rows += [one.read for one in held]
            truth += [float(kind == "answerable")] * len(held)
            weights += [half / len(held)] * len(held)
    return logistic(np.array(rows), np.array(truth), np.array(weights))


def logistic(rows: Float64, truth: Float64, weights: Float64, ridge: float = 1e-4) -> Model:
    """Return a logistic model fitted to weighted rows by Newton's method."""
    columns = np.hstack([np.ones((len(rows), 1)), rows])
    found = np.zeros(columns.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-columns @ found))
        slope = columns.T @ (weights * (truth - chance)) - ridge * found
        bend = (columns * (weights * chance * (1 - chance))[:, None]).T @ columns + ridge * np.eye(len(found))
        found = found + np.linalg.solve(bend, slope)
    return Model(round(float(found[0]), 2), tuple(round(float(one), 2) for one in found[1:]))


def of_kind(model: Model, some: Sequence[Case], kind: str) -> Float64:
    """Return the model's probabilities for the cases of a kind."""
    rows = [one.read for one in some if one.kind == kind]
    return model.probability(np.array(rows)) if rows else np.zeros(0)


def share(values: Float64, limit: float) -> float | None:
    return float(np.mean(values < limit)) if len(values) else None


def curve(every: dict[str, list[Case]]) -> Results:
    """Return the share of questions that each threshold leaves unanswered, with the weights in use."""
    return {
        name: [
            {"threshold": limit}
            | {
                kind: share(of_kind(confidence.CONFIDENCE, some, kind), limit)
                for kind in ("answerable", "null", "taken out")
            }
            for limit in THRESHOLDS
        ]
        for name, some in every.items()
    }


def reliability(every: dict[str, list[Case]]) -> list[Results]:
    """Return the calibration by ranges of confidence, with weights chosen on other sets; each set weighs the same."""
    pairs = []
    for name in CHOSEN_ON:
        model = chosen({one: held for one, held in every.items() if one in CHOSEN_ON and one != name})
        yes = of_kind(model, every[name], "answerable")
        no = np.concatenate([of_kind(model, every[name], kind) for kind in ("null", "taken out")])
        pairs += [(p, 1.0, 1 / len(yes)) for p in yes] + [(p, 0.0, 1 / len(no)) for p in no]
    said, true, weight = map(np.array, zip(*pairs, strict=True))
    made = []
    for low in (0.0, 0.2, 0.4, 0.6, 0.8):
        inside = (said >= low) & (said < low + 0.2 + (low == 0.8))
        if inside.any():
            made.append(
                {
                    "from": low,
                    "share": float(weight[inside].sum() / weight.sum()),
                    "said": float(np.average(said[inside], weights=weight[inside])),
                    "true": float(np.average(true[inside], weights=weight[inside])),
                }
            )
    return made


def weights(options: argparse.Namespace) -> Results:
    """Choose the weights that rank sentences: on all sets, and on all sets but one."""
    read = {name: read_sentences(name, options) for name in LEADS}
    ranked = softmax([one for some in read.values() for one in some])
    console.print(f"RANKED: {ranked}")
    left = {}
    for name, some in read.items():
        others = softmax([one for other, held in read.items() if other != name for one in held])
        left[name] = {"chosen on": right(some, ranked), "left out": right(some, others)}
        console.print(f"{name}: {left[name]}")
    return {"ranked": ranked, "left out": left}


def right(some: Sequence[Sentences], weights: Sequence[float]) -> float:
    """Return the share of questions whose first-ranked sentence contains an answer."""
    return mean([float(holds[int(np.argmax(rows @ np.array(weights)))]) for rows, holds, _ in some])


Sentences = tuple[Float64, Float64, float]


def read_sentences(name: str, options: argparse.Namespace) -> list[Sentences]:
    """Return (features of sentences, whether each has an answer, weight) of questions with an answer in the hits."""
    made = []
    some = [one for one in dataset(name).questions if worded(one) and (name != "squad" or parity(one.id) % 2 == 0)]
    with opened(name, options.files) as monograph, monograph._file.reading() as snapshot:
        for question in some[: options.questions or None]:
            hits: list[Hit] = [one for one in monograph.search(question.question, FOUND) if one.text.strip()]
            asked = query_terms(snapshot, question.question)
            named = context.of_kind(snapshot, asked, hits)
            places, rows = confidence.features(read_hits(asked, hits), dict(enumerate(hits)), named)
            holds = np.array([contains_answer(hits[at].text[start:end], question.answers) for at, start, end in places])
            if holds.any():
                made.append((rows, holds, 1.0))
    return made if name == "squad" else [(rows, holds, OTHERS / len(made)) for rows, holds, _ in made]


def softmax(some: Sequence[Sentences], steps: int = 600, ridge: float = 3.0) -> list[float]:
    """Return weights that maximise the softmax share of the sentences with the answer, optimised with Adam."""
    rows = np.vstack([one for one, _, _ in some])
    spread = rows.std(axis=0) + 1e-9
    rows = rows / spread
    holds = np.concatenate([one for _, one, _ in some]) > 0
    starts = np.cumsum([0, *(len(one) for _, one, _ in some)])[:-1]
    of = np.repeat(np.arange(len(some)), [len(one) for _, one, _ in some])
    weight = np.array([one for _, _, one in some])[of]
    found, speed, size = np.zeros(rows.shape[1]), np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for step in range(1, steps + 1):
        scores = rows @ found
        shares = np.exp(scores - np.maximum.reduceat(scores, starts)[of])
        held = shares * holds
        pull = shares / np.add.reduceat(shares, starts)[of] - held / (np.add.reduceat(held, starts)[of] + 1e-300)
        slope = rows.T @ (weight * pull) + ridge * found
        speed, size = 0.9 * speed + 0.1 * slope, 0.999 * size + 0.001 * slope**2
        found -= 0.02 * (speed / (1 - 0.9**step)) / (np.sqrt(size / (1 - 0.999**step)) + 1e-9)
    return [round(float(one), 2) for one in found / spread]


SECTIONS: dict[str, Callable[[argparse.Namespace], Results]] = {one.__name__: one for one in (leads, silence, weights)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--questions", type=int, help="most questions of a set")
    parser.add_argument("--files", type=Path, help="a folder with SET-static.mono of each set")
    parser.add_argument("--contextual", type=Path, help="a folder with SET-onnx.mono of LiHuaWorld and MuSiQue")
    options = parser.parse_args()
    for folder in (CACHE, graph_files.CACHE):
        folder.mkdir(parents=True, exist_ok=True)
    limits = f"at most {options.questions} questions a set" if options.questions else ""
    try:
        results = run_sections(SECTIONS, options, CACHE / "results.json", limits)
    finally:
        for path in graph_files.made:
            fresh(path)
    for path in answers_report.write(results, DOCS):
        console.print(f"written: {path}")


if __name__ == "__main__":
    main()
