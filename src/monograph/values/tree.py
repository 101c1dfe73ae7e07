"""Summaries: texts that stand for many chunks, and where each sentence of them comes from."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quote:
    """A stretch of a summary that stands word for word in a text it was made from.

    ``summary_text[start:end] == texts[source][source_start:source_end]``.
    """

    start: int
    end: int
    source: int
    source_start: int
    source_end: int


@dataclass(frozen=True, slots=True)
class SummaryText:
    """Summary of some texts, in the order in which the summarizer was given them.

    ``quotes`` say where its sentences stand, if it quotes; ``tokens_in`` and ``tokens_out`` what a model read and
    wrote, 0 where none was asked.
    """

    text: str
    quotes: tuple[Quote, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A stretch of a summary, ``summary.text[start:end]``, and the span of a document that it repeats word for word."""

    start: int
    end: int
    chunk_id: str
    document_id: str
    document_start: int
    document_end: int


@dataclass(frozen=True, slots=True)
class Summary:
    """A text that stands for the chunks under it.

    Parameters
    ----------
    id:
        Made from the keys of what it was made from.
    layer:
        1 over chunks, and so on upwards.
    text:
        The summary itself.
    chunks:
        Ids of all chunks under it, in the order of the tree.
    sources:
        Where its sentences stand word for word, in order of ``start``; empty where a model wrote it.
    """

    id: str
    layer: int
    text: str
    chunks: tuple[str, ...]
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """A part of the tree, opened so many layers deep.

    Parameters
    ----------
    id:
        Of the summary or the chunk.
    layer:
        0 for a chunk.
    text:
        Of the summary or the chunk.
    count:
        Chunks under it, or 1.
    title:
        Of a chunk's document; empty for a summary.
    children:
        What it was made from, in the order of the tree; empty where it was not opened.
    """

    id: str
    layer: int
    text: str
    count: int
    title: str = ""
    children: tuple[OutlineNode, ...] = ()
