"""Search of single clusters: by codes, in one compiled call where they are in memory, or by their graphs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.memory import Centroids, IndexState, Memory
from monograph.vectors.search import Neighbours, VectorQuery, compare
from monograph.vectors.stop import NEVER, Ranks, SearchEffort, rule_of

AHEAD = 16
"""Clusters that are announced together before the first of them is read."""
READ_ON = 4
"""For so many clusters that a search has loaded, one more is read with the next one."""
READ_TOGETHER = 16
"""Clusters that are read together, at most: what a processor's own cache holds until they are searched."""
LEAST_EF = 32
"""Nodes of a cluster that are kept in view on a walk, at least."""
MOST_FIRST = 48
"""Clusters put in order at first, at most; four times as many, and then all, when those do not suffice."""
FOREVER = 1 << 62


class Search:
    """Results of one query among the clusters.

    Parameters
    ----------
    query, how:
        What is asked, and when it is enough.
    asked:
        The query's vector, prepared.
    """

    __slots__ = ("asked", "compared", "how", "loaded", "pool", "query")

    def __init__(self, query: VectorQuery, how: SearchEffort, asked: Float32) -> None:
        self.query, self.how, self.asked = query, how, asked
        self.pool = kernel.Pool(query.room(how.width))
        self.loaded = self.compared = 0

    def is_enough(self, loads: list[Ranks]) -> bool:
        """Whether the stop condition ends the search, which it never does before k results are found."""
        return self.pool.filled >= self.query.k and self.how.stop.after(loads)

    @property
    def cuts_ties(self) -> bool:
        """Whether the codes of some of the k best tie with codes that were let go."""
        return self._certain < min(self.query.k, self.pool.filled)

    @property
    def _certain(self) -> int:
        """Return how many results are kept for any row: those above the last, where several may have its score."""
        if not self.query.ties or self.pool.filled < self.query.room(self.how.width):
            return self.pool.filled
        scores = self.pool.scores
        return int((scores > scores[-1]).sum())

    def finish(self, connection: Connection, memory: Memory, stopped: str) -> Neighbours:
        """Return the k best, compared exactly unless that was not asked."""
        certain = self._certain if self._certain >= self.query.k else self.pool.filled
        items, scores, read = self.pool.ids[:certain], self.pool.scores[:certain], None
        if self.query.rerank:
            memos = items.tolist()
            memory.ahead.memos(connection, memos)
            items, scores, read = compare(connection, memos, self.asked)
        return Neighbours(*self.query.best(items, scores), self.loaded, self.compared, stopped, read)


class CodeSearch(Search):
    """A query on its way through clusters of codes."""

    __slots__ = ()

    def run(self, connection: Connection, memory: Memory, state: IndexState) -> bool:
        """Search, put the results in the order of codes by value; return whether it was enough before every cluster.

        Clusters that are not in memory are read when they are wanted, and kept where there is room.

        Raises
        ------
        DamagedBytes
            If a cluster or a code is not what was written.
        """
        query, arena = self.query, memory.arena(state)
        rule = rule_of(self.how.stop, query.k)
        step = 1 if rule is None else FOREVER  # The course asks the condition itself where it can.
        course = kernel.Course(arena, self.asked, self.pool, query.k, *(rule or NEVER), query.allowed)
        brought: dict[int, list[bytes]] = {}
        loads: list[Ranks] = []
        announced, came = 0, kernel.PAUSED if query.k else kernel.ALL
        while came not in {kernel.ENOUGH, kernel.ALL}:
            came = course.run(step)
            if came == kernel.PAUSED:
                loads.append(course.ranks)
                if self.is_enough(loads):
                    came = kernel.ENOUGH
                continue
            for name in course.spent if brought and arena.size < memory.cache_bytes else ():
                arena.keep(name, brought[name], memory.cache_bytes)
            brought = {}
            if came >= 0:
                # A search that has come far goes on for a while: a share of what it has loaded is read at once, or all
                # that it is sure to want.
                sure = 1 if rule is None else course.sure
                some = course.ahead(min(READ_TOGETHER, max(sure, course.loads // READ_ON)))
                if course.loads + len(some) > announced:
                    memory.ahead.clusters(connection, course.ahead(AHEAD + len(some)))
                    announced = course.loads + AHEAD + len(some)
                brought = store.bodies_of(connection, some)
                course.bring(brought)
        self.loaded, self.compared = course.loads, course.compared
        missing = [] if query.ties else course.rank_by_value(query.pool, [])
        if missing:
            memory.ahead.codes(connection, state.space.number, missing)
            bodies = store.load_codes(connection, state.space.number, missing)
            # Codes by value may take half of the room.
            if arena.size + sum(map(len, bodies)) <= memory.cache_bytes // 2:
                arena.remember(bodies)
                bodies = []
            if course.rank_by_value(query.pool, bodies):
                raise kernel.DamagedBytes("vectors lack the codes that they are compared by")
        return came == kernel.ENOUGH


class GraphSearch(Search):
    """A query on its way through clusters that have graphs."""

    __slots__ = ("loads",)

    def __init__(self, query: VectorQuery, how: SearchEffort, asked: Float32) -> None:
        super().__init__(query, how, asked)
        self.loads: list[Ranks] = []

    def probe(self, cluster: tuple[bytes, bytes] | None, *, walks: bool) -> bool:
        """Search one cluster (body and graph; None for an empty one), and return whether it is enough.

        ``walks`` says whether its graph is walked. A walk sees what is near whether it is allowed or not, so a filter
        asks for a comparison with all.

        Raises
        ------
        DamagedBytes
            If the cluster is not what was written.
        """
        k, allowed = self.query.k, self.query.allowed
        ranks: list[int] = []
        if cluster is not None and walks:
            ranks, compared = kernel.walk(*cluster, self.asked, self.pool, k, max(LEAST_EF, self.query.pool), allowed)
            self.compared += compared
        # More may be wanted than a walk came by.
        if cluster is not None and (not walks or self.pool.filled < k):
            scanned, compared = kernel.scan([cluster[0]], self.asked, self.pool, k, allowed)
            ranks = sorted({*ranks, *scanned})
            self.compared += compared
        self.loads.append(ranks)
        self.loaded += 1
        return self.is_enough(self.loads)

    def run(self, connection: Connection, memory: Memory, state: IndexState) -> bool:
        """Probe the nearest clusters; return whether it was enough before every cluster was searched.

        Raises
        ------
        DamagedBytes
            As :meth:`probe`.
        """
        order = probes(state.centroids, self.asked, state.likely) if self.query.k else iter(())
        count = AHEAD
        while some := list(islice(order, count)):
            memory.ahead.clusters(connection, some)
            for cluster in some:
                if self.probe(memory.cluster(connection, cluster, state.version), walks=self.query.allowed is None):
                    return True
            count = AHEAD // 2
        return False


def probes(centroids: Centroids, asked: Float32, expected: float | None = None) -> Iterator[int]:
    """Yield all clusters, nearest first; ``expected`` is how many are likely to be wanted."""
    first = MOST_FIRST if expected is None else min(MOST_FIRST, max(8, round(2 * expected)))
    done: set[int] = set()
    for count in (first, 4 * first, len(centroids)):
        if count > len(done):
            fresh = [name for name in centroids.nearest(asked, count).tolist() if name not in done]
            yield from fresh
            done.update(fresh)
