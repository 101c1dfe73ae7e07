"""Searches of the codes design: one native call where clusters are in memory, for one query or for many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Literal, TypeAlias

from monograph.store import clusters as store
from monograph.store import codes
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.memory import Memory, State
from monograph.vectors.search import COMPARED_AT_ONCE, Effort, Query, Search
from monograph.vectors.stop import NEVER, Ranks, rule_of

TOGETHER = 128
"""Queries that go side by side: each keeps scores of all centroids meanwhile."""
AHEAD = 16
"""Clusters that are announced together before the first of them is read."""
READ_ON = 4
"""For so many clusters that a search has loaded, one more is read with the next one."""
READ_TOGETHER = 16
"""Clusters that are read together, at most: what a processor's own cache holds until they are searched."""
FOREVER = 1 << 62
Came: TypeAlias = Literal["enough", "all"]


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
        "_announced", "_arena", "_brought", "_connection", "_loads", "_memory", "_ranked", "_space",
        "came", "course", "step",
    )  # fmt: skip

    def __init__(
        self, connection: Connection, memory: Memory, state: State, query: Query, how: Effort, *, asked: Float32
    ) -> None:
        super().__init__(query, how, asked)
        self._connection, self._memory, self._space = connection, memory, state.space
        self._arena = memory.arena(state)
        self._announced, self._ranked = 0, False
        self._brought: dict[int, list[bytes]] = {}
        self._loads: list[Ranks] = []
        rule = rule_of(how.stop, query.k)
        self.step = 1 if rule is None else FOREVER
        """Loads after which it is asked whether they are enough; the course asks itself where it can."""
        self.course = kernel.Course(
            self._arena, asked, self.pool, query.k, NEVER if rule is None else rule, query.allowed
        )
        self.came: Came | None = None if query.k else "all"
        """Why it came to an end."""

    def run(self) -> Came:
        """Search until it is enough, and bring what was found into the order of codes by value; do nothing twice.

        Raises
        ------
        DamagedBytes
            If a cluster or a code is not what was written.
        """
        while self.came is None:
            self.proceed(self.course.run(self.step), {})
        if not self._ranked:
            self.rank()
        return self.came

    def proceed(self, state: int, read: dict[int, list[bytes]]) -> None:
        """Do what the course cannot: read the clusters that it wants next; ask a condition of one's own.

        Parameters
        ----------
        state:
            What the course came to.
        read:
            Clusters that others have read in the same round; what is read is put among them.
        """
        if state == kernel.PAUSED:
            self._loads.append(self.course.ranks)
            if self.pool.filled >= self.query.k and self.how.stop.after(self._loads):
                self.came = "enough"
            return
        self._keep()
        if state in {kernel.ENOUGH, kernel.ALL}:
            self.came = "enough" if state == kernel.ENOUGH else "all"
        else:
            self._bring(state, read)

    def _keep(self) -> None:
        """Keep in memory what was searched of the clusters that were brought, as far as there is room."""
        if self._brought and self._memory.has_room(self._arena):
            for name in self.course.spent:
                self._memory.keep(self._arena, name, self._brought[name])
        self._brought = {}

    def _bring(self, cluster: int, read: dict[int, list[bytes]]) -> None:
        """Bring the cluster that is wanted to the course, and some that come next."""
        loads = self.course.loads
        # A search that has come far goes on for a while: a share of what it has loaded is read at once, or all that it
        # is sure to want.
        sure = self.course.sure if self.step == FOREVER else 1
        some = self.course.ahead(min(READ_TOGETHER, max(sure, loads // READ_ON)))
        if loads + len(some) > self._announced:
            self._memory.ahead.clusters(self._connection, self.course.ahead(AHEAD + len(some)))
            self._announced = loads + AHEAD + len(some)
        read.update(store.bodies_of(self._connection, [name for name in some if name not in read]))
        self._brought = {name: read[name] for name in some}
        self.course.bring(self._brought)

    def rank(self) -> None:
        """Tell what it took, and bring what was found into the order of codes by value."""
        course = self.course
        self._ranked = True
        self.loaded, self.compared = course.loads, course.compared
        missing = [] if self.query.ties else course.rank_by_value(self.query.pool, [])
        if missing:
            self._memory.ahead.codes(self._connection, self._space.number, missing)
            bodies = codes.load(self._connection, self._space.number, missing)
            if self._memory.remember(self._arena, bodies):
                bodies = []
            if course.rank_by_value(self.query.pool, bodies):
                raise kernel.DamagedBytes("vectors lack the codes that they are compared by")


def at_once(query: Query, how: Effort) -> int:
    """How many searches of a query go side by side, so that they take little memory."""
    return max(1, min(TOGETHER, COMPARED_AT_ONCE // max(1, query.room(how.width))))


def run_all(begun: Iterator[CodeSearch], size: int) -> Iterator[list[CodeSearch]]:
    """Run searches side by side, to the same bit as one after the other.

    They go on over threads until each ends or wants what is not in memory, which is then read, once for all of a round.

    Parameters
    ----------
    begun:
        Searches of one query and effort.
    size:
        How many go at once. While those that were run are made use of, the next ones go on.

    Raises
    ------
    DamagedBytes
        As :meth:`CodeSearch.run`.
    """
    some = list(islice(begun, size))
    states = _go_on(some)
    with ThreadPoolExecutor(1) as aside:  # Which begins no thread before it is given something.
        while some:
            following = list(islice(begun, size))
            going = aside.submit(_go_on, following) if following else None
            _run(some, states)
            yield some
            some, states = following, [] if going is None else going.result()


def _go_on(searches: Sequence[CodeSearch]) -> list[tuple[CodeSearch, int]]:
    """Let those that have not ended go on; what each came to."""
    going = [one for one in searches if one.came is None]
    if not going:
        return []
    return list(zip(going, kernel.run_many([one.course for one in going], going[0].step), strict=True))


def _run(searches: Sequence[CodeSearch], states: Sequence[tuple[CodeSearch, int]]) -> None:
    """Run searches to their ends, from what they came to first."""
    while states:
        read: dict[int, list[bytes]] = {}
        for one, state in states:
            one.proceed(state, read)
        states = _go_on(searches)
    for one in searches:
        one.rank()
