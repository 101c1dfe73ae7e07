"""A LangChain retriever over an open monograph."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from langchain_monograph.documents import as_document
from monograph import Mode, Monograph


class HybridRetriever(BaseRetriever):
    """Finds chunks of a monograph by words and by meaning.

    Documents carry the chunk's id and text and the document's metadata; what Monograph adds stands under keys that
    begin with ``monograph_``: ``score`` (absolute, never None), ``title``, ``uri``, ``document_id``, ``start``, ``end``
    and ``explanation``.
    ``k``, ``mode`` and ``where`` may be given anew with each call of ``invoke``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    monograph: Monograph
    """An open file; it stays the caller's to close."""
    k: int = 5
    """Most documents to return."""
    mode: Mode = "auto"
    """As for :meth:`monograph.Monograph.search`."""
    where: dict[str, Any] | None = None
    """Only chunks whose metadata meet this filter."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **changed: Any
    ) -> list[Document]:
        return self._search(query, **changed)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **changed: Any
    ) -> list[Document]:
        return await asyncio.to_thread(self._search, query, **changed)

    def _search(
        self, query: str, k: int | None = None, mode: Mode | None = None, where: dict[str, Any] | None = None
    ) -> list[Document]:
        hits = self.monograph.search(
            query,
            self.k if k is None else k,
            mode=self.mode if mode is None else mode,
            where=self.where if where is None else where,
        )
        return [as_document(hit) for hit in hits]
