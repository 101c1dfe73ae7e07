"""LangChain retrievers over a file or shelf: hybrid, graph and tree search."""

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

from langchain_monograph.documents import as_document, plain, store_documents
from langchain_monograph.embeddings import as_embedder
from langchain_monograph.over_file import OverFile
from monograph import Budget, Graph, Hit, Never, RankAware, Reranker, StopCondition, Strategy, Tree, VBase
from monograph.models import Embedder
from monograph_tools import build_graph, in_thread, to_write, warn_of_problems

SEARCH_EVENT = "monograph_search"
"""Name of the custom event of LangChain that each search sends.

The event has the query and, for each hit, its ``id``, ``relevance`` (0 to 1, descending), ``score`` (by the formula of
the search mode) and ``explanation``.
"""


class FileRetriever(OverFile, BaseRetriever, extra="forbid"):
    """Base of retrievers that return chunks of a file or shelf.

    ``k``, ``filter`` and the fields of the subclass can be overridden in each call of ``invoke``.

    A returned document depends on the stored chunk only, not on the query. So retrievers that merge the results of
    several queries, such as ``MultiQueryRetriever``, recognise duplicates. The document has the chunk's id, text and
    metadata. These keys are added, unless the metadata have them already:

    - ``title``: title of the document, if it has one
    - ``source``: uri of the document, if it has one; to filter by uri, pass ``{"$uri": …}``
    - ``monograph_document_id``: id of the document
    - ``monograph_start``, ``monograph_end``: the chunk is ``text[start:end]`` of the document

    A document that was stored through LangChain consists of one chunk. It does not get the keys that begin with
    ``monograph_``.

    Scores and explanations are not in the document but in LangChain's custom event ``monograph_search``, which
    callbacks and ``astream_events`` receive. The event has the query and, for each hit, its ``id``, ``relevance`` (0 to
    1, descending), ``score`` (by the formula of the search mode) and ``explanation``.
    """

    k: int = 5
    """Maximum number of documents to return."""
    filter: dict[str, Any] | None = None
    """Return only chunks whose metadata match this ``where`` filter, such as ``{"year": {">=": 1963}}``.

    LangChain's ``$`` spellings of the operators work too. Raises InvalidFilter if the filter cannot be understood.
    """
    embedding: Embeddings | None = None
    """Model that computes the vectors of queries: the LangChain embeddings that computed the file's vectors.

    None: the file's own embedder. Raises ModelMismatch if the file's vectors are of another embedder.
    """
    as_of: str | None = None
    """Time in ISO 8601: search the file as it was then. ``2026-03-01`` means the end of this day. None: as it is now.

    The file must keep history: see ``Monograph.as_of``.
    """
    reranker: str | Reranker | None = None
    """Reranker of the first 30 hits: an object, or a string that names one, such as ``onnx:FOLDER``.

    None: the reranker that the file was opened with.
    """

    stop: str | StopCondition | None = None
    """When the search of the vector index ends: a stop condition, or its text, such as ``budget:loads=20``.

    None: at ``ranked_recall`` or, without it, at the target recall of the file. See ``Monograph.search``.
    """
    ranked_recall: float | None = None
    """Ranked recall at which the search of the vector index ends, above 0 and at most 1; only without ``stop``."""

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """Fields to serialize: the path or address of ``monograph``, the reranker's name and the text of ``stop``."""
        reranker = self.reranker
        attributes = {} if reranker is None else {"reranker": reranker if isinstance(reranker, str) else reranker.spec}
        if isinstance(self.stop, Budget | Never | RankAware | VBase):
            attributes["stop"] = str(self.stop)
        return super().lc_attributes | attributes

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **changed: Any
    ) -> list[Document]:
        hits = self._search(query, **changed)
        dispatch_custom_event(SEARCH_EVENT, _event_data(query, hits), config={"callbacks": run_manager.get_child()})
        return [as_document(hit) for hit in hits]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **changed: Any
    ) -> list[Document]:
        hits = await asyncio.to_thread(self._search, query, **changed)
        await adispatch_custom_event(
            SEARCH_EVENT, _event_data(query, hits), config={"callbacks": run_manager.get_child()}
        )
        return [as_document(hit) for hit in hits]

    def _search(self, query: str, **changed: Any) -> list[Hit]:
        """Return the hits for a query, best first. ``changed`` overrides fields of the retriever."""
        own = {"k", "filter"} | type(self).model_fields.keys() - FileRetriever.model_fields.keys()
        if unknown := sorted(changed.keys() - own):
            raise TypeError(f"{type(self).__name__}.invoke() got an unexpected keyword argument {unknown[0]!r}")
        chosen = self.model_copy(update={name: value for name, value in changed.items() if value is not None})
        how = chosen._strategy()
        vector = self._file.query_vector(query, how, argument="embedding")
        return self._file.monograph.search(
            query, chosen.k, how, plain(chosen.filter), vector=vector, reranker=self.reranker, as_of=self.as_of,
            stop=self.stop, ranked_recall=self.ranked_recall,
        )  # fmt: skip

    @abstractmethod
    def _strategy(self) -> str | Strategy:
        """Return the search mode, as for :meth:`monograph.Monograph.search`."""

    def _embedder(self) -> Embedder | None:
        return None if self.embedding is None else as_embedder(self.embedding)


def _event_data(query: str, hits: Sequence[Hit]) -> dict[str, Any]:
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
    """Finds chunks by lexical and dense search, or by any other search mode."""

    how: str | Strategy = "auto"
    """Search mode, as a name or a value such as ``Hybrid(alpha=0.3)``."""

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """Fields to serialize: those of :class:`FileRetriever`, and the search mode by its text form."""
        return super().lc_attributes | {"how": str(self.how)}

    def _strategy(self) -> str | Strategy:
        return self.how


class MiniRAGRetriever(FileRetriever):
    """Finds chunks along the entity–chunk graph of MiniRAG (Fan et al., arXiv 2501.06713).

    By default the retriever does not rank by the paper's formulas. It runs Monograph's own graph search,
    ``how="graph"``, which finds more of the evidence on the dev question sets. This search goes hop by hop from
    probable chunks to other chunks that name the same entities, and weighs a model's relations. ``faithful=True`` ranks
    by the paper's path scores (Eq. 2 and 3), fused with lexical and dense scores.

    If the file has no graph, the constructor builds it. This raises ReadOnlyFile if the file cannot be written, and
    InputError if ``monograph`` is a view or a snapshot.
    """

    faithful: bool = False
    """Rank by the formulas of the MiniRAG paper; otherwise by Monograph's own graph search."""

    def model_post_init(self, context: Any, /) -> None:
        """Build the graph of the file if it has none."""
        super().model_post_init(context)
        build_graph(self.monograph, self._secret, self._embedder())

    def _strategy(self) -> Strategy:
        return Graph(faithful=self.faithful)


class TreeRetriever(FileRetriever):
    """Finds the chunks and the summaries that are nearest to the question.

    The metadata of a summary are ``monograph_layer`` (its layer in the tree) and ``monograph_chunks`` (ids of the
    chunks under it). A search raises InputError if the file has no tree; ``archive.tree.rebuild()`` builds the tree.
    """

    detail: float | None = None
    """Share of chunks among the documents, from 0 (summaries only) to 1 (chunks only).

    None: chunks and summaries are ranked together, without fixed shares.
    """
    budget: int | None = None
    """Maximum number of tokens of all documents together; None for no limit."""

    def _strategy(self) -> Strategy:
        return Tree(detail=self.detail, budget=self.budget)


class EraRAGRetriever(TreeRetriever):
    """A ``TreeRetriever`` that also adds and deletes documents. Each change updates the tree (Zhang et al., EraRAG).

    The file must have a tree: open it with ``Monograph.open(path, summarizer=...)``, or call
    ``archive.tree.rebuild()``.
    """

    _reads_only: ClassVar[bool] = False

    def add_documents(self, documents: Sequence[Document], ids: Sequence[str] | None = None) -> list[str]:
        """Store documents, and return their ids in the order of the documents.

        A document replaces the stored document with the same id.
        """
        return store_documents(self._file.monograph, documents, ids)

    def delete(self, ids: Sequence[str]) -> bool:
        """Delete documents by id. Ids that are not stored are skipped. Always returns True."""
        warn_of_problems(to_write(self._file.monograph).remove_chunks(ids))
        return True

    aadd_documents = in_thread("add_documents")
    adelete = in_thread("delete")
