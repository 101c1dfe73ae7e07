"""Search of one query in the clusters of an index, nearest cluster first, in either design.

In the codes design, all codes of a cluster are compared with the query. Clusters in memory are searched in one compiled
call. In the graph design, a search follows the links of each cluster's graph.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.memory import Centroids, IndexState, Memory
from monograph.vectors.search import Neighbours, VectorQuery, compare
from monograph.vectors.stop import NEVER, Ranks, SearchEffort, calling_condition, rule_of

AHEAD = 16
"""Number of clusters that the operating system is asked to read in advance: see
:class:`monograph.store.words.prefetch.Prefetcher`."""
READ_ON = 4
"""Divisor of the number of clusters that a search reads at a time.

A search that has loaded n clusters reads n // READ_ON clusters at a time. It reads more at a time if it certainly needs
more. It never reads more than READ_TOGETHER at a time.
"""
READ_TOGETHER = 16
"""Maximum number of clusters that a search reads at a time.

The processor's cache has room for this number of clusters, so they are still in the cache when they are searched.
"""
LEAST_EF = 32
"""Least ef (number of candidates) of a walk along the graph of a cluster."""
MOST_FIRST = 48
"""Maximum number of clusters that a search ranks by distance at its start.

If the search needs more clusters, it ranks four times as many, and finally all.
"""
FOREVER = 1 << 62


class Search:
    """Search of one query in clusters, and its results so far.

    ``query`` has the options of the search. ``how`` has the stop condition and the width. The width determines how many
    results are kept in addition to k (:meth:`monograph.vectors.search.VectorQuery.room`). ``vector`` is the query's
    vector, float32 (dimension,), of unit length.
    """

    __slots__ = ("compared", "how", "loaded", "loads", "pool", "query", "vector")

    def __init__(self, query: VectorQuery, how: SearchEffort, vector: Float32) -> None:
        self.query, self.how, self.vector = query, how, vector
        self.pool = kernel.Pool(query.room(how.width))
        self.loaded = self.compared = 0
        self.loads: list[Ranks] = []

    def ends_after(self, ranks: Ranks) -> bool:
        """Record a load, and return whether the search ends: k results are found, and the stop condition holds.

        ``ranks`` are the ranks, from 0, of the new results of this load.
        """
        self.loads.append(ranks)
        with calling_condition(self.how.stop):
            return self.pool.filled >= self.query.k and self.how.stop.after(self.loads)

    @property
    def certain_results(self) -> int:
        """Number of kept results that no dropped result ties with.

        This is the number of all kept results, except in a search with the option ``ties`` that has filled its room for
        results. Such a search may have dropped results with the score of the last kept result. So only the results with
        a higher score are counted.
        """
        if not self.query.ties or self.pool.filled < self.query.room(self.how.width):
            return self.pool.filled
        scores = self.pool.scores
        return int((scores > scores[-1]).sum())

    def finish(self, connection: Connection, memory: Memory, stopped: str) -> Neighbours:
        """Return the k best results.

        With ``rerank``, they are ranked by their stored vectors. ``stopped`` says why the search ended.
        """
        certain = self.certain_results if self.certain_results >= self.query.k else self.pool.filled
        items, scores, read = self.pool.ids[:certain], self.pool.scores[:certain], None
        if self.query.rerank:
            memos = items.tolist()
            memory.ahead.memos(connection, memos)
            items, scores, read = compare(connection, memos, self.vector)
        return Neighbours(*self.query.best(items, scores), self.loaded, self.compared, stopped, read)


class CodeSearch(Search):
    """Search of one query in clusters of 2-bit codes (the codes design)."""

    __slots__ = ()

    def run(self, connection: Connection, memory: Memory, state: IndexState) -> bool:
        """Search the clusters, nearest first. Return whether the stop condition ended the search early.

        False means that every cluster was searched. Clusters that are not in memory are read when they are needed, and
        cached if there is room. Finally, the results are ranked by their 8-bit codes, unless the query has the option
        ``ties``. Raises DamagedBytes if stored bytes are damaged or an 8-bit code is missing.
        """
        query, arena = self.query, memory.arena(state)
        with calling_condition(self.how.stop):
            rule = rule_of(self.how.stop, query.k)
        step = 1 if rule is None else FOREVER  # With a rule, the kernel evaluates the stop condition.
        course = kernel.Course(arena, self.vector, self.pool, query.k, *(rule or NEVER), query.allowed)
        bodies_by_cluster: dict[int, list[bytes]] = {}
        announced, outcome = 0, kernel.PAUSED if query.k else kernel.ALL
        while outcome not in {kernel.ENOUGH, kernel.ALL}:
            outcome = course.run(step)
            if outcome == kernel.PAUSED:
                if self.ends_after(course.ranks):
                    outcome = kernel.ENOUGH
                continue
            for name in course.spent if bodies_by_cluster and arena.size < memory.cache_bytes else ():
                arena.keep(name, bodies_by_cluster[name], memory.cache_bytes)
            bodies_by_cluster = {}
            if outcome >= 0:
                # A long search is likely to continue: read as many clusters at a time as it is certain to need, or a
                # share of the number that it has loaded.
                sure = 1 if rule is None else course.sure
                clusters = course.ahead(min(READ_TOGETHER, max(sure, course.loads // READ_ON)))
                if course.loads + len(clusters) > announced:
                    memory.ahead.clusters(connection, course.ahead(AHEAD + len(clusters)))
                    announced = course.loads + AHEAD + len(clusters)
                bodies_by_cluster = store.bodies_of(connection, clusters)
                course.bring(bodies_by_cluster)
        self.loaded, self.compared = course.loads, course.compared
        missing = [] if query.ties else course.rank_by_value(query.pool, [])
        if missing:
            memory.ahead.codes(connection, state.space.number, missing)
            bodies = store.load_codes(connection, state.space.number, missing)
            # 8-bit codes may take half of the cache.
            if arena.size + sum(map(len, bodies)) <= memory.cache_bytes // 2:
                arena.remember(bodies)
                bodies = []
            if course.rank_by_value(query.pool, bodies):
                raise kernel.DamagedBytes("8-bit codes of vectors are missing")
        return outcome == kernel.ENOUGH


class GraphSearch(Search):
    """Search of one query in clusters that have graphs (the graph design)."""

    __slots__ = ()

    def probe(self, cluster: tuple[bytes, bytes] | None, *, walks: bool) -> bool:
        """Search one cluster, and return whether the search ends after it.

        ``cluster`` is (body, graph); None for an empty cluster. With ``walks``, follow the links of the graph;
        otherwise compare the query with every entry. A query with a filter must compare every entry: the filter may
        allow none of the near entries that a walk visits. Raises DamagedBytes if the cluster is damaged.
        """
        k, allowed = self.query.k, self.query.allowed
        ranks: list[int] = []
        if cluster is not None and walks:
            ranks, compared = kernel.walk(*cluster, self.vector, self.pool, k, max(LEAST_EF, self.query.pool), allowed)
            self.compared += compared
        # A walk may find fewer than k results.
        if cluster is not None and (not walks or self.pool.filled < k):
            scanned, compared = kernel.scan([cluster[0]], self.vector, self.pool, k, allowed)
            ranks = sorted({*ranks, *scanned})
            self.compared += compared
        self.loaded += 1
        return self.ends_after(ranks)

    def run(self, connection: Connection, memory: Memory, state: IndexState) -> bool:
        """Search the clusters, nearest first. Return whether the stop condition ended the search early.

        False means that every cluster was searched. Raises DamagedBytes if stored bytes are damaged.
        """
        order = probes(state.centroids, self.vector, state.likely) if self.query.k else iter(())
        count = AHEAD
        while batch := list(islice(order, count)):
            memory.ahead.clusters(connection, batch)
            memory.ahead.cluster_graphs(connection, batch)
            for cluster in batch:
                if self.probe(memory.cluster(connection, cluster, state.version), walks=self.query.allowed is None):
                    return True
            count = AHEAD // 2
        return False


def probes(centroids: Centroids, prepared: Float32, expected: float | None = None) -> Iterator[int]:
    """Yield the numbers of all clusters, nearest to the query first.

    ``prepared`` is the query's vector, of unit length. ``expected`` is the number of clusters that the search probably
    needs; None if it is unknown.
    """
    first = MOST_FIRST if expected is None else min(MOST_FIRST, max(8, round(2 * expected)))
    yielded: set[int] = set()
    for count in (first, 4 * first, len(centroids)):
        if count > len(yielded):
            batch = [name for name in centroids.nearest(prepared, count).tolist() if name not in yielded]
            yield from batch
            yielded.update(batch)
