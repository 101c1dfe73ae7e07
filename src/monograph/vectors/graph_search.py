"""Searches of the graph design: centroids by their graph in memory, clusters by their graphs on disk."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from monograph.store.file.database import Connection
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.centroids import Centroids
from monograph.vectors.memory import Memory, State
from monograph.vectors.search import Query, Search, SearchEffort
from monograph.vectors.stop import Ranks

LEAST_EF = 32
"""Nodes of a cluster that are kept in view on a walk, at least."""
MOST_FIRST = 48
"""Clusters put in order at first, at most; four times as many, and then all, when those do not suffice."""
AHEAD = 16
"""Probes that are announced before the first is read; half as many at a time from then on."""


class GraphSearch(Search):
    """A query on its way through clusters that have graphs."""

    __slots__ = ("_ef", "loads")

    def __init__(self, query: Query, how: SearchEffort, asked: Float32) -> None:
        super().__init__(query, how, asked)
        self._ef = max(LEAST_EF, query.pool)
        self.loads: list[Ranks] = []

    def probe(self, cluster: kernel.Cluster | None, *, walks: bool) -> bool:
        """Search one cluster; return whether it is enough, which it never is before k results are found.

        Parameters
        ----------
        cluster:
            The cluster; None for an empty one.
        walks:
            Whether to walk the cluster's graph. A walk sees what is near whether it is allowed or not, so a filter
            asks for a comparison with all.

        Raises
        ------
        DamagedBytes
            If the cluster is not what was written.
        """
        k, allowed = self.query.k, self.query.allowed
        found = kernel.Found((), 0)
        if cluster is not None and walks:
            found = kernel.walk(cluster, self.asked, self.pool, k, self._ef, allowed)
        # More may be wanted than a walk came by.
        if cluster is not None and (not walks or self.pool.filled < k):
            scanned = kernel.scan([cluster.body], self.asked, self.pool, k, allowed)
            found = kernel.Found(tuple(sorted({*found.ranks, *scanned.ranks})), found.compared + scanned.compared)
        self.loads.append(found.ranks)
        self.loaded += 1
        self.compared += found.compared
        return self.pool.filled >= k and self.how.stop.after(self.loads)

    def run(self, connection: Connection, memory: Memory, state: State) -> bool:
        """Probe the nearest clusters; return whether it was enough before every cluster was searched.

        Raises
        ------
        DamagedBytes
            As :meth:`probe`.
        """
        if not self.query.k:
            return False
        order = probes(state.centroids, self.asked, state.likely)
        count = AHEAD
        while some := list(islice(order, count)):
            memory.ahead.clusters(connection, some)
            for cluster in some:
                if self.probe(memory.cluster(connection, cluster, state.version), walks=self.query.allowed is None):
                    return True
            count = AHEAD // 2
        return False


def probes(centroids: Centroids, asked: Float32, expected: float | None = None) -> Iterator[int]:
    """All clusters, nearest first; ``expected`` is how many are likely to be wanted."""
    first = MOST_FIRST if expected is None else min(MOST_FIRST, max(8, round(2 * expected)))
    done: set[int] = set()
    for count in (first, 4 * first, len(centroids)):
        if count > len(done):
            fresh = [name for name in centroids.nearest(asked, count).tolist() if name not in done]
            yield from fresh
            done.update(fresh)
