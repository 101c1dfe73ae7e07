"""Vector index of a file (EcoVector): opens, searches, builds and rebuilds it in either design.

Clusters are rows of the file, which a search reads when it needs them. The vectors themselves are stored once, in the
memo; clusters contain their codes. See docs/explanation/vector-index.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from monograph.errors import InputError
from monograph.store.documents.filters import CompiledFilter
from monograph.store.file.database import Connection
from monograph.store.file.errors import damaged, path_of
from monograph.store.vectors import clusters as store
from monograph.store.vectors import vectors as stored_vectors
from monograph.store.vectors.clusters import UNCLUSTERED, Placement
from monograph.values import Float32, arguments
from monograph.vectors import kernel
from monograph.vectors.design import DESIGNS, Design
from monograph.vectors.memory import IndexState, Memory
from monograph.vectors.search import (
    Bits,
    Int64,
    Neighbours,
    VectorQuery,
    compare_all,
    is_allowed,
    prepare,
    prepare_many,
)
from monograph.vectors.stop import Calibration, Never, Point, RankedRecall, SearchEffort

if TYPE_CHECKING:
    from monograph.values import IndexStats
    from monograph.vectors.update import Update

DEFAULT_CACHE_BYTES = 36 << 20
DEFAULT_TARGET_RECALL = 0.95
"""Default of the mean recall@k at which searches stop."""
STALE_CALIBRATION = 2.0
"""An index is calibrated again when its number of vectors has grown or shrunk by this factor since its calibration."""


class EcoVectorIndex:
    """One vector index of a file. Safe for use by many threads. The caller opens the transactions.

    ``space`` is the number of the index in the file: ``CHUNKS`` or ``SUMMARIES`` of
    :mod:`monograph.store.vectors.clusters`. ``design`` is the design of a new or rebuilt index; an index in the file
    keeps its own design until it is rebuilt. ``target_recall`` is the mean recall@k at which searches stop, as measured
    on the index's own vectors. ``cache_bytes`` is the largest number of bytes of clusters that are cached in memory; 0
    caches none.

    Raises InputError if a number is out of range.
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
        self._points: dict[tuple[int, int, RankedRecall | None], Point | None] = {}

    def allowed(self, connection: Connection, condition: CompiledFilter) -> Bits:
        """Return a bitmap of the memo rows that a filter allows, to be used as ``allowed`` of a VectorQuery.

        See :class:`monograph.vectors.search.VectorQuery`.
        """
        return self._memory.allowed(connection, condition)

    def search(self, connection: Connection, vector: Float32, query: VectorQuery) -> Neighbours:
        """Return the k allowed vectors that are nearest to ``vector``, float32 (dimension,).

        If the query has ``ties``, all vectors that tie with the k-th are returned, too. If fewer than k exist, all are
        returned. Raises InputError if ``vector`` has another dimension, is zero or not finite; DamagedFile if the index
        is damaged.
        """
        with _translate_damage(connection):
            state = self._memory.state(connection)
            prepared = prepare(vector, len(vector) if state is None else state.space.dimension)
            if state is None:  # The index is not built yet, and this file cannot be written here.
                rows = np.array(store.members(connection, self.space), dtype=np.int64)
                if query.allowed is not None:
                    rows = rows[is_allowed(query.allowed, rows) > 0]
                return compare_all(connection, rows.tolist(), prepared, query)
            vectors = self._memory.compared(connection, state, query)
            if vectors is not None:
                return vectors.search(prepared, query)
            from monograph.vectors.cluster_search import CodeSearch, GraphSearch

            effort = self._effort(state, query)
            search = (GraphSearch if state.space.design.has_graphs else CodeSearch)(query, effort, prepared)
            is_enough = search.run(connection, self._memory, state)
            if not is_enough and search.certain_results < min(query.k, search.pool.filled):
                # Codes cannot separate the best from results that were dropped: compare vectors.
                memos = self._memory.memos(connection, query.allowed)
                return compare_all(connection, memos, prepared, query, search.loaded)
            return search.finish(connection, self._memory, effort.stopped if is_enough else "all")

    def _effort(self, state: IndexState, query: VectorQuery) -> SearchEffort:
        """Return the stop condition and the width of a search, from the query or else from the calibration."""
        calibration, allowed = state.calibration, query.count_allowed()
        ranked = query.stop if isinstance(query.stop, RankedRecall) else None
        target = self.target_recall if ranked is None else ranked.target
        key = (state.structure, query.k, ranked)
        points = self._points
        if key not in points:
            points = self._points = {key: calibration.point(query.k, target, ranked=ranked is not None)}
        point = points[key]
        width = max(state.space.design.widths) if point is None else point.width
        # Do not reserve room for more results than there can be.
        width = min(width, 2 * calibration.vectors // max(1, query.k) + 1) if width else 0
        if not isinstance(query.stop, RankedRecall | None):
            return SearchEffort(query.stop, width)
        if point is None:
            return SearchEffort(Never(), width)
        # With a filter, a load brings fewer allowed results: widen the window.
        window_factor = (
            query.window_factor * max(1.0, (calibration.vectors / allowed) ** 0.5) if allowed else query.window_factor
        )
        reached = point.reached(ranked=ranked is not None)
        return SearchEffort(point.stop(window_factor), width, "short" if reached < target else "enough")

    def flush(self, connection: Connection) -> None:
        """Insert and delete vectors so that the index has exactly the vectors that rows of the file refer to.

        Call this before every commit.
        """
        if not store.has_stale(connection, self.space):
            return
        wanted, unwanted = store.take_stale(connection, self.space)
        memos, vectors = stored_vectors.load_any(connection, wanted)
        state = self._state(connection)
        if (
            state is None
            or vectors.shape[1] not in (0, state.space.dimension)
            or (len(state.centroids) and len(memos) > state.count(connection) - len(unwanted))
        ):
            self.rebuild(connection)
            return
        self.delete(connection, unwanted, coming=len(memos))
        self.insert(connection, memos, vectors)

    def insert(self, connection: Connection, memos: Int64, vectors: Float32) -> None:
        """Add vectors, float32 (n, dimension), in a write transaction. The first call creates the index.

        ``memos``, int64 (n,), are the memo rows of the vectors. None of these rows may be in the index yet. Zero
        vectors are left out of the clusters, because they have no cosine. Raises InputError if a vector has another
        dimension or is not finite.
        """
        if not len(memos):
            return
        if store.header(connection, self.space) is None:
            self._put_header(connection, vectors.shape[1], self.design)
        state = self._must(connection)
        nonzero = vectors.any(axis=1)
        prepared = prepare_many(vectors[nonzero], state.space.dimension)
        zero_memos = memos[~nonzero].tolist()
        store.place(connection, self.space, (Placement(memo, 0, 0) for memo in zero_memos))
        memos = memos[nonzero]
        if not len(memos):
            return
        with _translate_damage(connection):
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
        """Delete vectors by memo row, in a write transaction. Rows that are not in the index are ignored.

        ``coming`` is the number of vectors that the caller inserts next. The clusters are kept if the index will need
        them after these insertions. Raises InputError if the index is not built yet.
        """
        if not memos:
            return
        state = self._must(connection)
        with _translate_damage(connection):
            if not len(state.centroids):
                store.delete_placements(connection, self.space, memos)
                store.touch(connection, self.space, structure=False)
                return
            changes = _update(connection, state)
            changes.delete(memos)
            changes.finish()
            state = self._must(connection)
            if not state.space.design.has_clusters(state.count(connection) + coming):
                # The index has become small: convert it into one without clusters.
                placed = list(store.every_placement(connection, self.space))
                store.clear(connection, self.space)
                self._put_header(connection, state.space.dimension, state.space.design)
                unclustered = (Placement(memo, UNCLUSTERED if first else 0, 0) for memo, first, _ in placed)
                store.place(connection, self.space, unclustered)

    def fold(self, connection: Connection) -> None:
        """Rewrite the clusters that have deleted entries, so that their rows have no trace of these entries."""
        state = self._state(connection)
        if state is None or not len(state.centroids):
            return
        with _translate_damage(connection):
            changes = _update(connection, state)
            changes.fold()
            changes.finish()

    def rebuild(self, connection: Connection) -> None:
        """Build the index again from the vectors that rows of the file refer to, and calibrate it."""
        memos, vectors = stored_vectors.load_any(connection, store.members(connection, self.space))
        store.clear(connection, self.space)
        self.insert(connection, memos, vectors)

    def _build(self, connection: Connection, state: IndexState, memos: Int64, vectors: Float32) -> None:
        """Build and calibrate the clusters of an index that has none, from its stored vectors and the new ones."""
        placed = store.searchable_memos(connection, self.space)
        if placed:
            memos, vectors = stored_vectors.load(connection, [*placed, *memos.tolist()], state.space.dimension)
            vectors = prepare_many(vectors, state.space.dimension)
        for cluster in store.sizes(connection, self.space):  # Left over in an index that has lost its centroids.
            store.remove_cluster(connection, cluster)
        from monograph.vectors import update

        update.build(connection, state.space, memos, vectors)
        self._recalibrate(connection)

    def _put_header(self, connection: Connection, dimension: int, design: Design) -> None:
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
        """Return the counts of the index, its bytes in memory, and the expected loads and recall of a search."""
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
        with _translate_damage(connection):
            return self._memory.state(connection)

    def _must(self, connection: Connection) -> IndexState:
        state = self._state(connection)
        if state is None:
            raise InputError("the index is empty", "insert vectors first")
        return state


def _update(connection: Connection, state: IndexState) -> Update:
    from monograph.vectors.update import Update

    return Update(connection, state.space, state.centroids)


@contextmanager
def _translate_damage(connection: Connection) -> Iterator[None]:
    """Raise DamagedFile, which names the file, if the ``with`` block raises DamagedBytes."""
    try:
        yield
    except kernel.DamagedBytes as fault:
        raise damaged(path_of(connection), f"the vector index: {fault}") from None
