"""Check that the vector index in a file is consistent."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.store.vectors import vectors
from monograph.vectors import kernel
from monograph.vectors.cluster import encode, pack, unpack
from monograph.vectors.memory import IndexState, Memory


def faults(connection: Connection, space: int) -> Iterator[str]:
    """Yield a message for each fault of an index: damaged rows, missing vectors, and vectors in a wrong cluster.

    Vectors that still wait to be inserted are no fault.
    """
    waits = store.has_stale(connection, space)
    if store.header(connection, space) is None:
        if store.sizes(connection, space) or store.has_codes(connection, space):
            yield "the index has clusters or codes, but no header"
        elif store.count_missing(connection, space) and not waits:
            yield "there is no index of the vectors"
        return
    try:
        state = Memory(space, 0).state(connection)
    except kernel.DamagedBytes as error:
        yield f"the index is damaged: {error}"
        return
    if state is None:
        return
    yield from _check_centroids(connection, state)
    yield from _check_clusters(connection, state)
    yield from _check_codes(connection, state)
    left_out = [placement.memo for placement in store.every_placement(connection, space) if not placement.first]
    _, values = vectors.load(connection, left_out, state.space.dimension)
    for count, fault in (
        (int(values.any(axis=1).sum()), "nonzero vectors are left out of the index"),
        (0 if waits else store.count_missing(connection, space), "vectors are not in the index"),
    ):
        if count:
            yield f"{count} {fault}"


def _check_centroids(connection: Connection, state: IndexState) -> Iterator[str]:
    """Yield differences between the centroids that searches use and those stored with the clusters."""
    space = state.space
    try:
        names, values = store.centroids(connection, space.number, space.dimension)
        body = pack(encode(names, values)) if np.isfinite(values).all() else b""
    except ValueError:
        body = b""
    count = state.count(connection)
    if bool(len(state.centroids)) != space.design.has_clusters(count):
        yield f"the index has {len(state.centroids) or 'no'} clusters, which is wrong for {count} vectors"
    if len(state.centroids) and space.design.has_graphs != (state.centroids.graph is not None):
        yield "the centroids lack their graph, or have one that is not used"
    if body != state.centroids.body and (len(state.centroids) or store.sizes(connection, space.number)):
        yield "the centroids that searches use differ from those of the clusters"


def _check_clusters(connection: Connection, state: IndexState) -> Iterator[str]:
    """Yield messages about clusters that are damaged, or have a wrong size, graph or content."""
    space = state.space.number
    sizes = store.sizes(connection, space)
    memos_by_cluster: dict[int, set[int]] = {}
    for cluster, size in sizes.items():
        folded, graph = store.part(connection, cluster, store.FOLDED), store.graph(connection, cluster)
        try:
            parts = [unpack(body) for body in store.bodies(connection, cluster)]
            if folded is not None and graph is not None:
                kernel.graph_check(folded, graph)
        except kernel.DamagedBytes as fault:
            yield f"cluster {cluster} is damaged: {fault}"
            continue
        if (graph is not None) != (folded is not None and state.space.design.has_graphs):
            yield f"cluster {cluster} {'lacks its graph' if graph is None else 'has a graph'}"
        alive = [part.alive() for part in parts]
        memos_by_cluster[cluster] = {memo for part in alive for memo in part.ids.tolist()}
        entries, dead = sum(map(len, alive)), sum(map(len, parts)) - sum(map(len, alive))
        if (size.size, size.dead) != (entries, dead):
            counted = f"{size.size} entries and {size.dead} deleted ones"
            yield f"cluster {cluster} should have {counted}, but has {entries} and {dead}"
    expected: dict[int, set[int]] = {cluster: set() for cluster in memos_by_cluster}
    for placement in store.every_placement(connection, space):
        for cluster in {placement.first, placement.second} - ({0} if memos_by_cluster else {0, store.UNCLUSTERED}):
            expected.setdefault(cluster, set()).add(placement.memo)
    wrong = sum(expected[cluster] != memos_by_cluster[cluster] for cluster in memos_by_cluster) + len(
        expected.keys() - sizes.keys()
    )
    if wrong:
        yield f"{wrong} clusters do not contain the vectors that are placed in them"


def _check_codes(connection: Connection, state: IndexState) -> Iterator[str]:
    """Yield messages about 8-bit codes that are damaged, missing or left over."""
    space = state.space.number
    # Only vectors in clusters of the codes design have 8-bit codes: one each.
    if state.space.design.has_graphs or not len(state.centroids):
        if store.has_codes(connection, space):
            yield "there are 8-bit codes that the index does not use"
        return
    placed = set(store.searchable_memos(connection, space))
    coded, damaged = set(), 0
    for memo, body in store.every_code(connection, space):
        coded.add(memo)
        try:
            damaged += unpack(body).ids.tolist() != [memo]
        except kernel.DamagedBytes:
            damaged += 1
    if damaged:
        yield f"{damaged} 8-bit codes are damaged"
    if coded != placed:
        yield f"{len(coded ^ placed)} 8-bit codes are missing, or are left over from removed vectors"
