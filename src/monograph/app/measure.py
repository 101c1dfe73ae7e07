"""The command ``monograph eval``: the file to measure, the run, and its tables."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from monograph.app import output
from monograph.app.opening import opened
from monograph.derive.loading import load_embedder
from monograph.errors import InputError
from monograph.evaluate import run as runs
from monograph.evaluate.datasets import EvaluationQuestion, load_dataset, load_questions, questions_of
from monograph.evaluate.evidence import resolve
from monograph.library import Monograph


@dataclass(frozen=True, slots=True)
class MeasureTask:
    """Input of a measurement: a question set, or a file with questions.

    A set can also be combined with other questions (``queries``) or another file.
    """

    dataset: Path | None
    queries: Path | None
    file: Path | None
    embedder: str
    hows: Sequence[str]
    k: int
    trust: bool = False
    reranker: str = ""


def run(task: MeasureTask, *, quiet: bool) -> tuple[list[runs.Result], str]:
    """Measure retrieval; return a result for each search mode, and the name of the set or of the file of questions.

    Raises
    ------
    InputError
        If there is no file or corpus, if there are no questions, or if no document matches the evidence.
    """
    if task.file is None:
        return _run_on_corpus(task, quiet=quiet)
    questions = _questions(task)
    with opened(task.file, trust=task.trust, create=False, reranker=task.reranker) as monograph:
        return _compare(monograph, task, questions), _name(task)


def _run_on_corpus(task: MeasureTask, *, quiet: bool) -> tuple[list[runs.Result], str]:
    if task.dataset is None:
        raise InputError("there is nothing to search", "give a question set, or --file FILE and --queries QUESTIONS")
    dataset = load_dataset(task.dataset)
    questions = _questions(task)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{dataset.name}.mono"
        with (
            Monograph.open(path, load_embedder(task.embedder), reranker=task.reranker) as monograph,
            output.progress("index", quiet=quiet) as on_progress,
        ):
            monograph.add(dataset.documents, progress=on_progress)
            return _compare(monograph, task, questions), dataset.name


def _questions(task: MeasureTask) -> tuple[EvaluationQuestion, ...]:
    """Return the questions to ask: those of ``queries`` if given, else those of the set."""
    if task.queries is not None:
        questions = load_questions(task.queries)
    elif task.dataset is not None:
        questions = questions_of(task.dataset)
    else:
        raise InputError(f"there are no questions for {task.file}", "give --queries QUESTIONS, or a question set")
    if not questions:
        raise InputError(f"{task.queries or task.dataset} contains no question", "write one JSON object per line")
    return questions


def _compare(monograph: Monograph, task: MeasureTask, questions: Sequence[EvaluationQuestion]) -> list[runs.Result]:
    corpus = str(monograph.path) if task.file is not None else f"the corpus of {task.dataset}"
    return runs.compare(monograph, resolve(questions, monograph.documents(), corpus), task.hows, task.k)


def _name(task: MeasureTask) -> str:
    if task.dataset is not None:
        return task.dataset.resolve().name
    return task.queries.name if task.queries is not None else ""


def print_results(results: Sequence[runs.Result], name: str) -> None:
    """Print the counts, the cost, and the recall by type of question, one line for each search mode."""
    out = output.console()
    k = results[0].k
    out.print(f"{name}: {results[0].scores.questions} questions with evidence, {results[0].without_evidence} without")
    _print_table(runs.headings(k), [runs.row(result) for result in results])
    _print_table(runs.COST_HEADINGS, [runs.cost_row(result) for result in results])
    if len(results[0].by_type) > 1:
        rows = [(result.how, *runs.type_row(kind, scores, k)) for result in results for kind, scores in result.by_type]
        _print_table(("how", "type", "questions", f"R@{k}", f"all@{k}", "MRR"), rows)


def _print_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = output.Table(*headings, right=set(headings) - {"how", "type"})
    for row in rows:
        table.add_row(*row)
    output.console().print(table)
