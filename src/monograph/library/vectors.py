"""The vectors of chunks, rebuilt with another model: ``archive.vectors``."""

from __future__ import annotations

from monograph.library.opened import WholeFile, spends
from monograph.models import Embedder
from monograph.values import Cost, OnProgress, Report
from monograph.write import configuration, rebuild_vectors


class Vectors:
    """The vectors of a file's chunks; made by :attr:`monograph.Monograph.vectors`."""

    def __init__(self, file: WholeFile) -> None:
        self._file = file

    def price(self, embedder: Embedder) -> Cost:
        """Return the cost of :meth:`rebuild` in texts for the embedder, which is not called.

        With a tree, upper bounds of its summaries and of tokens of a language model are included.
        """
        configuration.tell_dimension(self._file.database, embedder)
        return rebuild_vectors.price_reembed(self._file.pipeline(embedder))

    @spends
    def rebuild(self, embedder: Embedder, *, progress: OnProgress | None = None) -> Report:
        """Rebuild all vectors with another embedder, and the tree of summaries, which depends on them.

        The file uses the old vectors until the new ones are complete; then all change in one transaction.

        Raises
        ------
        ModelError
            If the embedder or the summarizer fails: the file is as it was, and what was made is remembered.
        BusyFile
            If another process keeps emptying the memo (``compact``, ``remove(..., forget=True)``).
        """
        configuration.tell_dimension(self._file.database, embedder)
        made = rebuild_vectors.reembed(self._file.pipeline(embedder), progress)
        self._file.models.given_embedder = embedder
        return Report(embedded=made.embedded, remembered=made.remembered, summarized=made.summarized)
