"""LangChain's documents as passages, and back again."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import date, time
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from pydantic_core import to_jsonable_python

import monograph as library
import monograph_tools as tools
from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph import Hit, StoredChunk
    from monograph.values import Summary

_BLANK = "monograph_blank"


def plain(value: Any) -> Any:
    """A value with the dates and times in it as text, as ISO 8601 writes them."""
    try:
        return _plain(value)
    except RecursionError:
        return value  # What has no end is refused where it is to be stored.


def _plain(value: Any) -> Any:
    if isinstance(value, date | time):
        return to_jsonable_python(value)
    if isinstance(value, Mapping):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def as_passage(document: Document, identifier: str) -> library.Document:
    """A document as one of a single passage, under the id that LangChain knows it by."""
    text, metadata = document.page_content, dict(plain(document.metadata))
    if not text.strip():
        # Nothing can be said of no text; it is found by its metadata and its id.
        metadata[_BLANK] = text
        text = identifier
    return library.Document(id=identifier, passages=(library.Passage(text, identifier, metadata),))


def documents_ids(documents: Sequence[Document], ids: Sequence[str | None] | None) -> list[str]:
    """The id of each document: the one that is given, else its own, else a new one.

    Raises
    ------
    InputError
        If there is another number of ids than of documents.
    """
    if ids is not None and len(ids) != len(documents):
        raise InputError(f"{len(documents)} documents, but {len(ids)} ids", "give one a document")
    given = [None] * len(documents) if ids is None else list(ids)
    return [name or document.id or str(uuid.uuid4()) for name, document in zip(given, documents, strict=True)]


def as_stored_document(found: Hit | StoredChunk) -> Document:
    """A chunk as it was given, with nothing added."""
    metadata = {name: value for name, value in found.metadata.items() if name != tools.COLLECTION}
    text = metadata.pop(_BLANK, found.chunk.text)
    return Document(id=found.chunk.id, page_content=text, metadata=metadata)


def as_document(hit: Hit) -> Document:
    """A hit with what Monograph knows of it, under keys that begin with ``monograph_``."""
    if hit.summary is not None:
        return _summary_document(hit, hit.summary)
    plain = as_stored_document(hit)
    own = {
        "relevance": hit.relevance,
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


def _summary_document(hit: Hit, summary: Summary) -> Document:
    own = {
        "relevance": hit.relevance,
        "score": hit.score,
        "layer": summary.layer,
        "chunks": list(summary.chunks),
        "explanation": hit.explain(),
    }
    metadata = {f"monograph_{name}": value for name, value in own.items()}
    return Document(id=summary.id, page_content=summary.text, metadata=metadata)
