"""Monograph's own events for LlamaIndex's instrumentation."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index_instrumentation.base import BaseEvent

from monograph import Answer, Hit
from monograph.values import Effort


class MonographEvent(BaseEvent):
    """Base of the events."""

    @classmethod
    def class_name(cls) -> str:
        """Return the name of this class of events, such as ``MonographSearchEvent``."""
        return f"Monograph{cls.__name__}"


class SearchEvent(MonographEvent):
    """End of a search: its query, the retrievers that found hits, and the effort of the vector index.

    ``loads`` is the number of clusters that were read, and ``compared`` the number of vectors that were compared.
    ``stopped`` says why the search of the vector index stopped (``enough``, ``short``, ``all`` or ``exact``: see
    ``monograph.values.Effort``). It is empty if no vectors were compared.
    """

    query: str
    found: int
    retrievers: list[str]
    loads: int
    compared: int
    stopped: str

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
    """Reduction of nodes to the sentences that a question needs.

    ``characters`` is the number of characters of the nodes before the reduction, and ``kept`` the number after it.
    """

    query: str
    characters: int
    kept: int


class AnswerEvent(MonographEvent):
    """Answer to a question: its model, its cost, and the probability that the file contains the answer (``relevance``).

    ``tokens_found`` is the number of tokens of the hits, ``tokens_context`` that of the context given to the model.
    """

    query: str
    model: str
    abstained: bool
    remembered: bool
    relevance: float
    tokens_found: int
    tokens_context: int
    tokens_in: int
    tokens_out: int

    @classmethod
    def of(cls, answer: Answer) -> AnswerEvent:
        """Return the event of an answer."""
        return cls(
            query=answer.query,
            model=answer.model,
            abstained=answer.abstained,
            remembered=answer.remembered,
            relevance=answer.context.relevance,
            tokens_found=answer.context.tokens_found,
            tokens_context=answer.context.tokens,
            tokens_in=answer.tokens_in,
            tokens_out=answer.tokens_out,
        )
