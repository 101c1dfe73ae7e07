"""A walk's reckoning in numpy: what the compiled equals, to the bit."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from itertools import chain, pairwise

import numpy as np

from monograph.graph import evidence
from monograph.graph.evidence import Float64, Int64
from monograph.graph.text import Words
from monograph.search.leads import Leads
from monograph.search.reckoning.following import Reached, Targets, defined, mentioned
from monograph.search.reckoning.grown import grown
from monograph.search.reckoning.links import Links
from monograph.search.reckoning.outlinks import outlinks
from monograph.search.reckoning.words_held import words_held
from monograph.search.standard import standardised
from monograph.search.start_texts import StartText
from monograph.values import Float32


class PlainReckoning:
    """See :class:`monograph.search.reckoning.Reckoning`.

    Chunks have places, in the order in which they became known. By place are ``own`` and ``total``, probabilities of
    chunks that were found by themselves or at all, which ``found`` tells; ``clause``, a chunk's best score for one
    clause; ``documents``; and ``has`` (chunks, words of the question), which of them each has.
    """

    def __init__(self, words: Words, weights: Float64, asked: Collection[int]) -> None:
        self._words = words
        self._weights = weights
        self._asked = frozenset(asked)
        self._rows: list[int] = []
        self._place: dict[int, int] = {}
        self._own = np.empty(0)
        self._total = np.empty(0)
        self._clause = np.empty(0)
        self._found = np.empty(0, dtype=bool)
        self._documents = np.empty(0, dtype=np.int64)
        self._has = np.empty((0, len(words)), dtype=bool)
        self._links = Links()
        self._starts: list[int] = []
        self._leads: list[Leads] = []
        self._edges = outlinks(np.empty(0, dtype=np.int64), (), (), ())

    def unknown(self, rows: Iterable[int]) -> list[int]:
        """Those of some chunks that are not known, in order, once each."""
        return [row for row in dict.fromkeys(rows) if row not in self._place]

    def learn(self, rows: Sequence[int], documents: Int64, packed: list[bytes]) -> None:
        """Chunks that were not known: their documents (n,), below 0 where they are not there, and words, packed."""
        first, count = len(self._rows), len(self._rows) + len(rows)
        if len(self.unknown(rows)) < len(rows):
            raise ValueError("a chunk that is known is not learnt again")
        self._place.update(zip(rows, range(first, count), strict=True))
        self._rows += rows
        self._own, self._total, self._clause = (grown(one, (count,)) for one in (self._own, self._total, self._clause))
        self._found, self._documents = grown(self._found, (count,)), grown(self._documents, (count,))
        self._has = grown(self._has, (count, len(self._words)))
        self._documents[first:] = np.maximum(documents, 0)
        self._has[first:] = words_held(self._words, packed) & (documents >= 0)[:, None]

    def start(
        self,
        rankings: Sequence[tuple[Sequence[int], Sequence[float], float]],
        said: Sequence[Sequence[int]],
        near: tuple[Int64, Float32],
        subjects: Sequence[tuple[int, bool, float, float, float]],
        naming: dict[int, float],
    ) -> None:
        """All that is known is found by itself."""
        features = np.zeros((len(self._rows), len(evidence.FOUND.weights)))
        features[:, 0] = self._fused(rankings)
        features[:, 1] = self._clause = self._best_clause(said, near)
        for row, *about in subjects:
            if about[0]:
                features[self._place[row], 2:6] = (1.0, *about[1:])
            else:
                features[self._place[row], 6] = 1.0
        for row, share in naming.items():
            features[self._place[row], 7] = share
        self._own = evidence.FOUND.probability(features)
        self._total = self._own.copy()
        self._found[:] = True

    def begin(
        self, starts: Sequence[int], texts: Sequence[StartText], tells: Sequence[Sequence[tuple[int, float]]]
    ) -> list[int]:
        """The rows of the entities, ascending, that the names in some starts lead to."""
        self._starts = list(starts)
        self._edges = outlinks(self._places(starts), texts, tells, self._asked)
        heads: list[int] = np.unique(self._edges.heads).tolist()
        return heads

    def lead(self, leads: list[Leads]) -> list[int]:
        """The chunks that these entities lead to which are not known, in order, once each: they are to be learnt."""
        if len(leads) != len(np.unique(self._edges.heads)):
            raise ValueError("give where each of the entities leads")
        self._leads = leads
        return self.unknown(chain.from_iterable((*one.documents, *one.others) for one in leads))

    def follow(self) -> None:
        """Add the links to where these entities lead, and make the chances of chunks anew."""
        leads = self._leads
        _, numbers = np.unique(self._edges.heads, return_inverse=True)
        documents = self._targets([one.documents for one in leads], numbers)
        others = self._targets([one.others for one in leads], numbers)
        self._links.follow(self._starts, len(self._rows))
        reached = Reached(self._weights, self._has, self._documents, self._total, self._clause, self._links)
        defined(reached, self._edges, leads, documents)
        mentioned(reached, self._edges, others)
        self._total = self._links.combined(self._own)
        self._found |= self._links.reached()

    def to(self, row: int) -> tuple[dict[int, float], dict[int, int]]:
        """The chances of the links to a chunk, and the names that lead there, by the rows of their starts."""
        return self._links.to(self._place[row]) if row in self._place else ({}, {})

    def own(self, row: int) -> float:
        """The chance of a chunk by itself; 0 for one that is not known."""
        place = self._place.get(row)
        return 0.0 if place is None else float(self._own[place])

    def chance(self, row: int) -> float:
        """The chance of a chunk; 0 for one that was not found."""
        place = self._place.get(row)
        return 0.0 if place is None else float(self._total[place])

    def chances(self) -> dict[int, float]:
        """Those of all that was found, by row."""
        found = np.flatnonzero(self._found)
        return dict(zip([self._rows[place] for place in found.tolist()], self._total[found].tolist(), strict=True))

    def highest(self, most: int | None = None) -> tuple[list[int], list[float], list[int]]:
        """The most probable chunks, at most so many and all that tie with the last, best first."""
        chances = self.chances()
        best = sorted(chances, key=chances.__getitem__, reverse=True)
        if most is not None and 0 < most < len(best):
            best = [row for row in best if chances[row] >= chances[best[most - 1]]]
        tied = {row for pair in pairwise(best) if chances[pair[0]] == chances[pair[1]] for row in pair}
        return best, [chances[row] for row in best], [row for row in best if row in tied]

    def logarithms(self, rows: Sequence[int]) -> list[float]:
        """Of the chances of some chunks, which are taken for no nearer to 0 than :data:`evidence.LOWEST`."""
        return [math.log(max(chance, evidence.LOWEST)) for chance in self._total[self._places(rows)].tolist()]

    def in_order(
        self, rows: Sequence[int], logarithms: Sequence[float], most: int | None = None
    ) -> list[tuple[int, float]]:
        """(chunk, value) of some: see :func:`monograph.graph.evidence.in_order_of_gain`."""
        covers = self._has[self._places(rows)] * self._weights
        gained = evidence.in_order_of_gain(np.array(logarithms, dtype=np.float64), covers, most)
        return [(rows[at], value) for at, value in gained]

    def _places(self, rows: Iterable[int]) -> Int64:
        return np.array(list(map(self._place.__getitem__, rows)), dtype=np.int64)

    def _fused(self, rankings: Sequence[tuple[Sequence[int], Sequence[float], float]]) -> Float64:
        """Standardised scores, weighted and added up; a chunk that a ranking lacks counts there as its lowest."""
        totals = np.zeros(len(self._rows))
        for rows, given, weight in rankings:
            if len(given):
                scores = standardised(np.array(given, dtype=np.float64))
                shares = np.full(len(self._rows), scores.min())
                shares[self._places(rows)] = scores
                totals += weight * shares
        return totals

    def _best_clause(self, said: Sequence[Sequence[int]], near: tuple[Int64, Float32]) -> Float64:
        """For each chunk its best score for one clause: words covered and half the cosine, both standardised."""
        placed = self._places(near[0].tolist())
        best = np.full(len(self._rows), -np.inf)
        for words, given in zip(said, near[1], strict=True):
            weights = np.zeros(len(self._words))
            weights[list(words)] = self._weights[list(words)]
            # Of a clause that has no word all count.
            covered = standardised(
                evidence.weighted_sums(self._has.astype(np.float64), weights if words else self._weights)
            )
            cosines = np.zeros(len(self._rows))
            cosines[placed] = given
            best = np.maximum(best, covered + 0.5 * standardised(cosines))
        return best

    def _targets(self, chunks: Sequence[tuple[int, ...]], numbers: Int64) -> Targets:
        counts = np.array(list(map(len, chunks)), dtype=np.int64)
        first = np.cumsum(counts) - counts
        return Targets(self._places(chain.from_iterable(chunks)), counts[numbers], first[numbers])
