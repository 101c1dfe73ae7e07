"""Document loader that reads a .mono file as LangChain documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from monograph_tools import AnyArchive, FileHandle, whole_documents


class MonographLoader(BaseLoader):
    """Loads whole documents from a .mono file, with their ids.

    The metadata of each document get two keys, unless they have these keys already: ``title``, and ``source`` (the
    uri, or else the id).

    Parameters
    ----------
    monograph:
        Path of a file, address of a shelf, or an open file, shelf or ``EcoVectorStore``. A path or an address is
        opened to load documents, then closed. An open object stays open.
    names:
        Ids or uris of documents; None for all documents.
    key:
        Key of an encrypted file. Give it only with a path.
    """

    def __init__(self, monograph: AnyArchive, names: Iterable[str] | None = None, *, key: str | None = None) -> None:
        self._file = FileHandle(monograph, key=key)
        self._names = None if names is None else list(names)

    def lazy_load(self) -> Iterator[Document]:
        """Yield the documents one by one, in the order of ``names``; without ``names``, ordered by uri, then id.

        Raises NotFound if one of ``names`` matches no document, or more than one.
        """
        for document in whole_documents(self._file, self._names):
            own = {"title": document.title, "source": document.uri or document.id}
            yield Document(id=document.id, page_content=document.text, metadata={**own, **document.metadata})
