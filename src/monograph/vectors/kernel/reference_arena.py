"""Searches through clusters that stay in memory, in numpy: the oracle of the compiled ones, and their stand-in."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from monograph.values import Float32
from monograph.vectors.kernel.reference import (
    COMPACT,
    Bits,
    Body,
    Int64,
    Pool,
    Query,
    offer,
    parse,
    require_dimension,
    require_search,
    scores_of,
)

ENOUGH, ALL, PAUSED = -1, -2, -3
"""Why a course came to an end, where that is not the number of a cluster."""
MOST_BYTES = (1 << 63) - 1


class Arena:
    """See :class:`monograph.vectors.kernel.Arena`."""

    def __init__(self, centroids: bytes) -> None:
        self.centroids = parse(centroids)
        if self.centroids.kind != 0:
            raise RuntimeError("damaged: centroids of other codes")
        self._clusters: dict[int, list[Body]] = {}
        self._rows: dict[int, Body] = {}
        self.size = 0

    def keep(self, cluster: int, bodies: list[bytes], most: int = MOST_BYTES) -> bool:
        """See :meth:`monograph.vectors.kernel.Arena.keep`."""
        self.require(cluster)
        held = [self.compact(body) for body in _bytes(bodies)]
        if cluster not in self._clusters:
            size = self.size + sum(map(len, bodies))
            if size > most:
                return False
            self._clusters[cluster], self.size = held, size
        return True

    def require(self, cluster: int) -> None:
        """There must be a cluster of that number."""
        if cluster not in self.centroids.ids:
            raise ValueError(f"there is no cluster {cluster}")

    def remember(self, bodies: list[bytes]) -> None:
        """See :meth:`monograph.vectors.kernel.Arena.remember`."""
        for data in _bytes(bodies):
            body = self.by_value(data)
            if self._rows.setdefault(int(body.ids[0]), body) is body:
                self.size += len(data)

    def compact(self, data: bytes) -> Body:
        """A part of a cluster, checked."""
        body = parse(data)
        if body.kind < COMPACT or body.dimension != self.centroids.dimension:
            raise RuntimeError("damaged: a cluster of other codes")
        return body

    def by_value(self, data: bytes) -> Body:
        """The code of one vector, checked."""
        body = parse(data)
        if body.kind != 0 or len(body.ids) != 1 or body.dimension != self.centroids.dimension:
            raise RuntimeError("damaged: not the code of a vector")
        return body

    def cluster(self, name: int) -> list[Body] | None:
        """What is kept of a cluster."""
        return self._clusters.get(name)

    def row(self, memo: int) -> Body | None:
        """What is remembered of a vector."""
        return self._rows.get(memo)


class Course:
    """See :class:`monograph.vectors.kernel.Course`."""

    def __init__(  # noqa: PLR0913, PLR0917 - the compiled twin has them
        self,
        arena: Arena,
        query: Float32,
        scores: Float32,
        ids: Int64,
        k: int,
        weights: npt.NDArray[np.float64],
        epsilon: float,
        window: int,
        most: int,
        allowed: Bits | None,
    ) -> None:
        require_search(query, scores, ids, 0, k, allowed)
        require_dimension(arena.centroids, query)
        if k < 0:
            raise ValueError(f"k is {k}: give 0 or more")
        self._arena, self._asked, self._scores, self._ids, self._allowed = arena, Query.of(query), scores, ids, allowed
        self._k, self._weights, self._epsilon, self._window, self._most = k, weights, epsilon, window, most
        near = _ordered(scores_of(arena.centroids, self._asked))
        order = np.lexsort((arena.centroids.ids, -near))
        self._order: list[int] = arena.centroids.ids[order].tolist()
        self._ranks: tuple[int, ...] = ()
        self._firsts: list[int] = []
        self._brought: dict[int, list[bytes]] = {}
        self._spent: list[int] = []
        self._idle = 0
        self._enough = False
        self.filled = self.loads = self.compared = 0

    def run(self, loads: int) -> int:
        """See :meth:`monograph.vectors.kernel.Course.run`."""
        while not self._enough:
            if self.loads >= len(self._order):
                return ALL
            if loads <= 0:
                return PAUSED
            loads -= 1
            name = self._order[self.loads]
            held = self._arena.cluster(name)
            if held is not None:
                self._search(held)
            elif name in self._brought:
                self._search([self._arena.compact(body) for body in self._brought[name]])
                self._spent.append(name)
            else:
                return name
        return ENOUGH

    def bring(self, clusters: dict[int, list[bytes]]) -> None:
        """See :meth:`monograph.vectors.kernel.Course.bring`."""
        if not isinstance(clusters, dict):
            raise TypeError("clusters must be a dict of lists of bytes")
        for name, bodies in clusters.items():
            self._arena.require(name)
            _bytes(bodies)
        self._brought, self._spent = dict(clusters), []

    def spent(self) -> list[int]:
        """See :meth:`monograph.vectors.kernel.Course.spent`."""
        return list(self._spent)

    def _search(self, bodies: Sequence[Body]) -> None:
        pool = Pool(self._scores, self._ids, self.filled)
        for body in bodies:
            offer(pool, body, self._asked, self._allowed)
            self.compared += len(body.ids)
        self.filled, self._ranks, _ = pool.report(self._k, 0)
        self._firsts.append(min(self._ranks, default=self._k))
        self.loads += 1
        worth = 0.0
        for rank in self._ranks:
            worth += float(self._weights[rank]) if rank < len(self._weights) else 0.0
        told = any(rank < len(self._weights) for rank in self._ranks)
        self._idle = 0 if told and worth > self._epsilon else self._idle + 1
        self._enough = self.filled >= self._k and (self._idle >= self._window or self.loads >= self._most)

    def ahead(self, count: int) -> list[int]:
        """See :meth:`monograph.vectors.kernel.Course.ahead`."""
        return [name for name in self._order[self.loads : self.loads + count] if self._arena.cluster(name) is None]

    def sure(self) -> int:
        """See :attr:`monograph.vectors.kernel.Course.sure`."""
        return 0 if self._enough else max(1, min(self._window - self._idle, self._most - self.loads))

    def ranks(self) -> list[int]:
        """See :meth:`monograph.vectors.kernel.Course.ranks`."""
        return list(self._ranks)

    def firsts(self) -> list[int]:
        """See :meth:`monograph.vectors.kernel.Course.firsts`."""
        return list(self._firsts)

    def rank_by_value(self, most: int, bodies: list[bytes]) -> list[int]:
        """See :meth:`monograph.vectors.kernel.Course.rank_by_value`."""
        if most < 0:
            raise ValueError("most is below 0")
        given = {int(body.ids[0]): body for body in map(self._arena.by_value, _bytes(bodies))}
        memos = self._ids[: self.filled].tolist()
        found = {memo: self._arena.row(memo) or given.get(memo) for memo in memos}
        missing = [memo for memo, body in found.items() if body is None]
        if missing:
            return missing
        scored = [
            (float(_ordered(scores_of(body, self._asked))[0]), memo) for memo, body in found.items() if body is not None
        ]
        ranked = sorted(scored, key=lambda pair: (-pair[0], pair[1]))[:most]
        self.filled = len(ranked)
        self._scores[: self.filled] = [score for score, _ in ranked]
        self._ids[: self.filled] = [memo for _, memo in ranked]
        return []


def run_many(courses: list[Course], loads: int, threads: int, worth: int) -> list[int]:
    """See :func:`monograph.vectors.kernel.run_many`: here one goes after the other."""
    if not isinstance(courses, list) or not all(isinstance(course, Course) for course in courses):
        raise TypeError("courses must be a list of courses")
    if threads < 1:
        raise ValueError(f"threads is {threads}: give 1 or more")
    if worth < 0:
        raise ValueError(f"worth is {worth}: give 0 or more")
    if len(set(map(id, courses))) < len(courses):
        raise ValueError("a course is there twice")
    return [course.run(loads) for course in courses]


def _ordered(scores: Float32) -> Float32:
    """What is not a number stands behind all that are: a checksum does not say that stored bytes make sense."""
    return np.where(np.isnan(scores), np.float32(-np.inf), scores)


def _bytes(bodies: list[bytes]) -> list[bytes]:
    if not isinstance(bodies, list) or not all(isinstance(body, bytes) for body in bodies):
        raise TypeError("bodies must be a list of bytes")
    return bodies
