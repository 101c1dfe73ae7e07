"""LangChain vector store over a .mono file."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

import monograph as library
import monograph_tools as tools
from langchain_monograph.documents import accepted, as_document, plain, store_documents
from monograph.errors import InputError, InvalidFilter, NotFound

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from monograph import Hit, Strategy
    from monograph_tools import AnyArchive, FileHandle
    from monograph_tools.scores import Convention

Filter: TypeAlias = Mapping[str, Any] | Callable[[Document], bool]

How: TypeAlias = "str | Strategy"


class EcoVectorStore(tools.FileStore, VectorStore):
    """Documents and their vectors in one file, with an inverted index.

    Any string can be an id, and ids are kept as given. Adding a document replaces the stored document with the same id.

    ``filter`` of the methods is a ``where`` filter of Monograph (``{"year": {">=": 2020}}``, or LangChain's
    ``{"year": {"$gte": 2020}}``), or a function that gets a document and returns whether to return it. With a function,
    the store retrieves more hits until ``k`` of them match. ``how`` of the methods is any search mode that returns
    documents, as a name (``dense``, ``lexical``, ``tfidf``, ``hybrid``, ``graph`` or ``auto``) or as a value such as
    ``Hybrid(alpha=0.3)``.

    Threads and forked workers can share the store. A copy shares the open file, which only the original closes. An
    unpickled store opens the file at the same path again; a store with a key cannot be pickled.

    Parameters
    ----------
    monograph:
        Path of a file, or an open file or store. The constructor opens a file at a path, or creates it if there
        is none; ``close`` closes it. An open file or store stays open. A shelf or its address can be given too, but
        can only be searched: methods that list, store or delete documents raise InputError.
    embedding:
        Model that computes the vectors. Give it only with a path. If it is None, the file's own embedder is used.
    how:
        Default search mode. None means ``hybrid`` if no ``embedding`` is given and the file's embedder is ``static``;
        otherwise it means ``dense``. The modes ``graph`` and ``tfidf`` need a graph: if the file has none, the
        constructor builds it. With any other mode, a new file has no graph; ``archive.graph.build()`` builds it later.
    collection:
        Name of a collection. Only its documents are searched, listed and deleted, and new documents are added to it. An
        id is unique in the whole file: adding a document with the id of a document in another collection is refused.
    key:
        Key of an encrypted file; only with a path.
    vector_index:
        New file's vector index: ``codes`` (default, scans clusters) or ``graph`` (HNSW in clusters); only with a path.
    scores:
        Kind of the scores that ``similarity_search_with_score`` returns:

        - ``relevance``: 0 to 1, 1 is best.
        - ``distance``: 1 - relevance, 0 is best. In the mode ``dense``, this is the cosine distance.
        - ``squared_l2``: 2 - 2 * relevance, 0 is best. In the mode ``dense``, this is the squared distance of unit
          vectors.

        ``similarity_search_with_relevance_scores`` and score thresholds always use relevances.

    Raises
    ------
    InputError
        If an embedding, a key or a vector index is given with an open file, or ``how`` does not return documents.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        monograph: AnyArchive,
        embedding: Embeddings | None = None,
        *,
        how: How | None = None,
        collection: str | None = None,
        key: str | None = None,
        vector_index: Literal["codes", "graph"] | None = None,
        scores: Convention = "relevance",
    ) -> None:
        from langchain_monograph.embeddings import LangChainEmbedder

        self._scores = tools.convention(scores)
        self._how = None if how is None else _check_how(how)
        graph = getattr(self._how, "needs_graph", False)
        self._file = tools.opened(
            monograph, embedding, LangChainEmbedder, key, collection=collection, graph=graph, vector_index=vector_index
        )
        self._embedding = embedding
        self._discard: Callable[[], Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_discard": None}

    def close(self) -> None:
        """Close the file if it was opened here, and delete it if it is temporary."""
        super().close()
        if self._discard is not None:
            self._discard()

    @property
    def embeddings(self) -> Embeddings | None:
        """The model that computes the vectors; None if the file's vectors are given by the caller."""
        from langchain_monograph.embeddings import MonographEmbeddings
        from monograph.models import is_given

        if self._embedding is not None:
            return self._embedding
        embedder = self.monograph.embedder
        return None if is_given(embedder) else MonographEmbeddings(embedder)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[Any, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        monograph: AnyArchive | None = None,
        **kwargs: Any,
    ) -> EcoVectorStore:
        """Store texts in the file ``monograph``, and return the store. Without ``monograph``, the file is temporary.

        A temporary file is deleted when the store is closed or garbage-collected, or when the program ends.
        ``from_documents`` does the same with documents.
        """
        store = cls._temporary(embedding, **kwargs) if monograph is None else cls(monograph, embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    def _temporary(cls, embedding: Embeddings | None, **kwargs: Any) -> EcoVectorStore:
        folder = tempfile.mkdtemp(prefix="monograph-")
        try:
            store = cls(Path(folder) / "vectors.mono", embedding, **kwargs)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        store._discard = weakref.finalize(store, _discard, store._file, folder)
        return store

    def add_texts(  # type: ignore[override]  # an unknown argument is an error
        self,
        texts: Iterable[str],
        metadatas: list[dict[Any, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Store texts as documents, and return their ids: see ``add_documents``.

        Raises InputError if ``metadatas`` is given and does not have one item for each text.
        """
        text_list = list(texts)
        for name, values in (("metadatas", metadatas), ("ids", ids)):
            if values is not None and len(values) != len(text_list):
                raise InputError(f"{len(text_list)} texts, but {len(values)} {name}", "give one per text")
        pairs = zip(text_list, metadatas or [{}] * len(text_list), strict=True)
        return self.add_documents([Document(page_content=text, metadata=entry or {}) for text, entry in pairs], ids=ids)

    def add_documents(  # type: ignore[override]  # an unknown argument is an error
        self, documents: list[Document], *, ids: Sequence[str | None] | None = None, batch_size: int | None = None
    ) -> list[str]:
        """Store documents, and return their ids in the order of the documents.

        A document replaces the stored document with the same id.

        Parameters
        ----------
        documents:
            Their metadata must be JSON. Dates and times become text (``2031-03-02``), in filters too.
        ids:
            One for each document. If an id is None or empty, the document's own id is used, or else a new UUID.
        batch_size:
            Has no effect: LangChain's ``index`` passes it. Documents are stored in batches of 1,024.

        Raises
        ------
        InvalidDocument
            If metadata are not JSON, or a text cannot be stored. Then no document of the same batch is stored.
        InputError
            If the numbers of ids and documents differ.
        """
        return store_documents(self.monograph, documents, ids)

    def delete(  # type: ignore[override]  # an unknown argument is an error
        self, ids: list[str] | None = None, *, filter: Filter | None = None
    ) -> bool:
        """Delete the documents that have one of these ids and match the filter. Either condition can be left out.

        If both are left out, all documents of the collection are deleted; without a collection, all documents of the
        file. The inverted index, graph and tree are updated too. Ids that are not stored are skipped. Always returns
        True.
        """
        file = tools.to_write(self.monograph)
        if ids is None and filter is None:
            tools.warn_of_problems(file.remove([document.id for document in file.documents()]))
        elif callable(filter):
            matching = [document.id for document in self.get(ids, filter=filter) if document.id is not None]
            tools.warn_of_problems(file.remove_chunks(matching))
        else:
            tools.warn_of_problems(file.remove_chunks(ids, where=plain(filter)))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Return the documents with these ids, in the order of the ids. Ids that are not stored are skipped."""
        return self.get(ids)

    def get(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Filter | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Document]:
        """List the documents that have one of these ids and match the filter. Either condition can be left out.

        With ``ids``, the documents are in the order of the ids; otherwise in the order in which the file stores them.
        The first ``offset`` of these documents are skipped, and at most ``limit`` are returned. Raises InputError if
        ``limit`` or ``offset`` is below 0, and InvalidFilter if the filter cannot be understood.
        """
        from monograph.values import arguments

        first = arguments.whole_number(offset, "offset", 0)
        last = None if limit is None else first + arguments.whole_number(limit, "limit", 0)
        _check_filter(filter)
        if callable(filter):
            documents = map(as_document, self.monograph.fetch(ids))
            return [document for document in documents if filter(document)][first:last]
        return [as_document(chunk) for chunk in self.monograph.fetch(ids, where=plain(filter))[first:last]]

    def update_document(self, document_id: str, document: Document) -> None:
        """Replace a document; see ``update_documents``."""
        self.update_documents([document_id], [document])

    def update_documents(self, ids: Sequence[str], documents: list[Document]) -> None:
        """Replace documents, one for each id. Raises NotFound, and replaces nothing, if an id is not stored."""
        stored = {chunk.chunk.id for chunk in self.monograph.fetch(ids)}
        missing = [identifier for identifier in ids if identifier not in stored]
        if missing:
            raise NotFound(f"there is no document {missing[0]!r} to update", "add it with add_documents")
        self.add_documents(documents, ids=ids)

    def delete_collection(self) -> None:
        """Delete all documents of the collection; without a collection, of the file. The store remains usable."""
        self.delete()

    reset_collection = delete_collection

    def similarity_search(  # type: ignore[override]  # an unknown argument is an error
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter | None = None,
        how: How | None = None,
        **stopping: Unpack[tools.Stopping],
    ) -> list[Document]:
        """Return documents, best first; see ``similarity_search_with_score``."""
        found = self.similarity_search_with_score(query, k, filter=filter, how=how, **stopping)
        return [document for document, _ in found]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter | None = None,
        how: How | None = None,
        stop: library.StopCondition | str | None = None,
        ranked_recall: float | None = None,
    ) -> list[tuple[Document, float]]:
        """Return documents and their scores, best first.

        The default score is the relevance, from 0 to 1. In the mode ``dense`` it is the cosine (0 for a negative
        cosine). In other search modes it is relative to the best hit. The store's parameter ``scores`` selects
        another convention. ``how`` is the search mode of this call; None for that of the store. ``stop`` or
        ``ranked_recall`` says when the search of the vector index ends: see ``Monograph.search``.

        Raises InputError if ``k`` is below 0, or ``how`` is not a search mode that returns documents. Raises
        InvalidFilter if the filter cannot be understood.
        """
        strategy = self._how if how is None else _check_how(how)
        if strategy is None:
            lexical_too = self._embedding is None and self.monograph.embedder.spec == "static"
            strategy = "hybrid" if lexical_too else "dense"
        if self._embedding is None:
            tools.require_query_vector(self.monograph, strategy, "embedding")

        def search(limit: int, where: Mapping[str, Any] | None) -> list[Hit]:
            return self.monograph.search(query, limit, strategy, where, stop=stop, ranked_recall=ranked_recall)

        return self._search(k, filter, search)

    def similarity_search_by_vector(  # type: ignore[override]  # an unknown argument is an error
        self, embedding: list[float], k: int = 4, *, filter: Filter | None = None, **stopping: Unpack[tools.Stopping]
    ) -> list[Document]:
        """Return the documents nearest to a vector, nearest first."""
        found = self.similarity_search_with_score_by_vector(embedding, k, filter=filter, **stopping)
        return [document for document, _ in found]

    def similarity_search_with_score_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        *,
        filter: Filter | None = None,
        stop: library.StopCondition | str | None = None,
        ranked_recall: float | None = None,
    ) -> list[tuple[Document, float]]:
        """Return the documents nearest to a vector, and their scores.

        The default score is the cosine (0 for a negative cosine). The store's parameter ``scores`` selects another
        convention. Raises InputError if the vector has another dimension than the file's.
        """
        archive = self.monograph

        def search(limit: int, where: Mapping[str, Any] | None) -> list[Hit]:
            return tools.dense_hits(archive, "", limit, where, embedding, stop=stop, ranked_recall=ranked_recall)

        return self._search(k, filter, search)

    def similarity_search_with_vectors(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter | None = None,
        how: How | None = None,
        **stopping: Unpack[tools.Stopping],
    ) -> list[tuple[Document, list[float]]]:
        """Return documents with their vectors (unit length), best first; see ``similarity_search_with_score``."""
        documents = self.similarity_search(query, k, filter=filter, how=how, **stopping)
        chunks = self.monograph.fetch([document.id for document in documents if document.id is not None], vectors=True)
        vectors = {chunk.chunk.id: [] if chunk.vector is None else chunk.vector.tolist() for chunk in chunks}
        return [(document, vectors.get(document.id or "", [])) for document in documents]

    def max_marginal_relevance_search(  # type: ignore[override]  # an unknown argument is an error
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **stopping: Unpack[tools.Stopping],
    ) -> list[Document]:
        """Return k documents that are near to the query and unlike each other, chosen from the ``fetch_k`` nearest.

        See ``max_marginal_relevance_search_by_vector``.
        """
        vector = self.query_vector(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter=filter, **stopping)

    def max_marginal_relevance_search_by_vector(  # type: ignore[override]  # an unknown argument is an error
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,
        **stopping: Unpack[tools.Stopping],
    ) -> list[Document]:
        """Return k documents that are near to a vector and unlike each other, chosen from the ``fetch_k`` nearest.

        ``lambda_mult``: 1 ranks by relevance only, 0 by diversity only. Raises InputError if it is not in [0, 1], or if
        the vector has another dimension than the file's.
        """
        if not 0 <= lambda_mult <= 1:
            raise InputError(f"lambda_mult is {lambda_mult:g}", "give 0 to 1")
        scored = self.similarity_search_with_score_by_vector(embedding, max(k, fetch_k), filter=filter, **stopping)
        by_id = {document.id: document for document, _ in scored if document.id is not None}
        return tools.select_diverse(self.monograph, by_id, embedding, k, lambda_mult)

    def query_vector(self, query: str) -> list[float]:
        """Return the vector of a query. Raises InputError if the file's vectors are given by the caller."""
        embeddings = self.embeddings
        if embeddings is None:
            tools.require_query_vector(self.monograph, "dense", "embedding")
            raise AssertionError
        return embeddings.embed_query(query)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return partial(tools.convert_score, given=self._scores, wanted="relevance")

    def _search(
        self, k: int, condition: Filter | None, search: Callable[[int, Mapping[str, Any] | None], list[Hit]]
    ) -> list[tuple[Document, float]]:
        _check_filter(condition)

        def pairs(limit: int, where: Mapping[str, Any] | None) -> list[tuple[Document, float]]:
            return [(as_document(hit), hit.relevance) for hit in search(limit, where)]

        if callable(condition):
            scored = accepted(k, lambda pair: condition(pair[0]), lambda limit: pairs(limit, None), max(4 * k, 50))
        else:
            scored = pairs(k, plain(condition))
        return [(document, tools.convert_score(relevance, wanted=self._scores)) for document, relevance in scored]


def _check_filter(condition: Any) -> None:
    if condition is not None and not callable(condition) and not isinstance(condition, Mapping):
        kind = type(condition).__name__
        raise InvalidFilter(f"a filter must be a dict or a function, not a {kind}", 'write {"key": value}')


def _discard(file: FileHandle, folder: str) -> None:
    file.close()
    shutil.rmtree(folder, ignore_errors=True)


def _check_how(how: How) -> How:
    if str(how).partition(":")[0] == "tree":
        raise InputError("EcoVectorStore finds documents, not summaries", "use TreeRetriever for summaries")
    return library.strategy(how)
