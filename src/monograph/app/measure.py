"""What ``monograph eval`` does: a file to measure, the run, its tables."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from monograph.app import output
from monograph.app.trust import opened
from monograph.derive.embed import load_embedder
from monograph.evaluate import run as runs
from monograph.evaluate.datasets import load_dataset, load_questions
from monograph.library import Monograph


@dataclass(frozen=True, slots=True)
class Task:
    """What to measure: a set, other questions than its own, a file other than one made of its corpus."""

    dataset: Path
    queries: Path | None
    file: Path | None
    embedder: str
    hows: Sequence[str]
    k: int
    trust: bool = False


def run(task: Task, *, quiet: bool) -> tuple[list[runs.Result], str]:
    """Results, one a way to search, and the name of the set."""
    dataset = load_dataset(task.dataset)
    questions = dataset.questions if task.queries is None else load_questions(task.queries)
    if task.file is not None:
        with opened(task.file, trust=task.trust, create=False) as monograph:
            return runs.compare(monograph, questions, task.hows, task.k), dataset.name
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{dataset.name}.mono"
        with (
            Monograph.open(path, load_embedder(task.embedder)) as monograph,
            output.progress_bar("index", quiet=quiet) as on_progress,
        ):
            monograph.add(dataset.documents, progress=on_progress)
            return runs.compare(monograph, questions, task.hows, task.k), dataset.name


def print_results(results: Sequence[runs.Result], name: str) -> None:
    """What was found, what it cost, and recall by type of question, a line a way."""
    out = output.console()
    k = results[0].k
    out.print(f"{name}: {results[0].scores.questions} questions with evidence, {results[0].without_evidence} without")
    _print_table(runs.headings(k), [runs.row(result) for result in results])
    _print_table(runs.COST_HEADINGS, [runs.cost_row(result) for result in results])
    if len(results[0].by_type) > 1:
        rows = [(result.how, *runs.type_row(kind, scores, k)) for result in results for kind, scores in result.by_type]
        _print_table(("how", "type", "questions", f"R@{k}", f"all@{k}", "MRR"), rows)


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    made = output.table(*headings, right=set(headings) - {"how", "type"})
    for row in rows:
        made.add_row(*row)
    output.console().print(made)
