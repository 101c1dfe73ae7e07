"""The documents of a .mono file, as LangChain has them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from monograph_tools import FileHandle, Given, whole_documents


class MonographLoader(BaseLoader):
    """Loads whole documents out of a monograph, under their own ids.

    Metadata has the title as ``title`` and the uri, or without one the id, as ``source``, unless a document has these
    keys.

    Parameters
    ----------
    monograph:
        An open file, which stays the caller's to close; or the path of one, which is opened while it is read.
    names:
        Ids or uris; all documents without them.
    key:
        Of an encrypted file; with a path only.
    """

    def __init__(self, monograph: Given, names: Iterable[str] | None = None, *, key: str | None = None) -> None:
        self._file = FileHandle(monograph, key=key)
        self._names = None if names is None else list(names)

    def lazy_load(self) -> Iterator[Document]:
        """Documents one by one, in order of uri, then id.

        Raises
        ------
        NotFound
            If a name fits no document, or several.
        """
        for found in whole_documents(self._file, self._names):
            own = {"title": found.title, "source": found.uri or found.id}
            yield Document(id=found.id, page_content=found.text, metadata={**own, **found.metadata})
