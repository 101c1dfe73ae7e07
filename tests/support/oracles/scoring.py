"""Scoring of a walk in plain Python. :mod:`monograph.search.scoring` must return the same bits."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from monograph.graph import evidence
from monograph.graph.evidence import Int64
from monograph.search.names import ChunkLinks, StartText
from monograph.values import Float32


def total(values: Iterable[float]) -> float:
    """Return the sum, added from the first value on; ``sum`` compensates for rounding since Python 3.12."""
    added = 0.0
    for value in values:
        added += value
    return added


Model: TypeAlias = tuple[float, tuple[float, ...]]
"""A bias, and a weight for each feature."""


def probability(model: Model, features: Sequence[float]) -> float:
    bias, weights = model
    odds = total(one * weight for one, weight in zip(features, weights, strict=True)) + bias
    return 1.0 / (1.0 + math.exp(-max(odds, -709.0)))


def standardise(scores: Sequence[float]) -> list[float]:
    if not scores:
        return []
    values = np.array(scores, dtype=np.float64)
    spread = values.std()
    made: list[float] = ((values - values.mean()) / spread if spread > 0 else np.zeros(len(values))).tolist()
    return made


class PlainWalkScores:
    """Scores of one walk, computed chunk by chunk and link by link.

    ``features`` has the features of each chunk that was found directly. ``links`` has (start, target, whether it is a
    mention, features) of each followed link.
    """

    def __init__(
        self,
        weights: Sequence[float],
        asked: Collection[int],
        models: tuple[Model, ...],
        coverage: float,
    ) -> None:
        self.weights = weights
        self.asked = set(asked)
        self.by_itself, self.defines, self.mentions = models
        self.coverage = coverage
        self.documents: dict[int, int] = {}
        self.hashes: dict[int, int] = {}
        self.has: dict[int, list[int]] = {}  # Indexes of the question words that the chunk has.
        self.clause: dict[int, float] = {}
        self.owned: dict[int, float] = {}
        self.total: dict[int, float] = {}
        self.found: set[int] = set()
        self.led: dict[int, dict[int, float]] = {}
        self.through: dict[int, dict[int, int]] = {}
        self.started: list[int] = []
        self.edges: list[tuple[int, int, int, bool, list[float]]] = []
        self.to_follow: dict[int, ChunkLinks] = {}
        self.features: dict[int, list[float]] = {}
        self.links: list[tuple[int, int, bool, list[float]]] = []

    def unknown(self, rows: Iterable[int]) -> list[int]:
        return [row for row in dict.fromkeys(rows) if row not in self.documents]

    def learn(self, records: Int64) -> None:
        for row, document, bits, self.hashes[row] in records.tolist():
            self.documents[row] = max(document, 0)
            self.has[row] = [place for place in range(len(self.weights)) if document >= 0 and bits >> place & 1]
            self.clause[row] = self.owned[row] = self.total[row] = 0.0

    def alike(self, rows: Sequence[int]) -> list[int]:
        counts = Counter(self.hashes[row] for row in rows)
        return [row for row in rows if counts[self.hashes[row]] > 1]

    def start(
        self,
        rankings: Sequence[tuple[Sequence[int], Sequence[float], float]],
        said: Sequence[Sequence[int]],
        near: tuple[Int64, Float32],
        subjects: Sequence[tuple[int, bool, float, float, float]],
        naming: dict[int, float],
    ) -> None:
        rows = list(self.documents)
        fused = dict.fromkeys(rows, 0.0)
        for ranked, scores, weight in rankings:
            if ranked:
                standard = dict(zip(ranked, standardise(scores), strict=True))
                lowest = min(standard.values())
                for row in rows:
                    fused[row] += weight * standard.get(row, lowest)
        self.clause = dict.fromkeys(rows, -math.inf)
        for words, given in zip(said, near[1].tolist(), strict=True):
            counted = words or range(len(self.weights))  # All words count for a clause that has none.
            covered = standardise([total(self.weights[at] for at in self.has[row] if at in counted) for row in rows])
            cosine = dict(zip(near[0].tolist(), given, strict=True))
            cosines = standardise([cosine.get(row, 0.0) for row in rows])
            for row, one, other in zip(rows, covered, cosines, strict=True):
                self.clause[row] = max(self.clause[row], one + 0.5 * other)
        about = {row: (1.0, share, fit, rarity, 0.0) if titled else (0.0, 0.0, 0.0, 0.0, 1.0)
                 for row, titled, share, fit, rarity in subjects}  # fmt: skip
        for row in rows:
            features = [fused[row], self.clause[row], *about.get(row, (0.0,) * 5), naming.get(row, 0.0)]
            self.features[row] = features
            self.owned[row] = self.total[row] = probability(self.by_itself, features)
        self.found.update(rows)

    def begin(
        self, starts: Sequence[int], texts: Sequence[StartText], tells: Sequence[Sequence[tuple[int, float]]]
    ) -> list[int]:
        self.started += starts
        self.edges = []
        for start, text, told in zip(starts, texts, tells, strict=True):
            for name, sentences, own, (words, beside) in zip(text.names, text.sentences, text.own, told, strict=True):
                tells_of_it = [math.log1p(max(name.uses, 0)), float(name.head in self.asked), float(0 in sentences),
                               words / 4, beside]  # fmt: skip
                self.edges.append((start, name.head, name.row, own, tells_of_it))
        return sorted({head for _, head, *_ in self.edges})

    def lead(self, leads: Sequence[ChunkLinks]) -> list[int]:
        self.to_follow = dict(zip(sorted({head for _, head, *_ in self.edges}), leads, strict=True))
        return self.unknown(row for one in leads for row in (*one.documents, *one.others))

    def follow(self) -> None:
        before = dict(self.total)
        for start, head, name, own, (uses, asked, first, words, beside) in self.edges:
            one = self.to_follow[head]
            if own:  # A document about the name itself links to no other.
                continue
            for target, by_beginning, rarity in zip(one.documents, one.by_beginning, one.rarity, strict=True):
                added = self._added(start, target)
                features = [float(by_beginning), rarity, uses, asked, added, first, words, beside]
                self._link(start, name, target, features, before)
        for start, head, name, own, (uses, asked, _, words, beside) in self.edges:
            for target in self.to_follow[head].others:
                added = self._added(start, target)
                features = [uses, float(own), asked, added, words, beside, self.clause[target]]
                self._link(start, name, target, features, before)
        for target, led in self.led.items():
            missed = 1.0 - self.owned[target]
            for chance in led.values():
                missed *= 1.0 - chance
            self.total[target] = 1.0 - missed
        self.found.update(self.led)

    def _added(self, start: int, target: int) -> float:
        return total(self.weights[at] for at in self.has[target] if at not in self.has[start])

    def _link(self, start: int, name: int, target: int, features: list[float], before: dict[int, float]) -> None:
        if self.documents[target] == self.documents[start]:
            return
        is_mention = len(features) == len(self.mentions[1])
        self.links.append((start, target, is_mention, features))
        chance = before[start] * probability(self.mentions if is_mention else self.defines, features)
        led = self.led.setdefault(target, {})
        if chance > led.get(start, -1.0):
            led[start] = chance
            self.through.setdefault(target, {})[start] = name

    def to(self, row: int) -> tuple[dict[int, float], dict[int, int]]:
        starts = [start for start in self.started if start in self.led.get(row, {})]
        return {one: self.led[row][one] for one in starts}, {one: self.through[row][one] for one in starts}

    def own(self, row: int) -> float:
        return self.owned.get(row, 0.0)

    def chance(self, row: int) -> float:
        return self.total.get(row, 0.0)

    def chances(self) -> dict[int, float]:
        return {row: chance for row, chance in self.total.items() if row in self.found}

    def highest(self, most: int | None = None) -> tuple[list[int], list[float], list[int]]:
        chances = self.chances()
        best = sorted(chances, key=chances.__getitem__, reverse=True)
        if most:
            best = [row for row in best if chances[row] >= chances[best[min(most, len(best)) - 1]]]
        tied = {row for pair in pairwise(best) if chances[pair[0]] == chances[pair[1]] for row in pair}
        return best, [chances[row] for row in best], [row for row in best if row in tied]

    def logarithms(self, rows: Sequence[int]) -> list[float]:
        return [math.log(max(self.total[row], evidence.LOWEST)) for row in rows]

    def in_order(
        self, rows: Sequence[int], logarithms: Sequence[float], most: int | None = None
    ) -> list[tuple[int, float]]:
        left = set(range(len(self.weights)))
        alive = dict(zip(rows, logarithms, strict=True))
        ordered: list[tuple[int, float]] = []
        while alive and (most is None or len(ordered) < most):
            values = {
                row: logarithm + self.coverage * total(self.weights[at] for at in self.has[row] if at in left)
                for row, logarithm in alive.items()
            }
            best = max(values, key=values.__getitem__)
            ordered.append((best, values[best]))
            del alive[best]
            left.difference_update(self.has[best])
        return ordered
