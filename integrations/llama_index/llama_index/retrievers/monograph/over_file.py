"""Base of retrievers over a .mono file: the file, and its search."""

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
    """The keyword arguments of every retriever: see :class:`FileRetriever`."""

    similarity_top_k: int
    filters: MetadataFilters | None
    embed_model: BaseEmbedding | None
    as_of: str | None
    collection: str | None
    reranker: Reranker | str | None
    callback_manager: CallbackManager | None
    key: str | None


class FileRetriever(ClosesFile, BaseRetriever):
    """Finds chunks of a monograph.

    Nodes carry the chunk's id, its text and offsets, the document's metadata, and the document as their source; a chunk
    that came from LlamaIndex comes back as the node it was. Scores are the hits' relevances, from 0 to 1 and never
    rising. Results are ``HitNode`` objects: ``own_score`` is the hit's own, ``explanation`` says how it was found.

    Parameters
    ----------
    monograph:
        An open file or shelf, or a store over one, which stays the caller's to close; or the path of a file or the
        address of a shelf, which is opened for reading only when the first query comes, and closed by :meth:`close`.
    similarity_top_k:
        Most nodes to return.
    filters:
        Only chunks whose metadata meet these.
    embed_model:
        Makes the vectors of queries that have none. It must be the model that made the file's vectors. A file with a
        model of its own does not need it.
    as_of:
        Search the file as it stood at the end of this moment, where it keeps that: see
        :meth:`monograph.Monograph.as_of`.
    collection:
        See nothing but the nodes of this one, whatever the way to search; a shelf has none.
    reranker:
        Puts the first hits in order, or the text that names it; None for what the file was opened with.
    callback_manager:
        LlamaIndex's.
    key:
        Of an encrypted file; with a path only.

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
        """Most nodes to return."""
        return self._similarity_top_k

    @similarity_top_k.setter
    def similarity_top_k(self, most: int) -> None:
        self._similarity_top_k = arguments.whole_number(most, "similarity_top_k", 1)

    def close(self) -> None:
        """Close the file if it was given as a path; the next query opens it again. Nothing else is closed."""
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
