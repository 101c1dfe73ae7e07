"""Reader of the documents of a .mono file as LlamaIndex documents."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from monograph.lazy import requires

with requires("LlamaIndex", "llama-index", __name__):
    from llama_index.core.readers.base import BaseReader
    from llama_index.core.schema import Document

from monograph_tools import AnyArchive, FileHandle, whole_documents

__all__ = ["MonographReader"]


class MonographReader(BaseReader):
    """Reads whole documents from a .mono file, with their ids.

    The metadata have the title and uri as ``monograph_title`` and ``monograph_uri``, unless a document has these keys
    itself.

    Parameters
    ----------
    monograph, key:
        The file or shelf: see :class:`monograph_tools.FileHandle`. A path is open only while it is read.
    """

    def __init__(self, monograph: AnyArchive, *, key: str | None = None) -> None:
        self._file = FileHandle(monograph, key=key)

    def lazy_load_data(self, names: Iterable[str] | None = None, **load_kwargs: Any) -> Iterable[Document]:
        """Yield all documents one by one, ordered by uri, then id; or those of ``names``, ids or uris.

        Raises NotFound if a name matches no document, or more than one.
        """
        for document in whole_documents(self._file, names):
            title_and_uri = {"monograph_title": document.title, "monograph_uri": document.uri}
            yield Document(
                id_=document.id,
                text=document.text,
                metadata={**title_and_uri, **document.metadata},
                excluded_embed_metadata_keys=list(title_and_uri),
                excluded_llm_metadata_keys=list(title_and_uri),
            )
