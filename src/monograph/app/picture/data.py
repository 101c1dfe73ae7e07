"""Data of a picture, as JSON that is safe inside HTML."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from monograph.app.document_output import section_of, title_and_place
from monograph.regex import regex
from monograph.values import Chunk, Document, Entity, Link, Neighbourhood, Path, PathNode, cite

ENTITIES = 400
LINKS = 2000
CHUNKS = 400
PATHS = 50
STATIONS = 20
NAMES = 12
KEYWORDS = 12
NAME_CHARACTERS = 160
DESCRIPTION_CHARACTERS = 1200
CHUNK_CHARACTERS = 2400
ALL_CHARACTERS = 400_000

_UNSAFE = regex("[<>&\u2028\u2029]")
_HALF = regex("[\ud800-\udfff]")


def shortened(text: str, limit: int) -> str:
    """Return text of at most ``limit`` characters, with an ellipsis if it was truncated."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def data_of(neighbourhood: Neighbourhood, paths: Sequence[Path]) -> str:
    """Return a neighbourhood and paths as JSON, with characters escaped that HTML or JavaScript would interpret.

    Nodes are referred to by their index in ``entities``, ``chunks`` and ``questions``, not by their ids. Only the first
    ``ENTITIES``, ``LINKS``, ``CHUNKS`` and ``PATHS`` are kept, ``CHUNK_CHARACTERS`` of each chunk and
    ``ALL_CHARACTERS`` of all chunks together, the most relevant first.
    """
    cut_paths = max(0, len(paths) - PATHS)
    paths = paths[:PATHS]
    stations = [station for path in paths for station in path.nodes[:STATIONS]]
    documents = {document.id: document for document in neighbourhood.documents}
    entities, entity_places = _entities(neighbourhood, stations, documents)
    chunks, chunk_places = _chunks(neighbourhood, stations, documents)
    questions = list(dict.fromkeys(station.name for station in stations if station.kind == "question"))
    places = {"entity": entity_places, "chunk": chunk_places, "question": {q: n for n, q in enumerate(questions)}}
    among = [one for one in neighbourhood.links if one.source in entity_places and one.target in entity_places]
    named = [(entity, chunk) for entity, chunk in neighbourhood.mentions if entity in entity_places]
    data = {
        "centre": [entity_places[one] for one in neighbourhood.centre if one in entity_places],
        "entities": entities,
        "links": [_link(one, entity_places, chunk_places) for one in among[:LINKS]],
        "chunks": chunks,
        "mentions": [(entity_places[entity], chunk_places[chunk]) for entity, chunk in named if chunk in chunk_places],
        "questions": [shortened(question, DESCRIPTION_CHARACTERS) for question in questions],
        "paths": [_path(path, places) for path in paths],
        "cut": {
            "neighbour": neighbourhood.cut + max(0, len(neighbourhood.entities) - ENTITIES),
            "link": len(neighbourhood.links) - min(len(among), LINKS),
            "chunk": sum(chunk.id not in chunk_places for chunk in neighbourhood.chunks),
            "path": cut_paths,
        },
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", _HALF.sub("\ufffd", text))


def _entities(
    neighbourhood: Neighbourhood, stations: Sequence[PathNode], documents: Mapping[str, Document]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return entities, and their indexes by id; entities outside the neighbourhood, with only a name, come last."""
    kept = neighbourhood.entities[:ENTITIES]
    known = {entity.id: entity for entity in neighbourhood.entities}
    ids = {entity.id for entity in kept}
    outside = {one.id: one.name for one in stations if one.kind == "entity" and one.id not in ids}
    every = [*kept, *(known.get(one, Entity(one, name, "")) for one, name in outside.items())]
    return [_entity(entity, documents) for entity in every], {entity.id: place for place, entity in enumerate(every)}


def _entity(entity: Entity, documents: Mapping[str, Document]) -> dict[str, Any]:
    others = (name for name in entity.names if name != entity.name)
    subjects = (title_and_place(documents, one) for one in entity.documents)
    return {
        "name": shortened(entity.name, NAME_CHARACTERS),
        "kind": shortened(entity.kind, NAME_CHARACTERS),
        "names": _first(others, NAMES),
        "count": entity.chunks,
        "documents": _first((title or place for title, place in subjects), NAMES),
    }


def _chunks(
    neighbourhood: Neighbourhood, stations: Sequence[PathNode], documents: Mapping[str, Document]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return chunks, and their indexes by id; chunks of the paths come first, and so get their text first."""
    known = {chunk.id: chunk for chunk in neighbourhood.chunks}
    names = {one.id: one.name for one in stations if one.kind == "chunk"}
    ids = [*names, *(chunk.id for chunk in neighbourhood.chunks[:CHUNKS] if chunk.id not in names)]
    chunks = []
    left = ALL_CHARACTERS
    for one in ids:
        chunk = known.get(one, Chunk(one, "", "", 0, 0, 0))
        text = chunk.text[: min(CHUNK_CHARACTERS, left)]
        left -= len(text)
        made = _chunk(chunk, *title_and_place(documents, chunk.document_id), text)
        chunks.append({"name": shortened(names.get(one, ""), NAME_CHARACTERS), **made})
    return chunks, {one: place for place, one in enumerate(ids)}


def _chunk(chunk: Chunk, title: str, place: str, text: str) -> dict[str, Any]:
    return {
        "title": shortened(title, NAME_CHARACTERS),
        "document": shortened(place, NAME_CHARACTERS),
        "section": shortened(section_of(title, chunk.metadata), NAME_CHARACTERS),
        "cited": shortened(cite(chunk.metadata), NAME_CHARACTERS),
        "start": chunk.start,
        "end": chunk.end,
        "text": text,
        "whole": len(text) == len(chunk.text),
    }


def _link(link: Link, entity_places: dict[str, int], chunk_places: dict[str, int]) -> dict[str, Any]:
    return {
        "source": entity_places[link.source],
        "target": entity_places[link.target],
        "weight": link.weight,
        "count": len(link.chunks),
        "chunks": [chunk_places[one] for one in link.chunks if one in chunk_places],
        "description": shortened(link.description, DESCRIPTION_CHARACTERS),
        "keywords": _first(link.keywords, KEYWORDS),
    }


def _path(path: Path, places: dict[str, dict[str, int]]) -> dict[str, Any]:
    nodes = path.nodes[:STATIONS]
    return {
        "score": path.score,
        "nodes": [
            (station.kind, places[station.kind][station.name if station.kind == "question" else station.id])
            for station in nodes
        ],
    }


def _first(texts: Iterable[str], count: int) -> list[str]:
    return [shortened(text, NAME_CHARACTERS) for text, _ in zip(texts, range(count), strict=False)]
