"""Events for LlamaIndex's instrumentation, beside the framework's own."""

from __future__ import annotations

from collections.abc import Sequence

from llama_index_instrumentation.base import BaseEvent

from monograph import Answer, Hit
from monograph.values import Effort


class SearchEvent(BaseEvent):
    """A search has ended: by which retrievers, and what the vector index had to do for it.

    ``stopped`` says why that ended (``enough``, ``short``, ``all`` or ``exact``); it is empty where no vectors were
    compared.
    """

    query: str
    found: int
    retrievers: list[str]
    loads: int
    compared: int
    stopped: str

    @classmethod
    def class_name(cls) -> str:
        """Its name among events."""
        return "MonographSearchEvent"

    @classmethod
    def of(cls, query: str, hits: Sequence[Hit]) -> SearchEvent:
        """The event of a search that found these."""
        origins = [origin for hit in hits for origin in hit.origins]
        efforts = [origin.effort for origin in origins if origin.effort is not None]
        effort = efforts[0] if efforts else Effort(0, 0, "")
        return cls(
            query=query,
            found=len(hits),
            retrievers=sorted({origin.retriever for origin in origins}),
            loads=effort.loads,
            compared=effort.compared,
            stopped=effort.stopped,
        )


class ReductionEvent(BaseEvent):
    """Nodes were cut down to what a question needs: how much of them is left."""

    query: str
    characters: int
    kept: int

    @classmethod
    def class_name(cls) -> str:
        """Its name among events."""
        return "MonographReductionEvent"


class AnswerEvent(BaseEvent):
    """A question was answered: by which model, at what cost, and how probable it is that the file tells.

    ``tokens_found`` are those of what was found, ``tokens_context`` those that were left for the model.
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
    def class_name(cls) -> str:
        """Its name among events."""
        return "MonographAnswerEvent"

    @classmethod
    def of(cls, answer: Answer) -> AnswerEvent:
        """The event of an answer."""
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
