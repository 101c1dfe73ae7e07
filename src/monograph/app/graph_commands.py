"""Commands that show the graph and the tree of summaries: ``graph``, ``entities`` and ``outline``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monograph.app import graph_output, output
from monograph.app.command import (
    AsOfOption,
    FileArgument,
    HtmlOption,
    JsonOption,
    Result,
    WithinOption,
    command,
    narrowed,
    warn_of_no_hits,
)
from monograph.app.opening import ArchiveArgument, narrowed_archive, opened, opened_archive
from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph.shelf import Archive
    from monograph.values import Hit, Neighbourhood
    from monograph.values import Path as Way


@command
def graph(
    file: ArchiveArgument,
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="A name as a text writes it.", show_default=False)],
    hops: Annotated[int, typer.Option("--hops", help="How far from it.")] = 1,
    limit: Annotated[int, typer.Option("--limit", help="Most entities around it.")] = 60,
    html: HtmlOption = None,
    graphml: Annotated[
        Path | None,
        typer.Option("--graphml", help="Write it for Gephi, Cytoscape and the like (extra graph).", show_default=False),
    ] = None,
    within: WithinOption = None,
    as_of: AsOfOption = "",
    json_output: JsonOption = False,
) -> None:
    """Show what is named together with an entity.

    It goes hop by hop, and shows the passages that say so. A name of several things is all of them; give the qualifier
    to mean one: "Green (album)".

      monograph graph notes.mono "Mrs Grubb"
      monograph graph notes.mono boiler --hops 2 --html boiler.html
    """
    with opened_archive(file, create=False) as whole:
        archive = narrowed_archive(whole, within, as_of)
        found = archive.graph.neighbourhood(entity, hops, limit)
        if json_output:
            output.print_json(found)
        else:
            graph_output.print_neighbourhood(found)
        if html is not None:
            _write_page(archive, found, (), entity, html, quiet=json_output)
        if graphml is not None:
            archive.graph.to_graphml(graphml, entity, hops)
            _say_written(graphml, quiet=json_output)


@command
def entities(
    file: ArchiveArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Only names that contain this.")] = "",
    k: Annotated[int, typer.Option("-k", "-n", help="Most entities.")] = 50,
    why: Annotated[bool, typer.Option("--why", help="Say which names were taken to mean one thing, and why.")] = False,
    apart: Annotated[
        str, typer.Option("--apart", metavar="OTHER", help="Say that NAME and OTHER are not one.", show_default=False)
    ] = "",
    unite: Annotated[str, typer.Option("--unite", metavar="OTHER", help="Take that back.", show_default=False)] = "",
    within: WithinOption = None,
    as_of: AsOfOption = "",
) -> Result:
    """List what the file names, most often named first.

    With --why it says why names were taken for one; --apart undoes that.

    monograph entities notes.mono
    monograph entities notes.mono "John Smith" --why
    monograph entities notes.mono "John Smith" --apart "J. Smith"
    """
    from monograph.shelf import whole_file

    with opened_archive(file, create=False) as whole:
        archive = narrowed_archive(whole, within, as_of)
        if (apart or unite) and not name:
            raise InputError("two names are needed", "give the one before --apart or --unite, the other behind it")
        if apart:
            whole_file(archive, "names that are kept apart", "graph.keep_apart").graph.keep_apart(name, apart)
        if unite:
            whole_file(archive, "names that are kept apart", "graph.unite").graph.unite(name, unite)
        warn_of_no_hits(k)
        listed = archive.graph.entities(k, name)
        merges = archive.graph.merges(name) if why or apart or unite else []
    return Result({"entities": listed, "merges": merges}, lambda: graph_output.print_entities(listed, merges))


@command
def outline(
    file: FileArgument,
    node: Annotated[
        str, typer.Argument(metavar="NODE", help="A summary's id, or its first four digits.", show_default=False)
    ] = "",
    layers: Annotated[int, typer.Option("--layers", "-l", help="Layers to open below it.")] = 1,
    within: WithinOption = None,
    as_of: AsOfOption = "",
) -> Result:
    """Show the tree of summaries as a table of contents.

    It goes layer by layer; at the bottom are the passages.

    monograph outline notes.mono
    monograph outline notes.mono 3f9a --layers 2
    """
    with opened(file, create=False) as monograph:
        found = narrowed(monograph, within, as_of).tree.outline(node, layers)
    return Result(found, lambda: graph_output.print_outline(found))


def draw_answers(archive: Archive, query: str, hits: Sequence[Hit], path: Path, *, quiet: bool) -> None:
    """Write a page that draws the graph paths from a question to its hits, with their chunks."""
    from monograph.app.picture.ways import ways_to

    found, ways = ways_to(archive, query, hits)
    _write_page(archive, found, ways, query, path, quiet=quiet)


def _write_page(
    archive: Archive, found: Neighbourhood, ways: Sequence[Way], title: str, path: Path, *, quiet: bool
) -> None:
    from monograph.app.picture import picture_of
    from monograph.library import Reader

    # The page gets the file's read permissions, because it contains text of the file.
    mode = archive.path.stat().st_mode & 0o666 if isinstance(archive, Reader) else 0o600
    try:
        with open(
            path, "w", encoding="utf-8", newline="\n", opener=lambda name, flags: os.open(name, flags, mode)
        ) as page:
            if path.is_file():  # Pipes and terminals keep their mode.
                path.chmod(path.stat().st_mode & mode)
            page.write(picture_of(found, ways, title=title))
    except OSError as error:
        raise InputError(
            f"{path} cannot be written: {error.strerror or error}", "choose a folder that is there and may be written"
        ) from error
    _say_written(path, quiet=quiet)


def _say_written(path: Path, *, quiet: bool) -> None:
    if not quiet:
        output.console(stderr=True).print(f"written: {path}")
