"""Stop conditions of vector searches: loads at equal recall, and what stopping earlier costs in answers (Terminus).

``benchmarks/vectors.py --only stopping`` runs this.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

import vector_data
from graph_files import dataset
from monograph import Monograph, Settings
from monograph.evaluate.metrics import contains_answer, mean
from monograph.store.file import memo
from monograph.store.file.database import Connection, Database
from monograph.store.vectors import vectors
from monograph.values import Float64, Hit
from monograph.vectors import calibrate, kernel
from monograph.vectors.cluster_search import GraphSearch, probes
from monograph.vectors.design import DESIGNS, Design
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.memory import IndexState
from monograph.vectors.search import VectorQuery, prepare
from monograph.vectors.stop import NEVER, Exponential, Never, RankedRecall, SearchEffort
from vector_data import CACHE, VectorSet

VECTORS = 100_000
QUERIES = 300
MOST_LOADS = 400
WIDTH = 4
"""Width of the searches that are traced: see :attr:`monograph.vectors.design.Design.widths`."""
BUDGETS = (*range(1, 40), *range(40, 100, 3), *range(100, MOST_LOADS + 1, 10))
TARGETS = (("recall", 0.95), ("ranked recall", 0.9), ("ranked recall", 0.95))
CORPORA = ("squad", "hotpotqa", "2wikimultihopqa", "musique", "popqa-rebuilt")
ASKED = 150
"""Most questions of each set."""
RANKS = 20
STOPS: dict[str, dict[str, Any]] = {
    "default: recall 0.95": {},
    "`ranked_recall=0.95`": {"ranked_recall": 0.95},
    "`ranked_recall=0.9`": {"ranked_recall": 0.9},
    "`rankaware:window=2,epsilon=0.1`, the paper's": {"stop": "rankaware:window=2,epsilon=0.1"},
    "`budget:loads=5`": {"stop": "budget:loads=5"},
    "`never`": {"stop": "never"},
}
"""Label and arguments of each stop in the table of answers."""
Results = dict[str, Any]


def measured(real: VectorSet) -> Results:
    """Measure real and easy vectors in both designs, and answers."""
    easy = vector_data.synthetic(VECTORS, QUERIES)
    results: Results = {
        f"{made.name}, {kind}": loads_of(made, kind) for kind in ("codes", "graph") for made in (real, easy)
    }
    return {"loads": results, **answers()}


def loads_of(made: VectorSet, kind: str) -> Results:
    """Measure the loads of each kind of stop condition for the same recall and the same ranked recall."""
    base, queries = made.vectors[:VECTORS], made.queries[:QUERIES]
    truths = vector_data.nearest(base, queries, max(calibrate.RESULTS)) + 1
    results: Results = {}
    with filled(base, DESIGNS[kind]) as (database, index), database.read() as connection:
        state = index._memory.state(connection)
        assert state is not None
        traces = [trace(index, connection, state, prepare(query, base.shape[1])) for query in queries]
        for k in calibrate.RESULTS:
            room = VectorQuery(k, rerank=False).room(0 if state.space.design.has_graphs else WIDTH)
            means: Float64 = sum(
                calibrate.outcomes(one, truth[:k], len(base) + 1, k, [room], calibrate.WIDE_WINDOWS)[0]
                for one, truth in zip(traces, truths, strict=True)
            ) / len(traces)
            fixed = budgets(traces, truths[:, :k], k, room)
            for measure, target in TARGETS:
                place = 1 if measure == "recall" else 2
                by_condition = [at(target, curve[0], curve[place]) for curve in np.moveaxis(means, 1, 0)]
                weighted = [loads for loads in by_condition[1:] if loads is not None]
                stop = None if measure == "recall" else RankedRecall(target)
                results[f"{k}, {measure} {target}"] = {
                    "VBase": by_condition[0],
                    "RankAware": min(weighted, default=None),
                    "Budget": at(target, fixed[0], fixed[place]),
                    "Never": len(state.centroids),
                    **searched(index, connection, queries, truths[:, :k], VectorQuery(k, stop=stop), measure),
                }
    print(made.name, kind, results, flush=True)
    return results


@contextmanager
def filled(base: Any, design: Design) -> Iterator[tuple[Database, EcoVectorIndex]]:
    """Yield a file that stores the vectors as rows from 1, and its index."""
    path = CACHE / "stopping.mono"
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    database, index = Database(path), EcoVectorIndex(design=design)
    with database.write() as connection:
        memo.put(connection, memo.VECTOR, ((b"%d" % row, vectors.pack(one), 0) for row, one in enumerate(base)))
    with database.write() as connection:
        index.insert(connection, np.arange(1, len(base) + 1), base)
    yield database, index
    database.close()
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def trace(index: EcoVectorIndex, connection: Connection, state: IndexState, query: Any) -> calibrate.Trace:
    """Record a search for the largest k, of at most MOST_LOADS loads."""
    most = max(calibrate.RESULTS)
    if state.space.design.has_graphs:
        search = GraphSearch(VectorQuery(most, rerank=False), SearchEffort(Never()), query)
        clusters = (index._memory.cluster(connection, one, state.version) for one in probes(state.centroids, query))
        return calibrate.record(_walked(search, islice(clusters, MOST_LOADS)), search.pool)
    pool, arena = kernel.Pool(VectorQuery(most, rerank=False).room(WIDTH)), index._memory.arena(state)
    loads = calibrate._code_loads(connection, arena, kernel.Course(arena, query, pool, most, *NEVER, None))
    return calibrate.record(islice(loads, MOST_LOADS), pool)


def _walked(search: GraphSearch, clusters: Iterator[Any]) -> Iterator[Any]:
    for cluster in clusters:
        search.probe(cluster, walks=True)
        yield search.loads[-1]


def budgets(traces: list[calibrate.Trace], truths: Any, k: int, room: int) -> Float64:
    """Return the mean (loads, recall, ranked recall) of searches with each of BUDGETS: (3, budgets)."""
    weights = Exponential().of_ranks(k)
    total = np.zeros((3, len(BUDGETS)))
    for one, truth in zip(traces, truths, strict=True):
        complete = int(np.argmax(np.array(one.filled) >= k)) + 1
        for place, budget in enumerate(BUDGETS):
            end = min(max(budget, complete), len(one.ids))
            found = np.isin(truth, one.ids[end - 1][:room])
            total[:, place] += end, found.mean(), (found @ weights) / weights.sum()
    means: Float64 = total / len(traces)
    return means


def at(target: float, loads: Float64, reached: Float64) -> float | None:
    """Return the loads at which a curve reaches the target, interpolated; None if it does not reach it."""
    if reached.max() < target:
        return None
    after = int(np.argmax(reached >= target))
    if not after:
        return float(loads[0])
    return float(np.interp(target, reached[after - 1 : after + 1], loads[after - 1 : after + 1]))


def searched(
    index: EcoVectorIndex, connection: Connection, queries: Any, truths: Any, query: VectorQuery, measure: str
) -> Results:
    """Return the mean loads of calibrated searches, and the mean recall or ranked recall that they reached."""
    weights = np.ones(query.k) if measure == "recall" else Exponential().of_ranks(query.k)
    loads, reached = [], []
    for one, truth in zip(queries, truths, strict=True):
        found = index.search(connection, one, query)
        loads.append(found.loads)
        reached.append(np.isin(truth, found.items) @ weights / weights.sum())
    return {"loads": float(np.mean(loads)), "reached": float(np.mean(reached))}


def answers() -> Results:
    """Measure contexts under each stop, and the answers that are lost when the passage of one rank is missing."""
    path = CACHE / "stopping-answers.mono"
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    sets = [dataset(name) for name in CORPORA]
    asked = [
        question
        for one in sets
        for question in [one for one in one.questions if one.evidence_ids and one.answers and any(one.answers)][:ASKED]
        if not {answer.lower() for answer in question.answers} & {"yes", "no", ""}
    ]
    results: Results = {"questions": len(asked), "contexts": {}}
    with Monograph.open(path, settings=Settings(graph=False)) as archive:
        archive.add(document for one in sets for document in one.documents)
        results["passages"] = archive.stats().index.vectors
        for label, options in STOPS.items():
            row = {}
            for how in ("dense", "hybrid"):
                contexts = [archive.context(one.question, how=how, **options) for one in asked]
                row[how] = {
                    "held": mean(
                        [
                            contains_answer(one.text, question.answers)
                            for one, question in zip(contexts, asked, strict=True)
                        ]
                    ),
                    "loads": mean([loads_in(one.hits) for one in contexts]),
                }
            results["contexts"][label] = row
            print(label, row, flush=True)
        lost, found = np.zeros(RANKS), 0
        for question in asked:
            hits = archive.search(question.question, RANKS, "dense", stop="never")
            holding = [rank for rank, hit in enumerate(hits) if contains_answer(hit.text, question.answers)]
            found += bool(holding)
            if len(holding) == 1:
                lost[holding[0]] += 1
        results["found"], results["lost"] = found / len(asked), (lost / len(asked)).tolist()
    path.unlink()
    return results


def loads_in(hits: tuple[Hit, ...]) -> float:
    """Return the number of loads of the vector search that found some of these hits."""
    efforts = [origin.effort.loads for hit in hits for origin in hit.origins if origin.effort is not None]
    return float(max(efforts, default=0))
