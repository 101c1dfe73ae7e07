"""The tree of summaries, read, priced and rebuilt: ``archive.tree``."""

from __future__ import annotations

from monograph.explore import outline
from monograph.library.opened import OpenFile, WholeFile, spends
from monograph.models import Summarizer
from monograph.search.one_file.summaries import need_tree
from monograph.store import tree as store
from monograph.store.file import settings
from monograph.store.vectors import vectors
from monograph.values import Cost, OnProgress, OutlineNode, Report, Summary, arguments
from monograph.write import configuration, price
from monograph.write import tree as summary_tree


class TreeReader:
    """Summaries over the chunks of a file, view or snapshot; made by :attr:`monograph.Reader.tree`."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    @property
    def summarizer(self) -> Summarizer:
        """The model that makes summaries; without a tree the one that would. Raises as ``Monograph.embedder``."""
        return self._file.models.summarizer

    def outline(self, node: str = "", layers: int = 2) -> list[OutlineNode]:
        """Return the tree of summaries as a table of contents.

        Parameters
        ----------
        node:
            Id of a summary, or at least its first four digits; empty for the top of the tree.
        layers:
            Number of layers to open below it.

        Returns
        -------
        The summary, or the nodes at the top of the tree: usually one summary.

        Raises
        ------
        NotFound
            If no summary has that id, or several begin so.
        InputError
            If the file has no tree, or ``layers`` is negative.
        """
        layers = arguments.whole_number(layers, "layers", 0)
        with self._file.database.read() as connection:
            need_tree(connection)
            return outline.outline(connection, node, layers)

    def summary(self, node: str) -> Summary:
        """Return a summary by its id or at least its first four digits, with the places of its sentences.

        Raises
        ------
        NotFound
            If no summary has that id, or several begin so.
        InputError
            If the file has no tree.
        """
        with self._file.database.read() as connection:
            need_tree(connection)
            return outline.summary(connection, node)

    def over(self, document: str) -> list[Summary]:
        """Return the summaries above a document's chunks, by its id or uri, lowest layer first; none without a tree.

        Raises
        ------
        NotFound
            If there is no such document, or several came from that uri.
        """
        with self._file.database.read() as connection:
            return outline.over(connection, document)


class SummaryTree(TreeReader):
    """Summaries over a file's chunks; made by :attr:`monograph.Monograph.tree`."""

    _file: WholeFile

    @spends
    def rebuild(self, summarizer: Summarizer | None = None, *, progress: OnProgress | None = None) -> Report:
        """Build the tree of summaries, or rebuild it with another summarizer; by default the file's own.

        The file uses its present tree until the new one is complete. Stored summaries of the same texts are reused.

        Raises
        ------
        ModelError
            If a summary cannot be made. The tree is unchanged, and summaries made so far are stored.
        """
        configuration.adopt_embedder(self._file.database, self._file.models.embedder)
        chosen = summarizer or self._file.models.summarizer
        made = summary_tree.update(self._file.pipeline(summarizer=chosen), progress, anew=True)
        self._file.models.given_summarizer = chosen
        return Report(summarized=made.made)

    def price(self, summarizer: Summarizer | None = None) -> Cost:
        """Return the cost of :meth:`rebuild`: upper bounds of summaries and of tokens of a language model.

        It is nothing for the summarizer that has made the tree.
        """
        chosen = summarizer or self._file.models.summarizer
        pipeline = self._file.pipeline(summarizer=chosen)
        with self._file.database.read() as connection:
            stored = settings.load_model(connection, "summarizer")
            is_made = store.exists(connection) and not store.count_stale_segments(connection)
            if is_made and stored is not None and stored.key == chosen.key:
                return Cost()
            return price.price_summaries(connection, pipeline, vectors.count(connection))
