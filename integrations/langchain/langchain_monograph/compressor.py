"""Selective content reduction as a LangChain document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import Runnable, RunnableLambda

from langchain_monograph.over_file import OverFile
from monograph import Chunk, Hit
from monograph.values import DEFAULT_CUT

SPANS = "monograph_spans"
"""Metadata key of what was kept: (start, end) in the document's own text."""


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
        hits = [_as_hit(one, rank) for rank, one in enumerate(documents) if one.page_content.strip()]
        reduced = self._file.open().reduce(query, hits, cut=self.cut)
        kept = [
            documents[one.hit.rank].model_copy(
                update={
                    "page_content": one.text,
                    "metadata": {
                        **documents[one.hit.rank].metadata,
                        SPANS: [[span.start, span.end] for span in one.spans],
                    },
                }
            )
            for one in reduced
        ]
        return kept + [one for one in documents if not one.page_content.strip()]

    def as_runnable(self) -> Runnable[dict[str, Any], list[Document]]:
        """The same as a step of a chain: from ``{"query": …, "documents": …}`` to documents."""

        def compress(given: dict[str, Any]) -> list[Document]:
            return self.compress_documents(given["documents"], given["query"])

        return RunnableLambda(compress)


def _as_hit(document: Document, rank: int) -> Hit:
    text = document.page_content
    chunk = Chunk(document.id or str(rank), document.id or str(rank), text, 0, len(text), 0)
    return Hit(chunk, 0.0, rank, "", "", {}, ())
