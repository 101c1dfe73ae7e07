"""The graph paths from a question to its hits, as a neighbourhood that can be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from monograph.values import Document, Hit, Neighbourhood, Path, StoredChunk

if TYPE_CHECKING:
    from monograph.shelf import Archive


def ways_to(archive: Archive, query: str, hits: Sequence[Hit]) -> tuple[Neighbourhood, list[Path]]:
    """Return a neighbourhood of the hits' chunks and their paths' nodes, and the paths, which begin at the query."""
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
