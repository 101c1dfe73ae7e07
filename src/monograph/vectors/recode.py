"""An index of older codes is coded anew beside itself: in steps, while it is searched and changed.

The index in the making has the same clusters, and holds some of the vectors, at any moment as a whole index would: what
comes to the one and what leaves it comes and leaves here too. Once it lacks none, it takes the other's place.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.store import beside, codes
from monograph.store import clusters as store
from monograph.store import vectors as stored_vectors
from monograph.store.clusters import BEFORE, BESIDE, Placement
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors import calibrate, kernel, partition
from monograph.vectors import centroids as central
from monograph.vectors.calibrate import Calibration
from monograph.vectors.coding import Items
from monograph.vectors.design import Design, Space
from monograph.vectors.edit import Edit
from monograph.vectors.memory import Memory, State
from monograph.vectors.placeable import placeable

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Making:
    """An index in the making.

    Parameters
    ----------
    space:
        Of the index whose place it is to take.
    structure:
        A number of its own, by which it is known again.
    """

    space: int
    structure: int

    def is_there(self, connection: Connection) -> bool:
        """Whether it is still in the making: another may have ended it, or the index may have been made anew."""
        return store.versions(connection, self.space + BESIDE)[1] == self.structure


def owed(connection: Connection, space: int, design: Design) -> int:
    """Vectors of an index that are to be coded anew by a design."""
    state = _state(connection, space)
    if state is None:
        return 0
    count = state.count(connection)
    if not design.supersedes(state.space.design, count):
        return 0
    made = _made(connection, space)
    return count if made is None else max(1, count - made.count(connection))


def begin(connection: Connection, space: int, design: Design) -> Making | None:
    """Begin to code an index anew, or find what was begun; None where nothing is owed.

    Parameters
    ----------
    connection:
        A write transaction.
    """
    count = owed(connection, space, design)
    state = _state(connection, space)
    if state is None or not count:
        store.remove_index(connection, space + BESIDE)
        return None
    if _made(connection, space) is None:
        _put(connection, space, replace(state.space, design=design.grown(state.count(connection))), state.centroids)
    return Making(space, store.versions(connection, space + BESIDE)[1])


def _put(connection: Connection, space: int, wanted: Space, centroids: central.Centroids) -> None:
    """Begin an index with the clusters of another, all empty."""
    _, values = store.centroids(connection, wanted.number, wanted.dimension)
    store.remove_index(connection, space + BESIDE)
    design = wanted.design
    store.put_header(connection, space + BESIDE, wanted.dimension, design.to_json(), Calibration().to_json())
    number = store.number_of(connection, space + BESIDE)
    names = np.array([store.add_cluster(connection, number, centroid) for centroid in values], dtype=np.int64)
    # A graph is of places, which stay as they are.
    store.put_searched_centroids(connection, number, central.code(names, values, design.metric), centroids.graph)


def code(connection: Connection, making: Making, memos: Sequence[int]) -> bool:
    """Put some vectors of an index into the one in the making; False where that is none any more.

    Parameters
    ----------
    connection:
        A write transaction.
    memos:
        Memo rows; those that have left the index meanwhile, or have come here, are passed over.
    """
    if not making.is_there(connection):
        return False
    old, new = _state(connection, making.space), _made(connection, making.space)
    if old is None or new is None:
        return False
    placed = store.placements(connection, old.space.number, memos)
    done = store.placements(connection, new.space.number, memos)
    due = {memo: one for memo, one in placed.items() if memo not in done}
    rows, vectors = stored_vectors.load(connection, sorted(due), new.space.dimension)
    if len(rows) != len(due):
        raise kernel.DamagedBytes(f"{len(due) - len(rows)} vectors are not what was stored")
    rows, vectors = placeable(connection, new.space, rows, vectors)
    _insert(connection, new.space, rows, vectors, _like(connection, old.space, new.space, due))
    return True


def insert(connection: Connection, space: int, memos: Int64, vectors: Float32) -> None:
    """Put vectors that come to an index into the one in the making, if there is one."""
    made = _made(connection, space)
    if made is not None:
        memos, vectors = placeable(connection, made.space, memos, vectors)
        _insert(connection, made.space, memos, vectors, {})


def delete(connection: Connection, space: int, memos: Sequence[int]) -> None:
    """Take vectors that leave an index out of the one in the making, if there is one."""
    made = _made(connection, space)
    if made is None:
        return
    number = made.space.number
    placed = store.placements(connection, number, memos)
    gone: dict[int, list[int]] = defaultdict(list)
    for one in placed.values():
        for cluster in {one.first, one.second} - {0}:
            gone[cluster].append(one.memo)
    sizes = store.sizes(connection, number)
    for cluster, some in gone.items():
        edit = Edit(connection, made.space.design, cluster, sizes[cluster])
        edit.strike(some)
        edit.write()
    store.unplace(connection, number, placed)
    codes.drop(connection, number, placed)
    store.touch(connection, number, structure=False)


def fold(connection: Connection, space: int) -> None:
    """Leave no trace of what was deleted: neither in the index in the making, nor of one whose place was taken."""
    store.remove_index(connection, space + BEFORE)
    made = _made(connection, space)
    if made is None:
        return
    for cluster, size in store.sizes(connection, made.space.number).items():
        if size.dead or store.recent(connection, cluster) is not None:
            Edit(connection, made.space.design, cluster, size).write(fold=True)
    store.touch(connection, made.space.number, structure=False)


def measure(connection: Connection, making: Making) -> Calibration | None:
    """Calibrate an index in the making; None where it is none any more."""
    state = _made(connection, making.space) if making.is_there(connection) else None
    if state is None:
        return None
    return calibrate.measure(connection, state.space, state.centroids, state.count(connection))


def exchange(connection: Connection, making: Making, calibration: Calibration) -> None:
    """Let an index that lacks nothing take the place of that which it was made of, if it is still in the making.

    Parameters
    ----------
    connection:
        A write transaction.
    calibration:
        What was measured of it.
    """
    if making.is_there(connection):
        store.put_calibration(connection, making.space + BESIDE, calibration.to_json())
        beside.exchange(connection, making.space)


def _state(connection: Connection, space: int) -> State | None:
    memory = Memory(space, 0)
    try:
        return memory.state(connection)
    finally:
        memory.ahead.close()


def _made(connection: Connection, space: int) -> State | None:
    """The index in the making, if there is one; one that has lost its clusters is none."""
    made = _state(connection, space + BESIDE)
    return made if made is not None and len(made.centroids) else None


def _like(connection: Connection, old: Space, new: Space, due: dict[int, Placement]) -> dict[int, Placement]:
    """Where vectors come to that lie in clusters which both indexes have: those with the same centroid."""
    names = {centroid.tobytes(): name for name, centroid in _centroids(connection, new)}
    like = {name: names.get(centroid.tobytes()) for name, centroid in _centroids(connection, old)} | {0: 0}
    found = {}
    for memo, one in due.items():
        first, second = like[one.first], like[one.second]
        if first and second is not None and first != second:
            found[memo] = Placement(memo, first, second)
    return found


def _centroids(connection: Connection, space: Space) -> Iterable[tuple[int, Float32]]:
    names, values = store.centroids(connection, space.number, space.dimension)
    return zip(names.tolist(), values, strict=True)


def _insert(connection: Connection, space: Space, memos: Int64, vectors: Float32, known: dict[int, Placement]) -> None:
    """Put vectors into their clusters, and leave these as they are: many are all but empty, which is no fault here."""
    if not len(memos):
        return
    design = space.design
    names, centroids = store.centroids(connection, space.number, space.dimension)
    items = Items.of(design, memos, vectors)
    codes.put(connection, space.number, items.by_memo())
    placed = known | _nearest(space, names, centroids, memos, vectors, known)
    store.place(connection, space.number, (placed[memo] for memo in memos.tolist()))
    owners: dict[int, list[int]] = defaultdict(list)
    for row, memo in enumerate(memos.tolist()):
        for cluster in {placed[memo].first, placed[memo].second} - {0}:
            owners[cluster].append(row)
    sizes = store.sizes(connection, space.number)
    parts = ((int(np.searchsorted(names, one)), np.array(rows, dtype=np.int64)) for one, rows in owners.items())
    for place, entries in items.entries(parts, centroids):
        cluster = int(names[place])
        edit = Edit(connection, design, cluster, sizes[cluster])
        edit.append(entries)
        edit.write()
    store.touch(connection, space.number, structure=False)


def _nearest(
    space: Space, names: Int64, centroids: Float32, memos: Int64, vectors: Float32, known: dict[int, Placement]
) -> dict[int, Placement]:
    """Where those come to of which that is not known."""
    rows = np.array([row for row, memo in enumerate(memos.tolist()) if memo not in known], dtype=np.int64)
    if not len(rows):
        return {}
    assigned = partition.assign(vectors[rows], centroids, space.design.metric, double=space.design.double)
    first, second = names[assigned.first], np.where(assigned.second >= 0, names[assigned.second], 0)
    found = zip(memos[rows].tolist(), first.tolist(), second.tolist(), strict=True)
    return {memo: Placement(memo, one, other) for memo, one, other in found}
