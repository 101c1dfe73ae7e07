"""Conversion of LangChain documents to documents of Monograph, and of stored chunks and hits to LangChain documents."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from typing import TYPE_CHECKING, Any, TypeVar

from langchain_core.documents import Document
from pydantic_core import to_jsonable_python

import monograph as library
import monograph_tools as tools
from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph import Hit, StoredChunk
    from monograph.shelf import Archive

Found = TypeVar("Found")

_BLANK = "monograph_blank"


def plain(value: Any) -> Any:
    """Return a value with dates and times replaced by ISO 8601 text, also within lists and mappings."""
    try:
        return _plain(value)
    except RecursionError:
        return value  # An endless value is refused when it is stored.


def _plain(value: Any) -> Any:
    if isinstance(value, date | time):
        return to_jsonable_python(value)
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def store_documents(
    archive: Archive, documents: Sequence[Document], ids: Sequence[str | None] | None = None
) -> list[str]:
    """Store documents, and return their ids in the order of the documents.

    ``ids`` has one id for each document. If an id is None or empty, the document's own id is used, or else a new UUID.
    Raises InputError if the numbers of ids and documents differ.
    """
    if ids is not None and len(ids) != len(documents):
        raise InputError(f"{len(documents)} documents, but {len(ids)} ids", "give one id per document")
    given = [None] * len(documents) if ids is None else list(ids)
    names = [name or document.id or str(uuid.uuid4()) for name, document in zip(given, documents, strict=True)]
    if names:
        passages = (_as_passage(document, name) for document, name in zip(documents, names, strict=True))
        tools.warn_of_problems(tools.to_write(archive).put(passages))
    return names


def _as_passage(document: Document, identifier: str) -> library.Document:
    """Convert a LangChain document to a Monograph document with one passage."""
    text, metadata = document.page_content, dict(plain(document.metadata))
    if not text.strip():
        # A chunk needs a text. A blank document gets its id as text, and is found by its metadata and its id.
        metadata[_BLANK] = text
        text = identifier
    return library.Document(id=identifier, passages=(library.Passage(text, identifier, metadata),))


def as_document(found: Hit | StoredChunk) -> Document:
    """Convert a stored chunk or a hit (a chunk or a summary) to a LangChain document that does not depend on the query.

    A chunk that was stored through LangChain is returned as it was stored. Other chunks get these metadata, unless
    their stored metadata have the key already:

    - ``title`` and ``source``: title and uri of the chunk's document, if it has them
    - ``monograph_document_id``: id of the chunk's document
    - ``monograph_start`` and ``monograph_end``: the chunk is ``text[start:end]`` of its document

    A summary has the metadata ``monograph_layer`` (its layer in the tree) and ``monograph_chunks`` (ids of the chunks
    under it).
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


def accepted(k: int, accepts: Callable[[Found], bool], search: Callable[[int], list[Found]], limit: int) -> list[Found]:
    """Return the first k results of a search for which ``accepts`` returns True, or all if there are fewer.

    ``search`` is called with the number of results to return: ``limit`` at first. The number is multiplied by 4 until k
    results are accepted, or the search returns fewer results than this number.
    """
    while k > 0:
        found = search(limit)
        chosen = [result for result in found if accepts(result)][:k]
        if len(chosen) == k or len(found) < limit:
            return chosen
        limit *= 4
    return []
