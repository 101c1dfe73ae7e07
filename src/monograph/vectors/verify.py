"""Whether an index in a file is what it should be."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.store.vectors import vectors
from monograph.vectors import centroids as central
from monograph.vectors import kernel
from monograph.vectors.cluster import unpack
from monograph.vectors.memory import Memory, State


def faults(connection: Connection, space: int) -> Iterator[str]:
    """What is wrong with an index: damaged clusters, and vectors that are not where they should be."""
    if store.has_stale(connection, space):
        yield "vectors wait to be put into the index"
    yield from damage(connection, space)


def damage(connection: Connection, space: int) -> Iterator[str]:
    """The same, without what waits to be put into it."""
    if store.header(connection, space) is None:
        if store.sizes(connection, space) or store.has_codes(connection, space):
            yield "clusters have lost what says how they are built"
        elif store.count_missing(connection, space) and not store.has_stale(connection, space):
            yield "there is no index of the vectors"
        return
    yield from _inside(connection, space)


def _inside(connection: Connection, space: int) -> Iterator[str]:
    try:
        state = Memory(space, 0).state(connection)
    except kernel.DamagedBytes as fault:
        yield f"the index is damaged: {fault}"
        return
    if state is not None:
        yield from _uncoded(connection, state)
        yield from _held(connection, state)
        yield from _missing(connection, space)
        yield from _left_out(connection, state)
        yield from _by_value(connection, state)


def strays(connection: Connection, space: int) -> Iterator[str]:
    """What an index holds that no row of the file uses."""
    if store.has_stale(connection, space):
        return
    unwanted = store.count_unwanted(connection, space)
    if unwanted:
        yield f"{unwanted} vectors are in the index and belong to nothing"


def strays_of_none(connection: Connection) -> Iterator[str]:
    """Rows that belong to no index."""
    count = store.count_strays(connection)
    if count:
        yield f"{count} parts or graphs of clusters that are not there"


def _uncoded(connection: Connection, state: State) -> Iterator[str]:
    """Hold the centroids that searches compare with against those that they are codes of."""
    space = state.space
    try:
        names, values = store.centroids(connection, space.number, space.dimension)
        body = central.code(names, values) if np.isfinite(values).all() else b""
    except ValueError:
        body = b""
    count = state.count(connection)
    if bool(len(state.centroids)) != space.design.has_clusters(count):
        yield f"the index of {count} vectors has {len(state.centroids) or 'no'} clusters"
    if len(state.centroids) and space.design.has_graphs != (state.centroids.graph is not None):
        yield "the centroids lack their graph, or have one that is not used"
    if body != state.centroids.body and (len(state.centroids) or store.sizes(connection, space.number)):
        yield "the centroids that searches go by are not those of the clusters"


def _held(connection: Connection, state: State) -> Iterator[str]:
    space = state.space.number
    held: dict[int, set[int]] = {}
    for cluster, size in store.sizes(connection, space).items():
        bodies = store.bodies(connection, cluster)
        try:
            parts = [unpack(body) for body in bodies]
            lacking = _check_graph(connection, state, cluster)
        except kernel.DamagedBytes as fault:
            yield f"cluster {cluster} is damaged: {fault}"
            continue
        if lacking:
            yield f"cluster {cluster} {lacking}"
        alive = [part.alive() for part in parts]
        held[cluster] = {memo for part in alive for memo in part.ids.tolist()}
        entries, dead = sum(map(len, alive)), sum(map(len, parts)) - sum(map(len, alive))
        if (size.size, size.dead) != (entries, dead):
            counted = f"{size.size} entries and {size.dead} deleted ones"
            yield f"cluster {cluster} counts {counted}, and holds {entries} and {dead}"
    yield from _misplaced(connection, space, held)


def _by_value(connection: Connection, state: State) -> Iterator[str]:
    """Hold the codes that are compared after compact ones against where vectors are placed."""
    if state.space.design.has_graphs or not len(state.centroids):
        if store.has_codes(connection, state.space.number):
            yield "there are codes of vectors whose clusters hold them all"
        return
    number = state.space.number
    placed = {one.memo for one in store.every_placement(connection, number) if one.first}
    held, damaged = set(), 0
    for memo, body in store.every_code(connection, number):
        try:
            damaged += unpack(body).ids.tolist() != [memo]
        except kernel.DamagedBytes:
            damaged += 1
        held.add(memo)
    if damaged:
        yield f"{damaged} codes of vectors are damaged"
    if held != placed:
        yield f"{len(held ^ placed)} vectors lack the codes that they are compared by, or have them and are gone"


def _check_graph(connection: Connection, state: State, cluster: int) -> str:
    """What is wrong with whether a cluster has a graph; raises DamagedBytes if the graph is not one of it."""
    folded, graph = store.folded(connection, cluster), store.graph(connection, cluster)
    if folded is not None and graph is not None:
        kernel.graph_check(folded, graph)
    wanted = folded is not None and state.space.design.has_graphs
    return "" if wanted == (graph is not None) else "lacks its graph" if wanted else "has a graph"


def _misplaced(connection: Connection, space: int, held: dict[int, set[int]]) -> Iterator[str]:
    wanted: dict[int, set[int]] = {cluster: set() for cluster in held}
    none = {0} if held else {0, store.UNCLUSTERED}
    for one in store.every_placement(connection, space):
        for cluster in {one.first, one.second} - none:
            wanted.setdefault(cluster, set()).add(one.memo)
    known = store.sizes(connection, space)
    lost = sum(cluster not in known for cluster in wanted)
    wrong = sum(wanted[cluster] != held[cluster] for cluster in held) + lost
    if wrong:
        yield f"{wrong} clusters do not hold what is placed in them"


def _left_out(connection: Connection, state: State) -> Iterator[str]:
    """Count the vectors that no search finds although they have a direction."""
    space = state.space
    memos = [one.memo for one in store.every_placement(connection, space.number) if not one.first]
    _, values = vectors.load(connection, memos, space.dimension)
    count = int(values.any(axis=1).sum())
    if count:
        yield f"{count} vectors with a direction are left out of the index"


def _missing(connection: Connection, space: int) -> Iterator[str]:
    if store.has_stale(connection, space):
        return
    missing = store.count_missing(connection, space)
    if missing:
        yield f"{missing} vectors are not in the index"
