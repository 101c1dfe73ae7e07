"""Many queries through clusters of codes by value: a cluster is read once a round, for all that probe it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors.memory import Memory, State
from monograph.vectors.search import Search, probes


def probe_all(
    connection: Connection, memory: Memory, state: State, searches: Sequence[Search], asked: Sequence[Float32]
) -> set[int]:
    """Let each search probe its nearest clusters until it is enough.

    Returns
    -------
    Places of the searches for which it was; the others have searched every cluster.

    Raises
    ------
    DamagedBytes
        If a cluster is not what was written.
    """
    enough: set[int] = set()
    going = {place: probes(state.centroids, one, state.likely) for place, one in enumerate(asked)}
    while going:
        for cluster, places in _round(going).items():
            bodies = memory.bodies(connection, cluster, state.version)
            for place in places:
                if searches[place].probe(connection, cluster, bodies):
                    enough.add(place)
                    del going[place]
    return enough


def _round(going: dict[int, Iterator[int]]) -> dict[int, list[int]]:
    """The next probe of every search that goes on, by cluster; those without one are taken out."""
    wanted: dict[int, list[int]] = {}
    for place in list(going):
        cluster = next(going[place], None)
        if cluster is None:
            del going[place]
        else:
            wanted.setdefault(cluster, []).append(place)
    return wanted
