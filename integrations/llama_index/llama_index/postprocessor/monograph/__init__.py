"""Selective content reduction as a LlamaIndex postprocessor, and a postprocessor as the reranker of a file."""

from __future__ import annotations

from typing import Literal

from monograph.lazy import requires

with requires("LlamaIndex", "llama-index", __name__):
    import llama_index_instrumentation as instrument
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from llama_index.embeddings.monograph import as_embedder
from llama_index.vector_stores.monograph import ReductionEvent
from monograph.errors import InputError
from monograph.models import Embedder
from monograph.values import DEFAULT_CUT
from monograph_tools import (
    SPANS,
    AnyArchive,
    BorrowedReranker,
    ClosesFile,
    FileHandle,
    all_scores,
    reduce_texts,
    windows_of,
)

__all__ = ["LlamaIndexReranker", "SCRPostprocessor"]

dispatcher = instrument.get_dispatcher(__name__)


class SCRPostprocessor(ClosesFile, BaseNodePostprocessor):
    """Reduces nodes to the sentences that a question needs (selective content reduction).

    The nodes can come from any retriever. Each returned node has the id of the given node, and its sentences are
    verbatim. Its metadata key ``monograph_spans`` has the [start, end] of each kept part in the given text. The given
    nodes are not modified. Nodes without text come last. The scores of the given nodes are assigned anew in descending
    order: the first returned node gets the highest score. A reduction sends a ``ReRankStartEvent``, a
    ``ReRankEndEvent`` and a ``ReductionEvent``.

    Parameters
    ----------
    monograph:
        Path of a file or address of a shelf: the first question opens it, and ``close`` or the end of a ``with`` block
        closes it. Or an open file, store or shelf, which stays open. The mode ``sentences`` reads the file's word
        frequencies, the mode ``windows`` uses its embedder.
    cut:
        Approximate share of all tokens to remove, 0 to 1. The default is the share that MobileRAG removes on SQuAD.
    mode:
        ``sentences`` keeps the best sentences of each node; no model is called. ``windows`` is the method of the
        MobileRAG paper: it keeps the window of sentences that is nearest to the question.
    window, overlap, context:
        Sizes of the windows: see :class:`monograph.Windows`. The defaults are the paper's.
    reorder:
        Whether nodes with the best sentence or window come first. By default, nodes stay in the order of the search,
        [because sentences hardly improve it and windows worsen it](../../benchmarks/reduce.md#order-of-the-documents).
    embed_model:
        Model that computes the vectors of windows. None: the file's embedder.
    key:
        Key of an encrypted file. Give it only with a path.

    Raises
    ------
    InputError
        If the mode is unknown, the windows are not valid, or an argument of the other mode is given.
        When nodes are reduced: if ``cut`` is not 0 to 1, the question is missing, or windows have no embedder.
    """

    cut: float = Field(default=DEFAULT_CUT, description="Approximate share of the tokens to remove, 0 to 1.")
    mode: Literal["sentences", "windows"] = Field(default="sentences", description="sentences, or windows (MobileRAG).")
    window: int = Field(default=3, description="Sentences in a window.")
    overlap: int = Field(default=2, description="Sentences that a window shares with the next window.")
    context: int = Field(default=1, description="Sentences kept before and after the best window.")
    reorder: bool = Field(default=False, description="Whether nodes with the best sentence or window come first.")
    _file: FileHandle = PrivateAttr()
    _embedder: Embedder | None = PrivateAttr()

    def __init__(  # noqa: PLR0913 - each is a choice of its own
        self,
        monograph: AnyArchive,
        cut: float = DEFAULT_CUT,
        *,
        mode: Literal["sentences", "windows"] = "sentences",
        window: int = 3,
        overlap: int = 2,
        context: int = 1,
        reorder: bool = False,
        embed_model: BaseEmbedding | None = None,
        key: str | None = None,
    ) -> None:
        windows_of(mode, cut, window, overlap, context, embed_model)
        super().__init__(  # type: ignore[call-arg]
            cut=cut, mode=mode, window=window, overlap=overlap, context=context, reorder=reorder
        )
        self._file = FileHandle(monograph, key=key)
        self._embedder = None if embed_model is None else as_embedder(embed_model)

    @classmethod
    def class_name(cls) -> str:
        """Return the name of this class in serialized settings."""
        return "SCRPostprocessor"

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        if query_bundle is None:
            raise InputError("nodes cannot be reduced without a question", "give query_bundle or query_str")
        texts = [node.node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes]
        dispatcher.event(ReRankStartEvent(query=query_bundle, nodes=nodes, top_n=len(nodes), model_name="SCR"))
        reduced = reduce_texts(
            self._file,
            query_bundle.query_str,
            texts,
            cut=self.cut,
            windows=windows_of(self.mode, self.cut, self.window, self.overlap, self.context, self._embedder),
            embedder=self._embedder,
            reorder=self.reorder,
        )
        reduced_nodes = [_reduced_node(nodes[index], text, spans) for index, text, spans in reduced]
        ordered = reduced_nodes + [node for node, text in zip(nodes, texts, strict=True) if not text.strip()]
        scores = iter(sorted((node.score for node in ordered if node.score is not None), reverse=True))
        ordered = [node if node.score is None else node.model_copy(update={"score": next(scores)}) for node in ordered]
        lengths = sum(len(texts[index]) for index, *_ in reduced), sum(len(text) for _, text, _ in reduced)
        dispatcher.event(ReductionEvent(query=query_bundle.query_str, characters=lengths[0], kept=lengths[1]))
        dispatcher.event(ReRankEndEvent(nodes=ordered))
        return ordered


def _reduced_node(scored: NodeWithScore, text: str, spans: list[list[int]]) -> NodeWithScore:
    node = scored.node.model_copy(deep=True)
    node.set_content(text)
    node.metadata[SPANS] = spans  # The next lines exclude this key from the texts for embedders and models.
    for keys in (node.excluded_embed_metadata_keys, node.excluded_llm_metadata_keys):
        if SPANS not in keys:
            keys.append(SPANS)
    return scored.model_copy(update={"node": node})


class LlamaIndexReranker(BorrowedReranker):
    """A postprocessor of LlamaIndex as the reranker of a file.

    Use it as ``Monograph.open(path, reranker=LlamaIndexReranker(postprocessor, "name"))``. An exception of the
    postprocessor is raised as ModelUnavailable.

    Parameters
    ----------
    postprocessor:
        A postprocessor such as ``SentenceTransformerRerank(top_n=30)``. It must return every given node, with a score;
        otherwise ModelUnavailable is raised.
    name:
        Text that identifies the model and every setting that changes its scores. The file stores the scores under this
        name.
    weight:
        Weight of these scores relative to the scores of the search; 1 weighs both equally.
    """

    def __init__(self, postprocessor: BaseNodePostprocessor, name: str, weight: float = 1.0) -> None:
        self._postprocessor = postprocessor
        super().__init__(f"llama-index/{name}", self._scores, weight)

    def _scores(self, question: str, texts: list[str]) -> list[float]:
        nodes = [NodeWithScore(node=TextNode(id_=str(index), text=text)) for index, text in enumerate(texts)]
        scored = self._postprocessor.postprocess_nodes(nodes, query_str=question)
        return all_scores(self.key, {int(node.node.node_id): node.score for node in scored}, len(texts))
