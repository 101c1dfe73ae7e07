"""What an index holds in memory: its centroids, and as many clusters as it is allowed to keep."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from monograph.errors import InputError
from monograph.store.documents.filters import Allowed
from monograph.store.file import settings
from monograph.store.file.database import Connection
from monograph.store.file.errors import UNDECODABLE
from monograph.store.vectors import clusters as store
from monograph.store.vectors import vectors
from monograph.store.words.prefetch import Prefetcher
from monograph.vectors import centroids as central
from monograph.vectors import kernel
from monograph.vectors.cluster import MOST_DIMENSIONS
from monograph.vectors.columns import Columns
from monograph.vectors.curve import Calibration
from monograph.vectors.design import Design, Space
from monograph.vectors.exact import AllowedVectors, Vectors
from monograph.vectors.search import Bits

_FILTERS = 16


@dataclass(frozen=True, slots=True)
class State:
    """An index as one transaction sees it: see :class:`monograph.store.vectors.clusters.Header` for the two numbers.

    ``likely`` is how many loads a search of usual k and recall takes; None where it sees every cluster.
    """

    version: int
    structure: int
    space: Space
    calibration: Calibration
    centroids: central.Centroids
    likely: float | None

    def count(self, connection: Connection) -> int:
        """Vectors that can be found; in clusters counted by their entries."""
        if not len(self.centroids):
            return store.count(connection, self.space.number)
        copies = self.space.design.copies if len(self.centroids) > 1 else 1
        return store.count_entries(connection, self.space.number) // copies


def _read(number: int, header: store.Header) -> tuple[Space, Calibration]:
    try:
        design, calibration = Design.from_json(header.design), Calibration.from_json(header.calibration)
    except (InputError, *UNDECODABLE) as error:
        raise kernel.DamagedBytes(f"what says how it is built: {error}") from error
    if not 0 < header.dimension <= MOST_DIMENSIONS:
        raise kernel.DamagedBytes(f"what says how it is built: vectors of {header.dimension} dimensions")
    return Space(number, design, header.dimension), calibration


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
        self._cache_bytes = cache_bytes
        self._lock = threading.Lock()
        self._held: State | None = None
        # With the version that they are of, in one value: another thread must not see the one without the other.
        self._cache: tuple[int, dict[int, kernel.Cluster | None]] = (0, {})
        self._arena: tuple[int, kernel.Arena] | None = None
        self.ahead = Prefetcher()
        """Told of what is about to be read."""
        self.few = AllowedVectors()
        """Vectors of filters that allow few."""
        self._vectors: Vectors | None = None
        self._filters: dict[Allowed, Bits] = {}
        self._filters_generation = -1
        self._columns: tuple[int, Columns] | None = None
        self._cached = 0

    @property
    def keeps(self) -> bool:
        """Whether anything of what is read is to be kept."""
        return self._cache_bytes > 0

    @property
    def cached(self) -> int:
        """Bytes of what is kept of clusters and vectors."""
        vectors = 0 if self._vectors is None else self._vectors.memory
        return self._cached + vectors + (0 if self._arena is None else self._arena[1].size)

    def state(self, connection: Connection) -> State | None:
        """The index as the connection sees it; None where there is none."""
        version, structure = store.versions(connection, self._space)
        held = self._held
        if held is not None and held.structure == structure:
            return held if held.version == version else replace(held, version=version)
        header = store.header(connection, self._space)
        if header is None:
            return None
        if not store.is_as_written(connection, self._space):
            raise kernel.DamagedBytes("what says how it is built is not what was written")
        space, calibration = _read(self._space, header)
        if calibration.vectors:  # Before it is measured there are no clusters.
            self.ahead.centroids(connection, space.number)
        found = store.searched_centroids(connection, space.number)
        made = central.NONE if found is None else central.load(*found)
        state = State(version, structure, space, calibration, made, calibration.likely)
        self._held = state
        return state

    def vectors(self, connection: Connection, state: State) -> Vectors:
        """Every vector of an index without clusters, from memory or from the file."""
        held = self._vectors
        if held is not None and held.version == state.version:
            return held
        memos = [one.memo for one in store.every_placement(connection, self._space) if one.first]
        found = Vectors.load(connection, state.version, memos, state.space.dimension)
        self._vectors = found if found.memory <= self._cache_bytes else None
        return found

    def cluster(self, connection: Connection, cluster: int, version: int) -> kernel.Cluster | None:
        """A cluster of the graph design, from memory or from the file; None for an empty one."""
        of, cache = self._cache
        if of == version and cluster in cache:
            return cache[cluster]
        body, graph = store.folded(connection, cluster), store.graph(connection, cluster)
        if (body is None) != (graph is None):
            raise kernel.DamagedBytes(f"cluster {cluster} lacks its graph")
        found = None if body is None or graph is None else kernel.Cluster(body, graph)
        if self._cache_bytes:
            with self._lock:
                self._keep(cluster, found, version)
        return found

    def arena(self, state: State) -> kernel.Arena:
        """Where compact codes are kept, until the file changes."""
        held = self._arena
        if held is not None and held[0] == state.version:
            return held[1]
        with self._lock:
            held = self._arena
            if held is None or held[0] != state.version:
                held = self._arena = (state.version, kernel.Arena(state.centroids.body))
            return held[1]

    def has_room(self, arena: kernel.Arena) -> bool:
        """Whether anything more may be kept."""
        return arena.size < self._cache_bytes

    def keep(self, arena: kernel.Arena, cluster: int, bodies: list[bytes]) -> bool:
        """Keep a cluster if there is room for it; whether it is in the arena now."""
        some = arena.size + sum(map(len, bodies)) <= self._cache_bytes
        return some and arena.keep(cluster, bodies, self._cache_bytes)

    def remember(self, arena: kernel.Arena, bodies: list[bytes]) -> bool:
        """Keep codes by value if there is room beside those of clusters, which may take half; whether it did."""
        some = arena.size + sum(map(len, bodies)) <= self._cache_bytes // 2
        if some:
            arena.remember(bodies)
        return some

    def allowed(self, connection: Connection, condition: Allowed) -> Bits:
        """Bitmap of the memo rows that a filter allows; the last few are kept until the file changes."""
        generation = settings.generation(connection)
        with self._lock:
            if generation != self._filters_generation or len(self._filters) >= _FILTERS:
                self._filters, self._filters_generation = {}, generation
            held = self._filters.get(condition)
        if held is None:
            held = self._found(connection, condition, generation)
            with self._lock:
                if generation == self._filters_generation:
                    self._filters[condition] = held
        return held

    def _found(self, connection: Connection, allowed: Allowed, generation: int) -> Bits:
        """What a filter allows: looked for in the file when it is the first since that changed, then in columns."""
        if self._space != store.CHUNKS or allowed.condition is None:
            return vectors.allowed_bits(connection, allowed, self._space)
        known = self._columns
        if known is None or known[0] != generation:
            if not self._filters:
                return vectors.allowed_bits(connection, allowed, self._space)
            known = self._columns = (generation, Columns(connection))
        return known[1].allowed_bits(connection, allowed.condition)

    def _keep(self, cluster: int, found: kernel.Cluster | None, version: int) -> None:
        of, cache = self._cache
        if version != of:
            cache = {}
            self._cache, self._cached = (version, cache), 0
        size = 0 if found is None else sum(map(len, found))
        # What came first stays: exchanging clusters costs more than reading them from the system's own cache.
        if self._cached + size <= self._cache_bytes and cluster not in cache:
            self._cached += size
            cache[cluster] = found
