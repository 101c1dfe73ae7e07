"""A query through clusters of compact codes: one native call where they are in memory."""

from __future__ import annotations

from typing import Literal

from monograph.store import clusters as store
from monograph.store import codes
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.memory import Memory, State
from monograph.vectors.search import Effort, Query, Search
from monograph.vectors.stop import NEVER, rule_of

AHEAD = 16
"""Clusters that are announced together before the first of them is read."""
FOREVER = 1 << 62


class CompactSearch:
    """A query on its way. What is not in memory is read when it is wanted, and kept where there is room.

    Parameters
    ----------
    connection:
        A read transaction.
    memory, state:
        Of the index.
    query, how:
        What is asked, and when it is enough.
    asked:
        The query's vector, prepared.
    """

    __slots__ = (
        "_announced",
        "_arena",
        "_connection",
        "_course",
        "_how",
        "_memory",
        "_query",
        "_rule",
        "_space",
        "search",
    )

    def __init__(
        self, connection: Connection, memory: Memory, state: State, query: Query, how: Effort, *, asked: Float32
    ) -> None:
        self._connection, self._memory, self._query, self._how = connection, memory, query, how
        self._space = state.space
        self._arena = memory.arena(state)
        self._rule = rule_of(how.stop, query.k)
        self._announced = 0
        self.search = Search(query, how, asked, state.space)
        rule = NEVER if self._rule is None else self._rule
        self._course = kernel.Course(self._arena, asked, self.search.pool, query.k, rule, query.allowed)

    def run(self) -> Literal["enough", "all"]:
        """Search until it is enough, and bring what was found into the order of codes by value.

        Raises
        ------
        DamagedBytes
            If a cluster or a code is not what was written.
        """
        came = self._way() if self._query.k else "all"
        self.search.loaded, self.search.compared = self._course.loads, self._course.compared
        if not self._query.ties:
            self._rank()
        return came

    def _way(self) -> Literal["enough", "all"]:
        course, search = self._course, self.search
        step = FOREVER if self._rule is not None else 1
        while (came := course.run(step)) not in {kernel.ENOUGH, kernel.ALL}:
            if came != kernel.PAUSED:
                bodies = self._read(came)
                if bodies is None:
                    continue
                course.load(bodies)
            if self._rule is None:
                search.loads.append(course.ranks)
                if search.pool.filled >= self._query.k and self._how.stop.after(search.loads):
                    return "enough"
        return "enough" if came == kernel.ENOUGH else "all"

    def _read(self, cluster: int) -> list[bytes] | None:
        """The bodies of a cluster; None where they are in the arena from now on."""
        if self._course.loads >= self._announced:
            self._memory.ahead.clusters(self._connection, [cluster, *self._course.ahead(AHEAD)])
            self._announced = self._course.loads + AHEAD
        bodies = store.bodies(self._connection, cluster)
        if not self._memory.has_room(self._arena, sum(map(len, bodies))):
            return bodies
        self._arena.keep(cluster, bodies)
        return None

    def _rank(self) -> None:
        missing = self._course.rank_by_value(self._query.pool, [])
        if missing:
            bodies = codes.load(self._connection, self._space.number, missing)
            if self._memory.has_room(self._arena, sum(map(len, bodies)), beside=True):
                self._arena.remember(bodies)
                bodies = []
            if self._course.rank_by_value(self._query.pool, bodies):
                raise kernel.DamagedBytes("vectors lack the codes that they are compared by")
        self.search.by_value = True
