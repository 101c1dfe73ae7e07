"""Reader that loads documents of a .mono file as LlamaIndex documents."""

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

    Two keys are added to the metadata of each document, unless the document has these keys itself: ``monograph_title``
    (its title) and ``monograph_uri`` (its uri).

    Parameters
    ----------
    monograph:
        Path of a file, address of a shelf, or an open file, shelf or ``EcoVectorStore``. A path or an address is
        opened to load documents, then closed. An open object stays open.
    key:
        Key of an encrypted file. Give it only with a path.
    """

    def __init__(self, monograph: AnyArchive, *, key: str | None = None) -> None:
        self._file = FileHandle(monograph, key=key)

    def lazy_load_data(self, names: Iterable[str] | None = None, **load_kwargs: Any) -> Iterable[Document]:
        """Yield one by one the documents whose ids or uris are in ``names``, in the order of ``names``.

        Without ``names``, all documents are yielded, ordered by uri, then id. ``load_data`` takes the same argument,
        and returns a list. Raises NotFound if a name matches no document, or more than one.
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
