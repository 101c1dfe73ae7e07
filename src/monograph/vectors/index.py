"""Vector index of a file (EcoVector): opens, searches, builds and rebuilds it in either design.

Clusters are rows of the file, read when a search comes to them. The vectors themselves are stored once, in the memo;
clusters hold codes of them. See docs/vector-index.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.errors import InputError
from monograph.store.documents.filters import Allowed
from monograph.store.file.database import Connection
from monograph.store.file.errors import damaged, path_of
from monograph.store.vectors import clusters as store
from monograph.store.vectors import vectors as stored_vectors
from monograph.store.vectors.clusters import UNCLUSTERED, Placement
from monograph.values import Float32, arguments
from monograph.vectors import kernel
from monograph.vectors.design import DESIGNS, Design
from monograph.vectors.memory import IndexState, Memory
from monograph.vectors.search import Bits, Neighbours, VectorQuery, compare_all, is_allowed, prepare, prepare_many
from monograph.vectors.stop import Calibration, Never, Point, SearchEffort

if TYPE_CHECKING:
    from monograph.values import IndexStats
    from monograph.vectors.update import Update

Int64: TypeAlias = npt.NDArray[np.int64]

DEFAULT_CACHE_BYTES = 36 << 20
DEFAULT_TARGET_RECALL = 0.95
"""Recall@k at which searches stop, on average."""
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
        design: Design = DESIGNS["codes"],
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
        self._points: dict[tuple[int, int], Point | None] = {}

    def allowed(self, connection: Connection, condition: Allowed) -> Bits:
        """Bitmap of the memo rows that a filter allows, for :class:`~monograph.vectors.search.VectorQuery`."""
        return self._memory.allowed(connection, condition)

    def search(self, connection: Connection, vector: Float32, query: VectorQuery) -> Neighbours:
        """The nearest vectors: k of them where so many exist and are allowed, or more with the query's ``ties``.

        Parameters
        ----------
        connection:
            A read transaction.
        vector:
            float32 (dimension,), finite, not zero.
        query:
            What is asked.

        Raises
        ------
        InputError
            If the vector has another dimension, is zero or not finite.
        DamagedFile
            If a cluster is not what was written.
        """
        with _damage_as_error(connection):
            state = self._memory.state(connection)
            asked = prepare(vector, len(vector) if state is None else state.space.dimension)
            if state is None:  # The index waits to be built, in a file that cannot be written here.
                rows = np.array(store.members(connection, self.space), dtype=np.int64)
                if query.allowed is not None:
                    rows = rows[is_allowed(query.allowed, rows) > 0]
                return compare_all(connection, rows.tolist(), asked, query)
            vectors = self._memory.compared(connection, state, query)
            if vectors is not None:
                return vectors.search(asked, query)
            from monograph.vectors.cluster_search import CodeSearch, GraphSearch

            how = self._effort(state, query)
            search = (GraphSearch if state.space.design.has_graphs else CodeSearch)(query, how, asked)
            is_enough = search.run(connection, self._memory, state)
            if not is_enough and search.cuts_ties:  # The codes cannot tell the best from the rest: vectors do.
                memos = self._memory.memos(connection, query.allowed)
                return compare_all(connection, memos, asked, query, search.loaded)
            return search.finish(connection, self._memory, how.stopped if is_enough else "all")

    def _effort(self, state: IndexState, query: VectorQuery) -> SearchEffort:
        """When a search ends, and how many times k more results it keeps: as the calibration says."""
        calibration, allowed = state.calibration, query.count_allowed()
        of = (state.structure, query.k)
        if of not in self._points:
            self._points = {of: calibration.point(query.k, self.target_recall)}
        point = self._points[of]
        width = max(state.space.design.widths) if point is None else point.width
        # Not more than there may be, however many are asked for.
        width = min(width, 2 * calibration.vectors // max(1, query.k) + 1) if width else 0
        if query.stop is not None:
            return SearchEffort(query.stop, width)
        if point is None:
            return SearchEffort(Never(), width)
        # A load brings so much less of what is allowed.
        stretch = query.stretch * max(1.0, (calibration.vectors / allowed) ** 0.5) if allowed else query.stretch
        return SearchEffort(point.stop(stretch), width, "short" if point.recall < self.target_recall else "enough")

    def flush(self, connection: Connection) -> None:
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
        if (
            state is None
            or vectors.shape[1] not in (0, state.space.dimension)
            or (len(state.centroids) and len(wanted) > state.count(connection) - len(stale.unwanted))
        ):
            self.rebuild(connection)
            return
        self.delete(connection, stale.unwanted, coming=len(wanted))
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
            float32 (n, dimension). One that is zero is kept out: nothing is near to it.

        Raises
        ------
        InputError
            If a vector has another dimension or is not finite.
        """
        if not len(memos):
            return
        if store.header(connection, self.space) is None:
            self._begin(connection, vectors.shape[1], self.design)
        state = self._must(connection)
        some = vectors.any(axis=1)
        prepared = prepare_many(vectors[some], state.space.dimension)
        nowhere = memos[~some].tolist()
        store.place(connection, self.space, (Placement(memo, 0, 0) for memo in nowhere))
        memos = memos[some]
        if not len(memos):
            return
        with _damage_as_error(connection):
            if len(state.centroids):
                changes = _update(connection, state)
                changes.insert(memos, prepared)
                changes.finish()
                self._recalibrate(connection)
                return
            if state.space.design.has_clusters(state.count(connection) + len(memos)):
                self._build(connection, state, memos, prepared)
            else:
                store.place(connection, self.space, (Placement(memo, UNCLUSTERED, 0) for memo in memos.tolist()))
                store.touch(connection, self.space, structure=False)

    def delete(self, connection: Connection, memos: list[int], *, coming: int = 0) -> None:
        """Take vectors out of every result; those that are not there are passed over.

        Parameters
        ----------
        connection:
            A write transaction.
        memos:
            Rows of the memo.
        coming:
            Vectors that are inserted next: clusters stay if the index needs them then.
        """
        if not memos:
            return
        state = self._must(connection)
        with _damage_as_error(connection):
            if not len(state.centroids):
                store.unplace(connection, self.space, memos)
                store.touch(connection, self.space, structure=False)
                return
            changes = _update(connection, state)
            changes.delete(memos)
            changes.finish()
            state = self._must(connection)
            if not state.space.design.has_clusters(state.count(connection) + coming):
                self._drop_clusters(connection, state)

    def fold(self, connection: Connection) -> None:
        """Write clusters anew without deleted entries, so that no trace of them is left in their rows."""
        state = self._state(connection)
        if state is None or not len(state.centroids):
            return
        with _damage_as_error(connection):
            changes = _update(connection, state)
            changes.fold()
            changes.finish()

    def rebuild(self, connection: Connection) -> None:
        """Make the index anew from the vectors that the file's rows use, and calibrate it."""
        memos, vectors = stored_vectors.load_any(connection, store.members(connection, self.space))
        store.clear(connection, self.space)
        self.insert(connection, memos, vectors)

    def _build(self, connection: Connection, state: IndexState, memos: Int64, vectors: Float32) -> None:
        """Put the vectors of an index without clusters, and those that come, into clusters; calibrate the index."""
        held = [one.memo for one in store.every_placement(connection, self.space) if one.first]
        if held:
            memos, vectors = stored_vectors.load(connection, [*held, *memos.tolist()], state.space.dimension)
            vectors = prepare_many(vectors, state.space.dimension)
        for cluster in store.sizes(connection, self.space):  # Of an index that has lost its centroids.
            store.remove_cluster(connection, cluster)
        from monograph.vectors import update

        update.build(connection, state.space, memos, vectors)
        self._recalibrate(connection)

    def _drop_clusters(self, connection: Connection, state: IndexState) -> None:
        """Make an index without clusters of one that holds few vectors by now."""
        placed = list(store.every_placement(connection, self.space))
        store.clear(connection, self.space)
        self._begin(connection, state.space.dimension, state.space.design)
        store.place(connection, self.space, (Placement(one.memo, UNCLUSTERED if one.first else 0, 0) for one in placed))

    def _begin(self, connection: Connection, dimension: int, design: Design) -> None:
        store.put_header(connection, self.space, dimension, design.to_json(), Calibration().to_json())

    def _recalibrate(self, connection: Connection) -> None:
        state = self._must(connection)
        count = state.count(connection)
        before = state.calibration.vectors
        if before and max(count, before) < STALE_CALIBRATION * min(count, before):
            return
        from monograph.vectors import calibrate

        measured = calibrate.measure(connection, state.space, state.centroids, count)
        store.put_calibration(connection, self.space, measured.to_json())

    def stats(self, connection: Connection) -> IndexStats:
        """Counts, and what is held in memory."""
        from monograph.values import IndexStats

        state = self._state(connection)
        if state is None:
            return IndexStats(0, 0, 0, 0, 0, None, self.target_recall)
        sizes = store.sizes(connection, self.space).values()
        expected = state.calibration.point(10, self.target_recall)
        return IndexStats(
            vectors=store.count(connection, self.space),
            clusters=len(state.centroids),
            entries=sum(size.size for size in sizes),
            dead=sum(size.dead for size in sizes),
            memory=self._memory.size,
            expected_loads=None if expected is None else expected.loads,
            target_recall=self.target_recall,
            expected_recall=None if expected is None else expected.recall,
        )

    def _state(self, connection: Connection) -> IndexState | None:
        with _damage_as_error(connection):
            return self._memory.state(connection)

    def _must(self, connection: Connection) -> IndexState:
        state = self._state(connection)
        if state is None:
            raise InputError("the index holds nothing", "insert vectors first")
        return state


def _update(connection: Connection, state: IndexState) -> Update:
    from monograph.vectors.update import Update

    return Update(connection, state.space, state.centroids)


@contextmanager
def _damage_as_error(connection: Connection) -> Iterator[None]:
    """Raise DamagedFile, which names the file and the repair, for bytes that are not what was written."""
    try:
        yield
    except kernel.DamagedBytes as fault:
        raise damaged(path_of(connection), f"the vector index: {fault}") from None
