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
    """Reader of the tree of summaries of a file, view or snapshot: the value of :attr:`monograph.Reader.tree`."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file

    @property
    def summarizer(self) -> Summarizer:
        """The summarizer of the tree; without a tree, the one that a rebuild would use.

        Raises as ``Monograph.embedder``.
        """
        return self._file.models.summarizer

    def outline(self, node: str = "", layers: int = 2) -> list[OutlineNode]:
        """Return the tree of summaries as a table of contents.

        ``node`` is the id of a summary, or at least its first four hexadecimal digits; without it the outline begins at
        the top of the tree, usually one summary. ``layers`` is the number of layers to open below it. Raises NotFound
        if no summary has that id, or several ids begin with these digits, and InputError if the file has no tree, or
        ``layers`` is negative.
        """
        layers = arguments.whole_number(layers, "layers", 0)
        with self._file.database.read() as connection:
            need_tree(connection)
            return outline.outline(connection, node, layers)

    def summary(self, node: str) -> Summary:
        """Return a summary, with the source spans of the sentences that it quotes.

        ``node`` and errors as for :meth:`outline`.
        """
        with self._file.database.read() as connection:
            need_tree(connection)
            return outline.summary(connection, node)

    def over(self, document: str) -> list[Summary]:
        """Return the summaries above the chunks of a document, lowest layer first; an empty list without a tree.

        ``document`` is its id or uri. Raises NotFound if there is no such document, or several have that uri.
        """
        with self._file.database.read() as connection:
            return outline.over(connection, document)


class SummaryTree(TreeReader):
    """The tree of summaries of a file: the value of :attr:`monograph.Monograph.tree`."""

    _file: WholeFile

    @spends
    def rebuild(self, summarizer: Summarizer | None = None, *, progress: OnProgress | None = None) -> Report:
        """Build the tree of summaries, or rebuild it with another summarizer; None means the file's own summarizer.

        The file uses its present tree until the new one is complete. Stored summaries of the same texts are reused.
        Raises ModelError if a summary cannot be made: the tree is unchanged, and finished summaries are stored in the
        memo.
        """
        configuration.adopt_embedder(self._file.database, self._file.models.embedder)
        chosen = summarizer or self._file.models.summarizer
        result = summary_tree.update(self._file.pipeline(summarizer=chosen), progress, anew=True)
        self._file.models.given_summarizer = chosen
        return Report(summarized=result.made)

    def price(self, summarizer: Summarizer | None = None) -> Cost:
        """Return the cost of :meth:`rebuild`: upper bounds of summaries and of tokens of a language model.

        The cost is zero if the tree is up to date and was made by the same summarizer.
        """
        chosen = summarizer or self._file.models.summarizer
        pipeline = self._file.pipeline(summarizer=chosen)
        with self._file.database.read() as connection:
            stored = settings.load_model(connection, "summarizer")
            is_current = store.exists(connection) and not store.count_stale_segments(connection)
            if is_current and stored is not None and stored.key == chosen.key:
                return Cost()
            return price.price_summaries(connection, pipeline, vectors.count(connection))
