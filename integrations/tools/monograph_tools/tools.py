"""Searches that an agent can make in a file; each method is a tool, and its docstring the tool's description."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, Field

from monograph import Chunk, Hit, Stats, count_tokens, strategies
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
"""Tokens reserved for the parts of a reply around a text."""

CITED = 2
"""Maximum number of citations of one link."""

Tokens = Annotated[int, Field(ge=LEAST_TOKENS, le=MOST_TOKENS, description="Maximum number of tokens of the reply")]
Query = Annotated[
    str, Field(min_length=1, description="A question, words, or a code; put quotes around text that must match exactly")
]
Name = Annotated[str, Field(min_length=1, description="A name as the texts write it")]


class Reading:
    """The tools that read one open file or shelf, which stays the caller's to close."""

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
        found, left = fitting((_found(hit, share) for hit in hits), max_tokens)
        return SearchReply(hits=found, left_out=left)

    def read(
        self,
        document: Annotated[str, Field(min_length=1, description="Id or uri of a document")],
        start: Annotated[int, Field(ge=0, description="First character")] = 0,
        end: Annotated[int | None, Field(ge=0, description="Character after the last; null for all that fits")] = None,
        max_tokens: Tokens = 2_000,
    ) -> ReadReply:
        """Read a document, or the part that a citation names. Long texts come in pieces: continue at next_start."""
        found = self.archive.document(document)
        whole = found.text
        if start > len(whole):
            raise InputError(f"document {document!r} has {len(whole):,} characters, not {start:,}", "start earlier")
        wanted = whole[start : len(whole) if end is None else max(start, end)]
        text = shortened(wanted, max_tokens - OVERHEAD) if wanted else ""
        stop = start + len(text)
        return ReadReply(
            text=text,
            citation=cite(found.id, found.title, found.uri, start, stop),
            characters=len(whole),
            next_start=stop if stop < len(whole) else None,
        )

    def stats(self) -> StatsReply:
        """Count what the file contains: documents, passages and named entities."""
        found = self.archive.stats()
        return StatsReply(
            documents=found.documents,
            chunks=found.chunks,
            entities=found.entities,
            characters=found.characters if isinstance(found, Stats) else None,
            bytes=found.file_bytes if isinstance(found, Stats) else found.bytes,
            has_tree=self.archive.brief().has_tree,
            embedder=found.embedder,
            extractor=found.extractor,
        )

    def entity(
        self,
        name: Name,
        hops: Annotated[int, Field(ge=1, le=3, description="Maximum number of steps from it")] = 1,
        limit: Annotated[int, Field(ge=1, le=100, description="Maximum number of entities around it")] = 15,
        max_tokens: Tokens = 2_000,
    ) -> EntityReply:
        """List what is named together with a person, a place or a thing, and the passages that say so."""
        found = self.archive.graph.neighbourhood(name, hops, limit)
        names = {one.id: one.name for one in found.entities}
        centre = [_entity(one) for one in found.entities if one.id in found.centre]
        stored = self._stored([link.chunks[:CITED] for link in found.links])
        room = max_tokens - OVERHEAD
        links, more = fitting((_link(one, names, stored) for one in found.links), room * 2 // 3)
        room -= sum(map(weight, links))
        around, left = fitting((_entity(one) for one in found.entities if one.id not in found.centre), room)
        return EntityReply(entity=centre, around=around, links=links, left_out=left + more + found.cut)

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
        stored = self._stored([link.chunks[:CITED] for route in routes for link in route.links])
        items = (
            PathItem(
                entities=[one.name for one in route.entities],
                links=[_link(one, {known.id: known.name for known in route.entities}, stored) for one in route.links],
            )
            for route in routes
        )
        taken, left = fitting(items, max_tokens)
        return PathsReply(paths=taken, left_out=left)

    def outline(
        self,
        node: Annotated[str, Field(description="Id of a summary to open; empty for the top")] = "",
        layers: Annotated[int, Field(ge=0, le=6, description="Number of layers to open below it")] = 1,
        max_tokens: Tokens = 2_000,
    ) -> OutlineReply:
        """Get an overview of all documents: a table of contents made of summaries, opened layer by layer."""
        entries = list(_outlined(only_file(self.archive, "tree of summaries").tree.outline(node, layers), 0))
        stored = self._stored([[one.id for one, _ in entries if one.layer == 0]])
        taken, left = fitting((_entry(one, depth, stored) for one, depth in entries), max_tokens)
        return OutlineReply(items=taken, left_out=left)

    def _stored(self, some: Sequence[Sequence[str]]) -> dict[str, StoredChunk]:
        return {one.chunk.id: one for one in self.archive.fetch([name for names in some for name in names])}


def address(document: str) -> str:
    """Return the URI of a document as a resource; any id is allowed."""
    return f"monograph://document/{quote(document, safe='')}"


def cite(document: str, title: str, uri: str, start: int, end: int) -> Citation:
    """Return the citation of a span of a document."""
    return Citation(document=document, title=title, uri=uri, start=start, end=end, resource=address(document))


def _cite_chunk(chunk: Chunk, title: str, uri: str) -> Citation:
    return cite(chunk.document_id, title, uri, chunk.start, chunk.end)


def _found(hit: Hit, room: int) -> FoundText:
    text, cut = cut_to(hit.text, room)
    return FoundText(
        text=text,
        cut=cut,
        score=hit.relevance,
        found_by=hit.explain(),
        citation=_cite_chunk(hit.chunk, hit.title, hit.uri),
        summary="" if hit.summary is None else hit.summary.id,
    )


def _outlined(branches: Sequence[OutlineNode], depth: int) -> Iterator[tuple[OutlineNode, int]]:
    for one in branches:
        yield one, depth
        yield from _outlined(one.children, depth + 1)


def _entry(one: OutlineNode, depth: int, stored: dict[str, StoredChunk]) -> OutlineItem:
    known = stored.get(one.id)
    return OutlineItem(
        id=one.id,
        depth=depth,
        text=one.text,
        chunks=one.count,
        is_summary=one.layer > 0,
        citation=None if known is None else _cite_chunk(known.chunk, known.title, known.uri),
    )


def _entity(one: Entity) -> EntityItem:
    return EntityItem(name=one.name, kind=one.kind, names=list(one.names[:8]), chunks=one.chunks)


def _link(one: Link, names: dict[str, str], stored: dict[str, StoredChunk]) -> LinkItem:
    cited = [stored[name] for name in one.chunks[:CITED] if name in stored]
    return LinkItem(
        source=names.get(one.source, one.source),
        target=names.get(one.target, one.target),
        weight=round(one.weight, 3),
        description=one.description,
        citations=[_cite_chunk(known.chunk, known.title, known.uri) for known in cited],
    )


def weight(item: BaseModel) -> int:
    """Return the number of tokens of an item in the reply."""
    return count_tokens([item.model_dump_json()])[0]


def fitting(items: Iterable[Item], room: int) -> tuple[list[Item], int]:
    """Return the leading items that fit into ``room`` tokens together, and the number of the remaining items."""
    taken: list[Item] = []
    left = 0
    for item in items:
        size = weight(item)
        if left == 0 and size <= room:
            taken.append(item)
            room -= size
        else:
            left += 1
    return taken, left


def shortened(text: str, room: int) -> str:
    """Return the longest beginning of a text that has at most ``room`` tokens, and at least one character."""
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


def cut_to(text: str, room: int) -> tuple[str, bool]:
    """Return the text, or its beginning with a mark, and whether it was shortened."""
    kept = shortened(text, room)
    return (text, False) if len(kept) == len(text) else (kept.rstrip() + CUT, True)
