"""The links that a walk went along: the best from each start to each chunk, and what they add up to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from monograph.graph.evidence import Bools, Float64, Int64
from monograph.search.reckoning.grown import grown

_NONE = -1.0


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Links that may be, (n,) each, start by start.

    ``numbers`` are those of their starts among the chunks that are followed at once, ``starts`` and ``targets`` the
    places of both in the walk, ``names`` the rows of the names that lead there.
    """

    numbers: Int64
    starts: Int64
    names: Int64
    targets: Int64


@dataclass(slots=True, eq=False)
class Links:
    """The best link from every start to every chunk; chunks are told by their places in the walk.

    ``starts`` are rows of chunks; ``chances`` (starts, chunks) is below 0 where nothing leads there, ``names`` has the
    rows of the names that lead there. ``missed`` is how probable it is of each chunk that it is no evidence.
    """

    starts: list[int] = field(default_factory=list)
    chances: Float64 = field(default_factory=lambda: np.empty((0, 0)))
    names: Int64 = field(default_factory=lambda: np.empty((0, 0), dtype=np.int64))
    missed: Float64 = field(default_factory=lambda: np.empty(0))
    _first: int = 0
    _turns: list[Bools] = field(default_factory=list)

    def follow(self, starts: Sequence[int], count: int) -> None:
        """Begin with the links out of some chunks, to any of so many."""
        self._first = len(self.starts)
        self.starts += starts
        shape = (len(self.starts), count)
        self.chances = grown(self.chances, shape, _NONE)
        self.names = grown(self.names, shape)
        self._turns = []

    def add(self, pairs: Pairs, chances: Float64) -> None:
        """Keep the best link from each of the starts to each chunk; of those that are as good the first.

        A start comes to a chunk with the first of its links there: before it those that came there with links that were
        added before, then those of lower numbers.
        """
        starts = pairs.numbers + self._first
        better = np.flatnonzero(chances > self.chances[starts, pairs.targets])
        # Of values for one place the last stays.
        order = better[np.argsort(-chances[better], kind="stable")[::-1]]
        self.chances[starts[order], pairs.targets[order]] = chances[order]
        self.names[starts[order], pairs.targets[order]] = pairs.names[order]
        reached: Bools = self.chances[self._first :] >= 0.0
        self._turns.append(reached)

    def reached(self) -> Bools:
        """Whether a link leads to each chunk."""
        return np.asarray((self.chances >= 0.0).any(axis=0))

    def combined(self, own: Float64) -> Float64:
        """The chances of all chunks, ``own`` being those of each by itself, once all links out of some were added.

        They add up as independent ones do, 1 - (1 - own) * product(1 - chance), one chance from each start, in the
        order in which the starts came to the chunk: a product's last bits hang on it.
        """
        self.missed = np.concatenate((self.missed, 1.0 - own[len(self.missed) :]))
        led = self.chances[self._first :]
        for before, reached in pairwise([np.zeros(led.shape, dtype=bool), *self._turns]):
            for chances, new in zip(led, reached & ~before, strict=True):
                self.missed *= np.where(new, 1.0 - chances, 1.0)
        return np.where(self.reached(), 1.0 - self.missed, own)

    def to(self, place: int) -> tuple[dict[int, float], dict[int, int]]:
        """The chances of the links to a chunk, and the names that lead there, by the rows of their starts."""
        if place >= self.chances.shape[1]:
            return {}, {}
        chances, names = self.chances[:, place].tolist(), self.names[:, place].tolist()
        led = [link for link in zip(self.starts, chances, names, strict=True) if link[1] >= 0.0]
        return {start: chance for start, chance, _ in led}, {start: name for start, _, name in led}
