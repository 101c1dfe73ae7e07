"""The way from the question to each chunk that the graph led to, for people to read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from monograph.graph.names import key_of, mention_key
from monograph.search.ranking import highest
from monograph.search.walked import Walk
from monograph.store import chunks, graphs, names, readable
from monograph.store.database import Connection
from monograph.values import Extraction, Path, PathNode, content_id

LONGEST = 4
"""Links of a way."""

SHOWN = 40
"""Characters of a chunk without a title."""


def to_chunks(found: Walk, best: Sequence[int]) -> tuple[dict[int, chunks.Found], dict[int, Path]]:
    """Chunks that can be read, and the most probable way to each that the graph led to, by row.

    Chunks that were found by themselves have no way.
    """
    connection = found.connection
    ways = {row: way for row in best if (way := _way(found, row)) is not None}
    where = {name: chunk for way in ways.values() for name, chunk in way.links}
    where.update({found.asked[way.head]: way.head for way in ways.values() if way.head in found.asked})
    texts = {row: (one.start.title, one.start.text) for row, one in found.texts.items() if one.start.text}
    shown = _as_written(connection, where, found.names, texts)
    seen = set(best) | {way.head for way in ways.values()}
    loaded = readable.chunks(connection, sorted(seen))
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
    at, chance = row, found.own_chance(row)
    passed = {row}
    while len(links) < LONGEST and at in found.place:
        led, through = found.links.to(found.place[at])
        nearest = highest(found.connection, led, 1)
        if not nearest or led[nearest[0]] <= found.own_chance(at) or nearest[0] in passed:
            break
        (start,) = nearest
        chance = chance if links else led[start]
        links.insert(0, (through[start], start))
        passed.add(start)
        at = start
    return _Way(at, tuple(links), chance) if links or at in found.asked else None


def _nodes(
    row: int, way: _Way, asked: int | None, shown: Mapping[int, tuple[str, str]], loaded: Mapping[int, chunks.Found]
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


def _chunk(one: chunks.Found) -> PathNode:
    text = one.title or " ".join(one.chunk.text[:SHOWN].split())
    return PathNode("chunk", one.chunk.id, text)


def names_as_written(connection: Connection, where: Mapping[int, int]) -> dict[int, tuple[str, str]]:
    """(entity id, name as it is written) of names, each looked for in one chunk, by row.

    A name is written as in that chunk, else as in the title of a document about it, else as its key.
    """
    return _as_written(connection, where, names.load(connection, where), {})


def _as_written(
    connection: Connection,
    where: Mapping[int, int],
    before: Mapping[int, names.NameRow],
    texts: Mapping[int, tuple[str, str]],
) -> dict[int, tuple[str, str]]:
    """The same, where names and titled texts were read ``before``, or some of them."""
    loaded = _loaded(connection, where, before)
    heads = _loaded(connection, {one.head for one in loaded.values()}, loaded)
    values = graphs.extraction_values(connection, set(where.values()))
    rows = sorted(row for row in values if row not in texts)
    texts = {**texts, **dict(zip(rows, readable.titled_texts(connection, rows), strict=True))}
    read: dict[int, Extraction] = {}
    found = {}
    for row, chunk in where.items():
        key = loaded[row].key if row in loaded else ""
        title, written = texts[chunk] if chunk in values else ("", "")
        text = _as_titled(title, key)
        if not text and chunk in values:
            if chunk not in read:
                read[chunk] = readable.extraction(connection, chunk, values[chunk], written)
            text = _as_mentioned(read[chunk], key)
        head = heads[loaded[row].head].key if row in loaded and loaded[row].head in heads else key
        found[row] = (entity_id(head), text or key)
    return found


def _loaded(
    connection: Connection, wanted: Collection[int], before: Mapping[int, names.NameRow]
) -> dict[int, names.NameRow]:
    """Names by row, those that were not read before from the file."""
    missing = [row for row in wanted if row not in before]
    found = names.load(connection, missing) if missing else {}
    found.update((row, before[row]) for row in wanted if row in before)
    return found


def _as_titled(title: str, key: str) -> str:
    return title if key_of(title.partition(" (")[0]) == key else ""


def _as_mentioned(extraction: Extraction, key: str) -> str:
    return next((one.name for one in extraction.mentions if mention_key(one.name, one.kind) == key), "")


def entity_id(key: str) -> str:
    """The id of the entity whose head has this key: it stays while the name does."""
    return content_id("entity", key)
