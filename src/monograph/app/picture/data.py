"""Data of a picture, as JSON that is safe inside HTML."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from monograph.app.document_output import section_of, title_and_uri
from monograph.regex import regex
from monograph.values import Chunk, Document, Entity, Hit, Link, Neighbourhood, Path, PathNode, StoredChunk, cite

if TYPE_CHECKING:
    from monograph.shelf import Archive

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
_SURROGATE = regex("[\ud800-\udfff]")


def ways_to(archive: Archive, query: str, hits: Sequence[Hit]) -> tuple[Neighbourhood, list[Path]]:
    """Return (neighbourhood, paths) to draw for a search.

    The neighbourhood has the chunks of the hits, and the entities and chunks on their paths, without links. Each path
    begins at the query.
    """
    ways = [
        replace(
            hit.path,
            nodes=tuple(replace(node, name=query) if node.kind == "question" else node for node in hit.path.nodes),
        )
        for hit in hits
        if hit.path is not None
    ]
    hits_by_chunk: dict[str, Hit | StoredChunk] = {hit.chunk.id: hit for hit in hits}
    passed = dict.fromkeys(node.id for way in ways for node in way.nodes if node.kind == "chunk")
    hits_by_chunk.update(
        (chunk.chunk.id, chunk)
        for chunk in archive.fetch([identifier for identifier in passed if identifier not in hits_by_chunk])
    )
    documents = {
        item.chunk.document_id: Document(id=item.chunk.document_id, title=item.title, uri=item.uri)
        for item in hits_by_chunk.values()
    }
    neighbourhood = Neighbourhood(
        centre=(),
        entities=tuple(archive.graph.on_paths(ways)),
        links=(),
        chunks=tuple(item.chunk for item in hits_by_chunk.values()),
        documents=tuple(documents.values()),
    )
    return neighbourhood, ways


def shortened(text: str, limit: int) -> str:
    """Return text, truncated to ``limit`` characters including an ellipsis."""
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def data_of(neighbourhood: Neighbourhood, paths: Sequence[Path]) -> str:
    """Return a neighbourhood and paths as JSON, with characters escaped that HTML or JavaScript would interpret.

    The JSON refers to a node by its index in the list ``entities``, ``chunks`` or ``questions``, not by its id.

    The JSON has only the first ``ENTITIES`` entities, ``LINKS`` links, ``CHUNKS`` chunks and
    ``PATHS`` paths. Each path is truncated to ``STATIONS`` nodes, and all these nodes are added to the lists. The texts
    of chunks are truncated to ``CHUNK_CHARACTERS`` each and ``ALL_CHARACTERS`` together. The field ``cut`` has the
    numbers of omitted items.
    """
    cut_paths = max(0, len(paths) - PATHS)
    paths = paths[:PATHS]
    stations = [station for path in paths for station in path.nodes[:STATIONS]]
    documents = {document.id: document for document in neighbourhood.documents}
    entities, entity_indexes = _entities(neighbourhood, stations, documents)
    chunks, chunk_indexes = _chunks(neighbourhood, stations, documents)
    questions = list(dict.fromkeys(station.name for station in stations if station.kind == "question"))
    indexes = {"entity": entity_indexes, "chunk": chunk_indexes, "question": {q: n for n, q in enumerate(questions)}}
    kept_links = [
        link for link in neighbourhood.links if link.source in entity_indexes and link.target in entity_indexes
    ]
    kept_mentions = [(entity, chunk) for entity, chunk in neighbourhood.mentions if entity in entity_indexes]
    data = {
        "centre": [entity_indexes[identifier] for identifier in neighbourhood.centre if identifier in entity_indexes],
        "entities": entities,
        "links": [_link(link, entity_indexes, chunk_indexes) for link in kept_links[:LINKS]],
        "chunks": chunks,
        "mentions": [
            (entity_indexes[entity], chunk_indexes[chunk]) for entity, chunk in kept_mentions if chunk in chunk_indexes
        ],
        "questions": [shortened(question, DESCRIPTION_CHARACTERS) for question in questions],
        "paths": [_path(path, indexes) for path in paths],
        "cut": {
            "neighbour": neighbourhood.cut + max(0, len(neighbourhood.entities) - ENTITIES),
            "link": len(neighbourhood.links) - min(len(kept_links), LINKS),
            "chunk": sum(chunk.id not in chunk_indexes for chunk in neighbourhood.chunks),
            "path": cut_paths,
        },
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", _SURROGATE.sub("\ufffd", text))


def _entities(
    neighbourhood: Neighbourhood, stations: Sequence[PathNode], documents: Mapping[str, Document]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return (JSON objects, {id: index}) of the first ENTITIES entities and those in ``stations`` (path nodes)."""
    shown_entities = neighbourhood.entities[:ENTITIES]
    entities_by_id = {entity.id: entity for entity in neighbourhood.entities}
    ids = {entity.id for entity in shown_entities}
    outside = {node.id: node.name for node in stations if node.kind == "entity" and node.id not in ids}
    entities = [
        *shown_entities,
        *(entities_by_id.get(identifier, Entity(identifier, name, "")) for identifier, name in outside.items()),
    ]
    fields = []
    for entity in entities:
        subjects = [title_and_uri(documents, identifier) for identifier in entity.documents[:NAMES]]
        fields.append(
            {
                "name": shortened(entity.name, NAME_CHARACTERS),
                "kind": shortened(entity.kind, NAME_CHARACTERS),
                "names": _first([name for name in entity.names if name != entity.name], NAMES),
                "count": entity.chunks,
                "documents": _first([title or place for title, place in subjects], NAMES),
            }
        )
    return fields, {entity.id: index for index, entity in enumerate(entities)}


def _chunks(
    neighbourhood: Neighbourhood, stations: Sequence[PathNode], documents: Mapping[str, Document]
) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """Return (JSON objects, {id: index}) of the chunks in ``stations`` (path nodes) and of the first CHUNKS chunks."""
    chunks_by_id = {chunk.id: chunk for chunk in neighbourhood.chunks}
    names = {node.id: node.name for node in stations if node.kind == "chunk"}
    ids = [*names, *(chunk.id for chunk in neighbourhood.chunks[:CHUNKS] if chunk.id not in names)]
    chunks = []
    remaining = ALL_CHARACTERS
    for identifier in ids:
        chunk = chunks_by_id.get(identifier, Chunk(identifier, "", "", 0, 0, 0))
        text = chunk.text[: min(CHUNK_CHARACTERS, remaining)]
        remaining -= len(text)
        title, place = title_and_uri(documents, chunk.document_id)
        chunks.append(
            {
                "name": shortened(names.get(identifier, ""), NAME_CHARACTERS),
                "title": shortened(title, NAME_CHARACTERS),
                "document": shortened(place, NAME_CHARACTERS),
                "section": shortened(section_of(title, chunk.metadata), NAME_CHARACTERS),
                "cited": shortened(cite(chunk.metadata), NAME_CHARACTERS),
                "start": chunk.start,
                "end": chunk.end,
                "text": text,
                "whole": len(text) == len(chunk.text),
            }
        )
    return chunks, {identifier: index for index, identifier in enumerate(ids)}


def _link(link: Link, entity_indexes: dict[str, int], chunk_indexes: dict[str, int]) -> dict[str, Any]:
    return {
        "source": entity_indexes[link.source],
        "target": entity_indexes[link.target],
        "weight": link.weight,
        "count": len(link.chunks),
        "chunks": [chunk_indexes[chunk_id] for chunk_id in link.chunks if chunk_id in chunk_indexes],
        "description": shortened(link.description, DESCRIPTION_CHARACTERS),
        "keywords": _first(link.keywords, KEYWORDS),
    }


def _path(path: Path, indexes: dict[str, dict[str, int]]) -> dict[str, Any]:
    nodes = path.nodes[:STATIONS]
    keys = [(node.kind, node.name if node.kind == "question" else node.id) for node in nodes]
    return {"score": path.score, "nodes": [(kind, indexes[kind][key]) for kind, key in keys]}


def _first(texts: Sequence[str], count: int) -> list[str]:
    return [shortened(text, NAME_CHARACTERS) for text in texts[:count]]
