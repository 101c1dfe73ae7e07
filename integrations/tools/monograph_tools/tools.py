"""Searches that an agent can make in a file; each method is a tool, and its docstring the tool's description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, Field

from monograph import Hit, Stats, count_tokens, strategies
from monograph.errors import InputError
from monograph.shelf import only_file
from monograph.values import Entity, Link, OutlineNode, StoredChunk
from monograph_tools.replies import (
    CUT,
    Citation,
    EntityItem,
    EntityReply,
    FoundText,
    LinkItem,
    OutlineItem,
    OutlineReply,
    PathItem,
    PathsReply,
    ReadReply,
    SearchReply,
    StatsReply,
)

if TYPE_CHECKING:
    from monograph.shelf import Archive

Item = TypeVar("Item", bound=BaseModel)

LEAST_TOKENS, MOST_TOKENS = 200, 8_000
OVERHEAD = 120
"""Number of tokens that are reserved for the parts of a reply other than its text."""

CITED = 2
"""Maximum number of citations of one link between two entities."""

Tokens = Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS, description="Maximum number of tokens of the reply")]
Query = Annotated[
    str, Field(min_length=1, description="A question, words, or a code; put quotes around text that must match exactly")
]
Name = Annotated[str, Field(min_length=1, description="A name as the texts write it")]


class Reading:
    """The tools that read one open file or shelf. The caller closes it."""

    def __init__(self, archive: Archive) -> None:
        self.archive = archive

    def search(
        self,
        query: Query,
        k: Annotated[int, Field(ge=1, le=50, description="Maximum number of hits")] = 8,
        how: Annotated[
            str, Field(description=f"Search mode, normally auto; one of {', '.join(strategies())}")
        ] = "auto",
        where: Annotated[
            dict[str, Any] | None,
            Field(description='Only hits that match: {"year": {">=": 2020}, "since": "2026-03", "as_of": "2026-04"}'),
        ] = None,
        as_of: Annotated[
            str, Field(description="Search the file as it was then: 2026-03 or 2026-03-01T09:30:00Z; empty for now")
        ] = "",
        max_tokens: Tokens = 2_000,
    ) -> SearchReply:
        """Find passages that answer a question, best first, each with its place. Cite them by title and span."""
        hits = self.archive.search(query, k, how, where, as_of=as_of or None)
        share = max(LEAST_TOKENS // 2, (max_tokens - OVERHEAD) // max(1, min(len(hits), 4)))
        texts, omitted = fitting((_found_text(hit, share) for hit in hits), max_tokens)
        return SearchReply(hits=texts, left_out=omitted)

    def read(
        self,
        document: Annotated[str, Field(min_length=1, description="Id or uri of a document")],
        start: Annotated[int, Field(ge=0, description="First character")] = 0,
        end: Annotated[int | None, Field(ge=0, description="Character after the last; null for all that fits")] = None,
        max_tokens: Tokens = 2_000,
    ) -> ReadReply:
        """Read a document, or the part that a citation names. Long texts come in pieces: continue at next_start."""
        stored = self.archive.document(document)
        full_text = stored.text
        if start > len(full_text):
            raise InputError(f"document {document!r} has {len(full_text):,} characters, not {start:,}", "start earlier")
        requested = full_text[start : len(full_text) if end is None else max(start, end)]
        text = shortened(requested, max_tokens - OVERHEAD) if requested else ""
        stop = start + len(text)
        return ReadReply(
            text=text,
            citation=cite(stored.id, stored.title, stored.uri, start, stop),
            characters=len(full_text),
            next_start=stop if stop < len(full_text) else None,
        )

    def stats(self) -> StatsReply:
        """Count what the file contains: documents, passages and named entities."""
        counts = self.archive.stats()
        return StatsReply(
            documents=counts.documents,
            chunks=counts.chunks,
            entities=counts.entities,
            characters=counts.characters if isinstance(counts, Stats) else None,
            bytes=counts.file_bytes if isinstance(counts, Stats) else counts.bytes,
            has_tree=self.archive.brief().has_tree,
            embedder=counts.embedder,
            extractor=counts.extractor,
        )

    def entity(
        self,
        name: Name,
        hops: Annotated[int, Field(ge=1, le=3, description="Maximum number of steps from it")] = 1,
        limit: Annotated[int, Field(ge=1, le=100, description="Maximum number of entities around it")] = 15,
        max_tokens: Tokens = 2_000,
    ) -> EntityReply:
        """List what is named together with a person, a place or a thing, and the passages that say so."""
        neighbourhood = self.archive.graph.neighbourhood(name, hops, limit)
        names = {entity.id: entity.name for entity in neighbourhood.entities}
        centre = [_entity_item(entity) for entity in neighbourhood.entities if entity.id in neighbourhood.centre]
        stored = self._stored(chunk for link in neighbourhood.links for chunk in link.chunks[:CITED])
        room = max_tokens - OVERHEAD
        links, omitted_links = fitting((_link_item(link, names, stored) for link in neighbourhood.links), room * 2 // 3)
        room -= sum(map(weight, links))
        others = (_entity_item(entity) for entity in neighbourhood.entities if entity.id not in neighbourhood.centre)
        around, omitted = fitting(others, room)
        omitted += omitted_links + neighbourhood.cut
        return EntityReply(entity=centre, around=around, links=links, left_out=omitted)

    def paths(
        self,
        name: Name,
        other: Name,
        hops: Annotated[int, Field(ge=1, le=6, description="Maximum number of steps")] = 4,
        limit: Annotated[int, Field(ge=1, le=10, description="Maximum number of paths")] = 3,
        max_tokens: Tokens = 2_000,
    ) -> PathsReply:
        """Find how two people, places or things are connected, step by step, with the passages that say so."""
        routes = self.archive.graph.routes(name, other, hops, limit)
        stored = self._stored(chunk for route in routes for link in route.links for chunk in link.chunks[:CITED])
        items = []
        for route in routes:
            names = {entity.id: entity.name for entity in route.entities}
            links = [_link_item(link, names, stored) for link in route.links]
            items.append(PathItem(entities=[entity.name for entity in route.entities], links=links))
        fitted, omitted = fitting(items, max_tokens)
        return PathsReply(paths=fitted, left_out=omitted)

    def outline(
        self,
        node: Annotated[str, Field(description="Id of a summary to open; empty for the top")] = "",
        layers: Annotated[int, Field(ge=0, le=6, description="Number of layers to open below it")] = 1,
        max_tokens: Tokens = 2_000,
    ) -> OutlineReply:
        """Get an overview of all documents: a table of contents made of summaries, opened layer by layer."""
        entries = list(_flatten(only_file(self.archive, "tree of summaries").tree.outline(node, layers), 0))
        stored = self._stored(entry.id for entry, _ in entries if entry.layer == 0)
        fitted, omitted = fitting((_outline_item(entry, depth, stored) for entry, depth in entries), max_tokens)
        return OutlineReply(items=fitted, left_out=omitted)

    def _stored(self, chunks: Iterable[str]) -> dict[str, StoredChunk]:
        return {stored.chunk.id: stored for stored in self.archive.fetch(list(chunks))}


def address(document: str) -> str:
    """Return the URI of the MCP resource that has a document's text. ``document`` is any id; it is percent-encoded."""
    return f"monograph://document/{quote(document, safe='')}"


def cite(document: str, title: str, uri: str, start: int, end: int) -> Citation:
    """Return the citation of a span of a document."""
    return Citation(document=document, title=title, uri=uri, start=start, end=end, resource=address(document))


def _cite_chunk(found: Hit | StoredChunk) -> Citation:
    return cite(found.chunk.document_id, found.title, found.uri, found.chunk.start, found.chunk.end)


def _found_text(hit: Hit, room: int) -> FoundText:
    text = shortened(hit.text, room)
    cut = len(text) < len(hit.text)
    return FoundText(
        text=text.rstrip() + CUT if cut else text,
        cut=cut,
        score=hit.relevance,
        found_by=hit.explain(),
        citation=_cite_chunk(hit),
        summary="" if hit.summary is None else hit.summary.id,
    )


def _flatten(branches: Sequence[OutlineNode], depth: int) -> Iterator[tuple[OutlineNode, int]]:
    for branch in branches:
        yield branch, depth
        yield from _flatten(branch.children, depth + 1)


def _outline_item(node: OutlineNode, depth: int, stored: dict[str, StoredChunk]) -> OutlineItem:
    chunk = stored.get(node.id)
    return OutlineItem(
        id=node.id,
        depth=depth,
        text=node.text,
        chunks=node.count,
        is_summary=node.layer > 0,
        citation=None if chunk is None else _cite_chunk(chunk),
    )


def _entity_item(entity: Entity) -> EntityItem:
    return EntityItem(name=entity.name, kind=entity.kind, names=list(entity.names[:8]), chunks=entity.chunks)


def _link_item(link: Link, names: dict[str, str], stored: dict[str, StoredChunk]) -> LinkItem:
    return LinkItem(
        source=names.get(link.source, link.source),
        target=names.get(link.target, link.target),
        weight=round(link.weight, 3),
        description=link.description,
        citations=[_cite_chunk(stored[name]) for name in link.chunks[:CITED] if name in stored],
    )


def weight(item: BaseModel) -> int:
    """Return the number of tokens that an item takes in a reply."""
    return count_tokens([item.model_dump_json()])[0]


def fitting(items: Iterable[Item], room: int) -> tuple[list[Item], int]:
    """Return the first items that together have at most ``room`` tokens, and the number of items left out."""
    fitted: list[Item] = []
    omitted = 0
    for item in items:
        size = weight(item)
        if omitted == 0 and size <= room:
            fitted.append(item)
            room -= size
        else:
            omitted += 1
    return fitted, omitted


def shortened(text: str, room: int) -> str:
    """Return the beginning of a text, as long as ``room`` tokens allow, but at least one character."""
    low, high = 1, len(text)
    if count_tokens([text])[0] <= room:
        return text
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens([text[:middle]])[0] <= room:
            low = middle
        else:
            high = middle - 1
    return text[:low]
