"""The one class users hold."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from monograph.answer.ask import MAX_TOKENS
from monograph.answer.excerpt import Counter
from monograph.answer.pack import BUDGET, Packing
from monograph.answer.windows import Windows
from monograph.derive.tokens import count_tokens
from monograph.errors import InputError
from monograph.library import answers, searches
from monograph.library import backup as backups
from monograph.library.files import Files
from monograph.library.graph import EntityGraph
from monograph.library.lookups import Lookups
from monograph.library.opened import Given, OpenFile
from monograph.library.searches import allowed
from monograph.library.tree import SummaryTree
from monograph.library.vectors import Vectors
from monograph.models import Embedder, Extractor, LanguageModel, Reranker, Summarizer, Trusted
from monograph.read import path_to_text
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.search.strategy import Strategy
from monograph.settings import Settings
from monograph.values import (
    DEFAULT_CUT,
    Answer,
    Context,
    Document,
    Float32,
    Hit,
    OnProgress,
    PassageOrder,
    ReducedHit,
    Report,
    Turn,
    arguments,
)
from monograph.vectors.index import DEFAULT_CACHE_BYTES, DEFAULT_TARGET_RECALL
from monograph.write import apply, configuration
from monograph.write import passages as single
from monograph.write import remove as removal
from monograph.write.forget import erase


class Monograph(Lookups):
    """One open .mono file. Safe for use by many threads; a context manager. Made by :meth:`open`.

    A copy shares the open file, and is closed with it; one that is pickled opens the file of that path anew. An
    encrypted one cannot be pickled.
    """

    @classmethod
    def open(  # noqa: PLR0913 - each is a choice of its own
        cls,
        path: str | os.PathLike[str],
        embedder: Embedder | None = None,
        extractor: Extractor | None = None,
        summarizer: Summarizer | None = None,
        model: LanguageModel | None = None,
        *,
        reranker: Reranker | str | None = None,
        settings: Settings | None = None,
        on_demand: bool = False,
        create: bool = True,
        read_only: bool = False,
        key: str | None = None,
        target_recall: float = DEFAULT_TARGET_RECALL,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
        trusted: Trusted = (),
    ) -> Monograph:
        """Open the file of this path, or make it.

        Parameters
        ----------
        embedder, extractor, summarizer:
            Make vectors, find what chunks name, make the tree of summaries. By default those that the file was built
            with; for a new one static word vectors and patterns, which need no network, and no tree. Once a summarizer
            is given, every write keeps a tree in step.
        model:
            Answers :meth:`ask`; it is not stored. Without one, that shows the passages that may hold the answer.
        reranker:
            Puts the first hits of every search in order, unless that names another; it is not stored.
        settings, on_demand:
            The numbers a new file is built with; whether it makes its graph when it is first asked for.
        create, read_only:
            Make the file if it is missing; never write.
        key:
            What the file is encrypted with, or a new one is to be (extra ``encrypt``); kept nowhere.
        target_recall:
            Share of the nearest vectors that a search finds on average before it stops, above 0, at most 1. What that
            takes is measured on the file's own vectors; in a file of few, every vector is compared.
        cache_bytes:
            Memory for clusters of the vector index; 0 reads each from the file whenever it is searched.
        trusted:
            Addresses of servers that the file's own models may ask, or whether they may, by its id and an address. To
            ask another raises ModelUntrusted. Models that are given here ask whom they like.

        Raises
        ------
        FileError
            If it is not a monograph, newer than this version, damaged, or of another key: the file is left as it was.
        ModelMismatch
            If the file was built with another model than one given; ``vectors.rebuild``, ``graph.rebuild`` and
            ``tree.rebuild`` make anew what that made.
        InputError
            If the file was built with other settings, or a number is out of range.
        """
        given = Given(
            arguments.path(path, "the file"), embedder, extractor, summarizer, model, settings, create, read_only,
            target_recall, cache_bytes, trusted, key, on_demand, reranker,
        )  # fmt: skip
        return cls(OpenFile.open(given))

    def __enter__(self) -> Monograph:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Monograph({str(self.path)!r})"

    @property
    def files(self) -> Files:
        """Files and folders that are kept in step."""
        return Files(self._file)

    @property
    def graph(self) -> EntityGraph:
        """The named things, and how they hang together."""
        return EntityGraph(self._file)

    @property
    def tree(self) -> SummaryTree:
        """The summaries over the chunks."""
        return SummaryTree(self._file)

    @property
    def vectors(self) -> Vectors:
        """The vectors of the chunks."""
        return Vectors(self._file)

    def close(self) -> None:
        """Close the file. Closing twice is allowed; any other use afterwards raises ClosedFile."""
        self._file.close()

    def sync(
        self,
        *sources: str | os.PathLike[str],
        verify: bool = False,
        prune: bool = False,
        forget: bool | None = None,
        follow_links: bool | None = None,
        limits: Limits = DEFAULT_LIMITS,
        progress: OnProgress | None = None,
    ) -> Report:
        """Bring the file up to date with files and folders: see :meth:`monograph.library.files.Files.sync`."""
        return self.files.sync(
            *sources, verify=verify, prune=prune, forget=forget, follow_links=follow_links,
            limits=limits, progress=progress,
        )  # fmt: skip

    def add(self, documents: Iterable[Document], *, progress: OnProgress | None = None) -> Report:
        """Store documents; one of a known id replaces that document, an unchanged one costs nothing.

        Raises InvalidDocument if one cannot be stored: nothing of its batch (at most 1,024 documents) is.
        """
        pipeline = self._file.writing_pipeline()
        return self._file.forgetting(lambda: apply.add(pipeline, documents, progress))

    def put(self, documents: Iterable[Document], *, progress: OnProgress | None = None) -> Report:
        """Store passages beside those that their documents hold, as frameworks hand them over.

        A passage whose id the file knows takes that chunk's place, in whichever document it stands; a document's other
        chunks stay. Title, uri and metadata are laid over what is stored. Where all passages of a new file bring their
        vectors, the file is one of given vectors: see :class:`monograph.derive.embed.GivenVectors`.

        Raises InvalidDocument if a document has no passages, is part of a synced file, or cannot be stored: nothing of
        its batch (at most 1,024 documents) is.
        """
        listed = list(documents)
        if self._file.given_embedder is None:
            self._file.given_embedder = configuration.outside_embedder(self._file.database, listed)
        pipeline = self._file.writing_pipeline()
        return self._file.forgetting(lambda: single.put(pipeline, listed, progress))

    def remove(self, ids: Iterable[str], *, forget: bool | None = None) -> Report:
        """Take documents out of every result, all of them or, on an error, none.

        They are named by id or uri. One whose file is still in a synced folder comes back with the next sync. With
        ``forget``, by default what the file is set to, it returns only when no trace of their text is left in the bytes
        of the file and its write-ahead log. Raises NotFound if an id fits no document, and BusyFile if another process
        still reads what is to be forgotten: then the next write forgets it.
        """
        file, named = self._file, arguments.names(map(path_to_text, ids), "an id")
        return file.forgetting(
            lambda: file.followed(removal.remove(file.database, file.indexes, named)), forget, strict=True
        )

    def remove_chunks(self, ids: Iterable[str] | None = None, *, where: Mapping[str, Any] | None = None) -> Report:
        """Take single chunks out of every result; a document goes with the last of its chunks.

        ``ids`` that the file does not hold are passed over; ``where`` as for :meth:`search`. Raises InputError if
        neither is given, and InvalidDocument if a chunk is part of a synced file of which others are to stay.
        """
        if ids is None and not where:
            raise InputError("neither ids nor a filter says which chunks", "name them; to clear the file, remove all")
        named = None if ids is None else arguments.names(ids, "an id")
        if configuration.EMBEDDER.known(self._file.database) is None:
            return Report()  # It holds nothing yet, and what its vectors come from is still open.
        pipeline, narrowed = self._file.writing_pipeline(), allowed(where)
        return self._file.forgetting(lambda: single.remove(pipeline, named, narrowed))

    def compact(self) -> None:
        """Drop remembered values that nothing uses, merge the index and give free space back to the disk."""
        erase(self._file.database, self._file.indexes)

    def backup(
        self, path: str | os.PathLike[str], *, overwrite: bool = False, progress: OnProgress | None = None
    ) -> Path:
        """Copy the file as it is now, while others read and write it; the copy is checked before it gets its name.

        A file that is there is not overwritten unless told. An encrypted file's copy has the same key.

        Raises InputError if the path is taken, BusyFile if what is to be overwritten is open, DamagedFile if the copy
        has a fault, and StorageFull if there is no room; then there is none.
        """
        return backups.backup(self._file, arguments.path(path, "the copy"), overwrite=overwrite, progress=progress)

    def search(
        self,
        query: str,
        k: int = 5,
        how: str | Strategy = "auto",
        where: Mapping[str, Any] | None = None,
        *,
        vector: Sequence[float] | Float32 | None = None,
        reranker: Reranker | str | None = None,
    ) -> list[Hit]:
        """Find chunks, and through the tree summaries: at most k hits, best first.

        Parameters
        ----------
        query:
            A question, words, a code; what has a part in quotation marks word for word is lifted above all else.
        k:
            Most hits.
        how:
            ``lexical`` (BM25), ``tfidf`` (RAGdb's hybrid score), ``dense`` (cosine), ``hybrid`` (BM25 and dense,
            fused), ``graph`` (from these, hop by hop, to what is named together), ``tree`` (by cosine among chunks and
            summaries), ``auto`` (``graph``, or ``hybrid`` where the question names nothing). Or a value that carries
            what only it understands: ``Hybrid(alpha=0.3)``, ``Graph(faithful=True)``, ``Tree(detail=0.5)``, which may
            be written as ``"tree:detail=0.5"``; or a :class:`~monograph.search.strategy.Strategy` of your own.
        where:
            Only chunks whose metadata meet this filter: see :mod:`monograph.where`.
        vector:
            The query's vector, of the file's dimension, where the caller has it: it is then not made here.
        reranker:
            Puts the first 30 in order, or the text that names it (``onnx:FOLDER``); empty for none. By default the one
            that the file was opened with. Its scores are remembered.

        Raises
        ------
        InputError
            If a number is out of range, no strategy has that name, the filter cannot be understood, the file lacks the
            tree it needs, or the vector is of another dimension than the file's.
        ModelError
            If the query's vector is needed, and the file's embedder cannot be made here or is another by now.
        """
        return searches.search(self._file, query, k, how, where, searches.Brought(vector, reranker))

    def reduce(
        self, query: str, hits: Sequence[Hit], *, cut: float = DEFAULT_CUT, windows: Windows | None = None
    ) -> list[ReducedHit]:
        """Cut hits down to what a question needs: spans of their documents, word for word.

        About the share ``cut`` (0 to 1) of their tokens is to go: see :func:`monograph.answer.reduce.reduce`. With
        ``windows`` they are cut MobileRAG's own way instead, to the window of sentences that the file's embedder has
        nearest to the question (its numbers are :data:`monograph.answer.windows.PAPER`).

        They come in the order of their best sentences or windows. Raises InputError if ``cut`` is out of range.
        """
        return answers.reduced(self._file, query, hits, cut, windows)

    def context(  # noqa: PLR0913 - each is a choice of its own
        self,
        query: str,
        budget: int = BUDGET,
        *,
        k: int = answers.FOUND,
        how: str | Strategy = "auto",
        where: Mapping[str, Any] | None = None,
        cut: float = DEFAULT_CUT,
        order: PassageOrder = "relevance",
        count: Counter = count_tokens,
        threshold: float = 0.0,
        reranker: Reranker | str | None = None,
    ) -> Context:
        """Find, reduce and pack: what a model needs to answer a question, with where each word of it stands.

        Where the file has a tree, a share is for summaries: see :mod:`monograph.answer.overviews`.

        Parameters
        ----------
        query, k, how, where, reranker:
            As for :meth:`search`, and raised as there.
        budget:
            Most tokens of the context's text, at least 1. The rules and the question around it take about a hundred.
        cut:
            About which share of the tokens found is to go even where the budget has room; 0 to fill it.
        order:
            ``relevance``, or ``edges``: the best first and last.
        count:
            How the model's tokens are counted; by default with Llama 2's tokenizer.
        threshold:
            Confidence below which the context holds nothing, 0 to 1. How sure it is stands in its ``relevance``.
        """
        packing = Packing(budget, cut, order, count)
        asked = answers.Request(query, (), k, how, where)
        found = self.search(query, k, how, where, reranker=reranker)
        return answers.packed(self._file, query, found, packing, asked, threshold)

    def ask(  # noqa: PLR0913 - each is a choice of its own
        self,
        question: str,
        budget: int = BUDGET,
        *,
        history: Sequence[Turn] = (),
        k: int = answers.FOUND,
        how: str | Strategy = "auto",
        where: Mapping[str, Any] | None = None,
        max_tokens: int = MAX_TOKENS,
        remember: bool = True,
        threshold: float | None = None,
        reranker: Reranker | str | None = None,
    ) -> Answer:
        """Answer a question from the file, with the model it was opened with. Parameters as for :meth:`stream`.

        Raises ModelUnavailable if the model does not answer, or breaks off: half an answer is none.
        """
        *_, answer = self.stream(
            question, budget, history=history, k=k, how=how, where=where,
            max_tokens=max_tokens, remember=remember, threshold=threshold, reranker=reranker,
        )  # fmt: skip
        assert isinstance(answer, Answer)  # noqa: S101 - the last thing a stream gives
        return answer

    def stream(  # noqa: PLR0913 - each is a choice of its own
        self,
        question: str,
        budget: int = BUDGET,
        *,
        history: Sequence[Turn] = (),
        k: int = answers.FOUND,
        how: str | Strategy = "auto",
        where: Mapping[str, Any] | None = None,
        max_tokens: int = MAX_TOKENS,
        remember: bool = True,
        threshold: float | None = None,
        reranker: Reranker | str | None = None,
    ) -> Iterator[str | Answer]:
        """Answer a question piece by piece, and at the end give the whole :class:`Answer`.

        The file is searched, what is found is reduced and packed, and the model is asked to answer from that alone.
        What it cites is held against the context. Where nothing relevant is found it is not asked. Without a model
        the answer is the one sentence most likely to answer, behind a mark, and the best passages, as many as the
        budget has room for; or that the file does not tell.

        Parameters
        ----------
        question, k, how, where, reranker:
            As for :meth:`search`.
        budget, max_tokens:
            Most tokens of the context, and of the answer.
        history:
            Turns before it: a question that hangs on them is put anew by the model, or without one gets the names they
            were about.
        remember:
            Keep the model's answer in the file under its question, context and model, and use it when these come again.
            ``compact`` and ``forget`` drop it.
        threshold:
            Confidence (``answer.confidence``) below which the answer is that the file does not tell, 0 to 1: by default
            0.22 without a model; with one 0.06, as it can say itself that it does not know.
        """
        asked = answers.Request(question, tuple(history), k, how, where, threshold, reranker)
        return answers.stream(self._file, asked, Packing(budget), max_tokens, remember=remember)
