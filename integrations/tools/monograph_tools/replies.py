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
    cut: bool = Field(description="Whether the text goes on; read the citation's span for all of it")
    score: float = Field(description="From 0 to 1, falling from hit to hit")
    found_by: str = Field(description="How it was found, with ranks and scores")
    citation: Citation
    summary: str = Field(default="", description="Id of the summary that this is; empty for a chunk")


class SearchReply(BaseModel):
    """Chunks, best first."""

    hits: list[FoundText]
    left_out: int = Field(description="Hits that had no room; ask with a higher max_tokens or a narrower question")


class ReadReply(BaseModel):
    """A span of a document."""

    text: str
    citation: Citation
    characters: int = Field(description="Of the whole document")
    next_start: int | None = Field(description="Where to read on; null at the end of the document")


class OutlineItem(BaseModel):
    """One entry of the table of contents."""

    id: str
    depth: int
    text: str
    chunks: int = Field(description="How many chunks it stands for")
    is_summary: bool
    citation: Citation | None = Field(description="Of a chunk; null for a summary: open it to come to its passages")


class OutlineReply(BaseModel):
    """The tree of summaries, from the top, each entry followed by what it stands for."""

    items: list[OutlineItem]
    left_out: int


class EntityItem(BaseModel):
    """A named thing."""

    name: str
    kind: str
    names: list[str] = Field(description="Every name it goes by")
    chunks: int = Field(description="In how many chunks it is named")


class LinkItem(BaseModel):
    """Two things that are named together."""

    source: str
    target: str
    weight: float
    description: str = Field(description="What a model wrote of it; empty without a model")
    citations: list[Citation]


class EntityReply(BaseModel):
    """Entities that are named together with an entity, nearest first."""

    entity: list[EntityItem] = Field(description="The entity asked for; several where one name means several things")
    around: list[EntityItem]
    links: list[LinkItem] = Field(description="Heaviest first")
    left_out: int


class PathItem(BaseModel):
    """One way from an entity to another."""

    entities: list[str]
    links: list[LinkItem]


class PathsReply(BaseModel):
    """Ways between two entities, the shortest; empty where nothing joins them."""

    paths: list[PathItem]
    left_out: int


class NoteReply(BaseModel):
    """A note that is stored."""

    document: str = Field(description="Its id")
    new: bool = Field(description="False where the same note was there already")
    citation: Citation


class ForgottenReply(BaseModel):
    """A note that is gone."""

    document: str = Field(description="The id that it had")
    traces: bool = Field(description="Whether its text may be left in the file's bytes, as someone else reads them")


class StatsReply(BaseModel):
    """Counts of the file's contents."""

    documents: int
    chunks: int
    entities: int
    characters: int | None = Field(description="Of all texts; null for a shelf of many files")
    bytes: int
    has_tree: bool
    embedder: str
    extractor: str
