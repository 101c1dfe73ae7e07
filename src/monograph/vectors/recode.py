"""An index of older codes is coded anew beside itself: in steps, while it is searched and changed.

The index in the making has the same clusters, and holds some of the vectors, at any moment as a whole index would: what
comes to the one and what leaves it comes and leaves here too. Once it lacks none, it takes the other's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.store import beside
from monograph.store import clusters as store
from monograph.store import vectors as stored_vectors
from monograph.store.clusters import BEFORE, BESIDE
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors import calibrate, kernel, partition
from monograph.vectors import centroids as central
from monograph.vectors.calibrate import Calibration
from monograph.vectors.design import Design, Space
from monograph.vectors.memory import Memory, State
from monograph.vectors.placeable import placeable
from monograph.vectors.update import Update

Int64: TypeAlias = npt.NDArray[np.int64]

_LOST = -2
"""In the place of a cluster that the index in the making does not have."""


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


def owed(connection: Connection, space: int, state: State | None, design: Design) -> int:
    """Vectors of an index, as it is now, that are to be coded anew by a design."""
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
    state = Memory(space, 0).state(connection)
    if state is None or not owed(connection, space, state, design):
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
    old, new = Memory(making.space, 0).state(connection), _made(connection, making.space)
    if old is None or new is None:
        return False
    placed = store.placements(connection, old.space.number, memos)
    done = store.placements(connection, new.space.number, memos)
    due = sorted(placed.keys() - done.keys())
    rows, vectors = stored_vectors.load(connection, due, new.space.dimension)
    if len(rows) != len(due):
        raise kernel.DamagedBytes(f"{len(due) - len(rows)} vectors are not what was stored")
    rows, vectors = placeable(connection, new.space, rows, vectors)
    if len(rows):
        changes = _changes(connection, new)
        before = np.array([placed[memo][1:] for memo in rows.tolist()], dtype=np.int64)
        changes.put(rows, vectors, _assigned(connection, old.space, new.space, before, changes, vectors))
        changes.finish()
    return True


def insert(connection: Connection, space: int, memos: Int64, vectors: Float32) -> None:
    """Put vectors that come to an index into the one in the making, if there is one."""
    made = _made(connection, space)
    if made is None:
        return
    memos, vectors = placeable(connection, made.space, memos, vectors)
    if len(memos):
        changes = _changes(connection, made)
        changes.insert(memos, vectors)
        changes.finish()


def delete(connection: Connection, space: int, memos: Sequence[int]) -> None:
    """Take vectors that leave an index out of the one in the making, if there is one."""
    made = _made(connection, space)
    if made is not None:
        changes = _changes(connection, made)
        changes.delete(memos)
        changes.finish()


def fold(connection: Connection, space: int) -> None:
    """Leave no trace of what was deleted: neither in the index in the making, nor of one whose place was taken."""
    store.remove_index(connection, space + BEFORE)
    made = _made(connection, space)
    if made is not None:
        changes = _changes(connection, made)
        changes.fold()
        changes.finish()


def _changes(connection: Connection, made: State) -> Update:
    """Changes that leave the clusters as they are: many are all but empty, which is no fault here."""
    return Update(connection, made.space, made.centroids, balanced=False)


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


def _made(connection: Connection, space: int) -> State | None:
    """The index in the making, if there is one; one that has lost its clusters is none."""
    made = Memory(space + BESIDE, 0).state(connection)
    return made if made is not None and len(made.centroids) else None


def _assigned(
    connection: Connection, old: Space, new: Space, before: Int64, changes: Update, vectors: Float32
) -> partition.Assignment:
    """Where vectors come to: those that lie in clusters which both indexes have to the ones with the same centroid.

    ``before`` are the names of their clusters in the old index, int64 (n, 2).
    """
    _, centroids = store.centroids(connection, new.number, new.dimension)
    places = {centroid.tobytes(): place for place, centroid in enumerate(centroids)}
    names, centroids = store.centroids(connection, old.number, old.dimension)
    same = {name: places.get(one.tobytes(), _LOST) for name, one in zip(names.tolist(), centroids, strict=True)}
    same[0] = -1  # No second cluster.
    known = np.array([[same[name] for name in row] for row in before.tolist()], dtype=np.int64)
    lost = np.flatnonzero((known[:, 0] < 0) | (known[:, 1] == _LOST) | (known[:, 0] == known[:, 1]))
    found = changes.assign(vectors[lost])
    known[lost] = np.stack([found.first, found.second], axis=1)
    return partition.Assignment(known[:, 0], known[:, 1])
