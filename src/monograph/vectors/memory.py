"""Memory of an index: its centroids, and a bounded cache of clusters and vectors."""

from __future__ import annotations

import struct
import threading
from dataclasses import dataclass, replace

import numpy as np

from monograph.errors import InputError
from monograph.store.documents.filters import CompiledFilter
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
"""If a filter allows at most this number of vectors, all of them are compared, and no cluster is read."""
WALKED = 64
"""Least ef (number of candidates) of a walk along the graph of the centroids."""
_FILTERS = 16
"""Maximum number of filters whose bitmaps of allowed memo rows are cached."""
_FEW = 8
"""Maximum number of filters whose allowed vectors are cached, at most EXACT_BELOW vectors each."""


@dataclass(frozen=True, slots=True)
class Centroids:
    """The centroids of an index, in the form in which searches compare them with a query.

    ``body`` has the centroids' 8-bit codes, in the format of a cluster. The id of each entry is the number of the
    centroid's cluster; entries are in ascending order of id. ``body`` is empty if the index has no clusters. Codes are
    precise enough, because searches use only the order of the centroids by distance. ``graph`` is the HNSW graph of the
    centroids; None if the index has the ``codes`` design.
    """

    body: bytes = b""
    graph: bytes | None = None

    def __len__(self) -> int:
        return struct.unpack_from("<I", self.body, 8)[0] if self.body else 0

    @property
    def names(self) -> Int64:
        """Numbers of all clusters: int64 (n,), ascending."""
        return unpack(self.body).ids if self.body else np.empty(0, dtype=np.int64)

    def nearest(self, query: Float32, count: int) -> Int64:
        """Return the numbers of the ``count`` clusters whose centroids are nearest to a query, nearest first."""
        pool = kernel.Pool(min(count, len(self)))
        if self.graph is not None and count < len(self):
            kernel.walk(self.body, self.graph, query, pool, 0, max(count, WALKED), trusted=True)
        elif self.body:
            kernel.scan([self.body], query, pool, trusted=True)
        return pool.ids


@dataclass(frozen=True, slots=True)
class IndexState:
    """An index in the state that one transaction sees.

    ``version`` and ``structure`` are the numbers that :func:`monograph.store.vectors.clusters.versions` returns for the
    index. ``likely`` is the expected number of clusters that a search with k = 10 and target recall 0.95 loads. If it
    is None, such a search loads every cluster.
    """

    version: int
    structure: int
    space: Space
    calibration: Calibration
    centroids: Centroids
    likely: float | None

    def count(self, connection: Connection) -> int:
        """Return the number of vectors that a search can find.

        If the index has clusters, the number is computed from the stored numbers of their entries, which is faster.
        """
        if not len(self.centroids):
            return store.count(connection, self.space.number)
        copies = self.space.design.copies if len(self.centroids) > 1 else 1
        return store.count_entries(connection, self.space.number) // copies


class Memory:
    """Cache of an index's centroids, clusters, vectors and filters, for one version of the file.

    Safe for use by many threads. ``cache_bytes`` is the largest number of bytes of cached clusters; 0 caches none.
    """

    def __init__(self, space: int, cache_bytes: int) -> None:
        self._space = space
        self.cache_bytes = cache_bytes
        self._lock = threading.Lock()
        self._state: IndexState | None = None
        # Each value is stored in one tuple with its version, so that no thread sees one without the other.
        self._clusters: tuple[int, dict[int, tuple[bytes, bytes] | None]] = (0, {})
        self._clusters_size = 0
        self._arena: tuple[int, kernel.Arena] | None = None
        self._vectors: tuple[tuple[Bits | None, MemoVectors], ...] = ()
        self._filters: tuple[int, dict[CompiledFilter, Bits]] = (-1, {})
        self._columns: tuple[int, Columns] | None = None
        self.ahead = Prefetcher()
        """Asks the system to read pages before SQLite reads them."""

    @property
    def size(self) -> int:
        """Bytes of the cached centroids, clusters and vectors."""
        centroids = Centroids() if self._state is None else self._state.centroids
        size = len(centroids.body) + len(centroids.graph or b"") + self._clusters_size
        size += sum(cached.memory for _, cached in self._vectors)
        return size if self._arena is None else size + self._arena[1].size

    def state(self, connection: Connection) -> IndexState | None:
        """Return the index in the state that the connection sees; None if the index is not built yet.

        The header and the centroids are checked once, and then cached. Raises DamagedBytes if they are damaged.
        """
        version, structure = store.versions(connection, self._space)
        cached = self._state
        if cached is not None and cached.structure == structure:
            return cached if cached.version == version else replace(cached, version=version)
        header = store.header(connection, self._space)
        if header is None:
            return None
        dimension, design_json, calibration_json, is_as_written = header
        if not is_as_written:
            raise kernel.DamagedBytes("the checksum of its header does not match")
        try:
            design, calibration = Design.from_json(design_json), Calibration.from_json(calibration_json)
        except (InputError, *UNDECODABLE) as error:
            raise kernel.DamagedBytes(f"its header is invalid: {error}") from error
        if not 0 < dimension <= MOST_DIMENSIONS:
            raise kernel.DamagedBytes(f"its header is invalid: vectors of {dimension} dimensions")
        if calibration.vectors:  # Without a calibration there are no clusters yet.
            self.ahead.centroids(connection, self._space)
        body, graph = store.searched_centroids(connection, self._space) or (b"", None)
        if graph is not None:
            kernel.graph_check(body, graph)
        elif body:
            unpack(body)
        expected = calibration.point(10, 0.95)
        self._state = state = IndexState(
            version,
            structure,
            Space(self._space, design, dimension),
            calibration,
            Centroids(body, graph),
            None if expected is None else expected.loads,
        )
        return state

    def compared(self, connection: Connection, state: IndexState, query: VectorQuery) -> MemoVectors | None:
        """Return the vectors that the query is compared with one by one; None if clusters must be searched instead.

        An index without clusters returns all its vectors. An index with clusters returns the allowed vectors if the
        query's filter allows at most EXACT_BELOW.

        Allowed vectors are cached by the identity of the filter's bitmap, not by its contents. This works because
        :meth:`allowed` returns the same bitmap object for the same filter until the file changes.
        """
        bitmap = None
        if len(state.centroids):
            bitmap, allowed = query.allowed, query.count_allowed()
            if allowed is None or allowed > EXACT_BELOW:
                return None
        for bits, cached in self._vectors:
            if bits is bitmap and cached.version == state.version:
                return cached
        loaded = MemoVectors.load(connection, state.version, self.memos(connection, bitmap), state.space.dimension)
        if loaded.memory <= self.cache_bytes:
            current = (pair for pair in self._vectors if pair[1].version == state.version)
            self._vectors = ((bitmap, loaded), *current)[:_FEW]
        return loaded

    def memos(self, connection: Connection, allowed: Bits | None) -> list[int]:
        """Return the memo rows of all vectors that are in the index and allowed.

        ``allowed`` is a bitmap; None allows all.
        """
        if allowed is None:
            return store.searchable_memos(connection, self._space)
        byte_indexes = np.flatnonzero(allowed)  # Unpack only the bytes with an allowed row: there may be few.
        bit_indexes = np.flatnonzero(np.unpackbits(allowed[byte_indexes], bitorder="little"))
        rows = (byte_indexes[bit_indexes >> 3] * 8 + (bit_indexes & 7)).tolist()
        return [memo for memo, first, _ in store.placements(connection, self._space, rows).values() if first]

    def cluster(self, connection: Connection, cluster: int, version: int) -> tuple[bytes, bytes] | None:
        """Return (body, graph) of a cluster in the graph design, from cache or file; None if the cluster is empty.

        ``version`` is the version of the index. Clusters that were cached for another version are not used.
        """
        cached_version, clusters = self._clusters
        if cached_version == version and cluster in clusters:
            return clusters[cluster]
        body, graph = store.part(connection, cluster, store.FOLDED), store.graph(connection, cluster)
        if (body is None) != (graph is None):
            raise kernel.DamagedBytes(f"cluster {cluster} lacks its graph")
        loaded = None if body is None or graph is None else (body, graph)
        if not self.cache_bytes:
            return loaded
        with self._lock:
            if self._clusters[0] != version:
                self._clusters, self._clusters_size = (version, {}), 0
            size = 0 if loaded is None else sum(map(len, loaded))
            # Cached clusters are never evicted: replacing them costs more than reading from the system's cache.
            if self._clusters_size + size <= self.cache_bytes and cluster not in self._clusters[1]:
                self._clusters_size += size
                self._clusters[1][cluster] = loaded
        return loaded

    def arena(self, state: IndexState) -> kernel.Arena:
        """Return the cache of 2-bit codes that belongs to the given version of the index."""
        cached = self._arena
        if cached is not None and cached[0] == state.version:
            return cached[1]
        with self._lock:
            cached = self._arena
            if cached is None or cached[0] != state.version:
                cached = self._arena = (state.version, kernel.Arena(state.centroids.body))
            return cached[1]

    def allowed(self, connection: Connection, condition: CompiledFilter) -> Bits:
        """Return a bitmap of the memo rows that a filter allows. Up to 16 bitmaps are cached until the file changes.

        The first filter after a change of the file is evaluated by SQL. Later filters on chunks are evaluated by
        columns of metadata values in memory.
        """
        generation = settings.generation(connection)
        cached_generation, filters = self._filters
        if cached_generation != generation or len(filters) >= _FILTERS:
            filters = {}
            self._filters = generation, filters
        bits = filters.get(condition)
        if bits is not None:
            return bits
        columns = self._columns
        if columns is not None and columns[0] != generation:
            columns = None
        if self._space != store.CHUNKS or condition.condition is None or not (columns or filters):
            bits = vectors.allowed_bits(connection, condition, self._space)
        else:
            columns = self._columns = columns or (generation, Columns(connection))
            bits = columns[1].allowed_bits(connection, condition.condition)
        filters[condition] = bits
        return bits
