"""The way that serves most questions, by what a file has and what is asked."""

from __future__ import annotations

from dataclasses import dataclass, replace

from monograph.search import times
from monograph.search.how.hybrid import Hybrid, by_both
from monograph.search.question import counted, take_apart
from monograph.search.snapshot import Opening, Snapshot
from monograph.search.strategy import Corpus, Named, Query
from monograph.values import Hit

NOT_MADE = "without a graph: archive.graph.build() builds it"


@dataclass(frozen=True, slots=True)
class Auto(Named):
    """By the graph; by words and meaning until that is made, and for questions that name nothing the file knows.

    Hits from a time that the question asks for are lifted: see :mod:`monograph.search.times`.
    """

    def search(self, corpus: Corpus, query: Query) -> list[Hit]:
        """As :class:`~monograph.search.how.graph.Graph`, or :class:`~monograph.search.how.hybrid.Hybrid`.

        A hit of a file without a graph says so.
        """
        with corpus.read() as snapshot:
            snapshot.expect(Opening(query.text, query.allowed, counted))
            asked = times.asked(corpus, snapshot, query)
            return times.lifted(_found(corpus, snapshot, times.widened(query, asked)), asked, query.k)


def _found(corpus: Corpus, snapshot: Snapshot, query: Query) -> list[Hit]:
    if not snapshot.has_graph():
        return [replace(one, note=NOT_MADE) for one in Hybrid().search(corpus, query)]
    question = take_apart(snapshot, query.text)
    if question.names:
        from monograph.search.how.graph import by_walk

        return by_walk(corpus, snapshot, query, question)
    return by_both(corpus, snapshot, query, question.frequencies)
