"""The commands that make a whole shelf, of folders, of a file, of other shards, and a file of one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monograph.app import output, shelf_output, source_commands
from monograph.app.archives import UrlArgument, known_as, opened_shelf
from monograph.app.command import DONE_WITH_PROBLEMS, FileArgument, JsonOption, TrustOption, outcome, unseen
from monograph.app.keys import key_of
from monograph.app.shelf_engine import LOCAL, makers_of
from monograph.app.trust import remember
from monograph.read.limits import DEFAULT_LIMITS, Limits

ShardsOption = Annotated[int, typer.Option("--shards", help="How many files: about one for each million chunks.")]
EmbedderOption = Annotated[
    str,
    typer.Option(
        "--embedder",
        help="What makes the vectors: static, openai:URL#MODEL, model2vec:FOLDER, onnx:FOLDER.",
        show_default=False,
    ),
]
ExtractorOption = Annotated[
    str,
    typer.Option(
        "--extractor",
        help="What finds the names: pattern, spacy:PIPELINE, or llm:openai:URL#MODEL.",
        show_default=False,
    ),
]


def trust_models(url: str, *models: str) -> None:
    """Remember that the servers that a new shelf's models ask may be asked."""
    from monograph.derive.addresses import addresses

    remember(known_as(url), dict.fromkeys(one for spec in models for one in addresses(spec)))


def build(  # noqa: PLR0913, PLR0917 - options are arguments
    url: UrlArgument,
    sources: Annotated[list[Path], typer.Argument(metavar="FOLDER", help="Folders and files.", show_default=False)],
    shards: ShardsOption = 8,
    embedder: EmbedderOption = "",
    extractor: ExtractorOption = "",
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="Who makes the shards: local, or ray, ray:cpus=2 for tasks that take two processors each.",
            show_default=False,
        ),
    ] = LOCAL,
    replace: Annotated[
        bool, typer.Option("--replace", help="Let it take the place of a shelf that is there, as its next version.")
    ] = False,
    max_bytes: source_commands.BytesOption = DEFAULT_LIMITS.max_bytes,
    max_seconds: source_commands.SecondsOption = DEFAULT_LIMITS.max_seconds,
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Build a shelf of folders at once, and publish it.

    With --engine ray each shard is made by a task, on whatever machine there is room; the folders lie under the same
    paths on all of them. Interrupt it at any time: the same command goes on from there. Later, shelf sync brings it up
    to date.

    monograph shelf build ~/shelf ~/notes --shards 3
    monograph shelf build s3://bucket/shelf /mnt/texts --shards 40 --engine ray
    """
    with outcome(as_json=json_output):
        from monograph.shelf import build as build_shelf

        with output.progress_bar("build", quiet=unseen(json_output)) as on_progress:
            report = build_shelf(
                url,
                sources=sources,
                shards=shards,
                embedder=embedder,
                extractor=extractor,
                limits=Limits(max_bytes, max_seconds),
                makers=makers_of(engine),
                replace=replace,
                progress=on_progress,
            )
        if trust:
            trust_models(url, embedder, extractor)
        with opened_shelf(url) as shelf:
            found = shelf.stats()
        if json_output:
            output.print_json({**output.as_json(report), "version": found.version})
        else:
            output.print_report(report, output.visible(url))
            shelf_output.print_published(found)
            output.print_problems(report.problems)
        if report.problems:
            raise typer.Exit(DONE_WITH_PROBLEMS)


def split(
    file: FileArgument,
    url: UrlArgument,
    shards: ShardsOption = 8,
    json_output: JsonOption = False,
) -> None:
    """Make a shelf of FILE.

    FILE is left as it is. No model is asked for anything. Shards are not encrypted, even if FILE is.

    monograph shelf split notes.mono ~/shelf --shards 3
    """
    with outcome(as_json=json_output):
        from monograph.shelf import Shelf

        with (
            output.progress_bar("split", quiet=unseen(json_output)) as on_progress,
            Shelf.split(file, url, shards, key=key_of(file), progress=on_progress) as shelf,
        ):
            found = shelf.stats()
        output.print_json(found) if json_output else shelf_output.print_published(found)


def join(
    url: UrlArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A new .mono file.", show_default=False)],
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Make one file of a shelf's newest version.

    The shelf is left as it is. No model is asked for anything.

    monograph shelf join ~/shelf notes.mono
    """
    with outcome(as_json=json_output):
        with (
            opened_shelf(url, trust=trust) as shelf,
            output.progress_bar("join", quiet=unseen(json_output)) as on_progress,
        ):
            made = shelf.join(file, progress=on_progress)
            documents, version = shelf.stats().documents, shelf.version
        size = made.stat().st_size
        if json_output:
            output.print_json({"file": str(made), "bytes": size, "documents": documents, "version": version})
        else:
            said = f"{documents:,} documents of version {version}, {output.in_bytes(size)}"
            output.console().print(f"{output.visible(str(made))}: {said}")


def reshard(
    url: UrlArgument,
    shards: Annotated[int, typer.Argument(metavar="SHARDS", help="How many files it is to have.", show_default=False)],
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Deal all documents out over another number of shards.

    That is published as a version. No answer changes by it, and no model is asked for anything.

    monograph shelf reshard ~/shelf 5
    """
    with outcome(as_json=json_output):
        with opened_shelf(url, trust=trust) as shelf:
            with output.progress_bar("reshard", quiet=unseen(json_output)) as on_progress:
                shelf.reshard(shards, progress=on_progress)
            found = shelf.stats()
        output.print_json(found) if json_output else shelf_output.print_published(found)
