"""The way from the question to each chunk that the graph led to, for people to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from monograph.search.ranking import highest
from monograph.search.walk import Walk
from monograph.store.documents.chunks import LoadedChunk
from monograph.values import Path, PathNode

LONGEST = 4
"""Links of a way."""

SHOWN = 40
"""Characters of a chunk without a title."""


def to_chunks(found: Walk, best: Sequence[int]) -> tuple[dict[int, LoadedChunk], dict[int, Path]]:
    """Chunks that can be read, and the most probable way to each that the graph led to, by row.

    Chunks that were found by themselves have no way.
    """
    ways = {row: way for row in best if (way := _way(found, row)) is not None}
    where = {name: chunk for way in ways.values() for name, chunk in way.links}
    where.update({found.asked[way.head]: way.head for way in ways.values() if way.head in found.asked})
    seen = set(best) | {way.head for way in ways.values()}
    loaded, shown = found.snapshot.show(sorted(seen), where)
    return loaded, {
        row: Path(_nodes(row, way, found.asked.get(way.head), shown, loaded), way.chance)
        for row, way in ways.items()
        if row in loaded and way.head in loaded
    }


@dataclass(frozen=True, slots=True)
class _Way:
    """Where a way starts, the (name, chunk that has it) of its links in order, and its chance."""

    head: int
    links: tuple[tuple[int, int], ...]
    chance: float


def _way(found: Walk, row: int) -> _Way | None:
    """The best way to a chunk; None for a chunk found by itself."""
    links: list[tuple[int, int]] = []
    at, chance = row, found.scores.own(row)
    passed = {row}
    while len(links) < LONGEST:
        led, through = found.scores.to(at)
        nearest = highest(found.snapshot, led, 1)
        if not nearest or led[nearest[0]] <= found.scores.own(at) or nearest[0] in passed:
            break
        (start,) = nearest
        chance = chance if links else led[start]
        links.insert(0, (through[start], start))
        passed.add(start)
        at = start
    return _Way(at, tuple(links), chance) if links or at in found.asked else None


def _nodes(
    row: int, way: _Way, asked: int | None, shown: Mapping[int, tuple[str, str]], loaded: Mapping[int, LoadedChunk]
) -> tuple[PathNode, ...]:
    nodes = [PathNode("question", "", "question")]
    if asked is not None:
        nodes.append(_entity(asked, shown))
    elif way.head != row:
        nodes.append(_chunk(loaded[way.head]))
    for name, _ in way.links:
        if nodes[-1].name != shown[name][1]:
            nodes.append(_entity(name, shown))
    return (*nodes, _chunk(loaded[row]))


def _entity(name: int, shown: Mapping[int, tuple[str, str]]) -> PathNode:
    identifier, text = shown[name]
    return PathNode("entity", identifier, text)


def _chunk(one: LoadedChunk) -> PathNode:
    text = one.title or " ".join(one.chunk.text[:SHOWN].split())
    return PathNode("chunk", one.chunk.id, text)
