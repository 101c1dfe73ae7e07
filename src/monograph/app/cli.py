"""The ``monograph`` command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monograph import __version__
from monograph.app import (
    answer_output,
    ask_commands,
    carry_commands,
    cost_command,
    file_commands,
    graph_commands,
    measure_commands,
    output,
    serve_commands,
    shelf_commands,
    source_commands,
    tree_commands,
)
from monograph.app.archives import ArchiveArgument, narrowed_archive, opened_archive
from monograph.app.command import (
    DONE_WITH_PROBLEMS,
    ApiKeyOption,
    AsOfOption,
    FileArgument,
    HistoryOption,
    HowOption,
    HtmlOption,
    JsonOption,
    QueryArgument,
    RerankerOption,
    TrustOption,
    VectorIndexOption,
    WhereOption,
    WithinOption,
    narrowed,
    outcome,
    query_of,
    unseen,
    where_of,
)
from monograph.app.manual import MANUAL, PROGRAM, as_written
from monograph.app.stats_output import print_stats
from monograph.app.trust import opened
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.settings import Settings
from monograph.values import Cost

app = typer.Typer(
    help=as_written(MANUAL),
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 100},
)


def _say_version(wanted: bool) -> None:
    if wanted:
        output.console().print(f"{PROGRAM} {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """What stands before a command."""


@app.command()
def sync(
    file: FileArgument,
    sources: Annotated[
        list[Path], typer.Argument(metavar="FOLDER", help="Folders and files to follow.", show_default=False)
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done and what it would cost; write nothing.")
    ] = False,
    verify: source_commands.VerifyOption = False,
    prune: source_commands.PruneOption = False,
    forget: source_commands.ForgetOption = None,
    max_bytes: source_commands.BytesOption = DEFAULT_LIMITS.max_bytes,
    max_seconds: source_commands.SecondsOption = DEFAULT_LIMITS.max_seconds,
    follow_links: source_commands.FollowLinksOption = None,
    extractor: Annotated[
        str,
        typer.Option(
            "--extractor",
            help="What finds the names in a new file: pattern, spacy:PIPELINE, or llm:openai:URL#MODEL.",
            show_default=False,
        ),
    ] = "",
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder",
            help="What makes the vectors of a new file: static, openai:URL#MODEL, model2vec:FOLDER, onnx:FOLDER.",
            show_default=False,
        ),
    ] = "",
    summarizer: source_commands.SummarizerOption = "",
    describer: source_commands.DescriberOption = "",
    history: HistoryOption = False,
    vector_index: VectorIndexOption = "",
    api_key: ApiKeyOption = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    r"""Bring FILE up to date with folders.

    What is new there is added, what changed is changed, what is gone is removed. Hidden files are passed over. What was
    embedded once is never embedded again, and what a model extracted never extracted again. Interrupt it at any time.

      monograph sync notes.mono ~/notes ~/Documents/letters
      monograph sync notes.mono ~/notes --dry-run
      monograph sync notes.mono ~/notes --summarizer extractive
      monograph sync diary.mono ~/diary --history
      monograph sync notes.mono ~/notes \
          --extractor "llm:openai:http://localhost:11434/v1#qwen3:1.7b"
      monograph sync notes.mono ~/notes --trust --dry-run \
          --embedder "openai:http://localhost:11434/v1#nomic-embed-text"
    """
    with outcome(as_json=json_output):
        limits = Limits(max_bytes, max_seconds)
        from monograph.derive.describe import load_describer
        from monograph.derive.embed import load_embedder
        from monograph.derive.extract import load_extractor
        from monograph.derive.summarize import load_summarizer

        vectors = load_embedder(embedder, api_key=api_key) if embedder else None
        names = load_extractor(extractor, api_key) if extractor else None
        sums = load_summarizer(summarizer, api_key) if summarizer else None
        sees = load_describer(describer, api_key) if describer not in ("", "none") else describer
        with (
            opened(
                file,
                trust=trust,
                named=[embedder, extractor, summarizer, describer],
                embedder=vectors,
                extractor=names,
                summarizer=sums,
                describer=sees,
                settings=Settings(history=True) if history else None,
                vector_index=vector_index or None,
            ) as monograph,
            output.progress_bar("sync", quiet=unseen(json_output)) as on_progress,
        ):
            plan = monograph.files.plan(
                *sources,
                verify=verify,
                prune=prune,
                follow_links=follow_links,
                price=dry_run,
                limits=limits,
                progress=on_progress,
            )
            result = (
                plan if dry_run else monograph.files.apply(plan, forget=forget, limits=limits, progress=on_progress)
            )
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
    file: ArchiveArgument,
    query: QueryArgument,
    k: Annotated[int, typer.Option("-k", "-n", help="Most hits.")] = 5,
    how: HowOption = "auto",
    where: WhereOption = None,
    within: WithinOption = None,
    as_of: AsOfOption = "",
    explain: Annotated[bool, typer.Option("--explain", "-e", help="Say how each hit was found.")] = False,
    html: HtmlOption = None,
    reranker: RerankerOption = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    r"""Find passages, best first, with their sources.

    Under each stands the way through the graph that led to it. Where nothing relevant is found that is said, and what
    is nearest is shown.

      monograph search notes.mono "when is the boiler serviced?"
      monograph search notes.mono INV-2024 -n 3 --where 'year >= 2020' \
          --where '{"tags": {"contains": "paid"}}'
      monograph search notes.mono "who repaired the boiler?" --html answer.html
      monograph search notes.mono "what was the year like?" --how tree:detail=0.3
      echo "who repaired the boiler?" | monograph search notes.mono -
    """
    with outcome(as_json=json_output):
        with opened_archive(file, trust=trust, create=False, reranker=reranker) as whole:
            archive = narrowed_archive(whole, within, as_of)
            # A context tells beside its hits how much they have to do with the query.
            found = archive.context(query_of(query), k=k, how=how, where=where_of(where or []))
            if html is not None:
                graph_commands.draw_answers(archive, found.question, found.hits, html, quiet=json_output)
        if json_output:
            output.print_json(found.hits)
        else:
            answer_output.print_doubt(found)
            output.print_hits(found.hits, explain=explain)


@app.command()
def show(
    file: FileArgument,
    name: Annotated[
        str | None, typer.Argument(metavar="ID", help="A document's id or path, or a chunk's id.", show_default=False)
    ] = None,
    around: Annotated[int, typer.Option("--around", "-a", help="Chunks to show on both sides of a chunk.")] = 1,
    within: WithinOption = None,
    as_of: AsOfOption = "",
    versions: Annotated[bool, typer.Option("--versions", help="List the states that the document had.")] = False,
    json_output: JsonOption = False,
) -> None:
    """List the documents, or read one, or a chunk in its place.

    monograph show notes.mono
    monograph show notes.mono ~/notes/boiler.md
    monograph show notes.mono ~/notes/boiler.md --as-of 2026-03
    """
    with outcome(as_json=json_output), opened(file, create=False) as whole:
        monograph = narrowed(whole, within, as_of)
        if versions:
            had = monograph.versions(name or "")
            output.print_json(had) if json_output else output.print_versions(had)
            return
        if name is None:
            listed = monograph.documents()
            output.print_json(listed) if json_output else output.print_documents(listed)
            return
        found = monograph.fetch([name])
        if not found:
            document = monograph.document(name)
            output.print_json(document) if json_output else output.print_document(document)
            return
        chunk = found[0].chunk
        chunks = monograph.chunks(chunk.document_id)
        near = chunks[max(0, chunk.ordinal - around) : chunk.ordinal + around + 1]
        output.print_json(near) if json_output else output.print_neighbours(chunk, near, len(chunks))


app.command()(file_commands.remove)
app.command()(file_commands.forget)


@app.command()
def stats(
    file: FileArgument, within: WithinOption = None, as_of: AsOfOption = "", json_output: JsonOption = False
) -> None:
    """Count and weigh what the file holds."""
    with outcome(as_json=json_output):
        with opened(file, create=False) as monograph:
            found = narrowed(monograph, within, as_of).stats()
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


app.command()(cost_command.costs)
app.command(name="eval")(measure_commands.evaluate)
app.command()(file_commands.backup)
app.command()(carry_commands.export)
app.command(name="import")(carry_commands.take_over)
app.command()(file_commands.encrypt)
app.command()(file_commands.decrypt)
app.command()(ask_commands.ask)
app.command()(ask_commands.chat)
app.command()(ask_commands.context)
app.command()(graph_commands.graph)
app.command()(graph_commands.entities)
app.command()(graph_commands.build)
app.command()(graph_commands.reextract)
app.command()(serve_commands.mcp)
app.command()(serve_commands.serve)
app.command()(tree_commands.outline)
app.command()(tree_commands.resummarize)
app.command()(source_commands.sources)
app.command()(source_commands.retry)
app.command()(source_commands.watch)
app.add_typer(shelf_commands.app, name="shelf")


@app.command()
def reembed(
    file: FileArgument,
    embedder: Annotated[
        str,
        typer.Argument(
            metavar="EMBEDDER",
            help="static, openai:URL#MODEL, model2vec:FOLDER, onnx:FOLDER, or sentence-transformers:NAME.",
            show_default=False,
        ),
    ],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost; write nothing.")] = False,
    api_key: ApiKeyOption = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    r"""Make every vector anew with another embedder.

    Until the end, the file answers with the old one. What was embedded once is remembered: interrupt it at any time.

      monograph reembed notes.mono --trust \
          "openai:http://localhost:11434/v1#nomic-embed-text"
    """
    with outcome(as_json=json_output):
        from monograph.derive.embed import load_embedder

        with (
            opened(file, trust=trust, named=[embedder], create=False) as monograph,
            output.progress_bar("reembed", quiet=unseen(json_output)) as on_progress,
        ):
            chosen = load_embedder(embedder, api_key=api_key)
            result = (
                monograph.vectors.price(chosen) if dry_run else monograph.vectors.rebuild(chosen, progress=on_progress)
            )
        if json_output:
            output.print_json(result)
        elif isinstance(result, Cost):
            output.print_embedding_cost(result, str(file))
        else:
            output.print_report(result, str(file))


@app.command()
def compact(file: FileArgument, json_output: JsonOption = False) -> None:
    """Drop what is remembered and used no more.

    Free space is given back to the disk.
    """
    with outcome(as_json=json_output):
        with opened(file, create=False) as monograph:
            before = monograph.stats().file_bytes
            monograph.compact()
            after = monograph.stats().file_bytes
        if json_output:
            output.print_json({"before_bytes": before, "after_bytes": after})
        else:
            output.console().print(f"{file}: {before:,} bytes before, {after:,} after")


for _command in app.registered_commands:
    _command.help = as_written(getattr(_command.callback, "__doc__", None) or "")


def main() -> None:
    """Run the command line."""
    app(prog_name=PROGRAM)


if __name__ == "__main__":
    main()
