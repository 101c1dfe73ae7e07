"""Searches of the codes design: one native call where clusters are in memory."""

from __future__ import annotations

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.memory import Memory, State
from monograph.vectors.search import Query, Search, SearchEffort
from monograph.vectors.stop import NEVER, Ranks, rule_of

AHEAD = 16
"""Clusters that are announced together before the first of them is read."""
READ_ON = 4
"""For so many clusters that a search has loaded, one more is read with the next one."""
READ_TOGETHER = 16
"""Clusters that are read together, at most: what a processor's own cache holds until they are searched."""
FOREVER = 1 << 62


class CodeSearch(Search):
    """A query on its way through clusters of codes.

    Clusters that are not in memory are read when they are wanted, and kept where there is room.

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
        "_announced", "_arena", "_brought", "_connection", "_course", "_is_enough", "_loads", "_memory", "_space",
        "_step",
    )  # fmt: skip

    def __init__(
        self, connection: Connection, memory: Memory, state: State, query: Query, how: SearchEffort, *, asked: Float32
    ) -> None:
        super().__init__(query, how, asked)
        self._connection, self._memory, self._space = connection, memory, state.space
        self._arena = memory.arena(state)
        self._announced = 0
        self._brought: dict[int, list[bytes]] = {}
        self._loads: list[Ranks] = []
        rule = rule_of(how.stop, query.k)
        self._step = 1 if rule is None else FOREVER
        """Loads after which it is asked whether they are enough; the course asks itself where it can."""
        self._course = kernel.Course(
            self._arena, asked, self.pool, query.k, NEVER if rule is None else rule, query.allowed
        )
        self._is_enough: bool | None = None if query.k else False
        """Whether the search ended before every cluster; None while it goes on."""

    def run(self) -> bool:
        """Search, put the results in the order of codes by value; return whether it was enough before every cluster.

        Raises
        ------
        DamagedBytes
            If a cluster or a code is not what was written.
        """
        while self._is_enough is None:
            self._proceed(self._course.run(self._step))
        self._rank()
        return self._is_enough

    def _proceed(self, state: int) -> None:
        """Read the clusters that the course needs next, or ask a stop condition that the kernel does not know."""
        if state == kernel.PAUSED:
            self._loads.append(self._course.ranks)
            if self.pool.filled >= self.query.k and self.how.stop.after(self._loads):
                self._is_enough = True
            return
        self._keep()
        if state in {kernel.ENOUGH, kernel.ALL}:
            self._is_enough = state == kernel.ENOUGH
        else:
            self._bring()

    def _keep(self) -> None:
        """Keep in memory what was searched of the clusters that were brought, as far as there is room."""
        if self._brought and self._memory.has_room(self._arena):
            for name in self._course.spent:
                self._memory.keep(self._arena, name, self._brought[name])
        self._brought = {}

    def _bring(self) -> None:
        """Bring the cluster that is wanted to the course, and some that come next."""
        loads = self._course.loads
        # A search that has come far goes on for a while: a share of what it has loaded is read at once, or all that it
        # is sure to want.
        sure = self._course.sure if self._step == FOREVER else 1
        some = self._course.ahead(min(READ_TOGETHER, max(sure, loads // READ_ON)))
        if loads + len(some) > self._announced:
            self._memory.ahead.clusters(self._connection, self._course.ahead(AHEAD + len(some)))
            self._announced = loads + AHEAD + len(some)
        self._brought = store.bodies_of(self._connection, some)
        self._course.bring(self._brought)

    def _rank(self) -> None:
        """Tell what it took, and bring what was found into the order of codes by value."""
        course = self._course
        self.loaded, self.compared = course.loads, course.compared
        missing = [] if self.query.ties else course.rank_by_value(self.query.pool, [])
        if missing:
            self._memory.ahead.codes(self._connection, self._space.number, missing)
            bodies = store.load_codes(self._connection, self._space.number, missing)
            if self._memory.remember(self._arena, bodies):
                bodies = []
            if course.rank_by_value(self.query.pool, bodies):
                raise kernel.DamagedBytes("vectors lack the codes that they are compared by")
