"""EcoVector: an on-disk index of vectors in the same file as everything else.

Centroids are held in memory; each cluster is a row of the file, read when a search comes to it and let go. The vectors
themselves are stored once, in the memo; clusters hold codes of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.errors import InputError
from monograph.store import clusters as store
from monograph.store import vectors as stored_vectors
from monograph.store.database import Connection
from monograph.store.filters import Allowed
from monograph.values import Float32, IndexStats, arguments
from monograph.vectors import calibrate, cost, update
from monograph.vectors.calibrate import Calibration
from monograph.vectors.compact import CompactSearch, at_once, run_all
from monograph.vectors.damage import told
from monograph.vectors.design import DEFAULT_DESIGN, REBUILT_AT_ONCE, Design
from monograph.vectors.efforts import Efforts
from monograph.vectors.exact import ExactIndex
from monograph.vectors.few import Few, Vectors
from monograph.vectors.memory import Memory, State
from monograph.vectors.placeable import placeable
from monograph.vectors.rounds import probe_all
from monograph.vectors.search import (
    Bits,
    Effort,
    Neighbours,
    Query,
    Search,
    exact,
    exact_among,
    finish_many,
    prepare,
    probes,
)
from monograph.vectors.update import Update

Int64: TypeAlias = npt.NDArray[np.int64]

DEFAULT_CACHE_BYTES = 36 << 20
DEFAULT_TARGET_RECALL = 0.95
"""Recall@k at which searches stop, on average."""
EXACT_BELOW = 400
"""Allowed vectors that are compared one by one rather than looked for in clusters."""
AHEAD = 16
"""Probes that are announced before the first is read; half as many at a time from then on."""
STALE_CALIBRATION = 2.0
"""The index is calibrated anew when it has grown or shrunk by this factor."""


class EcoVectorIndex:
    """One index of a file. Safe for use by many threads; transactions are the caller's.

    Parameters
    ----------
    space:
        Which of the file's indexes.
    design:
        How it is built. The index in the file keeps its own until it is rebuilt.
    target_recall:
        Recall@k at which searches stop, on average, as measured on the index's own vectors.
    cache_bytes:
        Clusters kept in memory, at most; 0 lets each go as soon as it was searched.

    Raises
    ------
    InputError
        If a number is out of range.
    """

    def __init__(
        self,
        space: int = store.CHUNKS,
        design: Design = DEFAULT_DESIGN,
        *,
        target_recall: float = DEFAULT_TARGET_RECALL,
        cache_bytes: int = DEFAULT_CACHE_BYTES,
    ) -> None:
        self.space = space
        self.design = design
        self.target_recall = arguments.share(target_recall, "target_recall", "give more than 0, at most 1")
        if not self.target_recall:
            raise InputError(f"target_recall is {target_recall}", "give more than 0, at most 1")
        self.cache_bytes = arguments.whole_number(cache_bytes, "cache_bytes", 0, arguments.MOST_BYTES)
        self._memory = Memory(space, self.cache_bytes)
        self._efforts = Efforts(self.target_recall)

    def allowed(self, connection: Connection, condition: Allowed) -> Bits:
        """Bitmap of the memo rows that a filter allows, for :class:`~monograph.vectors.search.Query`."""
        return self._memory.allowed(connection, condition)

    def search(self, connection: Connection, vector: Float32, query: Query) -> Neighbours:
        """The nearest vectors: k of them where so many exist and are allowed, or more with the query's ``ties``.

        Parameters
        ----------
        connection:
            A read transaction.
        vector:
            float32 (dimension,), finite, not zero under cosine.
        query:
            What is asked.

        Raises
        ------
        InputError
            If the vector has another dimension, is zero under cosine or not finite.
        DamagedFile
            If a cluster is not what was written.
        """
        state = self._state(connection)
        if state is None:
            return self._unbuilt(connection, vector, query)
        asked = prepare(vector, state.space.dimension, state.space.design.metric)
        how = self._efforts.of(state, query)
        few = self._few(connection, query, state)
        if few is not None:
            return exact_among(few.rows, few.values, Search(query, how, asked, state.space), asked)
        if state.space.design.compact:
            with told(connection):
                way = CompactSearch(connection, self._memory, state, query, how, asked=asked)
                return self._search_compact(connection, query, how, way)
        search = Search(query, how, asked, state.space)
        bodies = self._memory.bodies
        order = probes(state.centroids, asked, state.likely) if query.k else iter(())
        with told(connection):
            for cluster in self._announced(connection, order):
                if search.probe(connection, cluster, bodies(connection, cluster, state.version)):
                    return search.finish(connection, how.stopped, self._memory.ahead)
            return self._all_searched(connection, query, search, asked)

    def search_many(self, connection: Connection, vectors: Float32, query: Query) -> list[Neighbours]:
        """Search for many vectors, each as :meth:`search` would; a cluster is read once a round for all that probe it.

        Where clusters hold compact codes and are in memory, the processors share the queries.

        Parameters
        ----------
        connection, query:
            As for :meth:`search`; the query is asked of each vector.
        vectors:
            float32 (n, dimension).
        """
        state = self._state(connection)
        if state is None:
            return [self._unbuilt(connection, vector, query) for vector in vectors]
        asked = [prepare(vector, state.space.dimension, state.space.design.metric) for vector in vectors]
        how = self._efforts.of(state, query)
        few = self._few(connection, query, state)
        with told(connection):
            if state.space.design.compact and few is None:
                begun = (CompactSearch(connection, self._memory, state, query, how, asked=one) for one in asked)
                return list(self._search_compact_many(connection, query, how, begun))
            searches = [Search(query, how, one, state.space) for one in asked]
            if few is not None:
                return [exact_among(few.rows, few.values, one, to) for one, to in zip(searches, asked, strict=True)]
            enough = probe_all(connection, self._memory, state, searches, asked) if query.k else set()
            return [
                one.finish(connection, how.stopped, self._memory.ahead)
                if place in enough
                else self._all_searched(connection, query, one, asked[place])
                for place, one in enumerate(searches)
            ]

    def _search_compact(self, connection: Connection, query: Query, how: Effort, way: CompactSearch) -> Neighbours:
        if way.run() == "enough":
            return way.search.finish(connection, how.stopped, self._memory.ahead)
        return self._all_searched(connection, query, way.search, way.asked)

    def _search_compact_many(
        self, connection: Connection, query: Query, how: Effort, begun: Iterator[CompactSearch]
    ) -> Iterator[Neighbours]:
        for ways in run_all(begun, at_once(query, how)):
            if any(way.search.cuts_ties for way in ways):
                yield from (self._search_compact(connection, query, how, way) for way in ways)
            else:
                stopped = [how.stopped if way.came == "enough" else "all" for way in ways]
                yield from finish_many(connection, [way.search for way in ways], stopped, self._memory.ahead)

    def _announced(self, connection: Connection, order: Iterator[int]) -> Iterator[int]:
        """Probes in their order, some at a time announced before the first of them is read."""
        count = AHEAD
        while some := list(islice(order, count)):
            self._memory.ahead.clusters(connection, some)
            yield from some
            count = AHEAD // 2

    def _all_searched(self, connection: Connection, query: Query, search: Search, asked: Float32) -> Neighbours:
        """What a search of every cluster found. Where its codes cannot tell the best from the rest, vectors do."""
        if search.cuts_ties:
            return exact(connection, self._allowed_memos(connection, query), search, asked)
        return search.finish(connection, "all", self._memory.ahead)

    def _unbuilt(self, connection: Connection, vector: Float32, query: Query) -> Neighbours:
        """A file whose index waits to be built, and that cannot be written here: every vector is compared."""
        return ExactIndex(self.design, self.space).search(connection, vector, query)

    def _few(self, connection: Connection, query: Query, state: State) -> Vectors | None:
        """The allowed vectors, where they are so few that each is compared."""
        allowed = query.count_allowed()
        if query.allowed is None or allowed is None or allowed > EXACT_BELOW:
            return None
        held = self._memory.few if self._memory.keeps else Few()
        memos = partial(self._allowed_memos, connection, query)
        return held.of(connection, query.allowed, state.version, state.space.dimension, memos)

    def _allowed_memos(self, connection: Connection, query: Query) -> list[int]:
        """The memo rows of all vectors that may be found."""
        if query.allowed is None:
            return [one.memo for one in store.every_placement(connection, self.space) if one.first]
        held = np.flatnonzero(query.allowed)  # Rows may be few, and far from each other.
        places = np.flatnonzero(np.unpackbits(query.allowed[held], bitorder="little"))
        rows = (held[places >> 3] * 8 + (places & 7)).tolist()
        return [one.memo for one in store.placements(connection, self.space, rows).values() if one.first]

    def settle(self, connection: Connection) -> None:
        """Bring the index up to date with the vectors that the file's rows use. To be called before every commit.

        Parameters
        ----------
        connection:
            A write transaction.
        """
        if not store.has_stale(connection, self.space):
            return
        stale = store.take_stale(connection, self.space)
        wanted, vectors = stored_vectors.load_any(connection, stale.wanted)
        state = self._state(connection)
        left = 0 if state is None else state.count(connection) - len(stale.unwanted)
        if state is None or vectors.shape[1] not in (0, state.space.dimension) or len(wanted) > left:
            self.rebuild(connection)
            return
        self.delete(connection, stale.unwanted)
        self.insert(connection, wanted, vectors)

    def insert(self, connection: Connection, memos: Int64, vectors: Float32) -> None:
        """Add vectors; the first ones begin the index.

        Parameters
        ----------
        connection:
            A write transaction.
        memos:
            int64 (n,): rows of the memo that hold them, none of them in the index yet.
        vectors:
            float32 (n, dimension). One that is zero under cosine is kept out: nothing is near to it.

        Raises
        ------
        InputError
            If a vector has another dimension or is not finite.
        """
        if not len(memos):
            return
        if store.header(connection, self.space) is None:
            self._begin(connection, vectors.shape[1], self.design.grown(len(memos)))
        state = self._must(connection)
        memos, vectors = placeable(connection, state.space, memos, vectors)
        if not len(memos):
            return
        with told(connection):
            if not len(state.centroids):
                update.build(connection, state.space, memos, vectors)
            else:
                changes = Update(connection, state.space, state.centroids)
                changes.insert(memos, vectors)
                changes.finish()
            if not self._grow(connection):
                self._recalibrate(connection)

    def delete(self, connection: Connection, memos: list[int]) -> None:
        """Take vectors out of every result; those that are not there are passed over.

        Parameters
        ----------
        connection:
            A write transaction.
        memos:
            Rows of the memo.
        """
        if not memos:
            return
        state = self._must(connection)
        with told(connection):
            changes = Update(connection, state.space, state.centroids)
            changes.delete(memos)
            changes.finish()

    def fold(self, connection: Connection) -> None:
        """Write clusters anew without deleted entries, so that no trace of them is left in their rows."""
        if store.header(connection, self.space) is None:
            return
        state = self._must(connection)
        with told(connection):
            changes = Update(connection, state.space, state.centroids)
            changes.fold()
            changes.finish()

    def rebuild(self, connection: Connection) -> None:
        """Make the index anew from the vectors that the file's rows use, and calibrate it."""
        memos, vectors = stored_vectors.load_any(connection, store.members(connection, self.space))
        store.clear(connection, self.space)
        self.insert(connection, memos, vectors)

    def _grow(self, connection: Connection) -> bool:
        """Make the index anew where it has come to hold so many vectors that another design is better for them."""
        state = self._must(connection)
        count = state.count(connection)
        design = state.space.design.grown(count)
        if design == state.space.design or count >= REBUILT_AT_ONCE:
            return False
        memos = [one.memo for one in store.every_placement(connection, state.space.number)]
        held, vectors = stored_vectors.load(connection, memos, state.space.dimension)
        store.clear(connection, self.space)
        self._begin(connection, state.space.dimension, design)
        self.insert(connection, held, vectors)
        return True

    def _begin(self, connection: Connection, dimension: int, design: Design) -> None:
        store.put_header(connection, self.space, dimension, design.to_json(), Calibration().to_json())

    def _recalibrate(self, connection: Connection) -> None:
        state = self._must(connection)
        count = state.count(connection)
        before = state.calibration.vectors
        if before and max(count, before) < STALE_CALIBRATION * min(count, before):
            return
        measured = calibrate.measure(connection, state.space, state.centroids, count)
        store.put_calibration(connection, self.space, measured.to_json())

    def stats(self, connection: Connection) -> IndexStats:
        """Counts, and what is held in memory."""
        state = self._state(connection)
        if state is None:
            return IndexStats(0, 0, 0, 0, 0, 0, None, self.target_recall)
        number = state.space.number
        sizes = store.sizes(connection, number).values()
        count, clusters = store.count(connection, number), len(state.centroids)
        copies = 2 if state.space.design.double else 1
        shape = cost.Shape(count, state.space.dimension, clusters, probes=0, copies=copies)
        expected = state.calibration.point(10, self.target_recall)
        return IndexStats(
            vectors=count,
            clusters=clusters,
            entries=sum(size.size for size in sizes),
            dead=sum(size.dead for size in sizes),
            memory=state.centroids.memory + self._memory.cached,
            expected_memory=round(cost.memory("Monograph", shape)),
            expected_loads=None if expected is None else expected.loads,
            target_recall=self.target_recall,
            expected_recall=None if expected is None else expected.recall,
        )

    def _state(self, connection: Connection) -> State | None:
        with told(connection):
            return self._memory.state(connection)

    def _must(self, connection: Connection) -> State:
        state = self._state(connection)
        if state is None:
            raise InputError("the index holds nothing", "insert vectors first")
        return state
