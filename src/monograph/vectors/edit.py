"""Changes to the entries of a cluster, gathered in memory and written together.

A cluster is stored in two parts. New entries are added to its recent part. To fold a cluster is to write all of its
valid entries as its folded part, and to empty the recent part.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.store.vectors.clusters import FOLDED, RECENT, ClusterSize
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.cluster import (
    Centre,
    Entries,
    Int64,
    among,
    encode,
    encode_about,
    join_entries,
    mark_deleted,
    pack,
    unpack,
)
from monograph.vectors.design import Design, Space

FOLD_RECENT = 32
"""A cluster is folded when its recent part has more entries than this number, and more than a quarter of the number of
entries in its folded part."""
FOLD_DEAD = 0.15
"""A cluster is folded when more than this share of the entries in its folded part are deleted."""
MEND_AT_MOST = 0.25
"""Deleted nodes are removed from a graph one by one if they are at most this share of its nodes.

If they are more, the graph is built again, which is then faster.
"""


@dataclass(frozen=True, slots=True)
class Items:
    """Vectors to put into clusters.

    ``coded`` has their 8-bit codes, ``vectors`` their values, float32 (n, dimension), in the same order.
    """

    design: Design
    coded: Entries
    vectors: Float32

    @classmethod
    def load(cls, connection: Connection, space: Space, entries: list[Entries]) -> Items:
        """Return the vectors of the given entries, decoded from 8-bit codes, each once, in order of memo row.

        Raises DamagedBytes if 8-bit codes are missing or damaged.
        """
        memos = np.unique(np.concatenate([part.ids for part in entries]))
        coded = encode(memos[:0], np.empty((0, space.dimension), dtype=np.float32))
        if space.design.has_graphs:
            coded = join_entries(entries)
        elif len(bodies := store.load_codes(connection, space.number, memos.tolist())) == len(memos) > 0:
            coded = unpack(*bodies)
        coded = coded.take(np.unique(coded.ids, return_index=True)[1])
        if not np.array_equal(coded.ids, memos):
            raise kernel.DamagedBytes("8-bit codes of vectors are missing")
        return cls(space.design, coded, coded.vectors())

    def entries(self, parts: Iterable[tuple[int, Int64]], centroids: Float32) -> Iterator[tuple[int, Entries]]:
        """Yield (index of a centroid, entries to put into its cluster) for each part, in order.

        Each part is (index of the centroid in ``centroids``, indexes of the vectors to encode for its cluster).
        """
        if self.design.has_graphs:
            yield from ((index, self.coded.take(rows)) for index, rows in parts)
            return
        part_list = list(parts)
        centres = Centre.many(centroids[[index for index, _ in part_list]]) if part_list else []
        for (index, rows), centre in zip(part_list, centres, strict=True):
            yield index, encode_about(centre, self.coded.ids[rows], self.vectors[rows])


class ClusterEdit:
    """Changes to one cluster, gathered in memory. Nothing is written before :meth:`write`.

    The parameter ``size`` has the numbers of valid and of deleted entries that are stored for the cluster.
    """

    def __init__(self, connection: Connection, design: Design, cluster: int, size: ClusterSize) -> None:
        self._connection, self._design, self._cluster, self._stored = connection, design, cluster, size
        recent = store.part(connection, cluster, RECENT)
        self._recent = [] if recent is None else [unpack(recent)]
        self._recent_before = sum(map(len, self._recent))
        self._recent_changed = False
        self._deleted: set[int] = set()
        self._added_count = self._removed_count = 0

    @property
    def size(self) -> int:
        """Number of entries that are not deleted, after the changes."""
        return self._stored.size + self._added_count - self._removed_count

    def append(self, entries: Entries) -> None:
        """Add new entries to the cluster."""
        self._recent.append(entries)
        self._recent_changed = True
        self._added_count += len(entries)

    def mark_deleted(self, memos: Int64) -> None:
        """Delete the entries with the given memo rows, int64 (n,). All of them must be in the cluster."""
        self._removed_count += len(memos)
        remaining = set(memos.tolist())
        for index, part in enumerate(self._recent):
            is_deleted = among(part.ids, memos)
            if is_deleted.any():
                remaining.difference_update(part.ids[is_deleted].tolist())
                self._recent[index] = part.take(~is_deleted)
                self._recent_changed = True
        self._deleted |= remaining

    def entries(self) -> Entries | None:
        """Return the coded vectors of the cluster after the changes; None if none are left."""
        folded = store.part(self._connection, self._cluster, FOLDED)
        return self._join_alive(None if folded is None else unpack(folded))

    def _join_alive(self, base: Entries | None) -> Entries | None:
        parts = [part for part in self._recent if len(part)]
        if base is not None:
            parts.insert(0, base.take(~self._mask_deleted(base)))
        return join_entries(parts) if parts else None

    @property
    def _deleted_ids(self) -> Int64:
        return np.array(list(self._deleted), dtype=np.int64)

    def _mask_deleted(self, base: Entries) -> npt.NDArray[np.bool_]:
        """Return whether each entry of the folded part of the cluster is deleted, bool (n,)."""
        dead: npt.NDArray[np.bool_] = (base.ids < 0) | among(base.ids, self._deleted_ids)
        return dead

    def write(self, *, fold: bool = False) -> None:
        """Write the changes to the file.

        In the codes design, a few changes are written in place; after many changes, the cluster is folded (see
        FOLD_RECENT and FOLD_DEAD). In the graph design, or if ``fold`` is True, the cluster is always folded.
        """
        recent = sum(map(len, self._recent))
        folded = self._stored.size + self._stored.dead - self._recent_before
        dead = self._stored.dead + len(self._deleted)
        # The graph design updates the graph of a cluster with every write, as in the paper.
        fold = fold or self._design.has_graphs
        if fold or recent > max(FOLD_RECENT, folded // 4) or dead > FOLD_DEAD * folded:
            self._fold()
            return
        if self._deleted:
            with store.open_folded(self._connection, self._cluster) as body:
                mark_deleted(body, self._deleted_ids)
        if self._recent_changed:
            store.put_part(
                self._connection, self._cluster, RECENT, pack(join_entries(self._recent)) if recent else None
            )
        store.resize(self._connection, self._cluster, ClusterSize(self.size, dead))

    def _fold(self) -> None:
        body = store.part(self._connection, self._cluster, FOLDED)
        base = None if body is None else unpack(body)
        entries = self._join_alive(base)
        if entries is None:
            store.empty(self._connection, self._cluster)
            return
        graph = store.graph(self._connection, self._cluster)
        if body is not None and base is not None and graph is not None:
            dead = np.flatnonzero(self._mask_deleted(base)).tolist()
            design, is_much = self._design, len(dead) > MEND_AT_MOST * len(base)
            graph = None if is_much else kernel.graph_remove(body, graph, dead, design.ef_construction, design.alpha)
        write_whole(self._connection, self._design, self._cluster, entries, graph)


def write_whole(
    connection: Connection, design: Design, cluster: int, entries: Entries, graph: bytes | None = None
) -> None:
    """Replace the contents of a cluster: write the given entries as its folded part, and empty its recent part.

    In the graph design, the graph of the cluster is written too. ``graph`` may have only the first entries; the others
    are inserted into it. If ``graph`` is None, a new graph of all entries is built.
    """
    body = pack(entries)
    store.put_part(connection, cluster, FOLDED, body)
    store.put_part(connection, cluster, RECENT, None)
    store.resize(connection, cluster, ClusterSize(len(entries), 0))
    if design.has_graphs:
        new_graph = kernel.graph_insert(body, graph, design.links, design.ef_construction, design.alpha)
        store.put_graph(connection, cluster, new_graph)
