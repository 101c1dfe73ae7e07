"""Loader of the documents of a .mono file as LangChain documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from monograph_tools import AnyArchive, FileHandle, whole_documents


class MonographLoader(BaseLoader):
    """Loads whole documents from a .mono file, with their ids.

    The metadata have the title as ``title``, and the uri, or the id if there is no uri, as ``source``, unless a
    document has these keys itself.

    Parameters
    ----------
    monograph, key:
        The file or shelf: see :class:`monograph_tools.FileHandle`. A path is open only while it is read.
    names:
        Ids or uris of documents; None for all documents.
    """

    def __init__(self, monograph: AnyArchive, names: Iterable[str] | None = None, *, key: str | None = None) -> None:
        self._file = FileHandle(monograph, key=key)
        self._names = None if names is None else list(names)

    def lazy_load(self) -> Iterator[Document]:
        """Yield documents one by one, ordered by uri, then id. Raises NotFound unless each name finds one document."""
        for document in whole_documents(self._file, self._names):
            own = {"title": document.title, "source": document.uri or document.id}
            yield Document(id=document.id, page_content=document.text, metadata={**own, **document.metadata})
