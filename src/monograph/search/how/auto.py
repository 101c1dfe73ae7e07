"""The way that serves most questions, by what a file has."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.graph.build import SEARCHED
from monograph.search.how.graph import Graph
from monograph.search.how.hybrid import Hybrid
from monograph.search.strategy import Corpus, Named, Query
from monograph.store import settings
from monograph.values import Hit


@dataclass(frozen=True, slots=True)
class Auto(Named):
    """By the graph, or until a file has one by words and meaning."""

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """As :class:`~monograph.search.how.graph.Graph`, or :class:`~monograph.search.how.hybrid.Hybrid`."""
        with corpus.read() as connection:
            stored = settings.load_model(connection, settings.StoredExtractor)
            chosen = Graph() if stored is not None and stored.graph in SEARCHED else Hybrid()
            return chosen.search(corpus, query)
