"""The command that measures retrieval."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monograph.app.command import JsonOption, RerankerOption, Result, command, how_to_search

DEFAULT_HOWS = ("auto", "lexical", "dense", "hybrid")


@command
def evaluate(
    dataset: Annotated[
        Path | None,
        typer.Argument(
            metavar="SET",
            help="A folder with corpus.jsonl(.gz) and queries.jsonl(.gz); not needed with --file and --queries.",
            show_default=False,
        ),
    ] = None,
    how: Annotated[
        list[str] | None,
        typer.Option(
            "--how",
            metavar="HOW",
            help=f"A search mode; repeat it to compare several. By default {', '.join(DEFAULT_HOWS)}.",
            show_default=False,
            autocompletion=how_to_search,
        ),
    ] = None,
    k: Annotated[int, typer.Option("-k", "-n", help="Documents for recall@k, chunks for the context.")] = 5,
    queries: Annotated[
        Path | None,
        typer.Option("--queries", help="Your own questions, one JSON object per line.", show_default=False),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--file", help="Measure this .mono file instead of one built from the set's corpus.", show_default=False
        ),
    ] = None,
    embedder: Annotated[
        str, typer.Option("--embedder", help="Embedder for the set's corpus: static, onnx:FOLDER, …")
    ] = "static",
    reranker: RerankerOption = "",
    plot: Annotated[Path | None, typer.Option("--plot", help="Draw a PNG (extra bench).", show_default=False)] = None,
    json_output: JsonOption = False,
) -> Result:
    """Measure retrieval on a set of questions.

    For each search mode it prints how much of the evidence is found, at which ranks, how fast, and how many tokens of
    context it takes. A question is a line like {"question": "Who came?", "evidence_ids": ["notes/boiler.md"]}.

      monograph eval --file notes.mono --queries mine.jsonl
      monograph eval ../shared/data/lihuaworld --how lexical --how graph
      monograph eval ../shared/data/lihuaworld --file lihua.mono -k 10
    """
    from monograph.app import measure

    task = measure.MeasureTask(dataset, queries, file, embedder, how or DEFAULT_HOWS, k, reranker=reranker)
    results, name = measure.run(task, quiet=json_output)
    if plot is not None:
        from monograph.evaluate.run import save_plot

        save_plot(results, name, plot)
    return Result(results, lambda: measure.print_results(results, name))
