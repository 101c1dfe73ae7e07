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
    shown: dict[str, Hit | StoredChunk] = {hit.chunk.id: hit for hit in hits}
    passed = dict.fromkeys(node.id for way in ways for node in way.nodes if node.kind == "chunk")
    shown.update((one.chunk.id, one) for one in archive.fetch([name for name in passed if name not in shown]))
    documents = {
        one.chunk.document_id: Document(id=one.chunk.document_id, title=one.title, uri=one.uri)
        for one in shown.values()
    }
    found = Neighbourhood(
        centre=(),
        entities=tuple(archive.graph.on_paths(ways)),
        links=(),
        chunks=tuple(one.chunk for one in shown.values()),
        documents=tuple(documents.values()),
    )
    return found, ways
