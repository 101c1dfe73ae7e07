"""The commands that look at the tree of summaries, and the one that makes it: of a file, or of a shelf."""

from __future__ import annotations

from typing import Annotated

import typer

from monograph.app import output, shelf_output, tree_output
from monograph.app.archives import ArchiveArgument, narrowed_archive, opened_archive
from monograph.app.command import (
    ApiKeyOption,
    AsOfOption,
    JsonOption,
    TrustOption,
    WithinOption,
    outcome,
    unseen,
)
from monograph.library import Monograph


def outline(
    file: ArchiveArgument,
    node: Annotated[
        str, typer.Argument(metavar="NODE", help="A summary's id, or its first four digits.", show_default=False)
    ] = "",
    layers: Annotated[int, typer.Option("--layers", "-l", help="Layers to open below it.")] = 1,
    within: WithinOption = None,
    as_of: AsOfOption = "",
    json_output: JsonOption = False,
) -> None:
    """Show the tree of summaries as a table of contents.

    It goes layer by layer; at the bottom are the passages.

    monograph outline notes.mono
    monograph outline notes.mono 3f9a --layers 2
    monograph outline ~/shelf
    """
    with outcome(as_json=json_output):
        with opened_archive(file, create=False) as archive:
            found = narrowed_archive(archive, within, as_of).tree.outline(node, layers)
        output.print_json(found) if json_output else tree_output.print_outline(found)


def resummarize(
    file: ArchiveArgument,
    summarizer: Annotated[
        str,
        typer.Argument(
            metavar="SUMMARIZER",
            help="extractive, or llm:openai:URL#MODEL; by default the file's own, or extractive.",
            show_default=False,
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would cost; write nothing.")] = False,
    api_key: ApiKeyOption = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    r"""Make the tree of summaries, or make it anew.

    From then on it follows every change. What a summarizer made of the same texts before is remembered. Until the end,
    the file answers with the tree it has; of a shelf the tree is published as a version.

      monograph resummarize notes.mono
      monograph resummarize notes.mono --dry-run \
          "llm:openai:http://localhost:11434/v1#qwen3:1.7b"
    """
    with outcome(as_json=json_output):
        from monograph.derive.summarize import load_summarizer

        chosen = load_summarizer(summarizer, api_key) if summarizer else None
        with opened_archive(file, trust=trust, named=[summarizer], create=False) as archive:
            if dry_run:
                cost = archive.tree.price(chosen)
                output.print_json(cost) if json_output else tree_output.print_price(cost, file)
                return
            with output.progress_bar("resummarize", quiet=unseen(json_output)) as on_progress:
                report = archive.tree.rebuild(chosen, progress=on_progress)
        if isinstance(archive, Monograph):
            output.print_json(report) if json_output else output.print_report(report, file)
        elif json_output:
            output.print_json({**output.as_json(report), "version": archive.version})
        else:
            shelf_output.print_written(report, file, archive.version)
