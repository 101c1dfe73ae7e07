"""Selective content reduction as a LangChain document compressor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.load.serializable import Serializable
from langchain_core.runnables import Runnable, RunnableLambda
from pydantic import ConfigDict, PrivateAttr

from monograph import Chunk, Hit, Monograph
from monograph_tools import HeldFile

SPANS = "monograph_spans"
"""Metadata key of what was kept: (start, end) in the document's own text."""


class SCRCompressor(BaseDocumentCompressor, Serializable):
    """Cuts documents down to the sentences that a question needs, and puts those first that answer it best.

    From whatever retriever they come: their ids and metadata stay, what is kept stands word for word in them, and the
    documents that were given are left as they were. Those without text stay at the end. Nothing is asked of a model.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    monograph: Monograph | Path
    """The file: how rare words are is what it says. An open one stays the caller's to close; one of a path is opened
    with the first question and closed by :meth:`close`."""
    cut: float = 0.42
    """About which share of the tokens is to go, 0 to 1: MobileRAG's, on SQuAD."""
    _file: HeldFile = PrivateAttr()

    def model_post_init(self, context: Any, /) -> None:
        """Hold the file."""
        super().model_post_init(context)
        self._file = HeldFile(self.monograph)

    def close(self) -> None:
        """Close the file if it was given as a path."""
        self._file.close()

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """True: where its file is goes with it."""
        return True

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """The file as its path."""
        return {"monograph": str(self._file.path)}

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
