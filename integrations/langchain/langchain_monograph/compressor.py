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
    """Reduces documents to the sentences that a question needs. Documents with the best sentences come first.

    The documents can come from any retriever. Each returned document has the id and metadata of the given document, and
    its sentences are verbatim. Its metadata key ``monograph_spans`` has the [start, end] of each kept part in the given
    text. The given documents are not modified. Documents without text come last. No model is called. ``monograph`` is
    needed only for its word frequencies. Even with a ``collection``, the words of the whole file are counted.
    """

    cut: float = DEFAULT_CUT
    """Approximate share of all tokens to remove, 0 to 1. The default is the share that MobileRAG removes on SQuAD."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the documents, best first, reduced to the sentences that the query needs.

        Raises InputError if ``cut`` is not 0 to 1.
        """
        reduced = reduce_texts(self._file, query, [document.page_content for document in documents], self.cut)
        kept = []
        for index, text, spans in reduced:
            metadata = {**documents[index].metadata, SPANS: spans}
            kept.append(documents[index].model_copy(update={"page_content": text, "metadata": metadata}))
        return kept + [document for document in documents if not document.page_content.strip()]

    def as_runnable(self) -> Runnable[dict[str, Any], list[Document]]:
        """Return the compressor as a step of a chain: from ``{"query": …, "documents": …}`` to documents.

        The step cannot be serialized.
        """
        return RunnableLambda(
            lambda given: self.compress_documents(given["documents"], given["query"]), name="compress"
        )
