"""LlamaIndex query engine whose answers cite their sources."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from typing import Any, cast

from monograph.lazy import requires

with requires("LlamaIndex", "llama-index", __name__):
    import llama_index_instrumentation as instrument
    from llama_index.core.base.base_query_engine import BaseQueryEngine
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.base.response.schema import RESPONSE_TYPE, AsyncStreamingResponse, Response, StreamingResponse
    from llama_index.core.callbacks import CallbackManager
    from llama_index.core.llms import LLM
    from llama_index.core.prompts.mixin import PromptMixinType
    from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode
    from llama_index.core.vector_stores.types import MetadataFilters

from llama_index.embeddings.monograph import as_embedder
from llama_index.llms.monograph import LlamaIndexModel
from llama_index.vector_stores.monograph import AnswerEvent
from llama_index.vector_stores.monograph.where import as_where
from monograph import Answer, Reranker, Strategy, strategy
from monograph.values import Float32
from monograph_tools import AnyArchive, ClosesFile, FileHandle

__all__ = ["CitingQueryEngine"]

dispatcher = instrument.get_dispatcher(__name__)


class CitingQueryEngine(ClosesFile, BaseQueryEngine):
    """Answers questions from a file: searches, reduces the hits to a context, asks a model, and checks the citations.

    ``source_nodes`` of the response are the cited passages, in the order of their citation numbers. The score of a
    source node, from 0 to 1, is relative to the best passage of the context. The node's metadata key
    ``monograph_spans`` has the [document id, start, end] of each span of the passage.

    The metadata of the response have the keys ``abstained``, ``model``, ``tokens_in``, ``tokens_out``, ``relevance``
    and ``unknown``. ``unknown`` lists citation numbers that the answer uses, but that do not exist.

    Parameters
    ----------
    monograph:
        Path of a file or address of a shelf: the first question opens it, and ``close`` or the end of a ``with`` block
        closes it. Or an open file, store or shelf, which stays open.
    llm:
        An LLM of LlamaIndex, whose answers are not stored, or a ``LlamaIndexModel``, whose answers are stored in the
        file. None: the model that was given to ``Monograph.open(path, model=...)`` answers. If the file was opened
        without a model, the answer is a list of passages.
    embed_model:
        The model that computed the file's vectors. It computes the vector of a query that has none. Not needed if the
        file has an embedder of its own.
    budget:
        Maximum number of tokens of the context; None for 1,000.
    how:
        Search mode, as a name or a value such as ``Hybrid(alpha=0.3)``.
    filters:
        Use only chunks whose metadata match these filters.
    as_of:
        Time in ISO 8601: ask the file as it was then. ``2026-03-01`` means the end of this day. None: as it is now.
        The file must keep history: see ``Monograph.as_of``.
    reranker:
        Reranker of the first 30 hits: an object, or a string that names one, such as ``onnx:FOLDER``. None: the
        reranker that the file was opened with.
    streaming:
        Return a ``StreamingResponse`` that yields the answer in pieces. Its ``source_nodes`` and metadata are filled in
        after the last piece, when the citations are known.
    callback_manager:
        Callback manager of LlamaIndex.
    key:
        Key of an encrypted file. Give it only with a path.

    Raises
    ------
    InputError
        If ``how`` is not a search mode, or a key is given with an open file. When a question is asked: if the search
        mode needs a vector, and neither the query nor a model provides one.
    InvalidFilter
        If the filters are not ``MetadataFilters``.
    ModelUnavailable
        When a question is asked: if the model does not answer, or stops before the end. Then no answer is stored.
    """

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        monograph: AnyArchive,
        *,
        llm: LLM | LlamaIndexModel | None = None,
        embed_model: BaseEmbedding | None = None,
        budget: int | None = None,
        how: str | Strategy = "auto",
        filters: MetadataFilters | None = None,
        as_of: str | None = None,
        reranker: Reranker | str | None = None,
        streaming: bool = False,
        callback_manager: CallbackManager | None = None,
        key: str | None = None,
    ) -> None:
        embedder = None if embed_model is None else as_embedder(embed_model)
        self._file = FileHandle(monograph, key=key, embedder=embedder)
        self._streaming = streaming
        self._choices: dict[str, Any] = {
            "how": strategy(how), "where": as_where(filters), "reranker": reranker, "as_of": as_of
        }  # fmt: skip
        if isinstance(llm, LLM):
            self._choices |= {"model": LlamaIndexModel(llm, llm.class_name()), "remember": False}
        elif llm is not None:
            self._choices["model"] = llm
        if budget is not None:
            self._choices["budget"] = budget
        super().__init__(callback_manager)

    def _get_prompt_modules(self) -> PromptMixinType:
        return {}

    def _query(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        if self._streaming:
            sources: list[NodeWithScore] = []
            metadata: dict[str, Any] = {}
            return StreamingResponse(self._pieces(query_bundle, sources, metadata), sources, metadata)
        answer = self._file.monograph.ask(query_bundle.query_str, vector=self._vector(query_bundle), **self._choices)
        dispatcher.event(AnswerEvent.of(answer))
        return Response(answer.text, _sources(answer), _facts(answer))

    async def _aquery(self, query_bundle: QueryBundle) -> RESPONSE_TYPE:
        if self._streaming:
            whole = cast("StreamingResponse", self._query(query_bundle))
            return AsyncStreamingResponse(_in_threads(whole.response_gen), whole.source_nodes, whole.metadata)
        return await asyncio.to_thread(self._query, query_bundle)

    def _vector(self, query_bundle: QueryBundle) -> Sequence[float] | Float32 | None:
        return self._file.query_vector(query_bundle.query_str, self._choices["how"], query_bundle.embedding)

    def _pieces(
        self, query_bundle: QueryBundle, sources: list[NodeWithScore], metadata: dict[str, Any]
    ) -> Generator[str, None, None]:
        """Yield the answer in pieces; after the last one, fill ``sources`` and ``metadata``."""
        vector = self._vector(query_bundle)
        for piece in self._file.monograph.stream(query_bundle.query_str, vector=vector, **self._choices):
            if isinstance(piece, Answer):
                dispatcher.event(AnswerEvent.of(piece))
                sources.extend(_sources(piece))
                metadata.update(_facts(piece))
            else:
                yield piece


async def _in_threads(pieces: Iterator[str]) -> AsyncGenerator[str, None]:
    """Yield the pieces of an answer; threads wait for them, so that the event loop is not blocked."""
    while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
        yield piece


def _sources(answer: Answer) -> list[NodeWithScore]:
    """Return the cited passages, with scores from 0 to 1 relative to the best passage of the context."""
    # The values are logarithms.
    best = max((citation.value for citation in answer.context.citations), default=0.0)
    sources = []
    for citation in answer.citations:
        metadata = {
            "monograph_number": citation.number,
            "monograph_title": citation.title,
            "monograph_uri": citation.uri,
            "monograph_spans": [[span.document_id, span.start, span.end] for span in citation.spans],
        }
        document = citation.spans[0].document_id if citation.spans else None
        node = TextNode(
            id_=citation.chunks[0] if citation.chunks else f"citation/{citation.number}",
            text=citation.text,
            metadata=metadata,
            excluded_embed_metadata_keys=list(metadata),
            excluded_llm_metadata_keys=list(metadata),
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=document)} if document else {},
        )
        sources.append(NodeWithScore(node=node, score=math.exp(min(0.0, citation.value - best))))
    return sources


def _facts(answer: Answer) -> dict[str, Any]:
    metadata = AnswerEvent.of(answer).model_dump(include={"abstained", "model", "tokens_in", "tokens_out", "relevance"})
    return {**metadata, "unknown": list(answer.unknown)}
