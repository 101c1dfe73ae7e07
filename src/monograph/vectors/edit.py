"""One cluster while it is being changed: what comes and goes is gathered in memory, and written once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.store.vectors.clusters import Size
from monograph.vectors import kernel
from monograph.vectors.cluster import Entries, among, head_size, joined, pack, strike, unpack
from monograph.vectors.design import Design

FOLD_RECENT = 32
"""Recent entries that are folded in; a quarter of the cluster when that is more."""
FOLD_DEAD = 0.15
"""Share of deleted entries from which on a cluster is folded."""
MEND_AT_MOST = 0.25
"""Share of a graph's nodes that may be taken out of it; when more go it is made anew, which is faster then."""


class ClusterEdit:
    """Changes to a cluster. Nothing is written before :meth:`write`.

    Parameters
    ----------
    connection:
        A write transaction.
    design:
        Of the index.
    cluster:
        Which.
    size:
        As it is in the file.
    """

    def __init__(self, connection: Connection, design: Design, cluster: int, size: Size) -> None:
        self._connection, self._design, self._cluster = connection, design, cluster
        self._stored = size
        self._recent: list[tuple[Entries, set[int]]] | None = None
        self._recent_before = 0
        self._recent_changed = False
        self._struck: set[int] = set()
        self._coming = self._going = 0

    @property
    def size(self) -> int:
        """Entries that are alive."""
        return self._stored.size + self._coming - self._going

    def append(self, entries: Entries) -> None:
        """Add entries."""
        self._load().append(_known(entries))
        self._recent_changed = True
        self._coming += len(entries)

    def strike(self, memos: Sequence[int]) -> None:
        """Take out entries that are there."""
        self._going += len(memos)
        gone = set(memos)
        kept = []
        for part, ids in self._load():
            inside = ids & gone
            if not inside:
                kept.append((part, ids))
                continue
            kept.append(_known(part.take(~among(part.ids, np.fromiter(inside, dtype=np.int64)))))
            gone -= inside
            self._recent_changed = True
        self._recent = kept
        self._struck |= gone

    def entries(self) -> Entries | None:
        """What is alive; None when that is nothing."""
        folded = store.folded(self._connection, self._cluster)
        return self._alive(None if folded is None else unpack(folded))

    def _alive(self, base: Entries | None) -> Entries | None:
        parts = [part for part, _ in self._load() if len(part)]
        if base is not None:
            gone = np.fromiter(self._struck, dtype=np.int64, count=len(self._struck))
            parts.insert(0, base.take((base.ids >= 0) & ~among(base.ids, gone)))
        return joined(parts) if parts else None

    def _load(self) -> list[tuple[Entries, set[int]]]:
        if self._recent is None:
            body = store.recent(self._connection, self._cluster)
            self._recent = [] if body is None else [_known(unpack(body))]
            self._recent_before = self._count()
        return self._recent

    def _count(self) -> int:
        """Entries that are recent."""
        return sum(len(part) for part, _ in self._load())

    def write(self, *, fold: bool = False) -> None:
        """Write what has changed: where it stands, or, when that is much or ``fold`` asks for it, all of it anew."""
        recent = self._count()
        folded = self._stored.size + self._stored.dead - self._recent_before
        dead = self._stored.dead + len(self._struck)
        # The graph design inserts into a cluster's graph and deletes from it at once, as the paper does.
        fold = fold or self._design.has_graphs
        if fold or recent > max(FOLD_RECENT, folded // 4) or dead > FOLD_DEAD * folded:
            self._fold()
            return
        if self._struck:
            gone = np.fromiter(self._struck, dtype=np.int64, count=len(self._struck))
            store.strike(self._connection, self._cluster, head_size, lambda head: strike(head, gone))
        if recent and self._recent_changed:
            store.put_recent(self._connection, self._cluster, pack(joined([part for part, _ in self._load()])))
        elif self._recent_before and not recent:
            store.drop_recent(self._connection, self._cluster)
        store.resize(self._connection, self._cluster, Size(self.size, dead))

    def _fold(self) -> None:
        body = store.folded(self._connection, self._cluster)
        base = None if body is None else unpack(body)
        entries = self._alive(base)
        if entries is None:
            store.empty(self._connection, self._cluster)
            return
        graph = store.graph(self._connection, self._cluster)
        if body is not None and base is not None and graph is not None:
            graph = self._without_dead(body, base, graph)
        write_whole(self._connection, self._design, self._cluster, entries, graph)

    def _without_dead(self, body: bytes, base: Entries, graph: bytes) -> bytes | None:
        gone = np.fromiter(self._struck, dtype=np.int64, count=len(self._struck))
        dead = np.flatnonzero((base.ids < 0) | among(base.ids, gone)).tolist()
        if len(dead) > MEND_AT_MOST * len(base):
            return None
        return kernel.graph_remove(body, graph, dead, ef=self._design.ef_construction, alpha=self._design.alpha)


def _known(entries: Entries) -> tuple[Entries, set[int]]:
    """Entries with their ids, among which few are looked for at a time, and often."""
    return entries, set(entries.ids.tolist())


def write_whole(
    connection: Connection, design: Design, cluster: int, entries: Entries, graph: bytes | None = None
) -> None:
    """Write all of a cluster anew; ``graph`` is that of its first rows, None to make it from nothing."""
    body = pack(entries)
    store.put_folded(connection, cluster, body)
    store.resize(connection, cluster, Size(len(entries), 0))
    if design.has_graphs:
        made = kernel.graph_insert(body, graph, m=design.links, ef=design.ef_construction, alpha=design.alpha)
        store.put_graph(connection, cluster, made)
