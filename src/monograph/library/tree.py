"""The tree of summaries, ``archive.tree``: methods that read and rebuild it, and compute the cost of a rebuild."""

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
    """Reader of the tree of summaries of a file, view or snapshot: the value of :attr:`monograph.Reader.tree`."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    @property
    def summarizer(self) -> Summarizer:
        """The model that writes the summaries of the tree. Without a tree, the model that a rebuild would use.

        Raises ModelError if the summarizer that the file was built with cannot be loaded here, or has changed.
        """
        return self._file.models.summarizer

    def outline(self, node: str = "", layers: int = 2) -> list[OutlineNode]:
        """Return the tree of summaries, or a part of it, as a table of contents.

        Parameters
        ----------
        node:
            Summary at which the outline begins: its id, or at least the first four hexadecimal digits of the id.
            Without it, the outline begins at the top layer of the tree, which usually has one summary.
        layers:
            Number of layers to include below the first layer or summary; with 0, only that layer or summary.

        Raises
        ------
        NotFound
            If no summary has that id, or several ids begin with these digits.
        InputError
            If the file has no tree, or ``layers`` is negative.
        """
        layers = arguments.whole_number(layers, "layers", 0)
        with self._file.database.read() as connection:
            need_tree(connection)
            return outline.outline(connection, node, layers)

    def summary(self, node: str) -> Summary:
        """Return a summary, with the spans of all sentences that the summary quotes from documents.

        ``node`` is the id of the summary, or at least the first four hexadecimal digits of the id. Raises NotFound if
        no summary has that id, or several ids begin with these digits, and InputError if the file has no tree.
        """
        with self._file.database.read() as connection:
            need_tree(connection)
            return outline.summary(connection, node)

    def over(self, document: str) -> list[Summary]:
        """Return the summaries above the chunks of a document, lowest layer first; [] if the file has no tree.

        ``document`` is the id or uri of the document. Raises NotFound if there is no such document, or several
        documents have that uri.
        """
        with self._file.database.read() as connection:
            return outline.over(connection, document)


class SummaryTree(TreeReader):
    """The tree of summaries of a file: the value of :attr:`monograph.Monograph.tree`."""

    _file: WholeFile

    @spends
    def rebuild(self, summarizer: Summarizer | None = None, *, progress: OnProgress | None = None) -> Report:
        """Build the tree of summaries, or rebuild it, and return a report with the number of summaries made.

        ``summarizer`` is the model that writes the summaries; None means the file's own summarizer. The file uses its
        present tree until the new tree is complete. Summaries that the same summarizer wrote of the same texts are
        reused. ``progress`` is called while the tree is built. Raises ModelError if a summary cannot be made; then the
        tree is unchanged, and the memo keeps the finished summaries for the next call.
        """
        configuration.adopt_embedder(self._file.database, self._file.models.embedder)
        chosen = summarizer or self._file.models.summarizer
        result = summary_tree.update(self._file.pipeline(summarizer=chosen), progress, rebuild=True)
        self._file.models.given_summarizer = chosen
        return Report(summarized=result.made)

    def price(self, summarizer: Summarizer | None = None) -> Cost:
        """Return the cost of :meth:`rebuild`: upper bounds of the number of summaries and of a language model's tokens.

        ``summarizer`` is as for :meth:`rebuild`; this method does not call the summarizer. The cost is zero if the tree
        is up to date and was made with the same summarizer.
        """
        chosen = summarizer or self._file.models.summarizer
        pipeline = self._file.pipeline(summarizer=chosen)
        with self._file.database.read() as connection:
            stored = settings.load_model(connection, "summarizer")
            is_current = store.exists(connection) and not store.count_stale_segments(connection)
            if is_current and stored is not None and stored.key == chosen.key:
                return Cost()
            return price.price_summaries(connection, pipeline, vectors.count(connection))
