"""Summaries of many chunks, with the sources of their sentences."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quote:
    """Stretch of a summary that repeats one of the summarized texts word for word.

    ``texts`` are the summarized texts: ``summary_text[start:end] == texts[source][source_start:source_end]``.
    """

    start: int
    end: int
    source: int
    source_start: int
    source_end: int


@dataclass(frozen=True, slots=True)
class SummaryText:
    """Summary that a summarizer returns for a list of texts.

    ``quotes`` locate the sentences of the summary in the texts, if the summarizer quotes. The ``source`` of a quote is
    an index into the list of texts. ``tokens_in`` and ``tokens_out`` count the tokens that a model read and wrote; 0 if
    no model was called.
    """

    text: str
    quotes: tuple[Quote, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Part of a summary that repeats a span of a document word for word.

    The part is ``summary.text[start:end]``, the span is ``document.text[document_start:document_end]``.
    """

    start: int
    end: int
    chunk_id: str
    document_id: str
    document_start: int
    document_end: int


@dataclass(frozen=True, slots=True)
class Summary:
    """Node of the tree that summarizes the chunks under it.

    Parameters
    ----------
    id:
        Hash of the summarizer and of the nodes that the summary summarizes.
    layer:
        1 for a summary of chunks, 2 for a summary of summaries of layer 1, and so on.
    text:
        Text of the summary.
    chunks:
        Ids of all chunks under the summary. They are in the order of the tree, in which similar chunks are near each
        other, and not in reading order.
    sources:
        Document spans that sentences of the summary repeat word for word, in order of ``start``. Empty if a model wrote
        the summary.
    """

    id: str
    layer: int
    text: str
    chunks: tuple[str, ...]
    sources: tuple[Source, ...] = ()


@dataclass(frozen=True, slots=True)
class OutlineNode:
    """Node of the tree, with the nodes under it down to the requested depth.

    Parameters
    ----------
    id:
        Id of the summary or chunk.
    layer:
        Layer of the summary; 0 for a chunk.
    text:
        Text of the summary or chunk.
    count:
        Number of chunks under a summary; 1 for a chunk.
    title:
        Title of a chunk's document; empty for a summary.
    children:
        Nodes that the summary summarizes, so ordered that similar nodes are near each other. Empty for a chunk, and at
        the requested depth.
    """

    id: str
    layer: int
    text: str
    count: int
    title: str = ""
    children: tuple[OutlineNode, ...] = ()
