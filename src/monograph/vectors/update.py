"""Updates of the vector index, in the transaction that stores or deletes the vectors.

A cluster has two parts, a folded and a recent one. New entries are appended to the recent part. Deleted entries of the
folded part are only marked. To fold a cluster is to write all of its valid entries as its folded part. The codes design
(see :mod:`monograph.vectors.design`) folds a cluster when it has many recent or deleted entries. The graph design folds
at every write, so that the graph of a cluster has exactly the valid entries.

A cluster that is too large is split in two. Its vectors and those of the nearest cluster are then assigned to clusters
again. A cluster that is too small is dissolved, and its vectors are assigned to other clusters. This is the rebalancing
of SPFresh (Xu et al. 2023).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.store.vectors.clusters import ClusterSize, Placement
from monograph.values import Float32
from monograph.vectors import kernel, partition
from monograph.vectors.cluster import Int64, encode, pack
from monograph.vectors.design import Space
from monograph.vectors.edit import ClusterEdit, Items, write_whole
from monograph.vectors.memory import Centroids

SPLIT_AT = 1.75
"""A cluster is split in two when it has more entries than this factor times ``mean_entries`` of the design."""
DISSOLVE_AT = 0.125
NEIGHBOURS = 1
"""Number of neighbouring clusters that take part in a split: their vectors are assigned to clusters again, too."""
CANDIDATES = 32
"""Number of centroids near a removed cluster that are candidates when its vectors are assigned to clusters again."""


def build(connection: Connection, space: Space, memos: Int64, vectors: Float32) -> None:
    """Build the clusters of an index from all of its vectors.

    ``memos`` are the memo rows of the vectors, ``vectors`` float32 (n, dimension) of unit length. The header of the
    index must be stored already, and the index must have no clusters.
    """
    design = space.design
    if not len(memos):
        return
    count = max(1, round(len(memos) / design.cluster_size))
    centroids = partition.k_means(vectors, count)
    assigned = partition.assign(vectors, centroids, double=design.copies > 1)
    names = np.array([store.add_cluster(connection, space.number, centroid) for centroid in centroids], dtype=np.int64)
    items = Items(design, encode(memos, vectors), vectors)
    for index, entries in items.entries(_group_by_cluster(assigned), centroids):
        write_whole(connection, design, int(names[index]), entries)
    _store_vectors(connection, space, items, _to_numbers(names, assigned))
    # Clusters without any vector are useless.
    for name in names[np.setdiff1d(np.arange(len(names)), assigned)].tolist():
        store.remove_cluster(connection, name)
    finish(connection, space, Centroids())


def _store_vectors(connection: Connection, space: Space, items: Items, clusters: Int64) -> None:
    """Store the clusters of each new vector and, in the codes design, its 8-bit code."""
    memos = items.coded.ids
    if not space.design.has_graphs:
        rows = (items.coded.take(slice(index, index + 1)) for index in range(len(memos)))
        store.put_codes(connection, space.number, zip(memos.tolist(), map(pack, rows), strict=True))
    store.place(connection, space.number, _make_placements(memos, clusters))


def _group_by_cluster(assigned: Int64) -> Iterator[tuple[int, Int64]]:
    """Yield (cluster, indexes of its vectors), clusters ascending. ``assigned``, int64 (n, 2): -1 is no cluster."""
    # Transposed: the vectors that have a cluster as first come before those that have it as second cluster.
    columns, rows = np.nonzero(assigned.T >= 0)
    return _group_by_owner(rows, assigned[rows, columns])


def _group_by_owner(rows: Int64, owners: Int64) -> Iterator[tuple[int, Int64]]:
    order = np.argsort(owners, kind="stable")
    distinct, starts = np.unique(owners[order], return_index=True)
    return zip(distinct.tolist(), np.split(rows[order], starts)[1:], strict=True)


def _to_numbers(names: Int64, assigned: Int64) -> Int64:
    """Convert indexes of clusters, int64 (n, 2), to numbers of clusters. -1 (no cluster) becomes 0."""
    return np.where(assigned >= 0, names[assigned], 0)


def _make_placements(memos: Int64, clusters: Int64) -> Iterator[Placement]:
    return map(Placement._make, zip(memos.tolist(), *clusters.T.tolist(), strict=True))


def finish(connection: Connection, space: Space, before: Centroids) -> None:
    """Store the centroids once more, in the form that searches read, after clusters were added or removed.

    In the graph design, the graph of the centroids is updated, too. ``before`` are the centroids and their graph as
    they were stored before the change.
    """
    names, vectors = store.centroids(connection, space.number, space.dimension)
    body, graph, design = pack(encode(names, vectors)), None, space.design
    if design.has_graphs:
        if before.graph is not None:
            # New clusters have higher numbers than all others, so the remaining ones stay in front, in order.
            removed = np.flatnonzero(~np.isin(before.names, names)).tolist()
            graph = kernel.graph_remove(before.body, before.graph, removed, design.ef_construction, design.alpha)
        graph = kernel.graph_insert(body, graph, design.links, design.ef_construction, design.alpha)
    store.put_searched_centroids(connection, space.number, body, graph)
    store.touch(connection, space.number, structure=True)


class Update:
    """Changes to an index within one write transaction. The contents of clusters are written only by :meth:`finish`.

    ``centroids`` are the index's centroids as stored in the file.
    """

    def __init__(self, connection: Connection, space: Space, centroids: Centroids) -> None:
        self._connection = connection
        self._space = space
        self._design = space.design
        self._before = centroids
        self._loaded: tuple[Int64, Float32] | None = None
        self._sizes = store.sizes(connection, space.number)
        self._edits: dict[int, ClusterEdit] = {}
        self._changed = False

    def insert(self, memos: Int64, vectors: Float32) -> None:
        """Add vectors.

        ``memos`` are their memo rows, int64 (n,); ``vectors`` are float32 (n, dimension) of unit length.
        """
        assigned = partition.assign(vectors, self._vectors, double=self._design.copies > 1)
        items = Items(self._design, encode(memos, vectors), vectors)
        _store_vectors(self._connection, self._space, items, _to_numbers(self._names, assigned))
        touched = []
        for index, entries in items.entries(_group_by_cluster(assigned), self._vectors):
            touched.append(int(self._names[index]))
            self._edit(touched[-1]).append(entries)
        self._balance(touched)

    def delete(self, memos: Sequence[int]) -> None:
        """Delete vectors by memo row. Memo rows that are not in the index are ignored."""
        placed = store.placements(self._connection, self._space.number, memos)
        places = np.array(list(placed.values()), dtype=np.int64).reshape(-1, 3)
        rows, columns = np.nonzero(places[:, 1:])
        by_cluster = dict(_group_by_owner(places[rows, 0], places[rows, 1 + columns]))
        for cluster, removed in by_cluster.items():
            self._edit(cluster).mark_deleted(removed)
        store.delete_placements(self._connection, self._space.number, placed)
        if not self._design.has_graphs:
            store.drop_codes(self._connection, self._space.number, placed)
        self._balance(by_cluster)

    def fold(self) -> None:
        """Fold every cluster that has recent or deleted entries: write its valid entries as its only part."""
        for cluster, size in self._sizes.items():
            if size.dead or store.part(self._connection, cluster, store.RECENT) is not None:
                self._edit(cluster).write(fold=True)
        self._edits.clear()

    def finish(self) -> None:
        """Write the changed clusters, and update the centroids and the version that readers use."""
        for edit in self._edits.values():
            edit.write()
        if self._changed:
            finish(self._connection, self._space, self._before)
        else:
            store.touch(self._connection, self._space.number, structure=False)

    @property
    def _names(self) -> Int64:
        return self._centroids()[0]

    @property
    def _vectors(self) -> Float32:
        return self._centroids()[1]

    def _centroids(self) -> tuple[Int64, Float32]:
        """Return (numbers, centroids) of the current clusters."""
        if self._loaded is None:
            self._loaded = store.centroids(self._connection, self._space.number, self._space.dimension)
        return self._loaded

    def _edit(self, cluster: int) -> ClusterEdit:
        if cluster not in self._edits:
            self._edits[cluster] = ClusterEdit(self._connection, self._design, cluster, self._sizes[cluster])
        return self._edits[cluster]

    def _balance(self, touched: Iterable[int]) -> None:
        """Split too large clusters and dissolve too small ones, until all changed clusters are in bounds."""
        average = self._design.mean_entries
        pending = list(touched)
        # Reassigned vectors may make another cluster too large: limit the number of rounds.
        for _ in range(8 * len(pending)):
            if not pending:
                return
            cluster = pending.pop()
            if cluster not in self._sizes:
                continue
            size = self._edit(cluster).size
            if size > SPLIT_AT * average:
                pending.extend(self._cut(cluster))
            elif size < DISSOLVE_AT * average and (len(self._sizes) > 1 or not size):
                pending.extend(self._reform(cluster, np.empty((0, self._space.dimension), dtype=np.float32)))

    def _cut(self, cluster: int) -> list[int]:
        entries = self._edit(cluster).entries()
        if entries is None:
            return []
        items = Items.load(self._connection, self._space, [entries])
        distinct = {code.tobytes(): row for row, code in enumerate(items.coded.codes)}
        if len(distinct) <= SPLIT_AT * self._design.mean_entries:
            return []  # Many vectors are equal: a split would not separate them.
        vectors = items.vectors[np.fromiter(distinct.values(), dtype=np.int64)]
        side = partition.split_in_two(vectors)
        halves = [partition.mean(vectors[chosen]) for chosen in (~side, side)]
        return self._reform(cluster, np.stack(halves))

    def _reform(self, cluster: int, new_centroids: Float32) -> list[int]:
        """Replace a cluster by clusters with new centroids, reassign its vectors, and return the changed clusters."""
        index = int(np.searchsorted(self._names, cluster))
        old = self._vectors[index]
        involved = [cluster]
        # A new centroid may be nearer to vectors of neighbouring clusters. Without one, the cluster is just dissolved.
        if len(new_centroids):
            nearest = partition.closest(self._vectors, old, NEIGHBOURS + 1)
            involved += [int(name) for name in self._names[nearest] if name != cluster][:NEIGHBOURS]
        parts = [entries for number in involved if (entries := self._edit(number).entries()) is not None]
        self._replace_cluster(index, new_centroids)
        if not parts or not len(self._names):
            return []
        items = Items.load(self._connection, self._space, parts)
        memos = items.coded.ids.tolist()
        placed = store.placements(self._connection, self._space.number, memos)
        before = np.array([placed[memo][1:] for memo in memos], dtype=np.int64).reshape(-1, 2)
        # Compare with the clusters near the old one, those that the vectors are in, and the new ones.
        first_new = len(self._names) - len(new_centroids)
        near, current = partition.closest(self._vectors, old, CANDIDATES), np.flatnonzero(np.isin(self._names, before))
        chosen = np.unique(np.concatenate([near, current, np.arange(first_new, len(self._names))]))
        assigned = partition.assign(items.vectors, self._vectors[chosen], double=self._design.copies > 1)
        after, added = _to_numbers(self._names[chosen], assigned), self._names[first_new:]
        # A vector that leaves no removed cluster and joins no new one stays where it is.
        stays = ~((before == cluster) | np.isin(after, added)).any(axis=1)
        after[stays] = before[stays]
        moved = (after != before).any(axis=1)
        store.place(self._connection, self._space.number, _make_placements(items.coded.ids[moved], after[moved]))
        return self._move(items, before, after, cluster)

    def _replace_cluster(self, index: int, new_centroids: Float32) -> None:
        """Remove a current cluster by its index, and append clusters with the new centroids."""
        names, vectors = self._centroids()
        cluster = int(names[index])
        store.remove_cluster(self._connection, cluster)
        del self._sizes[cluster]
        self._edits.pop(cluster, None)
        added = [store.add_cluster(self._connection, self._space.number, centroid) for centroid in new_centroids]
        self._sizes.update((number, ClusterSize(0, 0)) for number in added)
        self._loaded = (
            np.concatenate([names[:index], names[index + 1 :], np.array(added, dtype=np.int64)]),
            np.concatenate([vectors[:index], vectors[index + 1 :], new_centroids]),
        )
        self._changed = True

    def _move(self, items: Items, before: Int64, after: Int64, removed: int) -> list[int]:
        """Move vectors from their previous to their new clusters; return the numbers of the changed clusters.

        ``before`` and ``after`` are int64 (n, 2), 0 for no cluster. ``removed`` is a cluster that is gone already.
        """
        leaving = list(_group_by_owner(*_find_unshared(before, after, removed)))
        coming = list(_group_by_owner(*_find_unshared(after, before)))
        for cluster, rows in leaving:
            self._edit(cluster).mark_deleted(items.coded.ids[rows])
        indexes = np.searchsorted(self._names, [cluster for cluster, _ in coming]).tolist()
        parts = zip(indexes, (rows for _, rows in coming), strict=True)
        for index, entries in items.entries(parts, self._vectors):
            self._edit(int(self._names[index])).append(entries)
        return [cluster for cluster, _ in (*coming, *leaving)]


def _find_unshared(clusters: Int64, others: Int64, without: int = 0) -> tuple[Int64, Int64]:
    """Return (rows, clusters): entries of ``clusters`` except 0, ``without`` and clusters in that row of ``others``."""
    alone = ~(clusters[:, :, None] == others[:, None, :]).any(axis=2) & (clusters != 0) & (clusters != without)
    rows, columns = np.nonzero(alone)
    return rows, clusters[rows, columns]
