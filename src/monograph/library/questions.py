"""What is asked of a file: the part of the public class that searches and answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from monograph.derive.tokens import count_tokens
from monograph.library.ledger import spends
from monograph.library.opened import OpenFile
from monograph.values.defaults import BUDGET, DEFAULT_CUT, FOUND, MAX_TOKENS

if TYPE_CHECKING:
    from monograph.answer.excerpt import Counter
    from monograph.answer.windows import Windows
    from monograph.library.past import Moment
    from monograph.models import LanguageModel, Reranker
    from monograph.search.strategy import Strategy
    from monograph.values import Answer, Context, Float32, Hit, PassageOrder, ReducedHit, Turn


class Questions:
    """Searches and answers from an open file; :class:`monograph.Monograph` is one, and so is a shelf of many."""

    _file: OpenFile

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
        as_of:
            Search the file as it stood at the end of this moment: see :meth:`Monograph.as_of`.

        Raises
        ------
        InputError
            If a number is out of range, no strategy has that name, the filter cannot be understood, the file lacks the
            tree it needs, or the vector is of another dimension than the file's.
        ModelError
            If the query's vector is needed, and the file's embedder cannot be made here or is another by now.
        """
        from monograph.library import searches

        file = searches.at(self._file, as_of)
        return searches.search(file, query, k, how, where, searches.Brought(vector, reranker))

    @spends
    def reduce(
        self, query: str, hits: Sequence[Hit], *, cut: float = DEFAULT_CUT, windows: Windows | None = None
    ) -> list[ReducedHit]:
        """Cut hits down to what a question needs: spans of their documents, word for word.

        About the share ``cut`` (0 to 1) of their tokens is to go: see :func:`monograph.answer.reduce.reduce`. With
        ``windows`` they are cut MobileRAG's own way instead, to the window of sentences that the file's embedder has
        nearest to the question (its numbers are :data:`monograph.answer.windows.PAPER`).

        They come in the order of their best sentences or windows. Raises InputError if ``cut`` is out of range.
        """
        from monograph.library import answers

        return answers.reduced(self._file, query, hits, cut, windows)

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
        count: Counter = count_tokens,
        threshold: float = 0.0,
        reranker: Reranker | str | None = None,
        as_of: Moment | None = None,
    ) -> Context:
        """Find, reduce and pack: what a model needs to answer a question, with where each word of it stands.

        Where the file has a tree, a share is for summaries: see :mod:`monograph.answer.overviews`.

        Parameters
        ----------
        query, k, how, where, reranker, as_of:
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
        from monograph.answer.pack import Packing
        from monograph.library import answers, searches

        packing = Packing(budget, cut, order, count)
        file = searches.at(self._file, as_of)
        asked = answers.Request(query, (), k, how, where)
        found = searches.search(file, query, k, how, where, searches.Brought(reranker=reranker))
        return answers.packed(file, query, found, packing, asked, threshold)

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
        """Answer a question from the file, with the model it was opened with. Parameters as for :meth:`stream`.

        Raises ModelUnavailable if the model does not answer, or breaks off: half an answer is none.
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
        """Answer a question piece by piece, and at the end give the whole :class:`Answer`.

        The file is searched, what is found is reduced and packed, and the model is asked to answer from that alone.
        What it cites is held against the context. Where nothing relevant is found it is not asked. Without a model
        the answer is the one sentence most likely to answer, behind a mark, and the best passages, as many as the
        budget has room for; or that the file does not tell.

        Parameters
        ----------
        question, k, how, where, vector, reranker, as_of:
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
        model:
            Answers in place of the model that the file was opened with.
        """
        from monograph.answer.pack import Packing
        from monograph.library import answers, searches

        file = searches.at(self._file, as_of)
        asked = answers.Request(question, tuple(history), k, how, where, threshold, reranker, model, vector)
        return answers.stream(file, asked, Packing(budget), max_tokens, remember=remember)
