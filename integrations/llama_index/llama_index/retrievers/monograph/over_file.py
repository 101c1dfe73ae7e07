"""What retrievers over a .mono file share: the file, and how it is asked."""

from __future__ import annotations

import asyncio
import os
import threading
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index.vector_stores.monograph.nodes import as_scored_node
from monograph import Hit, Monograph


class FileRetriever(BaseRetriever):
    """Finds chunks of a monograph.

    Nodes carry the chunk's id, its text and offsets, the document's metadata, and the document as their source; a chunk
    that came from LlamaIndex comes back as the node it was. Scores are the hits' own, never None.

    Parameters
    ----------
    monograph:
        An open file, which stays the caller's to close; or the path of one, which is opened for reading only when the
        first query comes, and closed by :meth:`close`.
    similarity_top_k:
        Most nodes to return.
    where:
        Only chunks whose metadata meet this filter.
    callback_manager:
        LlamaIndex's.
    """

    def __init__(
        self,
        monograph: Monograph | str | os.PathLike[str],
        *,
        similarity_top_k: int = 5,
        where: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        self._given = monograph
        self._opened: Monograph | None = None
        self._opening = threading.Lock()
        self._similarity_top_k = similarity_top_k
        self._where = where
        super().__init__(callback_manager=callback_manager)

    def close(self) -> None:
        """Close the file if it was given as a path; the next query opens it again. Nothing else is closed."""
        with self._opening:
            if self._opened is not None:
                self._opened.close()
                self._opened = None

    def _file(self) -> Monograph:
        if isinstance(self._given, Monograph):
            return self._given
        with self._opening:
            if self._opened is None:
                self._opened = Monograph.open(self._given, create=False, read_only=True)
            return self._opened

    @abstractmethod
    def _search(self, monograph: Monograph, query: QueryBundle) -> list[Hit]:
        """The hits for a query, best first."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [as_scored_node(hit) for hit in self._search(self._file(), query_bundle)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
