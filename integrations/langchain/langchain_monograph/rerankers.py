"""LangChain's rerankers as a file's."""

from __future__ import annotations

from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document

from monograph_tools import BorrowedReranker, all_scores

_PLACE = "monograph_place"
_SCORES = ("relevance_score", "score")


class LangChainReranker(BorrowedReranker):
    """A cross-encoder or a reranking compressor: ``Monograph.open(path, reranker=LangChainReranker(model, "name"))``.

    Parameters
    ----------
    model:
        LangChain's. A compressor must keep all that it is given, and write its score into each document's metadata, as
        ``relevance_score``.
    name:
        What tells this model from others, with every setting that changes its scores: these are remembered under it.
    weight:
        What its scores count beside those of the search.
    """

    def __init__(self, model: BaseCrossEncoder | BaseDocumentCompressor, name: str, weight: float = 1.0) -> None:
        self._model = model
        super().__init__(f"langchain/{name}", self._scores, weight)

    def _scores(self, question: str, texts: list[str]) -> list[float]:
        if isinstance(self._model, BaseCrossEncoder):
            given = self._model.score([(question, text) for text in texts])
            return all_scores(self.key, dict(enumerate(map(float, given))), len(texts))
        documents = [Document(page_content=text, metadata={_PLACE: place}) for place, text in enumerate(texts)]
        found = {}
        for one in self._model.compress_documents(documents, question):
            told = [one.metadata[name] for name in _SCORES if name in one.metadata]
            found[one.metadata.get(_PLACE, -1)] = told[0] if told else None
        return all_scores(self.key, found, len(texts))
