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


def as_document(found: Hit | StoredChunk) -> Document:
    """Convert a chunk, or the summary of a hit, to a document that is the same whatever the query was.

    A document of LangChain comes back as it was stored. Otherwise ``title`` and ``source`` (the uri) are added where
    the chunk's document has them, and its id and the chunk's span under keys that begin with ``monograph_``. The
    stored metadata take precedence.
    """
    summary = getattr(found, "summary", None)
    if summary is not None:
        own = {"monograph_layer": summary.layer, "monograph_chunks": list(summary.chunks)}
        return Document(id=summary.id, page_content=summary.text, metadata=own)
    chunk = found.chunk
    own = {name: value for name, value in (("title", found.title), ("source", found.uri)) if value}
    if chunk.id != chunk.document_id:
        own |= {
            "monograph_document_id": chunk.document_id,
            "monograph_start": chunk.start,
            "monograph_end": chunk.end,
        }
    metadata = {name: value for name, value in found.metadata.items() if name != tools.COLLECTION}
    text = metadata.pop(_BLANK, chunk.text)
    return Document(id=chunk.id, page_content=text, metadata={**own, **metadata})
