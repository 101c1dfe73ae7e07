"""Commands that show the graph and the tree of summaries: ``graph``, ``entities`` and ``outline``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monograph.app import graph_output, options, output
from monograph.app.command import Result, command, warn_of_no_hits
from monograph.app.opening import narrowed, opened, opened_archive
from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph.shelf import Archive
    from monograph.values import Hit, Neighbourhood
    from monograph.values import Path as Way


@command
def graph(
    file: options.FileOrShelf,
    entity: Annotated[str, typer.Argument(metavar="ENTITY", help="Its name, as texts write it.")],
    hops: Annotated[int, typer.Option("--hops", help="Maximum number of hops from it.")] = 1,
    limit: Annotated[int, typer.Option("--limit", help="Maximum number of entities around it.")] = 60,
    html: options.Html = None,
    graphml: Annotated[
        Path | None, typer.Option("--graphml", help="Write a file for Gephi or Cytoscape (extra graph).")
    ] = None,
    within: options.Within = None,
    as_of: options.AsOf = "",
    json_output: options.Json = False,
) -> Result:
    """Show what is named together with an entity.

    It prints the neighbours hop by hop, and the passages that name them. If several entities share the name, it shows
    all of them; a qualifier selects one: "Green (album)".

      monograph graph notes.mono "Mrs Grubb"
      monograph graph notes.mono boiler --hops 2 --html boiler.html
    """
    with opened_archive(file, within, as_of) as archive:
        neighbourhood = archive.graph.neighbourhood(entity, hops, limit)
        if html is not None:
            _write_page(archive, neighbourhood, (), entity, html, quiet=json_output)
        if graphml is not None:
            archive.graph.to_graphml(graphml, entity, hops)
            _say_written(graphml, quiet=json_output)
    return Result(neighbourhood, lambda: graph_output.print_neighbourhood(neighbourhood))


@command
def entities(
    file: options.FileOrShelf,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Only names that contain this.")] = "",
    k: Annotated[int, typer.Option("-k", "-n", help="Maximum number of entities.")] = 50,
    why: Annotated[bool, typer.Option("--why", help="Print which names were merged, and why.")] = False,
    apart: Annotated[str, typer.Option("--apart", metavar="OTHER", help="Never merge NAME and OTHER.")] = "",
    unite: Annotated[str, typer.Option("--unite", metavar="OTHER", help="Undo --apart.")] = "",
    within: options.Within = None,
    as_of: options.AsOf = "",
) -> Result:
    """List the entities, most often named first.

    --why prints why names were merged; --apart separates two of them.

    monograph entities notes.mono
    monograph entities notes.mono "John Smith" --why
    monograph entities notes.mono "John Smith" --apart "J. Smith"
    """
    from monograph.shelf import whole_file

    with opened_archive(file, within, as_of) as archive:
        if (apart or unite) and not name:
            hint = "write one before the option, and the other after it"
            raise InputError("--apart and --unite need two names", hint)
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
    file: options.File,
    node: Annotated[str, typer.Argument(metavar="NODE", help="A summary's id, or its first four digits.")] = "",
    layers: Annotated[int, typer.Option("--layers", "-l", help="Number of layers to show below it.")] = 1,
    within: options.Within = None,
    as_of: options.AsOf = "",
) -> Result:
    """Show the tree of summaries as a table of contents.

    It prints one layer below the other; the lowest layer contains the passages.

    monograph outline notes.mono
    monograph outline notes.mono 3f9a --layers 2
    """
    with opened(file) as monograph:
        branches = narrowed(monograph, within, as_of).tree.outline(node, layers)
    return Result(branches, lambda: graph_output.print_outline(branches))


def draw_answers(archive: Archive, query: str, hits: Sequence[Hit], path: Path, *, quiet: bool) -> None:
    """Write a page that draws the graph paths from a question to its hits, with their chunks."""
    from monograph.app.picture.data import ways_to

    neighbourhood, ways = ways_to(archive, query, hits)
    _write_page(archive, neighbourhood, ways, query, path, quiet=quiet)


def _write_page(
    archive: Archive, neighbourhood: Neighbourhood, ways: Sequence[Way], title: str, path: Path, *, quiet: bool
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
            page.write(picture_of(neighbourhood, ways, title=title))
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {error.strerror or error}", "choose a folder that exists and is writable"
        ) from error
    _say_written(path, quiet=quiet)


def _say_written(path: Path, *, quiet: bool) -> None:
    if not quiet:
        output.print_line(f"written: {path}", stderr=True)
