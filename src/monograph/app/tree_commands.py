"""The commands that look at the tree of summaries, and the one that makes it."""

from __future__ import annotations

from typing import Annotated

import typer

from monograph.app import output, tree_output
from monograph.app.command import (
    ApiKeyOption,
    AsOfOption,
    FileArgument,
    JsonOption,
    QuietOption,
    TrustOption,
    WithinOption,
    narrowed,
    outcome,
    working,
)
from monograph.app.trust import opened


def outline(
    file: FileArgument,
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
    """
    with outcome(as_json=json_output):
        with opened(file, create=False) as monograph:
            found = narrowed(monograph, within, as_of).tree.outline(node, layers)
        output.print_json(found) if json_output else tree_output.print_outline(found)


def resummarize(  # noqa: PLR0913, PLR0917 - options are arguments
    file: FileArgument,
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
    quiet: QuietOption = False,
    json_output: JsonOption = False,
) -> None:
    r"""Make the tree of summaries, or make it anew.

    From then on it follows every change. What a summarizer made of the same texts before is remembered. Until the end,
    the file answers with the tree it has.

      monograph resummarize notes.mono
      monograph resummarize notes.mono --dry-run \
          "llm:openai:http://localhost:11434/v1#qwen3:1.7b"
    """
    with outcome(as_json=json_output):
        from monograph.derive.summarize import load_summarizer

        chosen = load_summarizer(summarizer, api_key) if summarizer else None
        with opened(file, trust=trust, named=[summarizer], create=False) as monograph:
            if dry_run:
                cost = monograph.tree.price(chosen)
                output.print_json(cost) if json_output else tree_output.print_price(cost, str(file))
                return
            with working("resummarize", quiet=quiet or json_output) as on_progress:
                report = monograph.tree.rebuild(chosen, progress=on_progress)
        output.print_json(report) if json_output else output.print_report(report, str(file))
