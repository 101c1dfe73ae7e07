"""Commands for a shelf: ``monograph shelf …``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from monograph.app import document_output, options, output
from monograph.app.command import Result, command, report_result, working
from monograph.app.group import CommandGroup, as_written
from monograph.app.opening import LOCAL, opened_shelf, permission_of_shelf, tasks_of
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.values import Report

app = typer.Typer(
    cls=CommandGroup,
    help="Search many files as one, when one is not enough.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

TasksOption = Annotated[
    str,
    typer.Option(
        "--engine",
        help="Where shards are built: local, or ray; ray:cpus=2 gives each task two processors.",
        show_default=False,
    ),
]


def _shelf_command(work: Callable[..., Result]) -> Callable[..., None]:
    """Add a function to the commands of ``monograph shelf``."""
    return app.command(help=as_written(work.__doc__ or ""))(command(work))


@_shelf_command
def build(
    url: options.Url,
    sources: Annotated[list[Path], typer.Argument(metavar="SOURCE", help="Folders, files and .mono files.")],
    shards: Annotated[
        int, typer.Option("--shards", help="Number of new shards for new documents; use one per million chunks.")
    ] = 1,
    embedder: Annotated[
        str,
        typer.Option(
            "--embedder", help="Embedder of the shards: static, openai:URL#MODEL, model2vec:FOLDER, onnx:FOLDER."
        ),
    ] = "",
    extractor: Annotated[
        str, typer.Option("--extractor", help="Extractor of names: pattern, spacy:PIPELINE, or llm:openai:URL#MODEL.")
    ] = "",
    engine: TasksOption = LOCAL,
    replace_all: Annotated[
        bool, typer.Option("--replace", help="Replace all contents of the shelf by the sources.")
    ] = False,
    verify: options.Verify = False,
    prune: options.Prune = False,
    max_bytes: options.MaxBytes = DEFAULT_LIMITS.max_bytes,
    max_seconds: options.MaxSeconds = DEFAULT_LIMITS.max_seconds,
    follow_links: options.FollowLinks = None,
    trust: options.Trust = False,
    quiet: options.Quiet = False,
) -> Result:
    """Build or update a shelf from folders and files.

    It is published at once. New documents go into new shards; changed and missing files are updated in their shards.
    A .mono file becomes a shard, with everything that models computed for it. Interrupt it at any time: the same
    command continues. With --engine ray, tasks on any machine build the shards; every machine must have the sources
    at the same paths.

    monograph shelf build ~/shelf ~/notes --shards 3
    monograph shelf build ~/shelf ~/notes letters.mono
    monograph shelf build s3://bucket/shelf /mnt/texts --shards 40 --engine ray
    """
    from monograph.shelf import build as build_shelf

    allowed = permission_of_shelf(url, trust=trust, named=[embedder, extractor])
    with working("build", quiet=quiet) as on_progress:
        report = build_shelf(
            url,
            sources=sources,
            shards=shards,
            embedder=embedder or None,
            extractor=extractor or None,
            limits=Limits(max_bytes, max_seconds),
            verify=verify,
            prune=prune,
            follow_links=follow_links,
            tasks=tasks_of(engine),
            replace_all=replace_all,
            trusted=allowed,
            progress=on_progress,
        )
    return _published_result(report, url)


@_shelf_command
def remove(
    url: options.Url,
    names: Annotated[list[str], typer.Argument(metavar="ID", help="Ids or paths of documents.")],
    trust: options.Trust = False,
    quiet: options.Quiet = False,
) -> Result:
    """Remove documents, and publish the result.

    Their shards are built again without a trace of them. The previous version has them until shelf forget deletes it.

    monograph shelf remove ~/shelf notes/boiler.md
    """
    from monograph.shelf import remove as remove_documents

    with working("remove", quiet=quiet) as on_progress:
        report = remove_documents(url, names, trusted=permission_of_shelf(url, trust=trust), progress=on_progress)
    return _published_result(report, url)


def _published_result(report: Report, url: str) -> Result:
    with opened_shelf(url) as shelf:
        counts = shelf.stats()
    remark = (
        f"{counts.url}: version {counts.version} has {counts.documents:,} documents, "
        f"{counts.chunks:,} chunks in {counts.shards:,} shards, {output.in_bytes(counts.bytes)}"
    )
    return report_result(report, url, remark, version=counts.version)


@_shelf_command
def show(
    url: options.Url,
    name: Annotated[str, typer.Argument(metavar="ID", help="A document's id or uri.")],
) -> Result:
    """Print a document.

    monograph shelf show ~/shelf notes/boiler.md
    """
    with opened_shelf(url) as shelf:
        document = shelf.document(name)
    return Result(document, lambda: document_output.print_document(document))


@_shelf_command
def stats(url: options.Url) -> Result:
    """Print counts and sizes of the newest version."""
    with opened_shelf(url) as shelf:
        counts = shelf.stats()
    most, least = max(counts.documents_by_shard, default=0), min(counts.documents_by_shard, default=0)
    rows = (
        ("version", f"{counts.version}"),
        ("shards", f"{counts.shards:,}"),
        ("documents", f"{counts.documents:,}"),
        ("  fewest / most in a shard", f"{least:,} / {most:,}"),
        ("chunks", f"{counts.chunks:,}"),
        ("entities", f"{counts.entities:,}"),
        ("  names merged into them", f"{counts.merged:,}"),
        ("size", output.in_bytes(counts.bytes)),
    )

    def show_counts() -> None:
        output.print_line(
            f"{counts.url}  embedder {counts.embedder or '(none yet)'}  extractor {counts.extractor or '(none yet)'}"
        )
        output.print_table(("what", "value"), rows, right=["value"])

    return Result(counts, show_counts)


@_shelf_command
def check(url: options.Url, trust: options.Trust = False, quiet: options.Quiet = False) -> Result:
    """Check each shard, and the catalogue of the shelf."""
    with opened_shelf(url, trust=trust) as shelf, working("check", quiet=quiet):
        default_hint = "build the shelf again from its sources, with --replace"
        findings = [replace(finding, repairable=False, hint=finding.hint or default_hint) for finding in shelf.check()]
    return Result(findings, lambda: output.print_findings(findings), problems=bool(findings))


@_shelf_command
def forget(url: options.Url, quiet: options.Quiet = False) -> Result:
    """Delete every version but the newest.

    It also deletes data that only they contain, in the shelf and on this machine. It is complete when it was done on
    every machine that has opened the shelf, or its cache folder was deleted there.

    monograph shelf remove ~/shelf notes/secret.md
    monograph shelf forget ~/shelf
    """
    from monograph.shelf import forget as forget_versions

    with working("forget", quiet=quiet):
        forgotten = forget_versions(url)
    version = forgotten.kept.version if forgotten.kept is not None else 0
    value = {"version": version, "removed": list(forgotten.removed), "digests": sorted(forgotten.digests)}
    objects = len(forgotten.digests)
    manifests = len(forgotten.removed) - objects
    lines = [f"{url}: {manifests:,} older versions and {objects:,} objects removed; version {version} is left"]
    if objects:
        lines.append("  to complete it, run the command on every other machine that has opened the shelf")
    return Result(value, lines)
