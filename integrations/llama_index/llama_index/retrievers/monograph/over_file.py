"""Base class of the retrievers over a .mono file."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypedDict

import llama_index_instrumentation as instrument
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.callbacks import CallbackManager
from llama_index.core.schema import NodeWithScore, QueryBundle
from llama_index.core.vector_stores.types import MetadataFilters

from llama_index.embeddings.monograph.embedding import as_embedder
from llama_index.vector_stores.monograph import SearchEvent
from llama_index.vector_stores.monograph.nodes import as_scored_node
from llama_index.vector_stores.monograph.where import as_where
from monograph import Reranker, Strategy
from monograph.values import arguments
from monograph_tools import ClosesFile, FileHandle, Given, in_thread

dispatcher = instrument.get_dispatcher(__name__)


class RetrieverOptions(TypedDict, total=False):
    """Keyword arguments that all retrievers take: see :class:`FileRetriever`."""

    similarity_top_k: int
    filters: MetadataFilters | None
    embed_model: BaseEmbedding | None
    as_of: str | None
    collection: str | None
    reranker: Reranker | str | None
    callback_manager: CallbackManager | None
    key: str | None


class FileRetriever(ClosesFile, BaseRetriever):
    """Base of retrievers that return chunks of a file or shelf.

    Each node has the chunk's id, text and offsets, the document's metadata, and the document as its source. A chunk
    that was stored from LlamaIndex is returned as its original node. Results are ``HitNode`` objects: ``score`` is the
    hit's relevance (0 to 1, never rising), ``own_score`` its own score, and ``explanation`` says how it was found.

    Parameters
    ----------
    monograph:
        An open file or shelf, or a store over one, which the caller closes; or the path of a file or the address of a
        shelf, which is opened for reading by the first query and closed by :meth:`close`.
    similarity_top_k:
        Maximum number of nodes to return.
    filters:
        Return only chunks whose metadata match these filters.
    embed_model:
        Computes the vectors of queries that have none. It must be the model that computed the file's vectors. Not
        needed if the file has an embedder of its own.
    as_of:
        Search the file as it was at the end of this moment, if it keeps history: see :meth:`monograph.Monograph.as_of`.
    collection:
        Return only nodes of this collection, in every search mode. Shelves have no collections.
    reranker:
        Reranker of the first hits, or its spec as a string; None for the reranker that the file was opened with.
    callback_manager:
        Callback manager of LlamaIndex.
    key:
        Key of an encrypted file; only with a path.

    Raises
    ------
    InputError
        If ``similarity_top_k`` is below 1, or a key is given with an open file.
    InvalidFilter
        If the filters are not ``MetadataFilters``.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        monograph: Given,
        *,
        similarity_top_k: int = 5,
        filters: MetadataFilters | None = None,
        embed_model: BaseEmbedding | None = None,
        as_of: str | None = None,
        collection: str | None = None,
        reranker: Reranker | str | None = None,
        callback_manager: CallbackManager | None = None,
        key: str | None = None,
    ) -> None:
        self._embedder = None if embed_model is None else as_embedder(embed_model)
        self._file = FileHandle(monograph, key=key, collection=collection, embedder=self._embedder)
        self.similarity_top_k = similarity_top_k
        self._where = as_where(filters)
        self._as_of = as_of
        self._reranker = reranker
        super().__init__(callback_manager=callback_manager)

    @property
    def similarity_top_k(self) -> int:
        """Maximum number of nodes to return."""
        return self._similarity_top_k

    @similarity_top_k.setter
    def similarity_top_k(self, most: int) -> None:
        self._similarity_top_k = arguments.whole_number(most, "similarity_top_k", 1)

    def close(self) -> None:
        """Close the file if it was given as a path; the next query opens it again."""
        self._file.close()

    @abstractmethod
    def _strategy(self) -> str | Strategy:
        """Return the search mode, as for :meth:`monograph.Monograph.search`."""

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        text, how = query_bundle.query_str, self._strategy()
        vector = self._file.query_vector(text, how, query_bundle.embedding)
        hits = self._file.open().search(
            text, self.similarity_top_k, how, self._where, vector=vector, reranker=self._reranker, as_of=self._as_of
        )
        dispatcher.event(SearchEvent.of(text, hits))
        return [as_scored_node(hit) for hit in hits]

    _aretrieve = in_thread("_retrieve")
