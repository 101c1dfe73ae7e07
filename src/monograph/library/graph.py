"""The entity–chunk graph looked at, corrected and made anew: ``archive.graph``."""

from __future__ import annotations

import time
from dataclasses import replace

from monograph.library.graph_reading import GraphReading
from monograph.library.ledger import spends
from monograph.library.told import ToldGraph
from monograph.models import Extractor
from monograph.values import Cost, OnProgress, Report
from monograph.write import cannot_link, configuration, rebuild_graph


class EntityGraph(ToldGraph, GraphReading):
    """The named things of a file and how they hang together; made by :attr:`monograph.Monograph.graph`.

    In a file made with ``Settings(graph=False)``, reading it raises InputError until :meth:`build` was called.
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
        self._file.require_graph()
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
        self._file.require_graph()
        cannot_link.unite(self._file.writing_pipeline(), name, other)

    @spends
    def build(self, *, progress: OnProgress | None = None) -> Report:
        """Build the graph and the index of trigrams of a file made with ``Settings(graph=False)``.

        From now on they are built with the documents. A batch of documents is done at a time, while others read and
        write; ended before the end, the next call goes on from there. :meth:`price` says what a model would be asked.
        """
        self._file.only_whole("graph.build")
        started = time.perf_counter()
        made = rebuild_graph.build(self._file.writing_pipeline(), progress)
        for one in (self._file, *self._file.views.values()):
            one.settings = replace(one.settings, graph=True)
        return Report(extracted=made.extracted, fell_back=made.fell_back, seconds=time.perf_counter() - started)

    def price(self) -> Cost:
        """Return what :meth:`build` would take; nothing is written."""
        self._file.only_whole("graph.price")
        return rebuild_graph.price(self._file.pipeline())

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
