"""LangChain's documents as passages, and back again."""

from __future__ import annotations

from langchain_core.documents import Document

import monograph
from monograph import Hit, Passage, Stored

_BLANK = "monograph_blank"


def as_passage(document: Document, identifier: str) -> monograph.Document:
    """A document as one of a single passage, under the id that LangChain knows it by."""
    text, metadata = document.page_content, dict(document.metadata)
    if not text.strip():
        # Nothing can be said of no text; it is found by its metadata and its id.
        metadata[_BLANK] = text
        text = identifier
    return monograph.Document(id=identifier, passages=(Passage(text, identifier, metadata),))


def as_stored_document(found: Hit | Stored) -> Document:
    """A chunk as it was given, with nothing added."""
    metadata = dict(found.metadata)
    text = metadata.pop(_BLANK, found.chunk.text)
    return Document(id=found.chunk.id, page_content=text, metadata=metadata)


def as_document(hit: Hit) -> Document:
    """A hit with what Monograph knows of it, under keys that begin with ``monograph_``."""
    plain = as_stored_document(hit)
    own = {
        "score": hit.score,
        "title": hit.title,
        "uri": hit.uri,
        "document_id": hit.chunk.document_id,
        "start": hit.chunk.start,
        "end": hit.chunk.end,
        "explanation": hit.explain(),
    }
    metadata = {**{f"monograph_{name}": value for name, value in own.items()}, **plain.metadata}
    return Document(id=hit.chunk.id, page_content=plain.page_content, metadata=metadata)
