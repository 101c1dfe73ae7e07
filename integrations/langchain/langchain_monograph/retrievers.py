"""LangChain retrievers over an open monograph: by words and meaning, along the graph, through the tree."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_monograph.documents import as_document, as_passage, documents_ids, plain
from langchain_monograph.over_file import OverFile
from monograph import Graph, Reranker, Strategy, Tree
from monograph_tools import build_graph, in_thread, told


class FileRetriever(OverFile, BaseRetriever, extra="forbid"):
    """Finds chunks of a monograph.

    Documents carry the chunk's id and text and the document's metadata; what Monograph adds stands under keys that
    begin with ``monograph_``: ``relevance`` (0 to 1, never rising), ``score``, ``title``, ``uri``, ``document_id``,
    ``start``, ``end`` and ``explanation``. ``k``, ``filter`` and what a kind of retriever has besides may be given anew
    with each call of ``invoke``.
    """

    k: int = 5
    """Most documents to return."""
    filter: dict[str, Any] | None = None
    """Only chunks whose metadata meet this filter."""
    as_of: str | None = None
    """Search the file as it stood at the end of this moment, where it keeps that: see ``Monograph.as_of``."""
    reranker: str | Reranker | None = None
    """Puts the first hits in order, or the text that names it; None for what the file was opened with."""

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """The file as its path, and the reranker as the text that names it."""
        given = self.reranker
        named = {} if given is None else {"reranker": given if isinstance(given, str) else given.spec}
        return super().lc_attributes | named

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **changed: Any
    ) -> list[Document]:
        return self._search(query, **changed)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **changed: Any
    ) -> list[Document]:
        return await asyncio.to_thread(self._search, query, **changed)

    @abstractmethod
    def _search(self, query: str, *changed: Any, **named: Any) -> list[Document]:
        """The documents for a query, best first."""

    def _found(self, query: str, how: str | Strategy, k: int | None, given: dict[str, Any] | None) -> list[Document]:
        allowed = plain(self.filter if given is None else given)
        most = self.k if k is None else k
        hits = self._file.open().search(query, most, how, allowed, reranker=self.reranker, as_of=self.as_of)
        return [as_document(hit) for hit in hits]


class HybridRetriever(FileRetriever):
    """Finds chunks of a monograph by words and by meaning, or any other way that a file can be searched."""

    how: str | Strategy = "auto"
    """As for :meth:`monograph.Monograph.search`."""

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """The file as its path, and how it is searched as a text."""
        return super().lc_attributes | {"how": str(self.how)}

    def _search(
        self,
        query: str,
        k: int | None = None,
        how: str | Strategy | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002
    ) -> list[Document]:
        return self._found(query, self.how if how is None else how, k, filter)


class MiniRAGRetriever(FileRetriever):
    """Finds chunks hop by hop along the graph of what is named together (Fan et al., MiniRAG, arXiv 2501.06713).

    The graph of an open file without one is built here; the file of a path must have one.
    """

    faithful: bool = False
    """Search by the paper's own formulas."""

    def model_post_init(self, context: Any, /) -> None:
        """Hold the file, and build its graph if it has none."""
        super().model_post_init(context)
        build_graph(self.monograph)

    def _search(
        self,
        query: str,
        k: int | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002
        faithful: bool | None = None,
    ) -> list[Document]:
        return self._found(query, Graph(faithful=self.faithful if faithful is None else faithful), k, filter)


class TreeRetriever(FileRetriever):
    """Finds chunks and the summaries that stand above them; a summary has ``monograph_layer``, ``monograph_chunks``."""

    detail: float | None = None
    """The share of chunks among the documents, from 0 (summaries alone) to 1."""
    budget: int | None = None
    """Most tokens of all documents together."""

    def _search(
        self,
        query: str,
        k: int | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002
        detail: float | None = None,
        budget: int | None = None,
    ) -> list[Document]:
        share, room = self.detail if detail is None else detail, self.budget if budget is None else budget
        return self._found(query, Tree(detail=share, budget=room), k, filter)


class EraRAGRetriever(TreeRetriever):
    """As :class:`TreeRetriever`, with documents added and taken out: the tree follows (Zhang et al., EraRAG).

    The file must have a tree: ``Monograph.open(path, summarizer=...)``.
    """

    _reads_only: ClassVar[bool] = False

    def add_documents(self, documents: Sequence[Document], ids: Sequence[str] | None = None) -> list[str]:
        """Store documents; one of a known id replaces that one. Returns their ids, in order."""
        names = documents_ids(documents, ids)
        if names:
            told(
                self._file.open_to_write().put(
                    as_passage(one, name) for one, name in zip(documents, names, strict=True)
                )
            )
        return names

    def delete(self, ids: Sequence[str]) -> bool:
        """Take documents out; always True: afterwards none of them is there."""
        told(self._file.open_to_write().remove_chunks(ids))
        return True

    aadd_documents = in_thread("add_documents")
    adelete = in_thread("delete")
