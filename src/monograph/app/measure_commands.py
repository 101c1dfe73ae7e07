"""The command that measures retrieval and answers: ``eval``."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monograph.app import options, output
from monograph.app.ask_commands import load
from monograph.app.command import Result, command
from monograph.app.opening import opened
from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph.evaluate.datasets import EvaluationQuestion
    from monograph.evaluate.run import Result as Measured
    from monograph.library.monograph import Monograph
    from monograph.models import LanguageModel

DEFAULT_HOWS = ("auto", "lexical", "dense", "hybrid")


@command
def evaluate(
    dataset: Annotated[
        Path | None,
        typer.Argument(
            metavar="SET",
            help="A folder with corpus.jsonl(.gz) and queries.jsonl(.gz); not needed with --file and --queries.",
        ),
    ] = None,
    how: Annotated[
        list[str] | None,
        typer.Option(
            "--how",
            metavar="HOW",
            help=f"A search mode; repeat it to compare several. By default {', '.join(DEFAULT_HOWS)}.",
            autocompletion=options.how_to_search,
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", "-n", help="Documents for recall@k, chunks for the context.")] = 5,
    queries: Annotated[
        Path | None, typer.Option("--queries", help="Your own questions, one JSON object per line.")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Measure this .mono file instead of one built from the set's corpus.")
    ] = None,
    embedder: Annotated[
        str, typer.Option("--embedder", help="Embedder for the set's corpus: static, onnx:FOLDER, …")
    ] = "static",
    reranker: options.Reranker = "",
    model: options.Model = "",
    api_key: options.ApiKey = "",
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw a PNG (extra bench).")] = None,
    json_output: options.Json = False,
) -> Result:
    r"""Measure retrieval and answers on a set of questions.

    For each search mode it prints how much of the evidence is found, at which ranks, how fast, and how many tokens of
    context it takes. A question is a line like {"question": "Who came?", "evidence_ids": ["notes/boiler.md"]}.

    Questions with "answers": ["Mrs Grubb"] are also answered, by the model or without one, and the answers compared.

      monograph eval --file notes.mono --queries mine.jsonl
      monograph eval ../shared/data/lihuaworld --how lexical --how graph
      monograph eval ../shared/data/lihuaworld --file lihua.mono --how graph \
          --model "openai:http://localhost:11434/v1#qwen3:1.7b"
    """
    from monograph.derive.loading import load_embedder
    from monograph.evaluate.datasets import load_dataset
    from monograph.evaluate.evidence import resolve
    from monograph.library import Monograph

    hows, language_model = how or DEFAULT_HOWS, load(model, api_key)
    if file is not None:
        questions = _questions(dataset, queries, file)
        with opened(file, reranker=reranker) as archive:
            questions = resolve(questions, archive.documents(), str(archive.path))
            results = _measure(archive, questions, hows, k, language_model, quiet=json_output)
        name = dataset.resolve().name if dataset is not None else queries.name if queries is not None else ""
    elif dataset is not None:
        corpus = load_dataset(dataset)
        questions, name = _questions(dataset, queries, file), corpus.name
        with (
            tempfile.TemporaryDirectory() as folder,
            Monograph.open(Path(folder) / f"{name}.mono", load_embedder(embedder), reranker=reranker) as archive,
        ):
            with output.progress("index", quiet=json_output) as on_progress:
                archive.add(corpus.documents, progress=on_progress)
            questions = resolve(questions, archive.documents(), f"the corpus of {dataset}")
            results = _measure(archive, questions, hows, k, language_model, quiet=json_output)
    else:
        raise InputError("there is nothing to search", "give a question set, or --file FILE and --queries QUESTIONS")
    if plot is not None:
        from monograph.evaluate import run

        run.save_plot(results, name, plot)
    return Result(results, lambda: _print_results(results, name))


def _measure(
    archive: Monograph,
    questions: Sequence[EvaluationQuestion],
    hows: Sequence[str],
    k: int,
    model: LanguageModel | None,
    *,
    quiet: bool,
) -> list[Measured]:
    """Return the results of each search mode, with scores of answers if a question has expected answers."""
    from monograph.evaluate import run
    from monograph.evaluate.answers import evaluate_answers

    results = run.compare(archive, questions, hows, k)
    if not any(question.answers for question in questions):
        if model is not None:
            output.print_line("no question has answers, so the model was not asked", stderr=True)
        return results
    with output.progress("answer", quiet=quiet) as on_progress:
        return [
            replace(result, answers=evaluate_answers(archive, questions, result.how, k, model, on_progress))
            for result in results
        ]


def _questions(dataset: Path | None, queries: Path | None, file: Path | None) -> tuple[EvaluationQuestion, ...]:
    from monograph.evaluate.datasets import load_questions, questions_of

    if queries is not None:
        questions = load_questions(queries)
    elif dataset is not None:
        questions = questions_of(dataset)
    else:
        raise InputError(f"there are no questions for {file}", "give --queries QUESTIONS, or a question set")
    if not questions:
        raise InputError(f"{queries or dataset} contains no question", "write one JSON object per line")
    return questions


def _print_results(results: Sequence[Measured], name: str) -> None:
    """Print tables of the search modes: scores, latencies, context tokens, scores by type of question, and answers."""
    from monograph.evaluate import answers, run

    first, k = results[0], results[0].k
    output.print_line(f"{name}: {first.scores.questions} questions with evidence, {first.without_evidence} without")
    tables = [
        (run.headings(k), [run.row(result) for result in results]),
        (run.COST_HEADINGS, [run.cost_row(result) for result in results]),
    ]
    if len(first.by_type) > 1:
        rows = [(result.how, *run.type_row(kind, scores, k)) for result in results for kind, scores in result.by_type]
        tables.append((("how", "type", "questions", f"R@{k}", f"all@{k}", "MRR"), rows))
    answered = [(result.how, result.answers) for result in results if result.answers is not None]
    if answered:
        tables.append((answers.HEADINGS, [answers.row(how, scores) for how, scores in answered]))
        tables.append((answers.COST_HEADINGS, [answers.cost_row(how, scores) for how, scores in answered]))
    for headings, rows in tables:
        output.print_table(headings, rows, right=set(headings) - {"how", "type"})
    for how, scores in answered:
        if scores.failed:
            output.print_line(f"{how}: the model did not answer {scores.failed} questions: {scores.failure}")
