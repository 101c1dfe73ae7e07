"""Monograph's own events for LlamaIndex's instrumentation."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index_instrumentation.base import BaseEvent

from monograph import Answer, Hit
from monograph.values import Effort


class MonographEvent(BaseEvent):
    """Base class of Monograph's events."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name of this class of events, such as ``MonographSearchEvent``."""
        return f"Monograph{cls.__name__}"


class SearchEvent(MonographEvent):
    """End of a search: query, retrievers that found hits, and work that the vector index did."""

    query: str
    """Text of the query."""
    found: int
    """Number of hits."""
    retrievers: list[str]
    """Names of Monograph's retrievers that found hits, such as ``dense``: see ``monograph.values.Origin``."""
    loads: int
    """Number of clusters that were read."""
    compared: int
    """Number of vectors that were compared."""
    stopped: str
    """Why the search of the vector index stopped; empty if no vectors were compared.

    - ``enough``: the stop condition was met.
    - ``short``: the stop condition was met, but no measured stop condition reaches the target recall.
    - ``all``: every cluster was searched.
    - ``exact``: all vectors that the filter allows were compared.
    """

    @classmethod
    def of(cls, query: str, hits: Sequence[Hit]) -> SearchEvent:
        """Return the event of a search that returned these hits."""
        origins = [origin for hit in hits for origin in hit.origins]
        effort = next((origin.effort for origin in origins if origin.effort is not None), Effort(0, 0, ""))
        return cls(
            query=query,
            found=len(hits),
            retrievers=sorted({origin.retriever for origin in origins}),
            loads=effort.loads,
            compared=effort.compared,
            stopped=effort.stopped,
        )


class ReductionEvent(MonographEvent):
    """Reduction of nodes to the sentences that a question needs."""

    query: str
    """Text of the question."""
    characters: int
    """Number of characters of the nodes before the reduction."""
    kept: int
    """Number of characters of the nodes after the reduction."""


class AnswerEvent(MonographEvent):
    """Answer to a question: its model, its cost, and whether the engine abstained."""

    query: str
    """Text of the question."""
    model: str
    """Key of the model; empty if there is none."""
    abstained: bool
    """Whether the answer is "I don't know"."""
    cached: bool
    """Whether the answer was stored in the file already."""
    relevance: float
    """Probability that the file contains the answer."""
    tokens_found: int
    """Number of tokens of the hits."""
    tokens_context: int
    """Number of tokens of the context that was given to the model."""
    tokens_in: int
    """Number of tokens that the model read."""
    tokens_out: int
    """Number of tokens that the model wrote."""

    @classmethod
    def of(cls, answer: Answer) -> AnswerEvent:
        """Return the event of an answer."""
        return cls(
            query=answer.query,
            model=answer.model,
            abstained=answer.abstained,
            cached=answer.cached,
            relevance=answer.context.relevance,
            tokens_found=answer.context.tokens_found,
            tokens_context=answer.context.tokens,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
        )
