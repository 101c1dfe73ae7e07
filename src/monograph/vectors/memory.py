"""Memory of an index: its centroids, and a bounded cache of clusters and vectors."""

from __future__ import annotations

import struct
import threading
from dataclasses import dataclass, replace

import numpy as np

from monograph.errors import InputError
from monograph.store.documents.filters import Allowed
from monograph.store.file import settings
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE
from monograph.store.vectors import clusters as store
from monograph.store.vectors import vectors
from monograph.store.words.prefetch import Prefetcher
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.cluster import MOST_DIMENSIONS, unpack
from monograph.vectors.columns import Columns
from monograph.vectors.design import Design, Space
from monograph.vectors.search import Bits, Int64, MemoVectors, VectorQuery
from monograph.vectors.stop import Calibration

EXACT_BELOW = 400
"""Allowed vectors that are compared one by one rather than looked for in clusters."""
WALKED = 64
"""Centroids kept in view on a walk, at least."""
_FILTERS = 16
"""Filters whose bitmaps are kept."""
_FEW = 8
"""Filters whose vectors are kept, as they are few."""


@dataclass(frozen=True, slots=True)
class Centroids:
    """The clusters of an index, as searches compare them.

    Parameters
    ----------
    body:
        The centroids in codes of a byte, as a cluster whose ids are the clusters' numbers, ascending: which are near
        matters, not how near.
    graph:
        A graph of them, in the graph design.
    """

    body: bytes = b""
    graph: bytes | None = None

    def __len__(self) -> int:
        return struct.unpack_from("<I", self.body, 8)[0] if self.body else 0

    @property
    def names(self) -> Int64:
        """Numbers of the clusters: int64 (n,), ascending."""
        return unpack(self.body).ids if self.body else np.empty(0, dtype=np.int64)

    def nearest(self, query: Float32, count: int) -> Int64:
        """Numbers of the clusters whose centroids lie nearest to a query, nearest first: at most ``count``."""
        pool = kernel.Pool(min(count, len(self)))
        if self.graph is not None and count < len(self):
            kernel.walk(self.body, self.graph, query, pool, 0, max(count, WALKED), trusted=True)
        elif self.body:
            kernel.scan([self.body], query, pool, trusted=True)
        return pool.ids


@dataclass(frozen=True, slots=True)
class IndexState:
    """An index as one transaction sees it: see :class:`monograph.store.vectors.clusters.Header` for the two numbers.

    ``likely`` is how many loads a search of usual k and recall takes; None where it sees every cluster.
    """

    version: int
    structure: int
    space: Space
    calibration: Calibration
    centroids: Centroids
    likely: float | None

    def count(self, connection: Connection) -> int:
        """Vectors that can be found; in clusters counted by their entries."""
        if not len(self.centroids):
            return store.count(connection, self.space.number)
        copies = self.space.design.copies if len(self.centroids) > 1 else 1
        return store.count_entries(connection, self.space.number) // copies


class Memory:
    """Holds what searches need again, and drops it when the file has changed. Safe for use by many threads.

    Parameters
    ----------
    space:
        Which index of the file.
    cache_bytes:
        Clusters kept, at most; 0 keeps none.
    """

    def __init__(self, space: int, cache_bytes: int) -> None:
        self._space = space
        self.cache_bytes = cache_bytes
        self._lock = threading.Lock()
        self._state: IndexState | None = None
        # Each with the version that it is of, in one value: another thread must not see the one without the other.
        self._clusters: tuple[int, dict[int, tuple[bytes, bytes] | None]] = (0, {})
        self._clusters_size = 0
        self._arena: tuple[int, kernel.Arena] | None = None
        self._vectors: tuple[tuple[Bits | None, MemoVectors], ...] = ()
        self._filters: tuple[int, dict[Allowed, Bits]] = (-1, {})
        self._columns: tuple[int, Columns] | None = None
        self.ahead = Prefetcher()
        """Told of what is about to be read."""

    @property
    def size(self) -> int:
        """Bytes of what is kept."""
        centroids = (
            0 if self._state is None else len(self._state.centroids.body) + len(self._state.centroids.graph or b"")
        )
        vectors = sum(one.memory for _, one in self._vectors)
        return centroids + self._clusters_size + vectors + (0 if self._arena is None else self._arena[1].size)

    def state(self, connection: Connection) -> IndexState | None:
        """Return the index as the connection sees it; None where there is none.

        Raises
        ------
        DamagedBytes
            If its row or centroids are not what was written. They are looked at once; searches trust them from then on.
        """
        version, structure = store.versions(connection, self._space)
        held = self._state
        if held is not None and held.structure == structure:
            return held if held.version == version else replace(held, version=version)
        header = store.header(connection, self._space)
        if header is None:
            return None
        if not store.is_as_written(connection, self._space):
            raise kernel.DamagedBytes("what says how it is built is not what was written")
        try:
            design, calibration = Design.from_json(header.design), Calibration.from_json(header.calibration)
        except (InputError, *UNDECODABLE) as error:
            raise kernel.DamagedBytes(f"what says how it is built: {error}") from error
        if not 0 < header.dimension <= MOST_DIMENSIONS:
            raise kernel.DamagedBytes(f"what says how it is built: vectors of {header.dimension} dimensions")
        if calibration.vectors:  # Before it is measured there are no clusters.
            self.ahead.centroids(connection, self._space)
        body, graph = store.searched_centroids(connection, self._space) or (b"", None)
        if graph is not None:
            kernel.graph_check(body, graph)
        elif body:
            unpack(body)
        usual = calibration.point(10, 0.95)
        self._state = state = IndexState(
            version,
            structure,
            Space(self._space, design, header.dimension),
            calibration,
            Centroids(body, graph),
            None if usual is None else usual.loads,
        )
        return state

    def compared(self, connection: Connection, state: IndexState, query: VectorQuery) -> MemoVectors | None:
        """Return the vectors that are all compared: of an index without clusters, or the few that a filter allows.

        A filter's bitmap is the same one as long as the file has not changed.
        """
        of = None
        if len(state.centroids):
            of, allowed = query.allowed, query.count_allowed()
            if allowed is None or allowed > EXACT_BELOW:
                return None
        for bits, held in self._vectors:
            if bits is of and held.version == state.version:
                return held
        found = MemoVectors.load(connection, state.version, self.memos(connection, of), state.space.dimension)
        if found.memory <= self.cache_bytes:
            left = (pair for pair in self._vectors if pair[1].version == state.version)
            self._vectors = ((of, found), *left)[:_FEW]
        return found

    def memos(self, connection: Connection, allowed: Bits | None) -> list[int]:
        """Return the memo rows of all vectors that may be found."""
        if allowed is None:
            return [one.memo for one in store.every_placement(connection, self._space) if one.first]
        held = np.flatnonzero(allowed)  # Rows may be few, and far from each other.
        places = np.flatnonzero(np.unpackbits(allowed[held], bitorder="little"))
        rows = (held[places >> 3] * 8 + (places & 7)).tolist()
        return [one.memo for one in store.placements(connection, self._space, rows).values() if one.first]

    def cluster(self, connection: Connection, cluster: int, version: int) -> tuple[bytes, bytes] | None:
        """Return body and graph of a cluster of the graph design, from memory or the file; None for an empty one."""
        of, clusters = self._clusters
        if of == version and cluster in clusters:
            return clusters[cluster]
        body, graph = store.part(connection, cluster, store.FOLDED), store.graph(connection, cluster)
        if (body is None) != (graph is None):
            raise kernel.DamagedBytes(f"cluster {cluster} lacks its graph")
        found = None if body is None or graph is None else (body, graph)
        if not self.cache_bytes:
            return found
        with self._lock:
            if self._clusters[0] != version:
                self._clusters, self._clusters_size = (version, {}), 0
            size = 0 if found is None else sum(map(len, found))
            # What came first stays: exchanging clusters costs more than reading them from the system's own cache.
            if self._clusters_size + size <= self.cache_bytes and cluster not in self._clusters[1]:
                self._clusters_size += size
                self._clusters[1][cluster] = found
        return found

    def arena(self, state: IndexState) -> kernel.Arena:
        """Return where compact codes are kept, until the file changes."""
        held = self._arena
        if held is not None and held[0] == state.version:
            return held[1]
        with self._lock:
            held = self._arena
            if held is None or held[0] != state.version:
                held = self._arena = (state.version, kernel.Arena(state.centroids.body))
            return held[1]

    def allowed(self, connection: Connection, condition: Allowed) -> Bits:
        """Return a bitmap of the memo rows that a filter allows; the last few are kept until the file changes.

        The first filter of a state of the file is looked for in the file, later ones in columns.
        """
        generation = settings.generation(connection)
        of, filters = self._filters
        if of != generation or len(filters) >= _FILTERS:
            filters = {}
            self._filters = generation, filters
        found = filters.get(condition)
        if found is not None:
            return found
        columns = self._columns
        if columns is not None and columns[0] != generation:
            columns = None
        if self._space != store.CHUNKS or condition.condition is None or not (columns or filters):
            found = vectors.allowed_bits(connection, condition, self._space)
        else:
            columns = self._columns = columns or (generation, Columns(connection))
            found = columns[1].allowed_bits(connection, condition.condition)
        filters[condition] = found
        return found
