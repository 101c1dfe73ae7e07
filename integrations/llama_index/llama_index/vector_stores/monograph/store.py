"""LlamaIndex vector store over a .mono file."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import llama_index_instrumentation as instrument
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.vector_stores.types import (
    DEFAULT_PERSIST_DIR,
    BasePydanticVectorStore,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)

import monograph as library
import monograph_tools as tools
from llama_index.vector_stores.monograph.nodes import as_documents, as_node
from llama_index.vector_stores.monograph.where import as_where
from monograph.errors import InputError, NotAMonograph

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import BaseNode
    from llama_index.core.vector_stores.types import MetadataFilters

    from monograph import Hit
    from monograph.shelf import Archive
    from monograph_tools import AnyArchive, FileHandle

dispatcher = instrument.get_dispatcher(__name__)

PLACE = "query_embedding"
"""Name of the parameter for a query's vector, in error messages."""

FILE_NAME = "vector_store.mono"
"""Name of the file that ``from_persist_dir`` opens."""


class MissingStore(NotAMonograph, ValueError):
    """Raised if a store is to be loaded and its file does not exist."""


class ContradictoryArguments(InputError, ValueError):
    """Raised if two arguments that exclude each other are given."""


class EcoVectorStore(tools.FileStore, BasePydanticVectorStore):
    """Nodes and their vectors in one file, with an inverted index.

    Nodes are returned complete, with relationships, hash, templates and nested metadata. Any string can be an id, and
    ids are kept as given. Every addition is on disk when the call returns, so there is nothing to persist.

    A new file has no graph; ``archive.graph.build()`` builds it later. A copy of the store shares the open file, which
    only the original closes. An unpickled store opens the file at the same path again; a store with a key cannot be
    pickled.

    Parameters
    ----------
    monograph:
        Path of a file, an open file, or a store over one. A file at a path is opened here, and closed by ``close``; if
        it does not exist, it is created. An open file or store stays open. A shelf or its address is accepted too, but
        a shelf can only be searched: methods that list, store or delete nodes raise InputError.
    embed_model:
        Model that computes the vectors of nodes and queries that have no vector. Give it only with a path. If it is
        None, the file's embedder is used. If it is None and all nodes of the first ``add`` to a new file have
        vectors, every later node must have a vector too.
    collection:
        Name of a collection. Only its nodes are searched, listed and deleted, and new nodes are added to it. An id is
        unique in the whole file: adding a node with the id of a node in another collection is refused.
    key:
        Key of an encrypted file. Give it only with a path. It is never persisted.
    vector_index:
        Design of a new file's vector index, ``codes`` (the default) or ``graph`` (the index of the MobileRAG paper):
        see docs/explanation/vector-index.md. Give it only with a path.

    Raises
    ------
    InputError
        If a model, a key or a vector index is given with an open file.
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    path: str
    """Path of the file, or address of the shelf."""
    collection: str | None = None
    """Collection that is read and written; None for the whole file."""

    _file: FileHandle = PrivateAttr()

    def __init__(
        self,
        monograph: AnyArchive,
        embed_model: BaseEmbedding | None = None,
        *,
        collection: str | None = None,
        key: str | None = None,
        vector_index: Literal["codes", "graph"] | None = None,
    ) -> None:
        from llama_index.embeddings.monograph import LlamaIndexEmbedder
        from monograph.shelf import place_of

        file = tools.opened(
            monograph, embed_model, LlamaIndexEmbedder, key, collection=collection, vector_index=vector_index
        )
        path = place_of(file.monograph)
        super().__init__(path=path, collection=file.collection, stores_text=True, is_embedding_query=True)  # type: ignore[call-arg]
        self._file = file

    def __reduce__(self) -> tuple[type[Self], tuple[FileHandle]]:
        return type(self), (self._file,)

    def __copy__(self) -> Self:
        return type(self)(copy(self._file))

    @classmethod
    def class_name(cls) -> str:
        """Return the name of this class in serialized settings."""
        return "EcoVectorStore"

    @classmethod
    def from_persist_dir(
        cls,
        persist_dir: str = DEFAULT_PERSIST_DIR,
        embed_model: BaseEmbedding | None = None,
        *,
        collection: str | None = None,
        key: str | None = None,
    ) -> EcoVectorStore:
        """Open the file ``vector_store.mono`` in the folder ``persist_dir`` of a persisted storage context.

        Raises MissingStore if the file does not exist.
        """
        return cls._existing(Path(persist_dir) / FILE_NAME, embed_model, collection=collection, key=key)

    @classmethod
    def from_params(
        cls,
        monograph: AnyArchive,
        embed_model: BaseEmbedding | None = None,
        *,
        collection: str | None = None,
        key: str | None = None,
        vector_index: Literal["codes", "graph"] | None = None,
    ) -> EcoVectorStore:
        """Create a store; parameters as for the class."""
        return cls(monograph, embed_model, collection=collection, key=key, vector_index=vector_index)

    @classmethod
    def from_dict(
        cls,
        data: dict[str, Any],
        embed_model: BaseEmbedding | None = None,
        *,
        key: str | None = None,
        **kwargs: Any,
    ) -> EcoVectorStore:
        """Open the file of a store that ``to_dict`` serialized.

        ``data`` is the result of ``to_dict``. It contains neither the embedding model nor the key, so give these again.
        Raises MissingStore if the file does not exist.
        """
        tools.refuse_unknown("EcoVectorStore.from_dict", kwargs, ("embed_model", "key"))
        return cls._existing(data["path"], embed_model, collection=data.get("collection"), key=key)

    @classmethod
    def _existing(
        cls, address: str | Path, embed_model: BaseEmbedding | None, *, collection: str | None, key: str | None
    ) -> EcoVectorStore:
        from monograph.shelf import is_shelf

        if not is_shelf(address) and not Path(address).exists():
            hint = f"create one: EcoVectorStore({str(address)!r})"
            raise MissingStore(f"there is no vector store at {address}", hint)
        return cls(address, embed_model, collection=collection, key=key)

    @property
    def client(self) -> Archive:
        """The open file, view or shelf: the same as ``monograph``."""
        return self.monograph

    @dispatcher.span
    def add(self, nodes: Sequence[BaseNode], **add_kwargs: Any) -> list[str]:
        """Store nodes and return their ids, in order; a node replaces the stored node with the same id.

        Raises InvalidDocument if a vector does not have the dimension of the file's vectors, if a vector is missing and
        no model can compute it, or if metadata are not JSON. Nodes are stored in batches of at most 1,024 source
        documents. No node of the failed batch is stored; earlier batches stay.
        """
        if nodes:
            tools.warn_of_problems(tools.to_write(self.monograph).put(as_documents(nodes)))
        return [node.node_id for node in nodes]

    @dispatcher.span
    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """Delete all nodes of a source document, also from the inverted index, the graph and the tree.

        If the document has no nodes, nothing is deleted.
        """
        tools.refuse_unknown("EcoVectorStore.delete", delete_kwargs)
        tools.warn_of_problems(tools.to_write(self.monograph).remove_chunks(where={"$document": ref_doc_id}))

    @dispatcher.span
    def delete_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None, **delete_kwargs: Any
    ) -> None:
        """Delete the nodes that have one of the ids and match the filter. Without ids, the filter alone decides.

        Without a filter, the ids alone decide. If neither is given, or the list of ids is empty, nothing is deleted. To
        delete everything, use ``clear``.
        """
        tools.refuse_unknown("EcoVectorStore.delete_nodes", delete_kwargs)
        where = as_where(filters)
        if node_ids is not None or where:
            tools.warn_of_problems(tools.to_write(self.monograph).remove_chunks(node_ids, where=where))

    @dispatcher.span
    def get_nodes(self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None) -> list[BaseNode]:
        """Return the nodes that have one of the ids and match the filter; without ids and filter, all nodes.

        The nodes are in the order of the ids, and unknown ids are skipped. Without ids, the nodes are grouped by
        document, in reading order. Each node has its embedding, normalized to unit length: ``[2.0, 1.0]`` is stored as
        ``[0.894, 0.447]``.
        """
        chunks = self.monograph.fetch(node_ids, where=as_where(filters), vectors=True)
        nodes = [as_node(chunk) for chunk in chunks]
        for node, chunk in zip(nodes, chunks, strict=True):
            node.embedding = None if chunk.vector is None else chunk.vector.tolist()
        return nodes

    @dispatcher.span
    def clear(self) -> None:
        """Delete everything in the collection, or, without a collection, in the file, including synced documents."""
        file = tools.to_write(self.monograph)
        tools.warn_of_problems(file.remove([document.id for document in file.documents()]))

    @dispatcher.span
    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """Return the best nodes for a query, with their scores and ids.

        Scores are from 0 to 1 and never None. In the modes ``default`` and ``mmr``, a score is a cosine (0 for a
        negative cosine). In the other modes, a score is relative to the score of the best hit. Each query sends a
        ``SearchEvent`` to LlamaIndex's dispatcher.

        These fields of the query are used:

        - ``mode``: ``default`` (nearest vectors), ``mmr``, ``text_search`` and ``sparse`` (both BM25), or ``hybrid``
        - ``query_embedding``: vector of the query. If it is None, the file's embedder computes the vector from
          ``query_str``. In the mode ``default``, a query with filters needs no vector. If no vector can be computed, or
          the vector is zero, the result is the nodes that match the filters, with scores of 0.
        - ``similarity_top_k``: maximum number of nodes. In the modes ``text_search`` and ``sparse``, ``sparse_top_k``
          takes precedence; in the mode ``hybrid``, ``hybrid_top_k`` does. If a query in the mode ``hybrid`` has a
          ``sparse_top_k``, its candidates are the best ``sparse_top_k`` nodes by words and the nearest
          ``similarity_top_k`` nodes.
        - ``alpha``: in the mode ``hybrid``, weight of the vectors from 0 (words only) to 1 (vectors only)
        - ``mmr_threshold``: in the mode ``mmr``, 1 ranks by relevance only, 0 by diversity only; default 0.5
        - ``filters``: all operators, nested with AND, OR and NOT
        - ``node_ids``, ``doc_ids``: only nodes with these ids, or of these documents. An empty ``doc_ids`` matches
          nothing. An empty ``node_ids`` is ignored, because LlamaIndex's retrievers pass it in every query.

        A retriever passes ``kwargs`` as ``vector_store_kwargs``. ``stop`` or ``ranked_recall`` says when the search of
        the vector index ends: see ``Monograph.search``. The others are for the mode ``mmr``. ``mmr_threshold`` takes
        precedence over the field of the same name. The number of candidates is ``mmr_prefetch_k``, or
        ``mmr_prefetch_factor`` (default 4) times the number of requested nodes.

        Raises
        ------
        ContradictoryArguments
            If ``mmr_prefetch_k`` and ``mmr_prefetch_factor`` are both given. This error is also a ValueError.
        InputError
            If the mode is not supported, if a number is out of range, if the vector does not have the dimension of the
            file's vectors, or if the mode needs a text or a vector that the query lacks.
        InvalidFilter
            If a filter cannot be understood.
        """
        from llama_index.vector_stores.monograph.events import SearchEvent

        known = ("mmr_threshold", "mmr_prefetch_k", "mmr_prefetch_factor", "stop", "ranked_recall")
        tools.refuse_unknown("EcoVectorStore.query", kwargs, known)
        hits = self._hits(query, as_where(query.filters, query.node_ids, query.doc_ids), kwargs)
        dispatcher.event(SearchEvent.of(query.query_str or "", hits))
        return VectorStoreQueryResult(
            nodes=[as_node(hit) for hit in hits],
            similarities=[hit.relevance for hit in hits],
            ids=[hit.chunk.id for hit in hits],
        )

    aclear = dispatcher.span(tools.in_thread("clear"))
    async_add = dispatcher.span(tools.in_thread("add"))
    adelete = dispatcher.span(tools.in_thread("delete"))
    adelete_nodes = dispatcher.span(tools.in_thread("delete_nodes"))
    aget_nodes = dispatcher.span(tools.in_thread("get_nodes"))
    aquery = dispatcher.span(tools.in_thread("query"))

    def persist(self, persist_path: str = "", fs: AbstractFileSystem | None = None) -> None:
        """Do nothing: every addition is already in the file."""

    def _hits(self, query: VectorStoreQuery, where: dict[str, Any], options: dict[str, Any]) -> list[Hit]:
        mode = VectorStoreQueryMode(query.mode)
        stopping: tools.Stopping = {"stop": options.get("stop"), "ranked_recall": options.get("ranked_recall")}
        if mode == VectorStoreQueryMode.DEFAULT:
            return self._dense(query, query.similarity_top_k, where, stopping)
        if mode == VectorStoreQueryMode.MMR:
            return self._diverse(query, where, options, stopping)
        if mode in (VectorStoreQueryMode.SPARSE, VectorStoreQueryMode.TEXT_SEARCH):
            k = query.similarity_top_k if query.sparse_top_k is None else query.sparse_top_k
            return self.monograph.search(_words(query), k, how="lexical", where=where, **stopping)
        if mode == VectorStoreQueryMode.HYBRID:
            return self._hybrid(query, where, stopping)
        raise InputError(
            f"EcoVectorStore has no mode {mode.value!r}", "modes are default, mmr, sparse, text_search and hybrid"
        )

    def _dense(self, query: VectorStoreQuery, k: int, where: dict[str, Any], stopping: tools.Stopping) -> list[Hit]:
        if query.query_embedding is None and not where:
            _words(query)  # Refuses a query that has no text either.
            tools.require_query_vector(self.monograph, "dense", PLACE)
        return tools.dense_hits(self.monograph, query.query_str, k, where, query.query_embedding, **stopping)

    def _diverse(
        self, query: VectorStoreQuery, where: dict[str, Any], options: dict[str, Any], stopping: tools.Stopping
    ) -> list[Hit]:
        threshold = options.get("mmr_threshold", query.mmr_threshold)
        if threshold is not None and not 0 <= threshold <= 1:
            raise InputError(f"mmr_threshold is {threshold:g}", "give 0 to 1")
        if {"mmr_prefetch_k", "mmr_prefetch_factor"} <= options.keys():
            raise ContradictoryArguments("mmr_prefetch_k and mmr_prefetch_factor are both given", "give one of them")
        k = query.similarity_top_k
        # The defaults, 4 candidates for each requested node and a threshold of 0.5, are those of LlamaIndex.
        candidates = int(options.get("mmr_prefetch_k") or k * options.get("mmr_prefetch_factor", 4))
        pool = self._dense(query, max(k, candidates), where, stopping)
        vector = query.query_embedding
        if vector is None:
            tools.require_query_vector(self.monograph, "dense", PLACE)
            vector = self.monograph.embedder.embed([_words(query)], "query")[0].tolist()
        by_id = {hit.chunk.id: hit for hit in pool}
        threshold = 0.5 if threshold is None else threshold
        return tools.select_diverse(self.monograph, by_id, vector, k, threshold)

    def _hybrid(self, query: VectorStoreQuery, where: dict[str, Any], stopping: tools.Stopping) -> list[Hit]:
        k = query.similarity_top_k if query.hybrid_top_k is None else query.hybrid_top_k
        words, vector = _words(query), query.query_embedding
        if vector is None:
            tools.require_query_vector(self.monograph, "hybrid", PLACE)
        if query.sparse_top_k is not None:
            hits = self.monograph.search(words, query.sparse_top_k, how="lexical", where=where)
            hits += self._dense(query, query.similarity_top_k, where, stopping)
            where = {"$chunk": {"in": sorted({hit.chunk.id for hit in hits})}}
        how = library.Hybrid(alpha=query.alpha)
        return self.monograph.search(words, k, how=how, where=where, vector=vector, **stopping)


def _words(query: VectorStoreQuery) -> str:
    if query.query_str is None:
        raise InputError(f"the mode {query.mode!r} needs the text of the query", "give query_str")
    return query.query_str
