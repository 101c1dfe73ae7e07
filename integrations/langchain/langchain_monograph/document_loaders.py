"""The documents of a .mono file, as LangChain has them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from langchain_core.document_loaders import BaseLoader
from langchain_core.documents import Document

from monograph import Monograph


class MonographLoader(BaseLoader):
    """Loads whole documents out of a monograph, under their own ids.

    Title and uri stand in the metadata as ``title`` and ``source``, unless a document has these keys.

    Parameters
    ----------
    monograph:
        An open file, which stays the caller's to close; or the path of one, which is opened while it is read.
    names:
        Ids or uris; all documents without them.
    """

    def __init__(self, monograph: Monograph | str | os.PathLike[str], names: Iterable[str] | None = None) -> None:
        self._given = monograph
        self._names = None if names is None else list(names)

    def lazy_load(self) -> Iterator[Document]:
        """Documents one by one, in order of uri, then id.

        Raises
        ------
        NotFound
            If a name fits no document, or several.
        """
        if isinstance(self._given, Monograph):
            yield from self._documents(self._given)
        else:
            with Monograph.open(self._given, create=False, read_only=True) as opened:
                yield from self._documents(opened)

    def _documents(self, monograph: Monograph) -> Iterator[Document]:
        for name in [one.id for one in monograph.documents()] if self._names is None else self._names:
            found = monograph.document(name)
            own = {"title": found.title, "source": found.uri or found.id}
            yield Document(id=found.id, page_content=found.text, metadata={**own, **found.metadata})
