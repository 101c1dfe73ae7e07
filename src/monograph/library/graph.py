"""The entity–chunk graph looked at, corrected and made anew: ``archive.graph``."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import replace

from monograph.library.graph_reading import GraphReading
from monograph.library.ledger import spends
from monograph.models import Extractor
from monograph.store.graph.assertions import Ends
from monograph.values import Cost, OnProgress, Report, ToldNode, ToldRelation, arguments
from monograph.write import cannot_link, configuration, rebuild_graph
from monograph.write import tell as telling


class EntityGraph(GraphReading):
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

    def tell(
        self, nodes: Iterable[ToldNode] = (), relations: Iterable[ToldRelation] = (), *, missing_ok: bool = False
    ) -> None:
        """Store nodes and relations, all of them or, on an error, none.

        What an origin said of the same node, or of the same relation of two nodes, it says no more; what others said
        stays, and is laid under: of properties, labels and names the one that was told last counts. A node that only a
        relation names is there with that. What an origin says goes with the chunk or document.

        Parameters
        ----------
        nodes, relations:
            Any number.
        missing_ok:
            Pass over origins that the file does not hold.

        Raises
        ------
        InputError, InvalidDocument
            If a text, an embedding or properties cannot be stored.
        NotFound
            If an origin is neither a chunk nor a document of the file, and that is not allowed.
        OutsideView
            If one has no origin, and this is a view.
        """
        file, nodes, relations = self._file, list(nodes), list(relations)
        file.forgetting(
            lambda _: telling.tell(file.written, nodes, relations, file.fence, missing_ok=missing_ok), strict=True
        )

    def untell(
        self,
        nodes: Iterable[str] = (),
        relations: Iterable[tuple[str, str, str]] = (),
        *,
        forget: bool | None = None,
    ) -> int:
        """Take nodes back, with all relations that lead from or to them, and relations: (source, label, target).

        What is not there is passed over. ``forget`` as for :meth:`monograph.Monograph.remove`.

        Returns
        -------
        How many tellings that were: a node that two chunks say is told twice.
        """
        named = arguments.names(nodes, "an id")
        ends = [Ends(*arguments.names(one, "a relation")) for one in relations]
        file = self._file
        report = file.forgetting(lambda _: telling.untell(file.written, named, ends, file.fence), forget, strict=True)
        return report.removed

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
