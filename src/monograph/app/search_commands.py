"""Commands that search and read: ``search`` and ``show``."""

from __future__ import annotations

from typing import Annotated

import typer

from monograph.app import answer_output, document_output, options
from monograph.app.command import Result, command, query_and_filter
from monograph.app.opening import narrow, opened, opened_archive
from monograph.values.arguments import whole_number


@command
def search(
    file: options.FileOrShelf,
    query: options.Query,
    k: Annotated[int, typer.Option("-k", "-n", help="Maximum number of hits.")] = 5,
    how: options.How = "auto",
    where: options.Where = None,
    within: options.Within = None,
    as_of: options.AsOf = "",
    stop: options.Stop = "",
    ranked_recall: options.RankedRecall = None,
    explain: Annotated[bool, typer.Option("--explain", "-e", help="Print how each hit was found.")] = False,
    html: options.Html = None,
    reranker: options.Reranker = "",
    trust: options.Trust = False,
    json_output: options.Json = False,
) -> Result:
    r"""Find passages, best first, with their sources.

    Each has the path through the graph that led to it. If nothing relevant is found, it says so and shows the nearest
    passages.

      monograph search notes.mono "when is the boiler serviced?"
      monograph search notes.mono INV-2024 -n 3 --where 'year >= 2020' \
          --where '{"tags": {"contains": "paid"}}'
      monograph search notes.mono "who repaired the boiler?" --html answer.html
      monograph search notes.mono "what was the year like?" --how tree:detail=0.3
      echo "who repaired the boiler?" | monograph search notes.mono -
    """
    with opened_archive(file, within, as_of, trust=trust, reranker=reranker) as archive:
        question, condition = query_and_filter(archive, query, where, k)
        hits = archive.search(question, k, how, condition, stop=stop or None, ranked_recall=ranked_recall)
        confidence = 1.0
        if not json_output:
            from monograph.library.questions import confidence_in

            confidence = confidence_in(archive, question, hits)
        if html is not None:
            from monograph.app.graph_commands import write_page
            from monograph.app.picture.data import ways_to

            neighbourhood, ways = ways_to(archive, question, hits)
            write_page(archive, neighbourhood, ways, question, html, quiet=json_output)

    def show() -> None:
        answer_output.print_doubt(question, hits, confidence)
        document_output.print_hits(hits, explain=explain)

    return Result(hits, show)


@command
def show(
    file: options.File,
    name: Annotated[str | None, typer.Argument(metavar="ID", help="A document's id or path, or a chunk's id.")] = None,
    around: Annotated[int, typer.Option("--around", "-a", help="Chunks to show on both sides of a chunk.")] = 1,
    within: options.Within = None,
    as_of: options.AsOf = "",
    versions: Annotated[bool, typer.Option("--versions", help="List the versions of the document.")] = False,
) -> Result:
    """List documents, or print one, or a chunk in its context.

    monograph show notes.mono
    monograph show notes.mono ~/notes/boiler.md
    monograph show notes.mono ~/notes/boiler.md --as-of 2026-03
    """
    with opened(file) as full_file:
        around = whole_number(around, "around", 0)
        monograph = narrow(full_file, within, as_of)
        if versions:
            from monograph.shelf import whole_file

            history = whole_file(monograph, "previous versions", "versions").versions(name or "")
            return Result(history, lambda: document_output.print_versions(history))
        if name is None:
            documents = monograph.documents()
            return Result(documents, lambda: document_output.print_documents(documents))
        matches = monograph.fetch([name])
        if not matches:
            document = monograph.document(name)
            return Result(document, lambda: document_output.print_document(document))
        chunk = matches[0].chunk
        chunks = monograph.chunks(chunk.document_id)
        neighbours = chunks[max(0, chunk.ordinal - around) : chunk.ordinal + around + 1]
        return Result(neighbours, lambda: document_output.print_neighbours(chunk, neighbours, len(chunks)))
