"""Whether an index in a file is what it should be."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from monograph.store import clusters as store
from monograph.store.database import Connection
from monograph.vectors import kernel
from monograph.vectors.cluster import unpack
from monograph.vectors.memory import Memory


def faults(connection: Connection, space: int) -> Iterator[str]:
    """What is wrong with an index: damaged clusters, and vectors that are not where they should be."""
    if store.has_stale(connection, space):
        yield "vectors wait to be put into the index"
    if store.header(connection, space) is None:
        return
    try:
        memory = Memory(space, 0)
        with closing(memory.ahead):
            memory.state(connection)
    except (kernel.DamagedBytes, ValueError) as fault:
        yield f"the centroids are damaged: {fault}"
        return
    held: dict[int, set[int]] = {}
    for cluster, size in store.sizes(connection, space).items():
        try:
            parts = [unpack(body).alive() for body in store.bodies(connection, cluster)]
        except kernel.DamagedBytes as fault:
            yield f"cluster {cluster} is damaged: {fault}"
            continue
        held[cluster] = {memo for part in parts for memo in part.ids.tolist()}
        if size.size != sum(map(len, parts)):
            yield f"cluster {cluster} counts {size.size} entries and holds {sum(map(len, parts))}"
    yield from _misplaced(connection, space, held)


def _misplaced(connection: Connection, space: int, held: dict[int, set[int]]) -> Iterator[str]:
    wanted: dict[int, set[int]] = {cluster: set() for cluster in held}
    for one in store.every_placement(connection, space):
        for cluster in {one.first, one.second} - {0}:
            wanted.setdefault(cluster, set()).add(one.memo)
    wrong = sum(wanted[cluster] != held[cluster] for cluster in held)
    if wrong:
        yield f"{wrong} clusters do not hold what is placed in them"
    missing = store.count_missing(connection, space)
    if missing:
        yield f"{missing} vectors are not in the index"
