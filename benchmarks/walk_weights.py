"""Choice of the graph search's weights, and their recall on sets that they were not chosen on.

``make bench-weights`` writes docs/benchmarks/weights.md and weights.json; ``--render`` measures nothing, and writes the
page from weights.json. The benchmark searches once for every question, with many starts, and keeps the features of each
candidate and link. Compiled code (numba) then repeats the searches with other weights, a thousand times faster than
through a file. The weights change one by one, in shrinking steps, towards more recall@5 (and a little recall@10 and
reciprocal rank), with a penalty on the distance from the present weights.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from graph_files import CACHE, dataset, opened
from graph_report import table
from machine import console, machine
from monograph.evaluate.datasets import EvaluationQuestion
from monograph.graph import evidence
from monograph.library.opened import OpenFile
from monograph.search import fusion, walk, words
from monograph.search.fusion import POOL
from monograph.search.query import Query
from monograph.search.question import parse
from monograph.search.reader import WalkRequest
from monograph.search.strategies import Graph
from monograph.search.walk import Walk
from monograph.store.documents.filters import EVERYTHING
from monograph.store.graph import graphs

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
from support.oracles.scoring import PlainWalkScores

Floats = npt.NDArray[np.float64]
PAGE = Path(__file__).resolve().parent.parent / "docs" / "benchmarks" / "weights.md"
TITLED = ("hotpotqa", "2wikimultihopqa", "musique")
SINGLE_HOP = ("squad", "quality-sample", "nq-sample", "books", "popqa-rebuilt")
FAMILIES: tuple[tuple[tuple[str, bool], ...], ...] = (
    *(((name, True), (name, False)) for name in TITLED),
    (("lihuaworld", True),),
    (("multihop-rag", True),),
    tuple((name, True) for name in SINGLE_HOP),
)
"""Sets that are left out together, as (name, with titles)."""
INTRODUCTION = (
    "Mode `graph` estimates whether a chunk is evidence, with the weights in `graph/evidence.py`. Do the weights fit "
    "sets that they were not chosen on? The table compares two sets of weights, by recall@5 and mean reciprocal rank "
    "(MRR, 0 to 1); more is better. The left-out weights of a set were chosen like the weights in use, but without "
    "this set. A set and its variant without titles are left out together. So are five one-hop sets: squad, "
    "popqa-rebuilt, and three that only [weights.json](weights.json) has. These searches do not move copies of a text "
    "down, so recall can differ by half a point from *default* in [the graph](graph.md#recall-without-each-part)."
)
UNLISTED = ("quality-sample", "nq-sample", "books")
"""Sets that the page omits."""
MOST_QUESTIONS = {"squad": 400}
STARTS = 24
"""Chunks of each question whose links are kept. Searches with similar weights start from some of them."""
SIZES = len(evidence.FOUND.weights), len(evidence.DEFINES.weights), len(evidence.MENTIONS.weights)
NOW = np.array(
    [
        *(evidence.FOUND.bias, *evidence.FOUND.weights),
        *(evidence.DEFINES.bias, *evidence.DEFINES.weights),
        *(evidence.MENTIONS.bias, *evidence.MENTIONS.weights),
        evidence.COVERAGE,
    ]
)


@dataclass(frozen=True)
class Walked:
    """Data of a question for walks with any weights. Candidates are numbered from 0.

    ``own`` has the candidates that were found without a link, and ``found`` their features. The links of candidate
    ``n`` are rows ``first[n]`` to ``first[n + 1]`` of ``target``, ``mention`` (1 for a mention link) and ``links``
    (features). ``covers`` has the weights of the question's words that each candidate contains. ``gold`` is whether
    each document is evidence. ``lifted`` has what word-for-word matches add to the candidates' scores.
    """

    own: npt.NDArray[np.int64]
    found: Floats
    first: npt.NDArray[np.int64]
    target: npt.NDArray[np.int64]
    mention: npt.NDArray[np.int64]
    links: Floats
    covers: Floats
    document: npt.NDArray[np.int64]
    gold: npt.NDArray[np.bool_]
    wanted: float
    lifted: Floats

    def scores(self, weights: Floats) -> tuple[float, float, float]:
        """Return (recall@5, recall@10, reciprocal rank)."""
        made = _scores(
            self.own, self.found, self.first, self.target, self.mention, self.links, self.covers, self.document,
            self.gold, self.wanted, self.lifted, weights, evidence.STARTS, evidence.HOPS, evidence.COVERED,
        )  # fmt: skip
        return float(made[0]), float(made[1]), float(made[2])


def walked_question(file: OpenFile, asked: EvaluationQuestion) -> Walked:
    """Return the data of a question, with the links of the chunks from which a walk may start."""
    with file.reading() as snapshot:
        query = Query(asked.question, POOL, Graph())
        question = parse(snapshot, query)
        vector, *_ = made = file.embed([asked.question, *question.clauses])
        entities = snapshot.names.members({one.name.head for one in question.names})
        names = {one.name.row for one in question.names}.union(one.row for some in entities.values() for one in some)
        request = WalkRequest(names, question.words, made[1:])
        pool, rankings = words.pool(snapshot, query, question.counts, POOL, vector, request)
        weighted = [(one, fusion.WEIGHTS[one.retriever]) for one in rankings]
        whole = walk.walk(snapshot, question, entities, weighted, pool, EVERYTHING)
        again = Walk(snapshot, question, EVERYTHING, entities)
        walk._start(again, weighted, pool)
        known = again.scores
        assert isinstance(known, PlainWalkScores)
        fused = list(known.features)
        starts = list(dict.fromkeys([*whole.highest(STARTS), *again.highest(10)]))
        again.learn(known.unknown(starts), pool.evidence)
        walk.follow(again, starts)
        rows = sorted({*fused, *whole.scores.chances(), *(target for _, target, *_ in known.links)})
        again.learn(known.unknown(rows), pool.evidence)
        owners = {row: place.document for row, place in graphs.places(snapshot.connection, rows).items()}
        names = dict(snapshot.connection.execute("SELECT document, id FROM documents"))
        matches = words.matches(snapshot, query, question.counts, POOL)
        lifts = fusion.add_lifts(dict.fromkeys(rows, 0.0), matches)
    place = {row: number for number, row in enumerate(rows)}
    links = sorted(
        (place[start], place[target], int(is_mention), *features, *([0.0] * (SIZES[1] - len(features))))
        for start, target, is_mention, features in known.links
    )
    columns = np.array(links, dtype=np.float64).reshape(len(links), 3 + SIZES[1])
    covers = np.zeros((len(rows), len(question.words)))
    for number, row in enumerate(rows):
        covers[number, known.has[row]] = question.weights[known.has[row]]
    ids = [names[owners[row]] for row in rows]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(ids))}
    gold = np.zeros(max(len(numbers), 1), dtype=bool)
    gold[[numbers[name] for name in asked.evidence_ids if name in numbers]] = True
    return Walked(
        own=np.array([place[row] for row in fused], dtype=np.int64),
        found=np.array(list(known.features.values()), dtype=np.float64).reshape(len(fused), SIZES[0]),
        first=np.searchsorted(columns[:, 0], np.arange(len(rows) + 1)),
        target=columns[:, 1].astype(np.int64),
        mention=columns[:, 2].astype(np.int64),
        links=np.ascontiguousarray(columns[:, 3:]),
        covers=covers,
        document=np.array([numbers[name] for name in ids], dtype=np.int64),
        gold=gold,
        wanted=float(len(set(asked.evidence_ids))),
        lifted=np.array([lifts[row] for row in rows], dtype=np.float64),
    )


@njit(cache=True)
def _chance(features, weights, first, count):  # type: ignore[no-untyped-def]
    total = weights[first]
    for place in range(count):
        total += features[place] * weights[first + 1 + place]
    return 1.0 / (1.0 + np.exp(-total))


@njit(cache=True)
def _best(values, seen, count):  # type: ignore[no-untyped-def]
    """Return the indexes of the highest values among those seen; the first index wins a tie."""
    order = np.argsort(-values, kind="mergesort")
    best = np.full(min(count, len(values)), -1)
    held = 0
    for place in order:
        if held == len(best):
            break
        if seen[place]:
            best[held] = place
            held += 1
    return best[:held]


@njit(cache=True)
def _totals(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    own, found, first, target, mention, links, weights, starts, hops, count
):
    """Return the probabilities after the walk, and whether each candidate was seen: see monograph.search.walk."""
    alone = np.zeros(count)
    seen = np.zeros(count, np.bool_)
    for place in range(len(own)):
        alone[own[place]] = _chance(found[place], weights, 0, found.shape[1])
        seen[own[place]] = True
    total, missed, done = alone.copy(), np.ones(count), np.zeros(count, np.bool_)
    for _ in range(hops):
        through = np.zeros(count)
        for start in _best(total, seen, starts):
            if done[start]:
                continue
            done[start] = True
            for link in range(first[start], first[start + 1]):
                chance = _chance(links[link], weights, 18, 7) if mention[link] else _chance(links[link], weights, 9, 8)
                through[target[link]] = max(through[target[link]], total[start] * chance)
                seen[target[link]] = True
            for link in range(first[start], first[start + 1]):
                missed[target[link]] *= 1.0 - through[target[link]]
                through[target[link]] = 0.0
        total = 1.0 - (1.0 - alone) * missed
    return total, seen


@njit(cache=True)
def _scores(  # type: ignore[no-untyped-def]  # noqa: PLR0913, PLR0917
    own, found, first, target, mention, links, covers, document, gold, wanted, lifted, weights, starts, hops, covered
):
    total, seen = _totals(own, found, first, target, mention, links, weights, starts, hops, len(document))
    head = _best(total, seen, covered)
    left, alive = np.ones(covers.shape[1]), np.ones(len(head), np.bool_)
    order, values = np.zeros(len(head), np.int64), np.zeros(len(head))
    for rank in range(len(head)):
        best, highest_value = -1, -np.inf
        for place in range(len(head)):
            if alive[place]:
                value = np.log(max(total[head[place]], 1e-9))
                for word in range(covers.shape[1]):
                    value += weights[-1] * covers[head[place], word] * left[word]
                if value > highest_value:
                    best, highest_value = place, value
        order[rank], values[rank], alive[best] = head[best], highest_value + lifted[head[best]], False
        for word in range(covers.shape[1]):
            if covers[head[best], word] > 0:
                left[word] = 0.0
    told = np.full(10, -1)
    held, at_five, at_ten, reciprocal = 0, 0.0, 0.0, 0.0
    for place in np.argsort(-values, kind="mergesort"):
        one = document[order[place]]
        if held == 10 or (told[:held] == one).any():
            continue
        told[held] = one
        held += 1
        if gold[one]:
            at_five += held <= 5
            at_ten += 1
            if reciprocal == 0.0:
                reciprocal = 1.0 / held
    return at_five / wanted, at_ten / wanted, reciprocal


Sets = Mapping[tuple[str, bool], Sequence[Walked]]


def means(questions: Sequence[Walked], weights: Floats) -> Floats:
    """Return the means of (recall@5, recall@10, reciprocal rank) over a set."""
    return np.mean([one.scores(weights) for one in questions], axis=0)  # type: ignore[no-any-return]


def worth(sets: Sets, weights: Floats) -> float:
    """Return the value to maximise. Sets of one hop count half."""
    total = counted = 0.0
    for (name, _), questions in sets.items():
        counts = 0.5 if name in SINGLE_HOP else 1.0
        total += counts * float(means(questions, weights) @ (100.0, 25.0, 25.0))
        counted += counts
    return total / counted - 0.15 * float(np.mean(((weights - NOW) / (np.abs(NOW) + 0.5)) ** 2))


def _moved(weights: Floats, place: int, step: float) -> Floats:
    return np.concatenate([weights[:place], [weights[place] + step], weights[place + 1 :]])


def chosen(sets: Sets, rounds: int) -> Floats:
    """Return the weights with the highest value on some sets, found step by step."""
    weights, best = NOW.copy(), worth(sets, NOW)
    steps = np.maximum(0.25 * np.abs(NOW), 0.15)
    chance = np.random.default_rng(0)
    for _ in range(rounds):
        moved = False
        for place in chance.permutation(len(weights)):
            for step in (steps[place], -steps[place]):
                before = best
                while (value := worth(sets, tried := _moved(weights, place, step))) > best + 0.003:
                    weights, best = tried, value
                if best > before:
                    moved = True
                    break
            else:
                steps[place] *= 0.6
        if not moved:
            break
    return weights


def load(name: str, titled: bool) -> list[Walked]:
    """Return the data of the questions of a set that have evidence."""
    asked = [one for one in dataset(name).questions if one.evidence_ids][: MOST_QUESTIONS.get(name)]
    with opened(name, titled) as monograph:
        return [walked_question(monograph._file, one) for one in asked]


def measure(rounds: int) -> dict[str, Any]:
    """Return the machine, and the figures of each set with both weights."""
    CACHE.mkdir(parents=True, exist_ok=True)
    walk.WalkScores = PlainWalkScores  # type: ignore[assignment,misc]  # It keeps features.
    sets = {one: load(*one) for family in FAMILIES for one in family}
    rows = []
    for family in FAMILIES:
        others = chosen({one: some for one, some in sets.items() if one not in family}, rounds)
        for name, titled in family:
            now, left_out = (means(sets[name, titled], weights) for weights in (NOW, others))
            rows.append(
                {
                    "set": name if titled else f"{name}, no titles",
                    "questions": len(sets[name, titled]),
                    "recall@5": [round(float(one[0]), 3) for one in (now, left_out)],
                    "MRR": [round(float(one[2]), 3) for one in (now, left_out)],
                }
            )
            console.print(rows[-1])
    return {"machine": machine(), "rows": rows}


def page(found: dict[str, Any]) -> str:
    """Return the page as Markdown."""
    headings = (
        "set",
        "questions",
        "recall@5, weights in use, %",
        "recall@5, left-out weights, %",
        "MRR, weights in use",
        "MRR, left-out weights",
    )
    rows = [
        (
            one["set"],
            str(one["questions"]),
            *(f"{100 * share:.1f}" for share in one["recall@5"]),
            *(f"{rank:.3f}" for rank in one["MRR"]),
        )
        for one in found["rows"]
        if one["set"] not in UNLISTED
    ]
    return (
        "# The graph's weights\n\n"
        f"Machine: {found['machine']}. Written by `make bench-weights`.\n\n{INTRODUCTION}\n\n{table(headings, rows)}\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="most rounds over all weights")
    parser.add_argument("--page", type=Path, default=PAGE)
    parser.add_argument("--render", action="store_true", help="write the page from the figures beside it")
    options = parser.parse_args()
    figures = options.page.with_suffix(".json")
    if not options.render:
        figures.write_text(json.dumps(measure(options.rounds), indent=1) + "\n")
    options.page.write_text(page(json.loads(figures.read_text())))
    console.print(f"written: {options.page}")


if __name__ == "__main__":
    main()
