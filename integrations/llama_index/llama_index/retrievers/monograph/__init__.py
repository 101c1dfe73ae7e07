"""LlamaIndex retrievers over a file or shelf: hybrid, graph and tree search."""

from __future__ import annotations

from typing import TypedDict, Unpack

from monograph.lazy import requires

with requires("LlamaIndex", "llama-index", __name__):
    import llama_index_instrumentation as instrument
    from llama_index.core.base.base_retriever import BaseRetriever
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.schema import NodeWithScore, QueryBundle
    from llama_index.core.vector_stores.types import MetadataFilters

from llama_index.embeddings.monograph import as_embedder
from llama_index.vector_stores.monograph import SearchEvent
from llama_index.vector_stores.monograph.nodes import as_scored_node
from llama_index.vector_stores.monograph.where import as_where
from monograph import Graph, Reranker, StopCondition, Strategy, Tree, strategy
from monograph.values import arguments
from monograph_tools import AnyArchive, ClosesFile, FileHandle, build_graph, in_thread

__all__ = ["HybridRetriever", "MiniRAGRetriever", "TreeRetriever"]

dispatcher = instrument.get_dispatcher(__name__)


class RetrieverOptions(TypedDict, total=False):
    """Keyword arguments that all retrievers take: see ``FileRetriever``."""

    similarity_top_k: int
    filters: MetadataFilters | None
    embed_model: BaseEmbedding | None
    as_of: str | None
    collection: str | None
    reranker: Reranker | str | None
    stop: StopCondition | str | None
    ranked_recall: float | None
    callback_manager: CallbackManager | None
    key: str | None


class FileRetriever(ClosesFile, BaseRetriever):
    """Base of retrievers that return chunks of a file or shelf.

    Results are ``HitNode`` objects, with relevances as scores, best first. Each node has the chunk's id, text and
    offsets, the document's metadata, and the document as its source. The metadata ``monograph_title`` and
    ``monograph_uri`` are hidden from embedders and language models. A chunk that was stored from LlamaIndex is returned
    as its original node.

    Parameters
    ----------
    monograph:
        Path of a file or address of a shelf: the first question opens it, and ``close`` or the end of a ``with`` block
        closes it. Or an open file, store or shelf, which stays open.
    how:
        Search mode. Only the subclass ``HybridRetriever`` has this parameter; other subclasses have a fixed mode.
    similarity_top_k:
        Maximum number of nodes to return. It can be changed later, as an attribute of the retriever.
    filters:
        Return only chunks whose metadata match these filters.
    embed_model:
        The model that computed the file's vectors. It computes the vector of a query that has none. Not needed if the
        file has an embedder of its own.
    as_of:
        Time in ISO 8601: search the file as it was then. ``2026-03-01`` means the end of this day. None: as it is now.
        The file must keep history: see ``Monograph.as_of``.
    collection:
        Return only nodes of this collection, in every search mode. Shelves have no collections.
    reranker:
        Reranker of the first 30 hits: an object, or a string that names one, such as ``onnx:FOLDER``. None: the
        reranker that the file was opened with.
    stop, ranked_recall:
        When the search of the vector index ends: a stop condition or its text, such as ``budget:loads=20``, or a ranked
        recall to reach. Give at most one. See ``Monograph.search``.
    callback_manager:
        Callback manager of LlamaIndex.
    key:
        Key of an encrypted file. Give it only with a path.

    Raises
    ------
    InputError
        If ``how`` is not a search mode, ``similarity_top_k`` is below 1, or a key is given with an open file.
    InvalidFilter
        If the filters are not ``MetadataFilters``.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        monograph: AnyArchive,
        how: str | Strategy,
        *,
        similarity_top_k: int = 5,
        filters: MetadataFilters | None = None,
        embed_model: BaseEmbedding | None = None,
        as_of: str | None = None,
        collection: str | None = None,
        reranker: Reranker | str | None = None,
        stop: StopCondition | str | None = None,
        ranked_recall: float | None = None,
        callback_manager: CallbackManager | None = None,
        key: str | None = None,
    ) -> None:
        self._how = strategy(how)
        self._embedder = None if embed_model is None else as_embedder(embed_model)
        self._file = FileHandle(monograph, key=key, collection=collection, embedder=self._embedder)
        self.similarity_top_k = similarity_top_k
        self._where = as_where(filters)
        self._as_of = as_of
        self._reranker = reranker
        self._stop, self._ranked_recall = stop, ranked_recall
        super().__init__(callback_manager=callback_manager)

    @property
    def similarity_top_k(self) -> int:
        """Maximum number of nodes to return."""
        return self._similarity_top_k

    @similarity_top_k.setter
    def similarity_top_k(self, most: int) -> None:
        self._similarity_top_k = arguments.whole_number(most, "similarity_top_k", 1)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        text = query_bundle.query_str
        vector = self._file.query_vector(text, self._how, query_bundle.embedding)
        hits = self._file.monograph.search(
            text,
            self.similarity_top_k,
            self._how,
            self._where,
            vector=vector,
            reranker=self._reranker,
            as_of=self._as_of,
            stop=self._stop,
            ranked_recall=self._ranked_recall,
        )
        dispatcher.event(SearchEvent.of(text, hits))
        return [as_scored_node(hit) for hit in hits]

    _aretrieve = in_thread("_retrieve")


class HybridRetriever(FileRetriever):
    """Finds chunks by lexical and dense search, or by any other search mode.

    Parameters
    ----------
    monograph:
        As for ``FileRetriever``.
    how:
        Search mode, as a name or a value such as ``Hybrid(alpha=0.3)``.
    **options:
        Other parameters of ``FileRetriever``.
    """

    def __init__(
        self, monograph: AnyArchive, *, how: str | Strategy = "auto", **options: Unpack[RetrieverOptions]
    ) -> None:
        super().__init__(monograph, how, **options)


class MiniRAGRetriever(FileRetriever):
    """Finds chunks along the entity–chunk graph of MiniRAG (Fan et al., arXiv 2501.06713).

    By default the retriever does not rank by the paper's formulas. It runs Monograph's own graph search,
    ``how="graph"``, which finds more of the evidence on the dev question sets. This search goes hop by hop from
    probable chunks to other chunks that name the same entities, and weighs a model's relations. ``faithful=True`` ranks
    by the paper's path scores (Eq. 2 and 3), fused with lexical and dense scores.

    ``explanation`` of each result names the entities on the path to the result. The retriever does not use LlamaIndex's
    property graphs, because they keep only one source of each entity.

    If the file has no graph, the constructor builds it. This raises ReadOnlyFile if the file cannot be written, and
    InputError if ``monograph`` is a view or a snapshot.

    Parameters
    ----------
    monograph:
        As for ``FileRetriever``.
    faithful:
        Whether to rank by the paper's formulas.
    **options:
        Other parameters of ``FileRetriever``.
    """

    def __init__(self, monograph: AnyArchive, *, faithful: bool = False, **options: Unpack[RetrieverOptions]) -> None:
        super().__init__(monograph, Graph(faithful=faithful), **options)
        build_graph(monograph, options.get("key"), self._embedder)


class TreeRetriever(FileRetriever):
    """Finds the chunks and the summaries that are nearest to the question.

    The node of a summary has the ids of the chunks under the summary as its children. Its metadata key
    ``monograph_layer`` has the layer of the summary in the tree.

    Parameters
    ----------
    monograph:
        As for ``FileRetriever``.
    detail:
        Share of chunks among the nodes, from 0 (summaries only) to 1 (chunks only). None: chunks and summaries are
        ranked together, without fixed shares.
    budget:
        Maximum number of tokens of all nodes together; None for no limit.
    **options:
        Other parameters of ``FileRetriever``.

    Raises
    ------
    InputError
        If ``detail`` or ``budget`` is out of range. When a question is asked: if the file has no tree.
        ``archive.tree.rebuild()`` builds the tree.
    """

    def __init__(
        self,
        monograph: AnyArchive,
        *,
        detail: float | None = None,
        budget: int | None = None,
        **options: Unpack[RetrieverOptions],
    ) -> None:
        super().__init__(monograph, Tree(detail=detail, budget=budget), **options)
