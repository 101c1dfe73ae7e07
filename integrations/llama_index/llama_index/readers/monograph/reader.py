"""The documents of a .mono file, as LlamaIndex has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from llama_index.core.readers.base import BaseReader
from llama_index.core.schema import Document

from monograph_tools import FileHandle, Given, whole_documents


class MonographReader(BaseReader):
    """Reads whole documents out of a monograph, under their own ids.

    Title and uri stand in the metadata as ``monograph_title`` and ``monograph_uri``, unless a document has these keys.

    Parameters
    ----------
    monograph:
        An open file, which stays the caller's to close; or the path of one, which is opened while it is read.
    key:
        Of an encrypted file; with a path only.
    """

    def __init__(self, monograph: Given, *, key: str | None = None) -> None:
        self._file = FileHandle(monograph, key=key)

    def lazy_load_data(self, names: Iterable[str] | None = None, **load_kwargs: Any) -> Iterable[Document]:
        """Documents one by one, in order of uri, then id.

        Parameters
        ----------
        names:
            Ids or uris; all documents without them.

        Raises
        ------
        NotFound
            If a name fits no document, or several.
        """
        for found in whole_documents(self._file, names):
            own = {"monograph_title": found.title, "monograph_uri": found.uri}
            yield Document(
                id_=found.id,
                text=found.text,
                metadata={**own, **found.metadata},
                excluded_embed_metadata_keys=list(own),
                excluded_llm_metadata_keys=list(own),
            )
