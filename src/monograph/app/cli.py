"""The ``monograph`` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monograph.app import ask_commands, graph_commands, output, serve_commands, source_commands, tree_commands
from monograph.app.command import (
    DONE_WITH_PROBLEMS,
    ApiKeyOption,
    FileArgument,
    HowOption,
    HtmlOption,
    JsonOption,
    TrustOption,
    WhereOption,
    outcome,
    unseen,
    where_of,
)
from monograph.app.stats_output import print_stats
from monograph.app.trust import opened
from monograph.library import Monograph
from monograph.read.limits import DEFAULT_LIMITS, Limits

MANUAL = """Graph RAG in one file: point it at a folder, then ask.

  monograph sync notes.mono ~/notes        make or update the file
  monograph search notes.mono "boiler"     find passages, with their sources
  monograph ask notes.mono "who repaired the boiler?"
                                           answer from them, with a model or without
  monograph show notes.mono ID             read a document, or a chunk among its neighbours
  monograph graph notes.mono "Mrs Grubb"   see what is named together with a person, a place, a thing
  monograph outline notes.mono             see what it is all about, in summaries

The file is one SQLite database; nothing leaves this machine. Every command takes --json. Exit codes: 0 done; 1
failed; 2 wrong usage; 3 done, but some sources could not be taken in, or faults were found; 130 interrupted.
"""

app = typer.Typer(
    help=MANUAL, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)


@app.command()
def sync(
    file: FileArgument,
    sources: Annotated[
        list[Path], typer.Argument(metavar="FOLDER…", help="Folders and files to follow.", show_default=False)
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done and what it would cost; write nothing.")
    ] = False,
    verify: Annotated[
        bool, typer.Option("--verify", help="Compare contents even where size and time are unchanged.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove documents even if a whole folder is empty now.")
    ] = False,
    max_bytes: Annotated[
        int, typer.Option("--max-bytes", help="Pass over files larger than this.")
    ] = DEFAULT_LIMITS.max_bytes,
    max_seconds: source_commands.SecondsOption = DEFAULT_LIMITS.max_seconds,
    extractor: Annotated[
        str,
        typer.Option(
            "--extractor",
            help="What finds the names in a new file: pattern, spacy:PIPELINE, or llm:openai:URL#MODEL.",
            show_default=False,
        ),
    ] = "",
    summarizer: Annotated[
        str,
        typer.Option(
            "--summarizer",
            help="What makes a tree of summaries, which a file has only if asked: extractive, or llm:openai:URL#MODEL.",
            show_default=False,
        ),
    ] = "",
    api_key: ApiKeyOption = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Bring FILE up to date with folders: add, change and remove what changed there.

    Hidden files are passed over. What was embedded once is never embedded again, and what a model extracted never
    extracted again. Interrupt it at any time.

      monograph sync notes.mono ~/notes ~/Documents/letters
      monograph sync notes.mono ~/notes --dry-run
      monograph sync notes.mono ~/notes --summarizer extractive
      monograph sync notes.mono ~/notes --extractor "llm:openai:http://localhost:11434/v1#qwen3:1.7b"
    """
    limits = Limits(max_bytes, max_seconds)
    with outcome(as_json=json_output):
        from monograph.derive.extract import load_extractor
        from monograph.derive.summarize import load_summarizer

        names = load_extractor(extractor, api_key) if extractor else None
        sums = load_summarizer(summarizer, api_key) if summarizer else None
        with (
            opened(file, trust=trust, named=[extractor, summarizer], extractor=names, summarizer=sums) as monograph,
            output.progress_bar("sync", quiet=unseen(json_output)) as on_progress,
        ):
            plan = monograph.files.plan(
                *sources, verify=verify, prune=prune, price=dry_run, limits=limits, progress=on_progress
            )
            result = plan if dry_run else monograph.files.apply(plan, limits=limits, progress=on_progress)
        if json_output:
            output.print_json(result)
        elif dry_run:
            output.print_plan(plan)
        else:
            output.print_report(result, str(file))  # type: ignore[arg-type]
        if not json_output:
            output.print_problems(result.problems)
        if result.problems:
            raise typer.Exit(DONE_WITH_PROBLEMS)


@app.command()
def search(
    file: FileArgument,
    query: Annotated[str, typer.Argument(metavar="QUERY", help="A question, words, or a code.", show_default=False)],
    k: Annotated[int, typer.Option("-k", help="Most hits.")] = 5,
    how: HowOption = "auto",
    where: WhereOption = None,
    explain: Annotated[bool, typer.Option("--explain", "-e", help="Say how each hit was found.")] = False,
    html: HtmlOption = None,
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Find passages, best first, with their sources, and the way through the graph that led to each.

    monograph search notes.mono "when is the boiler serviced?"
    monograph search notes.mono 'INV-2024' -k 3 --where 'year >= 2020' --where '{"tags": {"contains": "paid"}}'
    monograph search notes.mono "who repaired the boiler?" --html answer.html
    monograph search notes.mono "what was the year like?" --how tree:detail=0.3
    """
    with outcome(as_json=json_output):
        with opened(file, trust=trust, create=False) as monograph:
            allowed = where_of(where or [])
            hits = monograph.search(query, k, how, allowed)
            if html is not None:
                graph_commands.draw_answers(monograph, query, hits, html, quiet=json_output)
        if json_output:
            output.print_json(hits)
        else:
            output.print_hits(hits, explain=explain)


@app.command()
def show(
    file: FileArgument,
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="A document's id or path, or a chunk's id.", show_default=False)
    ] = None,
    around: Annotated[int, typer.Option("--around", "-a", help="Chunks to show on both sides of a chunk.")] = 1,
    json_output: JsonOption = False,
) -> None:
    """List the documents, or read one, or read a chunk among its neighbours.

    monograph show notes.mono
    monograph show notes.mono ~/notes/boiler.md
    """
    with outcome(as_json=json_output), opened(file, create=False) as monograph:
        if name is None:
            listed = monograph.documents()
            output.print_json(listed) if json_output else output.print_documents(listed)
            return
        found = monograph.fetch([name])
        if not found:
            document = monograph.document(_stored_name(monograph, name))
            output.print_json(document) if json_output else output.print_document(document)
            return
        chunk = found[0].chunk
        chunks = monograph.chunks(chunk.document_id)
        near = chunks[max(0, chunk.ordinal - around) : chunk.ordinal + around + 1]
        output.print_json(near) if json_output else output.print_neighbours(chunk, near, len(chunks))


@app.command()
def remove(
    file: FileArgument,
    names: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids or paths of documents.", show_default=False)],
    forget: Annotated[
        bool, typer.Option("--forget", help="Leave no trace of their text in the bytes of the file.")
    ] = False,
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Take documents out of every result at once.

    A file that is still in a synced folder comes back with the next sync: delete or move it as well.
    """
    with outcome(as_json=json_output):
        with opened(file, trust=trust, create=False) as monograph:
            report = monograph.remove([_stored_name(monograph, name) for name in names], forget=forget)
        output.print_json(report) if json_output else output.print_report(report, str(file))


@app.command()
def forget(
    file: FileArgument,
    names: Annotated[list[str], typer.Argument(metavar="ID…", help="Ids or paths of documents.", show_default=False)],
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Take documents out and leave no trace of their text: the same as remove --forget.

    Returns only when the bytes of the file and of its write-ahead log hold nothing of them.
    """
    remove(file, names, forget=True, trust=trust, json_output=json_output)


@app.command()
def stats(file: FileArgument, json_output: JsonOption = False) -> None:
    """Count and weigh what the file holds."""
    with outcome(as_json=json_output):
        with opened(file, create=False) as monograph:
            found = monograph.stats()
        output.print_json(found) if json_output else print_stats(found)


@app.command()
def check(
    file: FileArgument,
    repair: Annotated[bool, typer.Option("--repair", help="Mend what can be mended.")] = False,
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Hold every table against every other, and report faults."""
    with outcome(as_json=json_output):
        with opened(file, trust=trust, create=False) as monograph:
            findings = monograph.check(repair=repair)
        output.print_json(findings) if json_output else output.print_findings(findings)
        if findings:
            raise typer.Exit(DONE_WITH_PROBLEMS)


app.command()(ask_commands.ask)
app.command()(ask_commands.chat)
app.command()(ask_commands.context)
app.command()(graph_commands.graph)
app.command()(graph_commands.entities)
app.command()(graph_commands.reextract)
app.command()(serve_commands.mcp)
app.command()(tree_commands.outline)
app.command()(tree_commands.resummarize)
app.command()(source_commands.sources)
app.command()(source_commands.retry)
app.command()(source_commands.watch)


@app.command()
def reembed(
    file: FileArgument,
    embedder: Annotated[
        str,
        typer.Argument(
            metavar="EMBEDDER", help="static, onnx:FOLDER, or sentence-transformers:NAME.", show_default=False
        ),
    ],
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Make every vector anew with another embedder. Until the end, the file answers with the old one."""
    with outcome(as_json=json_output):
        from monograph.derive.embed import load_embedder

        with (
            opened(file, trust=trust, named=[embedder], create=False) as monograph,
            output.progress_bar("reembed", quiet=unseen(json_output)) as on_progress,
        ):
            report = monograph.vectors.rebuild(load_embedder(embedder), progress=on_progress)
        output.print_json(report) if json_output else output.print_report(report, str(file))


@app.command()
def compact(file: FileArgument, json_output: JsonOption = False) -> None:
    """Drop remembered values that nothing uses any more, and give free space back to the disk."""
    with outcome(as_json=json_output):
        with opened(file, create=False) as monograph:
            before = monograph.stats().file_bytes
            monograph.compact()
            after = monograph.stats().file_bytes
        if json_output:
            output.print_json({"before_bytes": before, "after_bytes": after})
        else:
            output.console().print(f"{file}: {before:,} bytes before, {after:,} after")


@app.command(name="eval")
def evaluate(
    dataset: Annotated[
        Path,
        typer.Argument(
            metavar="SET", help="A folder with corpus.jsonl(.gz) and queries.jsonl(.gz).", show_default=False
        ),
    ],
    how: Annotated[
        list[str] | None,
        typer.Option("--how", help="A way to search; give several to compare them. By default lexical, dense, hybrid."),
    ] = None,
    k: Annotated[int, typer.Option("-k", help="Documents for recall@k, chunks for the context.")] = 5,
    queries: Annotated[Path | None, typer.Option("--queries", help="Questions of your own, of the same form.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", help="Measure this .mono file instead of one made of the set's corpus.")
    ] = None,
    embedder: Annotated[
        str, typer.Option("--embedder", help="For a file made here: static, onnx:FOLDER, …")
    ] = "static",
    plot: Annotated[Path | None, typer.Option("--plot", help="Write a PNG (extra bench).")] = None,
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Measure retrieval on a question set: recall, ranks, latency, tokens of context.

    monograph eval ../shared/data/lihuaworld --how lexical --how graph
    monograph eval ../shared/data/lihuaworld --file lihua.mono --queries mine.jsonl -k 10
    """
    with outcome(as_json=json_output):
        from monograph.app import measure

        results, name = measure.run(
            measure.Task(dataset, queries, file, embedder, how or ["lexical", "dense", "hybrid"], k, trust),
            quiet=unseen(json_output),
        )
        if plot is not None:
            from monograph.evaluate.plot import save_plot

            save_plot(results, name, plot)
        output.print_json(results) if json_output else measure.print_results(results, name)


def _stored_name(monograph: Monograph, name: str) -> str:
    """A document's id as given, or the path a person typed as the file holds it."""
    absolute = str(Path(name).absolute())
    known = {document.uri for document in monograph.documents()} if Path(name).name else set()
    return absolute if absolute in known else name


def main() -> None:
    """Run the command line."""
    app(prog_name="monograph")


if __name__ == "__main__":
    main()
