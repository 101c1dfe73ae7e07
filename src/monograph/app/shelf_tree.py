"""The commands for the tree of summaries over a shelf: outline, resummarize."""

from __future__ import annotations

from typing import Annotated

import typer

from monograph.app import output, shelf_output, tree_output
from monograph.app.archives import UrlArgument, known_as, opened_shelf
from monograph.app.command import ApiKeyOption, JsonOption, TrustOption, outcome, unseen
from monograph.app.tree_commands import LayersOption, NodeArgument
from monograph.app.trust import remember


def outline(
    url: UrlArgument,
    node: NodeArgument = "",
    layers: LayersOption = 1,
    json_output: JsonOption = False,
) -> None:
    """Show the tree of summaries as a table of contents.

    monograph shelf outline ~/shelf
    monograph shelf outline ~/shelf 3f9a --layers 2
    """
    with outcome(as_json=json_output):
        with opened_shelf(url) as shelf:
            found = shelf.tree.outline(node, layers)
        output.print_json(found) if json_output else tree_output.print_outline(found)


def resummarize(
    url: UrlArgument,
    summarizer: Annotated[
        str,
        typer.Argument(
            metavar="SUMMARIZER",
            help="extractive, or llm:openai:URL#MODEL; by default the shelf's own, or extractive.",
            show_default=False,
        ),
    ] = "",
    api_key: ApiKeyOption = "",
    trust: TrustOption = False,
    json_output: JsonOption = False,
) -> None:
    """Make the tree of summaries anew, and publish it.

    From then on every version has one. What a summarizer made of the same texts before is remembered.

    monograph shelf resummarize ~/shelf
    """
    with outcome(as_json=json_output):
        from monograph.derive.addresses import addresses
        from monograph.derive.summarize import load_summarizer

        chosen = load_summarizer(summarizer, api_key) if summarizer else None
        if trust and summarizer:
            remember(known_as(url), dict.fromkeys(addresses(summarizer)))
        with opened_shelf(url, trust=trust) as shelf:
            with output.progress_bar("resummarize", quiet=unseen(json_output)) as on_progress:
                report = shelf.tree.rebuild(chosen, progress=on_progress)
            version = shelf.version
        if json_output:
            output.print_json({**output.as_json(report), "version": version})
        else:
            shelf_output.print_written(report, url, version)
