"""What an index holds in memory: its centroids, and as many clusters as it is allowed to keep."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

from monograph.store import clusters as store
from monograph.store.database import Connection
from monograph.vectors import centroids as central
from monograph.vectors.calibrate import Calibration
from monograph.vectors.design import Design
from monograph.vectors.update import Space


@dataclass(frozen=True, slots=True)
class State:
    """An index as one transaction sees it: see :class:`monograph.store.clusters.Header` for the two numbers."""

    version: int
    structure: int
    space: Space
    calibration: Calibration
    centroids: central.Centroids


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
        self._cache: dict[int, list[bytes]] = {}
        self._cache_version = 0
        self.cached = 0
        """Bytes of the clusters that are kept."""

    def state(self, connection: Connection) -> State | None:
        """The index as the connection sees it; None where there is none."""
        version, structure = store.versions(connection, self._space)
        held = self._held
        if held is not None and held.structure == structure:
            return held if held.version == version else replace(held, version=version)
        header = store.header(connection, self._space)
        if header is None:
            return None
        space = Space(self._space, Design.from_json(header.design), header.dimension)
        names, vectors = store.centroids(connection, self._space, header.dimension)
        made = central.make(names, vectors, space.design.metric, store.centroid_graph(connection, self._space))
        state = State(version, structure, space, Calibration.from_json(header.calibration), made)
        self._held = state
        return state

    def bodies(self, connection: Connection, cluster: int, version: int) -> list[bytes]:
        """The bodies of a cluster, from memory or from the file."""
        if not self._cache_bytes:
            return store.bodies(connection, cluster)
        if version == self._cache_version:
            held = self._cache.get(cluster)
            if held is not None:
                return held
        bodies = store.bodies(connection, cluster)
        with self._lock:
            self._keep(cluster, bodies, version)
        return bodies

    def _keep(self, cluster: int, bodies: list[bytes], version: int) -> None:
        if version != self._cache_version:
            self._cache, self.cached, self._cache_version = {}, 0, version
        size = sum(map(len, bodies))
        if size > self._cache_bytes or cluster in self._cache:
            return
        while self.cached + size > self._cache_bytes:
            # The oldest goes first.
            self.cached -= sum(map(len, self._cache.pop(next(iter(self._cache)))))
        self.cached += size
        self._cache[cluster] = bodies
