"""What a shard tells of its chunks for the tree over all shards: where they stand, and what planes are learned from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from monograph.graph.evidence import Int64
from monograph.store import tree as stored_tree
from monograph.store import vectors
from monograph.store.database import Connection
from monograph.tree.hash import Planes
from monograph.tree.leaves import KEY_BYTES, LEAVES_AT_ONCE, leaves_of
from monograph.values import Float32


@dataclass(frozen=True, slots=True, eq=False)
class Leaves:
    """Chunks by place, ascending: ``rows`` and ``ranks`` int64 (n,), and their keys one after the other."""

    rows: Int64
    ranks: Int64
    keys: bytes

    def key(self, place: int) -> bytes:
        """The key of a leaf."""
        return self.keys[place * KEY_BYTES : (place + 1) * KEY_BYTES]


def first_vectors(connection: Connection, most: int, dimension: int) -> tuple[int, list[str], Float32]:
    """(how many chunks have a vector, ids of the first by id, at most so many, their vectors)."""
    return vectors.count(connection), *vectors.first_named(connection, most, dimension)


def of(connection: Connection, planes: bytes) -> Leaves:
    """Where the chunks of a file stand by some planes."""
    known = Planes.from_bytes(planes)
    rows = stored_tree.chunk_rows(connection)
    found = []
    for first in range(0, len(rows), LEAVES_AT_ONCE):
        some = leaves_of(connection, known, rows[first : first + LEAVES_AT_ONCE])
        numbers = np.array([(one.chunk, one.rank) for one in some], dtype=np.int64).reshape(-1, 2)
        found.append((numbers, b"".join(one.key for one in some)))
    numbers = np.concatenate([one for one, _ in found] or [np.empty((0, 2), dtype=np.int64)])
    return Leaves(numbers[:, 0], numbers[:, 1], b"".join(keys for _, keys in found))
