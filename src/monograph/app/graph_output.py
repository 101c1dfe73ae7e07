"""Output of the graph as tables, and of the tree of summaries as a table of contents."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from monograph.app.document_output import ellipsis, headed, placed, print_passage, title_and_place
from monograph.app.output import SHOWN_LINES, print_line, print_table

if TYPE_CHECKING:
    from monograph.values import Entity, Link, Merge, Neighbourhood, OutlineNode

SHOWN_NAMES = 8
SHOWN_CHUNKS = 5
NAME_CHARACTERS = 60
DESCRIPTION_CHARACTERS = 240
SHOWN_ID = 8
OUTLINE_CHARACTERS = 100


def print_neighbourhood(neighbourhood: Neighbourhood) -> None:
    """Print the requested entity, its neighbours by hops, and the most relevant chunks with their sources."""
    entities_by_id = {entity.id: entity for entity in neighbourhood.entities}
    documents = {document.id: document for document in neighbourhood.documents}
    if not neighbourhood.entities:
        print_line("nothing found")
        return
    for entity in neighbourhood.entities:
        if entity.id in neighbourhood.centre:
            print_line(_name(entity.name), style="bold")
            first, last = entity.first_seen, entity.last_seen
            seen = f", seen on {first}" if first == last else f", first seen on {first}, last on {last}"
            count = _count(entity.chunks, "chunk") + (seen if first else "")
            print_line(f"{_name(entity.kind)}, named in {count}", style="dim")
            if other_names := _others(entity):
                print_line(f"also {other_names}")
            if entity.documents:
                subjects = (title_and_place(documents, identifier) for identifier in entity.documents)
                print_line(f"the subject of {_join_names([title or place for title, place in subjects])}")
    _print_neighbours(neighbourhood, entities_by_id)
    for chunk in neighbourhood.chunks[:SHOWN_CHUNKS]:
        title, where = title_and_place(documents, chunk.document_id)
        if heading := headed(title, chunk.metadata):
            print_line(heading, style="bold")
        print_line(placed(where, chunk, chunk.metadata), style="dim")
        print_passage(chunk.text)
    remaining = len(neighbourhood.chunks) - SHOWN_CHUNKS
    if remaining > 0:
        print_line(f"and {_count(remaining, 'chunk')} more", style="dim")


def print_entities(entities: Sequence[Entity], merges: Sequence[Merge] = ()) -> None:
    """Print one line for each entity, then one for each merge: the merged names and the reason."""
    if not entities and not merges:
        print_line("nothing found")
    if entities:
        rows = [
            (_name(entity.name), _name(entity.kind), f"{entity.chunks:,}", _others(entity), entity.id)
            for entity in entities
        ]
        print_table(("name", "kind", "chunks", "also", "id"), rows, right=["chunks"], folding=["name", "also"])
    if merges:
        lines = []
        for merge in merges:
            why = _line(f"{merge.reason}: {merge.detail}" if merge.detail else merge.reason, DESCRIPTION_CHARACTERS)
            why += " (undone)" if merge.undone else ""
            lines.append((_name(merge.other), _name(merge.name), why, merge.id))
        headings = ("name", "merged into", "why", "merge")
        print_table(headings, lines, folding=headings[:3])


def _print_neighbours(neighbourhood: Neighbourhood, entities_by_id: dict[str, Entity]) -> None:
    """Print one line for each neighbour, with the heaviest of the links that lead to it from one hop nearer."""
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
        print_table(headings, rows, right=["hop", "weight", "shared"], folding=["name"])
    if unlinked:
        print_line(f"not linked to these: {_join_names(unlinked)}")
    if neighbourhood.cut:
        print_line(f"{_count(neighbourhood.cut, 'neighbour')} left out", style="dim")
    for line in descriptions[:SHOWN_LINES]:
        print_line(line)
    print_line()


def _nearest_links(neighbourhood: Neighbourhood) -> dict[str, tuple[int, Link]]:
    """Return by entity id its number of hops from the centre, and the heaviest link that leads to it."""
    touching = defaultdict(list)
    for link in sorted(neighbourhood.links, key=lambda item: -item.weight):
        touching[link.source].append((link.target, link))
        touching[link.target].append((link.source, link))
    reached = set(neighbourhood.centre)
    edge = set(neighbourhood.centre)
    nearest: dict[str, tuple[int, Link]] = {}
    hop = 0
    while edge:
        hop += 1
        steps = [(other, link) for entity_id in edge for other, link in touching[entity_id] if other not in reached]
        for other, link in sorted(steps, key=lambda step: (-step[1].weight, step[1].source, step[1].target)):
            nearest.setdefault(other, (hop, link))
        edge = {other for other, _ in steps}
        reached |= edge
    return nearest


def _others(entity: Entity) -> str:
    return _join_names([name for name in entity.names if name != entity.name])


def _join_names(texts: Sequence[str]) -> str:
    rest = f" and {len(texts) - SHOWN_NAMES} more" if len(texts) > SHOWN_NAMES else ""
    return ", ".join(_name(text) for text in texts[:SHOWN_NAMES]) + rest


def _name(text: str) -> str:
    return _line(text, NAME_CHARACTERS)


def _line(text: str, limit: int) -> str:
    """Text on one line of at most about ``limit`` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def _count(count: int, what: str) -> str:
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def print_outline(branches: Sequence[OutlineNode]) -> None:
    """Print branches as a numbered table of contents, with their texts, passage counts, and ids to open them."""
    if not branches:
        print_line("nothing to outline: the tree has no chunks yet")
    for number, branch in enumerate(branches, start=1):
        _print_branch(branch, f"{number}" if len(branches) > 1 else "", 0)


def _print_branch(branch: OutlineNode, number: str, depth: int) -> None:
    text = " ".join(branch.text.split())
    text = ellipsis(text, OUTLINE_CHARACTERS) if depth else text
    head = f"{'  ' * depth}{number + ' ' if number else ''}"
    if branch.layer:
        print_line(f"{head}{text}", style="bold" if not depth else None)
        print_line(f"{'  ' * depth}  {branch.count:,} passages  [{branch.id[:SHOWN_ID]}]", style="dim")
    else:
        title = f"{branch.title}: " if branch.title else ""
        print_line(f"{head}{title}{text}  [{branch.id}]")
    for index, child in enumerate(branch.children, start=1):
        _print_branch(child, f"{number}.{index}" if number else f"{index}", depth + 1)
