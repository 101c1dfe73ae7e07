"""The vectors of chunks, made anew: ``archive.vectors``."""

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
        """What :meth:`rebuild` would take: the texts that the embedder would be given. It is not asked.

        In a file with a tree also, at most, its summaries, and what they ask of a language model.
        """
        configuration.tell_dimension(self._file.database, embedder)
        return rebuild_vectors.price_reembed(self._file.pipeline(embedder))

    @spends
    def rebuild(self, embedder: Embedder, *, progress: OnProgress | None = None) -> Report:
        """Make every vector anew with another embedder, and all that follows from vectors: summaries and their tree.

        Until the end the file answers with the old one; then all of it is exchanged at once, or, killed, nothing.

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
