"""LlamaIndex reranker as the reranker of a file."""

from __future__ import annotations

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore, TextNode

from monograph_tools import BorrowedReranker, all_scores


class LlamaIndexReranker(BorrowedReranker):
    """A postprocessor that scores nodes: ``Monograph.open(path, reranker=LlamaIndexReranker(postprocessor, "name"))``.

    Parameters
    ----------
    postprocessor:
        A postprocessor of LlamaIndex. It must return every node it is given, with a score.
    name:
        Identifies the model and every setting that changes its scores. Scores are stored under this name.
    weight:
        Weight of its scores relative to the scores of the search.
    """

    def __init__(self, postprocessor: BaseNodePostprocessor, name: str, weight: float = 1.0) -> None:
        self._postprocessor = postprocessor
        super().__init__(f"llama-index/{name}", self._scores, weight)

    def _scores(self, question: str, texts: list[str]) -> list[float]:
        nodes = [NodeWithScore(node=TextNode(id_=str(index), text=text)) for index, text in enumerate(texts)]
        scored = self._postprocessor.postprocess_nodes(nodes, query_str=question)
        return all_scores(self.key, {int(node.node.node_id): node.score for node in scored}, len(texts))
