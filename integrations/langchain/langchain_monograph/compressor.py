"""Selective content reduction as a LangChain document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import Runnable, RunnableLambda

from langchain_monograph.embeddings import as_embedder
from langchain_monograph.over_file import OverFile
from monograph.values import DEFAULT_CUT, Windows
from monograph_tools import SPANS, reduce_texts, windows_of


class SCRCompressor(OverFile, BaseDocumentCompressor, extra="forbid"):
    """Reduces documents to the sentences that a question needs (selective content reduction).

    The documents can come from any retriever. Each returned document has the id and metadata of the given document, and
    its sentences are verbatim. Its metadata key ``monograph_spans`` has the [start, end] of each kept part in the given
    text. The given documents are not modified. Documents without text come last. The mode ``sentences`` reads the word
    frequencies of ``monograph``, the mode ``windows`` uses its embedder. Even with a ``collection``, the words of the
    whole file are counted.

    Raises InputError if the windows are not valid, or a field of the other mode is given.
    """

    cut: float = DEFAULT_CUT
    """Approximate share of all tokens to remove, 0 to 1. The default is the share that MobileRAG removes on SQuAD."""
    mode: Literal["sentences", "windows"] = "sentences"
    """``sentences`` keeps the best sentences of each document; no model is called.

    ``windows`` is the method of the MobileRAG paper: it keeps the window of sentences that is nearest to the question.
    """
    window: int = 3
    """Sentences in a window."""
    overlap: int = 2
    """Sentences that a window shares with the next window."""
    context: int = 1
    """Sentences kept before and after the best window."""
    reorder: bool = False
    """Whether documents with the best sentence or window come first.

    By default, documents stay in the order of the search,
    [because sentences hardly improve it and windows worsen it](../../benchmarks/reduce.md#order-of-the-documents).
    """
    embedding: Embeddings | None = None
    """Model that computes the vectors of windows. None: the file's embedder."""

    def model_post_init(self, context: Any, /) -> None:
        """Check the fields, and create a handle that opens the file at first use."""
        self._windows()
        super().model_post_init(context)

    def _windows(self) -> Windows | None:
        return windows_of(self.mode, self.cut, self.window, self.overlap, self.context, self.embedding)

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the documents, reduced to the sentences that the query needs.

        Raises InputError if ``cut`` is not 0 to 1, or if windows have no embedder.
        """
        reduced = reduce_texts(
            self._file,
            query,
            [document.page_content for document in documents],
            cut=self.cut,
            windows=self._windows(),
            embedder=None if self.embedding is None else as_embedder(self.embedding),
            reorder=self.reorder,
        )
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
