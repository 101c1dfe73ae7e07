"""Questions to an open file: what is found, reduced, packed, and answered from."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from monograph import telemetry
from monograph.answer import abstain, ask, overviews, preamble, query_terms
from monograph.answer.best import best_sentence, fitted
from monograph.answer.pack import pack
from monograph.answer.reduce import reduce
from monograph.answer.windows import reduce_to_windows
from monograph.library.ledger import spending_pieces
from monograph.library.searches import Brought, allowed, search
from monograph.search.how import strategy
from monograph.search.how.tree import Tree
from monograph.values import Answer, Context, Timings, arguments

if TYPE_CHECKING:
    from monograph.answer.pack import Packing
    from monograph.answer.windows import Windows
    from monograph.library.opened import OpenFile
    from monograph.models import LanguageModel, Reranker
    from monograph.search.strategy import Strategy
    from monograph.values import Float32, Hit, ReducedHit, Turn


@dataclass(frozen=True, slots=True)
class Request:
    """A question, the turns before it, how the file is searched for it, and how sure an answer has to be.

    ``vector`` and ``reranker`` as in :class:`monograph.library.searches.Brought`; ``model`` takes the place of the
    file's own.
    """

    question: str
    history: tuple[Turn, ...]
    k: int
    how: str | Strategy
    where: Mapping[str, Any] | None
    threshold: float | None = None
    reranker: Reranker | str | None = None
    model: LanguageModel | None = None
    vector: Sequence[float] | Float32 | None = None


@telemetry.traced("monograph.reduce")
def reduced(
    file: OpenFile, query: str, hits: Sequence[Hit], cut: float, windows: Windows | None = None
) -> list[ReducedHit]:
    """See :meth:`monograph.Monograph.reduce`."""
    arguments.text(query, "the query")
    if windows is not None:
        return reduce_to_windows(file.embedder, query, hits, windows)
    with file.reading() as snapshot:
        return reduce(query_terms.take_apart(snapshot, query), hits, cut)


@telemetry.traced("monograph.pack")
def packed(
    file: OpenFile, query: str, hits: Sequence[Hit], packing: Packing, asked: Request, threshold: float = 0.0
) -> Context:
    """Hits as a context: see :meth:`monograph.Monograph.context`."""
    abstain.check(threshold)
    with file.database.read() as connection, file.reading() as snapshot:
        over = None
        if asked.k and not isinstance(strategy(asked.how), Tree):
            over = overviews.overview(connection, query, hits, allowed(asked.where), packing.budget)
        hits = hits if over is None else over.hits
        question = query_terms.take_apart(snapshot, query)
        named = preamble.of_kind(snapshot, question, hits)
    confidence = abstain.confidence(question, hits)
    whole = over is not None and over.whole
    if confidence < threshold and not whole:
        return Context(query, (), budget=packing.budget, relevance=confidence, hits=tuple(hits))
    made = pack(question, hits, packing, preamble.relations(hits), preamble.candidates(named, hits), over)
    if whole and made.citations:
        return replace(made, relevance=1.0)  # What was asked for is the file itself: no one sentence answers.
    best = best_sentence(question, hits, named, confidence)
    if best is not None:
        best = fitted(question, best, packing.budget - ask.mark_tokens(packing.count), packing.count)
    return replace(made, relevance=confidence, best=best)


def stream(
    file: OpenFile, asked: Request, packing: Packing, max_tokens: int, *, remember: bool
) -> Iterator[str | Answer]:
    """See :meth:`monograph.Monograph.stream`."""
    return spending_pieces(file, _streamed(file, asked, packing, max_tokens, remember=remember))


def _streamed(
    file: OpenFile, asked: Request, packing: Packing, max_tokens: int, *, remember: bool
) -> Iterator[str | Answer]:
    abstain.check(asked.threshold or 0.0)
    begun = time.perf_counter()
    query = asked.question
    model = file.model if asked.model is None else asked.model
    if asked.history:
        from monograph.answer import follow_up

        query = follow_up.alone(model, asked.question, asked.history)
    hits = search(file, query, asked.k, asked.how, asked.where, Brought(asked.vector, asked.reranker))
    found = time.perf_counter()
    context = packed(file, query, hits, packing, asked)
    spent = Timings(retrieval=found - begun, reduction=time.perf_counter() - found)
    cache = file.answers() if remember else None
    terms = ask.Terms(max_tokens, asked.threshold, packing.count)
    for piece in ask.stream(model, context, cache, terms):
        yield (
            replace(piece, query=query, seconds=ask.after(spent, piece.seconds)) if isinstance(piece, Answer) else piece
        )
