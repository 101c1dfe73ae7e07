"""LangChain's vector store over a .mono file."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

import monograph as library
import monograph_tools as tools
from langchain_monograph.documents import as_document, as_passage, documents_ids, plain
from monograph.errors import InputError, InvalidFilter, NotFound

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from monograph import Hit, Strategy
    from monograph.shelf import Archive
    from monograph_tools import Given
    from monograph_tools.scores import Convention

Filter: TypeAlias = Mapping[str, Any] | Callable[[Document], bool]

How: TypeAlias = "str | Strategy"


class EcoVectorStore(tools.ClosesFile, VectorStore):
    """Documents and their vectors in one file, with an inverted index beside them.

    Every id is kept, whatever it is, and stands for one document; adding one of a known id replaces it. ``filter`` is a
    ``where`` of Monograph (``{"year": {">=": 2020}}``, LangChain's ``$`` spellings too) or a function of the document.
    ``how`` is any way to search that finds documents: the same store searches by words, by
    both, or along the graph. Safe for use by many threads. A copy is over the same open file, which stays the
    original's to close; a store that is pickled opens the file of that path anew.

    Parameters
    ----------
    monograph:
        An open file, which stays the caller's to close; or the path of one, which is opened here, made if it is
        missing, and closed by :meth:`close`. A shelf, or its address, is only searched: what lists documents, stores
        them or takes them out raises InputError.
    embedding:
        Makes the vectors; with a path only. Without it the file's own embedder does.
    how:
        How searches are done that do not say it themselves: by default ``hybrid`` where the file's own embedder is
        ``static``, and ``dense`` otherwise. A new file has a graph only if this is ``graph`` or
        ``tfidf``; the graph of a file without one is then built here. ``archive.graph.build()`` builds it later.
    collection:
        Whose documents these are: nothing else of the file is found, listed or taken out, and what is added is in it.
        An id is one in the whole file: that of a document in another collection is refused.
    key:
        Of an encrypted file; with a path only.
    vector_index:
        Design of a new file's vector index, ``codes`` (the default) or ``graph``; with a path only.
    scores:
        What ``similarity_search_with_score`` gives: relevances (:mod:`monograph_tools.scores`), or distances as
        other stores do. ``similarity_search_with_relevance_scores`` and thresholds are of relevances always.

    Raises
    ------
    InputError
        If an embedding, a key or a vector index is given besides an open file, or documents cannot be searched for so.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        monograph: Given,
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
        self._how = None if how is None else _checked(how)
        needs_graph = getattr(self._how, "needs_graph", False)
        self._whole = tools.opened(
            monograph, embedding, LangChainEmbedder, key, graph=needs_graph, vector_index=vector_index
        )
        self.monograph = tools.in_collection(self._whole, collection)
        self._own = tools.is_address(monograph)
        self._embedding = embedding
        self._discard: Callable[[], Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # What is pickled opens the file anew, and nobody else has that to close.
        return {**self.__dict__, "_own": True, "_discard": None}

    def __copy__(self) -> EcoVectorStore:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, _own=False, _discard=None)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> EcoVectorStore:
        return self.__copy__()

    def close(self) -> None:
        """Close the file if it was opened here; a temporary one is gone then."""
        if self._own:
            self._whole.close()
        if self._discard is not None:
            self._discard()

    @property
    def embeddings(self) -> Embeddings | None:
        """The model that makes the vectors; None for a file whose vectors were given."""
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
        monograph: Given | None = None,
        **kwargs: Any,
    ) -> EcoVectorStore:
        """A store of texts, in the file that ``monograph`` names; without one in a temporary file.

        That is gone when the store is closed or let go, or the program ends.
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
        store._discard = weakref.finalize(store, _discard, store._whole, folder)
        return store

    def add_texts(  # type: ignore[override]  # an unknown argument is an error
        self,
        texts: Iterable[str],
        metadatas: list[dict[Any, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Store texts; see :meth:`add_documents`.

        Raises
        ------
        InputError
            If there is another number of metadata or of ids than of texts.
        """
        listed = list(texts)
        for name, given in (("metadatas", metadatas), ("ids", ids)):
            if given is not None and len(given) != len(listed):
                raise InputError(f"{len(listed)} texts, but {len(given)} {name}", "give one a text")
        metadata = metadatas or [{} for _ in listed]
        return self.add_documents(
            [Document(page_content=text, metadata=one or {}) for text, one in zip(listed, metadata, strict=True)],
            ids=ids,
        )

    def add_documents(  # type: ignore[override]  # an unknown argument is an error
        self,
        documents: list[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int | None = None,
    ) -> list[str]:
        """Store documents; one of a known id replaces that one.

        Parameters
        ----------
        documents:
            Their metadata must be JSON; dates and times become text (``2031-03-02``), in filters too.
        ids:
            One a document. Where one is missing the document's own id serves, or a new one is made.
        batch_size:
            Has no effect: LangChain's ``index`` passes it. Documents are stored in batches of 1,024.

        Returns
        -------
        Their ids, in order.

        Raises
        ------
        InvalidDocument
            If metadata are not JSON, or a text cannot be stored: nothing of a batch of 1,024 documents then is.
        InputError
            If there is another number of ids than of documents.
        """
        names = documents_ids(documents, ids)
        if names:
            tools.warn_of_problems(
                tools.to_write(self.monograph).put(
                    as_passage(one, name) for one, name in zip(documents, names, strict=True)
                )
            )
        return names

    def delete(  # type: ignore[override]  # an unknown argument is an error
        self,
        ids: list[str] | None = None,
        *,
        filter: Filter | None = None,  # noqa: A002
    ) -> bool:
        """Take documents out, by id or by a filter; without either, everything that is in the collection.

        Returns
        -------
        True: afterwards none of them is there. An id that was not there is no failure.
        """
        file = tools.to_write(self.monograph)
        if ids is None and filter is None:
            tools.warn_of_problems(file.remove([document.id for document in file.documents()]))
        elif callable(filter):
            kept = [one.id for one in self._fetched(ids) if filter(one)]
            tools.warn_of_problems(file.remove_chunks([name for name in kept if name is not None]))
        else:
            tools.warn_of_problems(file.remove_chunks(ids, where=plain(filter)))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents that are there, in the order of the ids."""
        return self._fetched(ids)

    def get(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Filter | None = None,  # noqa: A002
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Document]:
        """List documents: those of ``ids`` in their order, or all that meet a filter, in reading order.

        Parameters
        ----------
        limit, offset:
            Most documents to return, and how many to skip before.

        Raises
        ------
        InputError
            If a number is below 0.
        InvalidFilter
            If the filter cannot be understood.
        """
        from monograph.values import arguments

        first = arguments.whole_number(offset, "offset", 0)
        last = None if limit is None else first + arguments.whole_number(limit, "limit", 0)
        _check_filter(filter)
        if callable(filter):
            return [one for one in self._fetched(ids) if filter(one)][first:last]
        return [as_document(one) for one in self.monograph.fetch(ids, where=plain(filter))[first:last]]

    def update_document(self, document_id: str, document: Document) -> None:
        """Replace a document; see :meth:`update_documents`."""
        self.update_documents([document_id], [document])

    def update_documents(self, ids: Sequence[str], documents: list[Document]) -> None:
        """Replace documents, one an id.

        Raises
        ------
        NotFound
            If there is none of an id: nothing is then replaced.
        InputError
            If there is another number of ids than of documents.
        """
        there = {one.chunk.id for one in self.monograph.fetch(ids)}
        missing = [one for one in ids if one not in there]
        if missing:
            raise NotFound(f"there is no document {missing[0]!r} to update", "add it: add_documents")
        self.add_documents(documents, ids=ids)

    def delete_collection(self) -> None:
        """Delete every document of the collection, or, without one, of the file. The store can be used on."""
        self.delete()

    def reset_collection(self) -> None:
        """Delete every document of the collection, as :meth:`delete_collection`; the next addition makes it anew."""
        self.delete()

    def similarity_search(  # type: ignore[override]  # an unknown argument is an error
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter | None = None,  # noqa: A002
        how: How | None = None,
    ) -> list[Document]:
        """Documents, best first; see :meth:`similarity_search_with_score`."""
        return [document for document, _ in self.similarity_search_with_score(query, k, filter=filter, how=how)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter | None = None,  # noqa: A002
        how: How | None = None,
    ) -> list[tuple[Document, float]]:
        """Documents and their relevances, best first: from 0 to 1, of ``dense`` the cosines (0 for a negative one).

        What it is of other ways to search: :mod:`monograph.search.fusion`. Of a store with other ``scores``, these.

        Parameters
        ----------
        query, k:
            Words, and most documents to return.
        filter:
            Only documents that meet it.
        how:
            As for :meth:`monograph.Monograph.search`.

        Raises
        ------
        InputError
            If a number is out of range, or documents cannot be searched for so.
        InvalidFilter
            If the filter cannot be understood.
        """
        chosen = self._usual_how() if how is None else _checked(how)
        if self._embedding is None:
            tools.require_query_vector(self.monograph, chosen, "embedding")
        return self._search(k, filter, lambda most, where: self.monograph.search(query, most, chosen, where))

    def similarity_search_by_vector(  # type: ignore[override]  # an unknown argument is an error
        self,
        embedding: list[float],
        k: int = 4,
        *,
        filter: Filter | None = None,  # noqa: A002
    ) -> list[Document]:
        """Documents nearest to a vector."""
        return [document for document, _ in self.similarity_search_with_score_by_vector(embedding, k, filter=filter)]

    def similarity_search_with_score_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        *,
        filter: Filter | None = None,  # noqa: A002
    ) -> list[tuple[Document, float]]:
        """Documents nearest to a vector, and their cosines, 0 for a negative one; or what ``scores`` says instead.

        Raises
        ------
        InputError
            If the vector is of another dimension than the file's.
        """
        return self._search(k, filter, lambda most, where: self._nearest(embedding, most, where))

    def similarity_search_with_vectors(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Filter | None = None,  # noqa: A002
        how: How | None = None,
    ) -> list[tuple[Document, list[float]]]:
        """Documents with their vectors, of unit length, best first; see :meth:`similarity_search_with_score`."""
        found = self.similarity_search(query, k, filter=filter, how=how)
        held = self.monograph.fetch([one.id for one in found if one.id is not None], vectors=True)
        vectors = {one.chunk.id: [] if one.vector is None else one.vector.tolist() for one in held}
        return [(one, vectors.get(one.id or "", [])) for one in found]

    def max_marginal_relevance_search(  # type: ignore[override]  # an unknown argument is an error
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,  # noqa: A002
    ) -> list[Document]:
        """Documents that are near to the query and unlike each other, chosen from the ``fetch_k`` nearest."""
        vector = self.query_vector(query)
        return self.max_marginal_relevance_search_by_vector(vector, k, fetch_k, lambda_mult, filter=filter)

    def max_marginal_relevance_search_by_vector(  # type: ignore[override]  # an unknown argument is an error
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Filter | None = None,  # noqa: A002
    ) -> list[Document]:
        """Choose documents as :meth:`max_marginal_relevance_search`, near to a vector.

        ``lambda_mult`` 1 ranks by relevance only, 0 by diversity only.

        Raises
        ------
        InputError
            If ``lambda_mult`` is not in [0, 1], or the vector is of another dimension than the file's.
        """
        if not 0 <= lambda_mult <= 1:
            raise InputError(f"lambda_mult is {lambda_mult:g}", "give 0 to 1")
        found = self.similarity_search_with_score_by_vector(embedding, max(k, fetch_k), filter=filter)
        by_id = {document.id: document for document, _ in found if document.id is not None}
        return [by_id[one] for one in tools.most_diverse(self.monograph, list(by_id), embedding, k, lambda_mult)]

    def query_vector(self, query: str) -> list[float]:
        """Return the vector of a query.

        Raises
        ------
        InputError
            If the file's vectors were given, so that it has no model.
        """
        made = self.embeddings
        if made is None:
            tools.require_query_vector(self.monograph, "dense", "embedding")
            raise AssertionError
        return made.embed_query(query)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return partial(tools.convert_score, given=self._scores, wanted="relevance")

    def _usual_how(self) -> How:
        if self._how is not None:
            return self._how
        return "hybrid" if self._embedding is None and self.monograph.embedder.spec == "static" else "dense"

    def _nearest(self, embedding: list[float], k: int, where: Mapping[str, Any] | None) -> list[Hit]:
        found = self.monograph.search("", k, how="dense", where=where, vector=embedding)
        # Nothing that a filter allows is found only where the vector points nowhere.
        return found or (tools.allowed_hits(self.monograph, where, k) if where else [])

    def _search(
        self, k: int, wanted: Filter | None, search: Callable[[int, Mapping[str, Any] | None], list[Hit]]
    ) -> list[tuple[Document, float]]:
        _check_filter(wanted)
        if callable(wanted):
            found = list(_chosen(k, wanted, search))
        else:
            found = [(as_document(hit), hit.relevance) for hit in search(k, plain(wanted))]
        return [(document, tools.convert_score(relevance, wanted=self._scores)) for document, relevance in found]

    def _fetched(self, ids: Sequence[str] | None) -> list[Document]:
        return [as_document(one) for one in self.monograph.fetch(ids)]


def _check_filter(wanted: Any) -> None:
    if wanted is not None and not callable(wanted) and not isinstance(wanted, Mapping):
        kind = type(wanted).__name__
        raise InvalidFilter(f"a filter must be a dict or a function, not a {kind}", 'write {"key": value}')


def _chosen(
    k: int, wanted: Callable[[Document], bool], search: Callable[[int, None], list[Hit]]
) -> Iterator[tuple[Document, float]]:
    """The k best that a function takes: so many more are found each time, until they suffice or there are no others."""
    most = max(4 * k, 50)
    while k > 0:
        hits = search(most, None)
        pairs = [(as_document(hit), hit.relevance) for hit in hits]
        taken = [pair for pair in pairs if wanted(pair[0])][:k]
        if len(taken) == k or len(hits) < most:
            yield from taken
            return
        most *= 4


def _discard(monograph: Archive, folder: str) -> None:
    monograph.close()
    shutil.rmtree(folder, ignore_errors=True)


def _checked(how: How) -> How:
    """A way to search, unless it is one that finds summaries, which are no documents of anybody's."""
    if str(how).partition(":")[0] == "tree":
        raise InputError("EcoVectorStore finds documents, not summaries", "take TreeRetriever for these")
    return library.strategy(how)
