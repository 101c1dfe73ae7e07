"""The entity–chunk graph looked at, corrected and made anew: ``archive.graph``."""

from __future__ import annotations

import time

from monograph.library.graph_reading import GraphReading
from monograph.library.ledger import spends
from monograph.library.told import ToldGraph
from monograph.models import Extractor
from monograph.store import settings
from monograph.values import Cost, OnProgress, Report
from monograph.write import cannot_link, configuration, on_demand, rebuild_graph


class EntityGraph(ToldGraph, GraphReading):
    """The named things of a file and how they hang together; made by :attr:`monograph.Monograph.graph`.

    Where the graph is made on demand, what reads it makes it first; opened for reading only, that raises ReadOnlyFile.
    """

    @property
    def extractor(self) -> Extractor:
        """What finds the names in chunks. Raises as ``Monograph.embedder``."""
        return self._file.extractor

    @spends
    def set_apart(self, name: str, other: str) -> None:
        """Say that two names are not one entity. This is kept, and they never become one again.

        Raises
        ------
        InputError
            If they are one but for case, accents, signs or an article.
        NotFound
            If nothing in the file has one of them.
        """
        self._file.only_whole("graph.set_apart")
        self._file.require("graph")
        cannot_link.set_apart(self._file.writing_pipeline(), name, other)

    @spends
    def unite(self, name: str, other: str) -> None:
        """Take back :meth:`set_apart`: the graph is as if it had never been said.

        Raises
        ------
        NotFound
            If they were not set apart.
        """
        self._file.only_whole("graph.unite")
        self._file.require("graph")
        cannot_link.unite(self._file.writing_pipeline(), name, other)

    @spends
    def build(self, *, progress: OnProgress | None = None) -> Report:
        """Make what is made on demand and is not made yet: the graph, and the trigrams that substrings are found by.

        From now on they are made with the documents. A batch of documents is done at a time, while others read and
        write; ended before the end, the next call goes on from there. :meth:`price` says what a model would be asked.
        """
        self._file.only_whole("graph.build")
        started = time.perf_counter()
        made = on_demand.make(self._file.writing_pipeline(), settings.ON_DEMAND, progress)
        return Report(extracted=made.extracted, fell_back=made.fell_back, seconds=time.perf_counter() - started)

    def price(self) -> Cost:
        """What of the graph is not made yet, and what making it would take; nothing is written."""
        self._file.only_whole("graph.price")
        return on_demand.price(self._file.pipeline())

    @spends
    def rebuild(self, extractor: Extractor | None = None, *, progress: OnProgress | None = None) -> Report:
        """Make the graph anew with another extractor; without one, ask again for the chunks that a model failed on.

        What the new extractor found in a chunk before is remembered, and costs nothing.
        """
        self._file.only_whole("graph.rebuild")
        configuration.adopt_embedder(self._file.database, self._file.embedder)
        chosen = extractor or self._file.extractor
        made = rebuild_graph.reextract(self._file.pipeline(extractor=chosen), progress)
        self._file.given_extractor = chosen
        return Report(extracted=made.extracted, fell_back=made.fell_back)
