"""Replies of the tools to an agent: each text with its place in a document."""

from __future__ import annotations

from pydantic import BaseModel, Field

CUT = " […]"
"""Mark at the end of a text that was shortened."""


class Citation(BaseModel):
    """Place of a text: ``document.text[start:end]``."""

    document: str = Field(description="Id of the document; give it to the tool read")
    title: str
    uri: str = Field(description="Where the document came from; may be empty")
    start: int = Field(description="First character")
    end: int = Field(description="Character after the last")
    resource: str = Field(description="The document as a resource")


class FoundText(BaseModel):
    """A chunk that was found."""

    text: str
    cut: bool = Field(description="Whether the text was shortened; read the citation's span for all of it")
    score: float = Field(description="Relevance from 0 to 1; never rises from hit to hit")
    found_by: str = Field(description="How it was found, with ranks and scores")
    citation: Citation
    summary: str = Field(default="", description="Id of the summary; empty for a chunk")


class SearchReply(BaseModel):
    """Chunks, best first."""

    hits: list[FoundText]
    left_out: int = Field(description="Number of hits that did not fit; use a higher max_tokens or a narrower question")


class ReadReply(BaseModel):
    """A span of a document."""

    text: str
    citation: Citation
    characters: int = Field(description="Length of the whole document")
    next_start: int | None = Field(description="Where to continue reading; null at the end of the document")


class OutlineItem(BaseModel):
    """One entry of the table of contents."""

    id: str
    depth: int
    text: str
    chunks: int = Field(description="Number of chunks that it covers")
    is_summary: bool
    citation: Citation | None = Field(description="Place of a chunk; null for a summary: open it to see its passages")


class OutlineReply(BaseModel):
    """The tree of summaries, from the top; each entry is followed by the entries below it."""

    items: list[OutlineItem]
    left_out: int


class EntityItem(BaseModel):
    """A named entity."""

    name: str
    kind: str
    names: list[str] = Field(description="Its names, at most eight")
    chunks: int = Field(description="Number of chunks that name it")


class LinkItem(BaseModel):
    """Two entities that are named together."""

    source: str
    target: str
    weight: float
    description: str = Field(description="Description by a model; empty without a model")
    citations: list[Citation]


class EntityReply(BaseModel):
    """Entities that are named together with an entity, the fewest steps first."""

    entity: list[EntityItem] = Field(description="The requested entity; several if they share the name")
    around: list[EntityItem]
    links: list[LinkItem] = Field(description="Heaviest first")
    left_out: int


class PathItem(BaseModel):
    """One path from an entity to another."""

    entities: list[str]
    links: list[LinkItem]


class PathsReply(BaseModel):
    """The shortest paths between two entities; empty if none connects them."""

    paths: list[PathItem]
    left_out: int


class NoteReply(BaseModel):
    """A stored note."""

    document: str = Field(description="Id of the note")
    new: bool = Field(description="False if the same note was already stored")
    citation: Citation


class ForgottenReply(BaseModel):
    """A deleted note."""

    document: str = Field(description="Id of the deleted note")
    traces: bool = Field(description="Whether its text may remain in the file, because another program is reading it")


class StatsReply(BaseModel):
    """Counts of the file's contents."""

    documents: int
    chunks: int
    entities: int
    characters: int | None = Field(description="Length of all texts; null for a shelf of many files")
    bytes: int
    has_tree: bool
    embedder: str
    extractor: str
