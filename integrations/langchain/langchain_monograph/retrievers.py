"""LangChain retrievers over an open monograph: by words and meaning, along the graph, through the tree."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever

from langchain_monograph.documents import as_document, as_passage, documents_ids, plain
from langchain_monograph.embeddings import as_embedder
from langchain_monograph.over_file import OverFile
from monograph import Graph, Hit, Reranker, Strategy, Tree
from monograph.models import Embedder
from monograph_tools import build_graph, in_thread, warn_of_problems

SEARCH_EVENT = "monograph_search"
"""Name of LangChain's custom event with the query and each hit's id, relevance (0 to 1, falling), own score and
explanation."""


class FileRetriever(OverFile, BaseRetriever, extra="forbid"):
    """Finds chunks of a monograph.

    A document depends on the stored chunk alone, so that the results of several queries can be merged: it has the
    chunk's id, text and metadata, ``title`` and ``source`` (the uri), and ``monograph_document_id``,
    ``monograph_start`` and ``monograph_end``. Scores and explanations are in the custom event ``monograph_search``,
    which callbacks and ``astream_events`` receive; ``EcoVectorStore.similarity_search_with_score`` returns scores.
    ``k``, ``filter`` and the fields of the kind of retriever can be overridden with each call of ``invoke``.
    """

    k: int = 5
    """Most documents to return."""
    filter: dict[str, Any] | None = None
    """Only chunks whose metadata meet this filter."""
    embedding: Embeddings | None = None
    """Makes the vectors of queries, where the file's were made by LangChain's embeddings or given by the caller."""
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
        hits = self._search(query, **changed)
        dispatch_custom_event(SEARCH_EVENT, _of_search(query, hits), config={"callbacks": run_manager.get_child()})
        return [as_document(hit) for hit in hits]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **changed: Any
    ) -> list[Document]:
        hits = await asyncio.to_thread(self._search, query, **changed)
        await adispatch_custom_event(
            SEARCH_EVENT, _of_search(query, hits), config={"callbacks": run_manager.get_child()}
        )
        return [as_document(hit) for hit in hits]

    @abstractmethod
    def _search(self, query: str, *changed: Any, **named: Any) -> list[Hit]:
        """The hits for a query, best first."""

    def _found(self, query: str, how: str | Strategy, k: int | None, given: dict[str, Any] | None) -> list[Hit]:
        allowed = plain(self.filter if given is None else given)
        most = self.k if k is None else k
        vector = self._file.query_vector(query, how, argument="embedding")
        return self._file.open().search(
            query, most, how, allowed, vector=vector, reranker=self.reranker, as_of=self.as_of
        )

    def _embedder(self) -> Embedder | None:
        return None if self.embedding is None else as_embedder(self.embedding)


def _of_search(query: str, hits: Sequence[Hit]) -> dict[str, Any]:
    return {
        "query": query,
        "hits": [
            {
                "id": hit.chunk.id if hit.summary is None else hit.summary.id,
                "relevance": hit.relevance,
                "score": hit.score,
                "explanation": hit.explain(),
            }
            for hit in hits
        ],
    }


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
    ) -> list[Hit]:
        return self._found(query, self.how if how is None else how, k, filter)


class MiniRAGRetriever(FileRetriever):
    """Finds chunks hop by hop along the graph of what is named together (Fan et al., MiniRAG, arXiv 2501.06713).

    By default Monograph's own walk along the graph runs, as with ``how="graph"``: it follows links from the most
    probable chunks. ``faithful=True`` ranks by the paper's own formulas (Eq. 2 and 3) instead.

    A file without a graph gets one here.
    """

    faithful: bool = False
    """Rank by the paper's own formulas; otherwise by Monograph's own walk along the graph."""

    def model_post_init(self, context: Any, /) -> None:
        """Hold the file, and build its graph if it has none."""
        super().model_post_init(context)
        build_graph(self.monograph, self._secret, self._embedder())

    def _search(
        self,
        query: str,
        k: int | None = None,
        filter: dict[str, Any] | None = None,  # noqa: A002
        faithful: bool | None = None,
    ) -> list[Hit]:
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
    ) -> list[Hit]:
        share, room = self.detail if detail is None else detail, self.budget if budget is None else budget
        return self._found(query, Tree(detail=share, budget=room), k, filter)


class EraRAGRetriever(TreeRetriever):
    """:class:`TreeRetriever` with documents added and removed: the tree follows (Zhang et al., EraRAG).

    The file must have a tree: ``Monograph.open(path, summarizer=...)``.
    """

    _reads_only: ClassVar[bool] = False

    def add_documents(self, documents: Sequence[Document], ids: Sequence[str] | None = None) -> list[str]:
        """Store documents; one of a known id replaces that one. Returns their ids, in order."""
        names = documents_ids(documents, ids)
        if names:
            warn_of_problems(
                self._file.open_to_write().put(
                    as_passage(one, name) for one, name in zip(documents, names, strict=True)
                )
            )
        return names

    def delete(self, ids: Sequence[str]) -> bool:
        """Take documents out; always True: afterwards none of them is there."""
        warn_of_problems(self._file.open_to_write().remove_chunks(ids))
        return True

    aadd_documents = in_thread("add_documents")
    adelete = in_thread("delete")
