"""Commands that show the graph and the tree of summaries: ``graph``, ``entities`` and ``outline``."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from monograph.app import document_output, options, output
from monograph.app.command import Result, command, warn_of_no_hits
from monograph.app.opening import narrow, opened, opened_archive
from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph.shelf import Archive
    from monograph.values import Entity, Link, Merge, Neighbourhood, OutlineNode
    from monograph.values import Path as Way

SHOWN_NAMES = 8
SHOWN_CHUNKS = 5
NAME_CHARACTERS = 60
DESCRIPTION_CHARACTERS = 240
SHOWN_ID = 8
OUTLINE_CHARACTERS = 100


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
            write_page(archive, neighbourhood, (), entity, html, quiet=json_output)
        if graphml is not None:
            archive.graph.to_graphml(graphml, entity, hops)
            _say_written(graphml, quiet=json_output)
    return Result(neighbourhood, lambda: print_neighbourhood(neighbourhood))


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
    return Result({"entities": listed, "merges": merges}, lambda: print_entities(listed, merges))


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
        branches = narrow(monograph, within, as_of).tree.outline(node, layers)
    return Result(branches, lambda: print_outline(branches))


def write_page(
    archive: Archive, neighbourhood: Neighbourhood, ways: Sequence[Way], title: str, path: Path, *, quiet: bool
) -> None:
    """Write an HTML page that draws a neighbourhood and lists paths (``ways``) through the graph."""
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


def print_neighbourhood(neighbourhood: Neighbourhood) -> None:
    """Print the requested entity, its neighbours by hops, and the most relevant chunks with their sources."""
    entities_by_id = {entity.id: entity for entity in neighbourhood.entities}
    documents = {document.id: document for document in neighbourhood.documents}
    if not neighbourhood.entities:
        output.print_line("nothing found")
        return
    for entity in neighbourhood.entities:
        if entity.id in neighbourhood.centre:
            output.print_line(_name(entity.name), style="bold")
            first, last = entity.first_seen, entity.last_seen
            seen = f", seen on {first}" if first == last else f", first seen on {first}, last on {last}"
            chunks = _count(entity.chunks, "chunk") + (seen if first else "")
            output.print_line(f"{_name(entity.kind)}, named in {chunks}", style="dim")
            if other_names := _others(entity):
                output.print_line(f"also {other_names}")
            if entity.documents:
                subjects = (document_output.title_and_uri(documents, identifier) for identifier in entity.documents)
                output.print_line(f"the subject of {_join_names([title or place for title, place in subjects])}")
    _print_neighbours(neighbourhood, entities_by_id)
    for chunk in neighbourhood.chunks[:SHOWN_CHUNKS]:
        title, where = document_output.title_and_uri(documents, chunk.document_id)
        if heading := document_output.headed(title, chunk.metadata):
            output.print_line(heading, style="bold")
        output.print_line(document_output.format_place(where, chunk, chunk.metadata), style="dim")
        document_output.print_passage(chunk.text)
    remaining = len(neighbourhood.chunks) - SHOWN_CHUNKS
    if remaining > 0:
        output.print_line(f"and {_count(remaining, 'chunk')} more", style="dim")


def print_entities(entities: Sequence[Entity], merges: Sequence[Merge] = ()) -> None:
    """Print one line for each entity, then one for each merge: the merged names and the reason."""
    if not entities and not merges:
        output.print_line("nothing found")
    if entities:
        rows = [
            (_name(entity.name), _name(entity.kind), f"{entity.chunks:,}", _others(entity), entity.id)
            for entity in entities
        ]
        output.print_table(("name", "kind", "chunks", "also", "id"), rows, right=["chunks"], folding=["name", "also"])
    if merges:
        lines = []
        for merge in merges:
            why = _line(f"{merge.reason}: {merge.detail}" if merge.detail else merge.reason, DESCRIPTION_CHARACTERS)
            why += " (undone)" if merge.undone else ""
            lines.append((_name(merge.other), _name(merge.name), why, merge.id))
        headings = ("name", "merged into", "why", "merge")
        output.print_table(headings, lines, folding=headings[:3])


def _print_neighbours(neighbourhood: Neighbourhood, entities_by_id: dict[str, Entity]) -> None:
    """Print one line for each neighbour, with its distance in hops and its link: see :func:`_nearest_links`."""
    nearest = _nearest_links(neighbourhood)
    rows, descriptions = [], []
    around = [entity for entity in neighbourhood.entities if entity.id in nearest]
    for entity in sorted(around, key=lambda item: nearest[item.id][0]):
        hop, link = nearest[entity.id]
        via = entities_by_id[link.source if link.target == entity.id else link.target]
        through = "" if hop == 1 and len(neighbourhood.centre) == 1 else _name(via.name)
        shared = f"{len(link.chunks):,}"
        rows.append((f"{hop}", _name(entity.name), _name(entity.kind), f"{link.weight:.2f}", shared, through))
        if link.description:
            keywords = f" ({_join_names(link.keywords)})" if link.keywords else ""
            described = _line(link.description, DESCRIPTION_CHARACTERS) + keywords
            descriptions.append(f"{_name(via.name)} — {_name(entity.name)}: {described}")
    unlinked = [
        entity.name
        for entity in neighbourhood.entities
        if entity.id not in nearest and entity.id not in neighbourhood.centre
    ]
    if nearest:
        headings = ("hop", "name", "kind", "weight", "shared", "through")
        output.print_table(headings, rows, right=["hop", "weight", "shared"], folding=["name"])
    if unlinked:
        output.print_line(f"not linked to these: {_join_names(unlinked)}")
    if neighbourhood.cut:
        output.print_line(f"{_count(neighbourhood.cut, 'neighbour')} left out", style="dim")
    for line in descriptions[: output.SHOWN_LINES]:
        output.print_line(line)
    output.print_line()


def _nearest_links(neighbourhood: Neighbourhood) -> dict[str, tuple[int, Link]]:
    """Return (hops to the centre, heaviest link to an entity one hop nearer) of each neighbour, by entity id."""
    touching = defaultdict(list)
    for link in neighbourhood.links:
        touching[link.source].append((link.target, link))
        touching[link.target].append((link.source, link))
    edge = reached = set(neighbourhood.centre)
    nearest: dict[str, tuple[int, Link]] = {}
    for hop in count(1):
        steps = [(other, link) for entity_id in edge for other, link in touching[entity_id] if other not in reached]
        if not steps:
            break
        for other, link in sorted(steps, key=lambda step: (-step[1].weight, step[1].source, step[1].target)):
            nearest.setdefault(other, (hop, link))
        edge = {other for other, _ in steps}
        reached = reached | edge
    return nearest


def _others(entity: Entity) -> str:
    return _join_names([name for name in entity.names if name != entity.name])


def _join_names(texts: Sequence[str]) -> str:
    rest = f" and {len(texts) - SHOWN_NAMES} more" if len(texts) > SHOWN_NAMES else ""
    return ", ".join(_name(text) for text in texts[:SHOWN_NAMES]) + rest


def _name(text: str) -> str:
    return _line(text, NAME_CHARACTERS)


def _line(text: str, limit: int) -> str:
    """Return a text on one line of at most ``limit`` characters, with an ellipsis if it was truncated."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def print_outline(branches: Sequence[OutlineNode]) -> None:
    """Print the texts of summaries and passages as a numbered table of contents, with passage counts and ids."""
    if not branches:
        output.print_line("nothing to outline: the tree has no chunks yet")
    for number, branch in enumerate(branches, start=1):
        _print_branch(branch, f"{number}" if len(branches) > 1 else "", 0)


def _print_branch(branch: OutlineNode, number: str, depth: int) -> None:
    text = " ".join(branch.text.split())
    text = document_output.ellipsis(text, OUTLINE_CHARACTERS) if depth else text
    head = f"{'  ' * depth}{number + ' ' if number else ''}"
    if branch.layer:
        output.print_line(f"{head}{text}", style="bold" if not depth else None)
        output.print_line(f"{'  ' * depth}  {branch.count:,} passages  [{branch.id[:SHOWN_ID]}]", style="dim")
    else:
        title = f"{branch.title}: " if branch.title else ""
        output.print_line(f"{head}{title}{text}  [{branch.id}]")
    for index, child in enumerate(branch.children, start=1):
        _print_branch(child, f"{number}.{index}" if number else f"{index}", depth + 1)
