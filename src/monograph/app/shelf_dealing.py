"""The commands that make a shelf of a file, a file of a shelf, and a shelf of other shards: split, join, reshard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monograph.app import output, shelf_output
from monograph.app.archives import UrlArgument, opened_shelf
from monograph.app.command import FileArgument, JsonOption, TrustOption, outcome, unseen
from monograph.app.keys import key_of


def split(
    file: FileArgument,
    url: UrlArgument,
    shards: Annotated[int, typer.Option("--shards", help="How many files: about one for each million chunks.")] = 8,
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
