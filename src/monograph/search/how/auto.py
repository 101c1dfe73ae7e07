"""The way that serves most questions, by what a file has and what is asked."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.graph.build import SEARCHED
from monograph.search.how.graph import by_walk
from monograph.search.how.hybrid import Hybrid
from monograph.search.question import take_apart
from monograph.search.strategy import Corpus, Named, Query
from monograph.store import settings
from monograph.values import Hit


@dataclass(frozen=True, slots=True)
class Auto(Named):
    """By the graph; by words and meaning until a file has one, and for questions that name nothing the file knows."""

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """As :class:`~monograph.search.how.graph.Graph`, or :class:`~monograph.search.how.hybrid.Hybrid`."""
        with corpus.read() as connection:
            stored = settings.load_model(connection, settings.StoredExtractor)
            if stored is not None and stored.graph in SEARCHED:
                question = take_apart(connection, query.text)
                if question.names:
                    return by_walk(corpus, query, question)
            return Hybrid().search(corpus, query)
