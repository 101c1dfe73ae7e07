"""LangChain reranker as the reranker of a file."""

from __future__ import annotations

from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document

from monograph_tools import BorrowedReranker, all_scores

_INDEX_KEY = "monograph_place"
_SCORES = ("relevance_score", "score")


class LangChainReranker(BorrowedReranker):
    """A cross-encoder or a reranking compressor of LangChain as the reranker of a file.

    Use it as ``Monograph.open(path, reranker=LangChainReranker(model, "name"))``. An exception of the model is raised
    as ModelUnavailable.

    Parameters
    ----------
    model:
        A cross-encoder, or a compressor such as ``CohereRerank(top_n=30)``. A compressor must return every document,
        with a score in its metadata as ``relevance_score`` or ``score``; otherwise ModelUnavailable is raised.
    name:
        Text that identifies the model and every setting that changes its scores. The file stores the scores under this
        name.
    weight:
        Weight of these scores relative to the scores of the search; 1 weighs both equally.
    """

    def __init__(self, model: BaseCrossEncoder | BaseDocumentCompressor, name: str, weight: float = 1.0) -> None:
        self._model = model
        super().__init__(f"langchain/{name}", self._scores, weight)

    def _scores(self, question: str, texts: list[str]) -> list[float]:
        if isinstance(self._model, BaseCrossEncoder):
            scores = self._model.score([(question, text) for text in texts])
            return all_scores(self.key, dict(enumerate(map(float, scores))), len(texts))
        documents = [Document(page_content=text, metadata={_INDEX_KEY: index}) for index, text in enumerate(texts)]
        scores_by_index = {}
        for document in self._model.compress_documents(documents, question):
            values = [document.metadata[name] for name in _SCORES if name in document.metadata]
            scores_by_index[document.metadata.get(_INDEX_KEY, -1)] = values[0] if values else None
        return all_scores(self.key, scores_by_index, len(texts))
