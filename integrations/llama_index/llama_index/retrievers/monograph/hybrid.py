"""A LlamaIndex retriever over an open monograph."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle

from llama_index.vector_stores.monograph.nodes import as_node
from monograph import Mode, Monograph


class HybridRetriever(BaseRetriever):
    """Finds chunks of a monograph by words and by meaning.

    Nodes carry the chunk's id, its text and offsets, the document's metadata, and the document as their source; scores
    are the hits' own, never None.

    Parameters
    ----------
    monograph:
        An open file, which stays the caller's to close; or the path of one, which is opened for reading only when the
        first query comes, and closed by :meth:`close`.
    similarity_top_k:
        Most nodes to return.
    mode:
        As for :meth:`monograph.Monograph.search`.
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
        mode: Mode = "auto",
        where: Mapping[str, Any] | None = None,
        callback_manager: CallbackManager | None = None,
    ) -> None:
        self._given = monograph
        self._opened: Monograph | None = None
        self._opening = threading.Lock()
        self._similarity_top_k = similarity_top_k
        self._mode: Mode = mode
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

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        hits = self._file().search(query_bundle.query_str, self._similarity_top_k, mode=self._mode, where=self._where)
        return [NodeWithScore(node=as_node(hit, hit.explain()), score=hit.score) for hit in hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)
