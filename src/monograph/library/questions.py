"""Methods that search and answer: the base class of a file and of a shelf."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from monograph import telemetry
from monograph import where as filters
from monograph.derive.tokens import count_tokens
from monograph.errors import InputError
from monograph.library.opened import OpenFile, spends
from monograph.models import is_given, weight_of
from monograph.search.fusion import cap_relevances
from monograph.search.query import Query, Reranking, given_vector
from monograph.search.strategies import Tree, strategy
from monograph.store.documents.filters import EVERYTHING, CompiledFilter, compile_condition
from monograph.values import arguments
from monograph.values.arguments import BUDGET, DEFAULT_CUT, FOUND, MAX_TOKENS
from monograph.vectors.stop import choose_stop

if TYPE_CHECKING:
    from monograph.answer.pack import Packing
    from monograph.models import Embedder, LanguageModel, Reranker
    from monograph.search.query import Strategy
    from monograph.search.reader import Reader
    from monograph.values import Answer, Context, Float32, Hit, PassageOrder, ReducedHit, Turn, Windows
    from monograph.values.answer import TokenCounter
    from monograph.vectors.stop import StopCondition
    from monograph.where import Moment

MANY = 10_000
"""Largest number of hits (k) that is used unchanged. A larger k is lowered to at most twice the number of chunks,
because a search reserves memory for k hits."""


class Questions:
    """Methods that search and answer: base of :class:`monograph.Reader` and of a shelf of many files."""

    _file: OpenFile

    def _at(self, as_of: Moment) -> OpenFile:
        """Raise InputError: this base class keeps no previous versions. Subclasses return the file at a moment."""
        raise keeps_no_versions(self._file)

    def search(  # noqa: PLR0913 - each is a choice of its own
        self,
        query: str,
        k: int = 5,
        how: str | Strategy = "auto",
        where: Mapping[str, Any] | None = None,
        *,
        vector: Sequence[float] | Float32 | None = None,
        reranker: Reranker | str | None = None,
        as_of: Moment | None = None,
        stop: StopCondition | str | None = None,
        ranked_recall: float | None = None,
    ) -> list[Hit]:
        """Return at most k hits, best first. Hits are chunks; a search of the tree also returns summaries.

        Parameters
        ----------
        query:
            A question, words or a code. If a part of it is in quotation marks, hits that contain this part word for
            word come first.
        k:
            Largest number of hits.
        how:
            Search mode. By name: ``lexical`` (BM25), ``tfidf`` (RAGdb's hybrid score), ``dense`` (cosine), ``hybrid``
            (BM25 and dense, fused), ``graph`` (hybrid, then hop by hop to chunks that name the same entities),
            ``tree`` (cosine among chunks and summaries), or ``auto`` (``graph``, or ``hybrid`` if the question has no
            name). With parameters: ``Hybrid(alpha=0.3)``, ``Graph(faithful=True)`` or ``Tree(detail=0.5)``, which can
            also be written as ``"tree:detail=0.5"``. Or a :class:`~monograph.search.query.Strategy` of your own.
        where:
            Search only chunks whose metadata match this filter: see :mod:`monograph.where`.
        vector:
            Vector of the query, shape (dimension,). None: the file's embedder computes it.
        reranker:
            Model that reorders the first 30 hits: an object, or a name (``onnx:FOLDER``). None: the reranker that the
            file was opened with. An empty text: no reranker. The model's scores are stored in the file.
        as_of:
            Search the file as it was at the end of this moment: see :meth:`Monograph.as_of`. None: the present file.
        stop:
            Condition that ends the search of the vector index. None: the one that reaches ``target_recall`` of
            :meth:`Monograph.open`. A :class:`~monograph.RankAware`, :class:`~monograph.VBase`,
            :class:`~monograph.Budget` or :class:`~monograph.Never`, an object of your own, or a text:
            ``rankaware:window=8,epsilon=0.1,tau=1.8,beta=0.5``, ``vbase:e=10,window=4``, ``budget:loads=20`` or
            ``never``. A search that compares every allowed vector ignores it.
        ranked_recall:
            Ranked recall at which the search of the vector index stops, above 0 and at most 1, instead of ``stop``. It
            is the share of the nearest vectors that are found, weighted by rank: see
            :class:`monograph.vectors.stop.RankedRecall`.

        Raises
        ------
        InputError
            If a number is out of range, no strategy has that name, the filter is invalid, the file has no tree and the
            search needs one, or the vector has another dimension than the file's. If ``stop`` and ``ranked_recall`` are
            both given, or one is given in the modes ``lexical`` and ``tfidf``, which search no vectors.
        ModelError
            If the search needs the query's vector, and the file's embedder cannot be loaded here or has changed.
        """
        file = self._file if as_of is None else self._at(as_of)
        reranking = _make_reranking(file, reranker)
        chosen_stop = choose_stop(stop, ranked_recall)
        request = Query(query, k, strategy(how), allowed(where), given_vector(vector), reranking, stop=chosen_stop)
        with searched(file, request) as (_, hits):
            return hits

    @spends
    def reduce(
        self,
        query: str,
        hits: Sequence[Hit],
        *,
        cut: float = DEFAULT_CUT,
        windows: Windows | None = None,
        embedder: Embedder | None = None,
    ) -> list[ReducedHit]:
        """Reduce hits to the sentences that a question needs, and return these as spans of the hits' documents.

        ``cut`` is the approximate share of the hits' tokens to remove, 0 to 1: see
        :func:`monograph.answer.reduce.reduce`. If ``windows`` is given instead, each hit is reduced to the window of
        sentences that is nearest to the question: see :func:`monograph.answer.reduce.reduce_to_windows`. ``embedder``
        computes the vectors of the windows; by default it is the file's embedder.

        The reduced hits have the order of the hits. Raises InputError if ``cut`` is out of range, or if windows have no
        embedder because the vectors of the file were given.
        """
        from monograph.answer.reading import Reading, query_terms, titled
        from monograph.answer.reduce import reduce, reduce_to_windows

        with telemetry.span("monograph.reduce", {}):
            arguments.text(query, "the query")
            if windows is not None:
                embedder = self._file.models.embedder if embedder is None else embedder
                if is_given(embedder):
                    raise InputError(
                        f"windows need vectors, and {embedder.key!r} computes none: the archive's vectors were given",
                        "give a model; in Python: embedder=, in LlamaIndex embed_model=, in LangChain embedding=",
                    )
                return reduce_to_windows(embedder, query, hits, windows)
            with self._file.reading() as reader:
                question = query_terms(reader, query)
            return reduce(Reading(question, map(titled, hits)), hits, cut)

    def context(  # noqa: PLR0913 - each is a choice of its own
        self,
        query: str,
        budget: int = BUDGET,
        *,
        k: int = FOUND,
        how: str | Strategy = "auto",
        where: Mapping[str, Any] | None = None,
        cut: float = DEFAULT_CUT,
        order: PassageOrder = "relevance",
        count: TokenCounter = count_tokens,
        threshold: float = 0.0,
        reranker: Reranker | str | None = None,
        as_of: Moment | None = None,
        stop: StopCondition | str | None = None,
        ranked_recall: float | None = None,
    ) -> Context:
        """Return a context: the text that a model needs to answer a question, with citations.

        The hits of a search are reduced to the needed sentences and packed into the budget. If the file has a tree, a
        share of the budget goes to summaries: see :mod:`monograph.answer.overviews`.

        Parameters
        ----------
        query, k, how, where, reranker, as_of, stop, ranked_recall:
            As for :meth:`search`, with its errors.
        budget:
            Largest number of tokens of the context's text, at least 1. The prompt adds about a hundred tokens.
        cut:
            Approximate share of the hits' tokens to remove even if the budget has room for them, 0 to 1. With 0, tokens
            are removed only if the budget has no room.
        order:
            Order of the passages. ``relevance``: best first. ``edges``: the best passages at the beginning and the end.
        count:
            Function that counts the tokens of a text; the default uses Llama 2's tokenizer.
        threshold:
            Smallest confidence, 0 to 1. If the confidence, ``context.relevance``, is lower, the context is empty.
        """
        from monograph.answer import confidence
        from monograph.answer.pack import Packing
        from monograph.values import Context

        packing = Packing(budget, cut, order, count)
        file = self._file if as_of is None else self._at(as_of)
        reranking, chosen_stop = _make_reranking(file, reranker), choose_stop(stop, ranked_recall)
        request = Query(query, k, strategy(how), allowed(where), reranker=reranking, stop=chosen_stop)
        confidence.check(threshold)
        with searched(file, request) as (reader, hits):
            context = _make_context(file, reader, request, hits, packing)
        if context.relevance < threshold:
            return Context(query, (), budget=packing.budget, relevance=context.relevance, hits=context.hits)
        return context

    def ask(  # noqa: PLR0913 - each is a choice of its own
        self,
        question: str,
        budget: int = BUDGET,
        *,
        history: Sequence[Turn] = (),
        k: int = FOUND,
        how: str | Strategy = "auto",
        where: Mapping[str, Any] | None = None,
        max_tokens: int = MAX_TOKENS,
        remember: bool = True,
        threshold: float | None = None,
        reranker: Reranker | str | None = None,
        as_of: Moment | None = None,
        model: LanguageModel | None = None,
        vector: Sequence[float] | Float32 | None = None,
    ) -> Answer:
        """Answer a question from the file, and return the whole answer. Parameters are as for :meth:`stream`.

        Raises ModelUnavailable if the model does not answer, or stops in the middle of the answer.
        """
        from monograph.values import Answer

        *_, answer = self.stream(
            question, budget, history=history, k=k, how=how, where=where,
            max_tokens=max_tokens, remember=remember, threshold=threshold, reranker=reranker, as_of=as_of,
            model=model, vector=vector,
        )  # fmt: skip
        assert isinstance(answer, Answer)  # noqa: S101 - the last thing a stream gives
        return answer

    def stream(  # noqa: PLR0913 - each is a choice of its own
        self,
        question: str,
        budget: int = BUDGET,
        *,
        history: Sequence[Turn] = (),
        k: int = FOUND,
        how: str | Strategy = "auto",
        where: Mapping[str, Any] | None = None,
        max_tokens: int = MAX_TOKENS,
        remember: bool = True,
        threshold: float | None = None,
        reranker: Reranker | str | None = None,
        as_of: Moment | None = None,
        model: LanguageModel | None = None,
        vector: Sequence[float] | Float32 | None = None,
    ) -> Iterator[str | Answer]:
        """Answer a question from the file, and yield the answer in pieces; the last item is the whole :class:`Answer`.

        The hits of a search are reduced and packed into a context, and the model answers from this context alone. The
        model's citations are checked against the context. If nothing relevant was found, the model is not called.
        Without a model, the answer consists of the sentence that most likely answers the question, with ``»``
        before it, and the best passages that fit the budget. If the confidence is below ``threshold``, the answer is an
        abstention.

        Parameters
        ----------
        question, k, how, where, vector, reranker, as_of:
            As for :meth:`search`.
        budget, max_tokens:
            Largest number of tokens of the context (``budget``) and of the answer (``max_tokens``).
        history:
            Previous turns of the conversation, the latest last. The model rewrites the question so that it is
            understandable without these turns. Without a model, names of the latest turn are added to a question that
            depends on the conversation.
        remember:
            Whether to store the model's answer in the file, and to reuse a stored answer for the same question, context
            and model. ``compact`` and ``forget`` delete stored answers.
        threshold:
            Smallest confidence (``answer.confidence``), 0 to 1. If the confidence is lower, the answer is an
            abstention. Default: 0.22 without a model, and 0.06 with a model, because a model can abstain by itself.
        model:
            Language model for this call, instead of the model that the file was opened with.
        """
        from monograph.answer import ask, confidence
        from monograph.answer.pack import Packing
        from monograph.values import Answer, Timings

        packing, turns = Packing(budget), tuple(history)
        file = self._file if as_of is None else self._at(as_of)

        def pieces() -> Iterator[str | Answer]:
            confidence.check(threshold or 0.0)
            started_at, query = time.perf_counter(), question
            chosen = file.models.language_model if model is None else model
            if turns:
                query = ask.standalone_question(chosen, question, turns)
            reranking = _make_reranking(file, reranker)
            request = Query(query, k, strategy(how), allowed(where), given_vector(vector), reranking)
            with searched(file, request, chosen) as (reader, hits):
                retrieved_at = time.perf_counter()
                context = _make_context(file, reader, request, hits, packing)
            timings = Timings(retrieval=retrieved_at - started_at, reduction=time.perf_counter() - retrieved_at)
            for piece in ask.stream(chosen, context, file.answers() if remember else None, max_tokens, threshold):
                if isinstance(piece, Answer):
                    yield replace(piece, query=query, seconds=ask.after(timings, piece.seconds))
                else:
                    yield piece

        return file.spending_pieces(pieces())


def _make_reranking(file: OpenFile, reranker: Reranker | str | None) -> Reranking | None:
    model = file.models.reranker(reranker)
    return None if model is None else Reranking(file.scores.by(model), weight_of(model))


@contextmanager
def searched(file: OpenFile, query: Query, model: LanguageModel | None = None) -> Iterator[tuple[Reader, list[Hit]]]:
    """Run a search and yield (reader, hits). Until the context ends, the reader shows the state that was searched.

    A search mode that asks a model (``asks_model``) asks ``model``, or else the model that the file was opened with.
    """
    chosen, model = query.how, file.models.language_model if model is None else model
    if query.k and getattr(chosen, "needs_graph", False):
        file.require_graph()
    since, attributes = time.perf_counter(), {"monograph.search.mode": type(chosen).__name__.lower()}
    with file.spending(), ExitStack() as stack:
        with telemetry.span("monograph.search", {**attributes, "monograph.search.k": query.k}) as span:
            span.text("monograph.search.query", query.text)
            if query.k and model is not None and getattr(chosen, "asks_model", False):
                from monograph.answer.ask import answer_types
                from monograph.search.minirag import type_pool

                with file.reading() as reader:
                    pool = type_pool(reader, query.filter)
                if pool:
                    # The model is called outside of a read transaction, because its result is written to the file.
                    query = replace(query, answer_types=answer_types(model, file.answers(), query.text, pool))
            reader = stack.enter_context(file.reading())
            if query.k > MANY:
                # A summary has at least two children, so there are fewer summaries than chunks.
                query = replace(query, k=min(query.k, 2 * reader.total()))
            hits = cap_relevances(chosen.search(reader, query)) if query.k else []
            span.set({"monograph.search.hits": len(hits)})
        telemetry.took("monograph.search.duration", since, attributes)
        yield reader, hits
    if query.reranker is not None:
        file.scores.keep()


def confidence_in(archive: Questions, question: str, hits: Sequence[Hit]) -> float:
    """Return the probability, 0 to 1, that hits answer a question: see :mod:`monograph.answer.confidence`."""
    from monograph.answer import confidence
    from monograph.answer.reading import Reading, query_terms, titled

    with archive._file.reading() as reader:
        terms = query_terms(reader, question)
    return confidence.confidence(Reading(terms, map(titled, hits)), hits)


def allowed(where: Mapping[str, Any] | None) -> CompiledFilter:
    """Compile a ``where`` filter to an SQL condition on chunks; None allows every chunk.

    :mod:`monograph.where` describes filters. Raises InvalidFilter if the filter is invalid.
    """
    return EVERYTHING if where is None else compile_condition(filters.parse(where))


def keeps_no_versions(file: OpenFile) -> InputError:
    """Return the error for a file that keeps no previous versions of documents."""
    return InputError(
        f"{file.database.path} keeps no previous versions of documents",
        "create a new file that does: monograph sync FILE FOLDER --history; in Python: Settings(history=True)",
    )


def _make_context(file: OpenFile, reader: Reader, query: Query, hits: Sequence[Hit], packing: Packing) -> Context:
    """Reduce and pack the hits of a search into a context, with summaries of the tree if the file has one."""
    from monograph.answer.context import make_context
    from monograph.answer.overviews import overview

    summaries = None
    if query.k and not isinstance(query.how, Tree):
        with file.database.read() as connection:
            summaries = overview(connection, query.text, hits, query.filter, packing.budget)
    return make_context(reader, query.text, hits, packing, summaries)
