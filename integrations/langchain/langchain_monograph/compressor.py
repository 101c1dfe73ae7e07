"""Selective content reduction as a LangChain document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import Runnable, RunnableLambda

from langchain_monograph.over_file import OverFile
from monograph.values import DEFAULT_CUT
from monograph_tools import SPANS, reduce_texts


class SCRCompressor(OverFile, BaseDocumentCompressor, extra="forbid"):
    """Cuts documents down to the sentences that a question needs, and puts those first that answer it best.

    From whatever retriever they come: their ids and metadata stay, what is kept stands word for word in them, and the
    documents that were given are left as they were. Those without text stay at the end. Nothing is asked of a model. Of
    the file it takes how rare words are.
    """

    cut: float = DEFAULT_CUT
    """About which share of the tokens is to go, 0 to 1: MobileRAG's, on SQuAD."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Documents cut down, the best first.

        Raises
        ------
        InputError
            If ``cut`` is not in [0, 1].
        """
        reduced = reduce_texts(self._file, query, [one.page_content for one in documents], self.cut)
        kept = [
            documents[place].model_copy(
                update={"page_content": text, "metadata": {**documents[place].metadata, SPANS: spans}}
            )
            for place, text, spans in reduced
        ]
        return kept + [one for one in documents if not one.page_content.strip()]

    def as_runnable(self) -> Runnable[dict[str, Any], list[Document]]:
        """The same as a step of a chain: from ``{"query": …, "documents": …}`` to documents."""

        def compress(given: dict[str, Any]) -> list[Document]:
            return self.compress_documents(given["documents"], given["query"])

        return RunnableLambda(compress)
