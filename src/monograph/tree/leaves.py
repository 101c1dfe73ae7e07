"""Lowest layer of the tree: updates after changes of chunks. Also the statistics of the whole tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monograph.store import tree as store
from monograph.store.file import settings
from monograph.store.file.database import Connection
from monograph.store.vectors import vectors as stored_vectors
from monograph.tree.hash import full_rank, ranks
from monograph.values import TreeStats, content_hash

KEY_BYTES = 16
LEAVES_AT_ONCE = 4_096


@dataclass(frozen=True, slots=True)
class LeafPlace:
    """The place of a chunk's node in the lowest layer: the row of the chunk, and the rank and key of its node."""

    chunk: int
    rank: int
    key: bytes


def stored_dimension(connection: Connection) -> int:
    """Return the dimension of the vectors of the file's embedder; 0 if the file has no embedder yet."""
    embedder = settings.load_model(connection, "embedder")
    return 0 if embedder is None else embedder.dimension


def update_leaves(connection: Connection) -> None:
    """Add and remove nodes of the lowest layer so that it fits the present chunks.

    All summaries above removed nodes are deleted. Call this before every commit of a transaction that may have changed
    chunks. If the file has no tree, nothing is done.
    """
    stale_rows = store.stale_leaves(connection)
    if not stale_rows:
        return
    dimension = stored_dimension(connection)
    removed: list[int] = []
    added: list[tuple[int, bytes, int]] = []
    for first in range(0, len(stale_rows), LEAVES_AT_ONCE):
        batch = stale_rows[first : first + LEAVES_AT_ONCE]
        expected = {leaf.chunk: leaf for leaf in leaf_places(connection, dimension, store.leaves(connection, batch))}
        stored = store.of_chunks(connection, batch)
        same = {
            chunk
            for chunk, row in stored.items()
            if chunk in expected and (row.rank, row.key) == (expected[chunk].rank, expected[chunk].key)
        }
        removed += [row.node for chunk, row in stored.items() if chunk not in same]
        added += [(leaf.rank, leaf.key, chunk) for chunk, leaf in expected.items() if chunk not in same]
    store.replace_leaves(connection, removed, added)


def leaf_places(connection: Connection, dimension: int, found: Sequence[store.Leaf]) -> list[LeafPlace]:
    """Return the place of each chunk in the lowest layer.

    ``found`` are the chunks: the rank and the key of a node are computed from the id, the text and the vector of the
    chunk. A chunk is left out if its vector does not have the given dimension.
    """
    memos, vectors = stored_vectors.load(connection, list({leaf.memo for leaf in found}), dimension)
    by_memo = dict(zip(memos.tolist(), ranks(vectors).tolist(), strict=True))
    keys = {leaf.chunk: content_hash("chunk", leaf.id, leaf.text)[:KEY_BYTES] for leaf in found}
    return [
        LeafPlace(leaf.chunk, full_rank(by_memo[leaf.memo], keys[leaf.chunk]), keys[leaf.chunk])
        for leaf in found
        if leaf.memo in by_memo
    ]


SAMPLED = 256
"""Number of segments of the lowest layer that are sampled to measure the mean cosine between their chunks."""


def measure(connection: Connection) -> TreeStats | None:
    """Return the statistics of the tree; None if the file has no tree.

    The mean cosine is measured on a sample of segments: see SAMPLED.
    """
    if not store.exists(connection):
        return None
    dimension = stored_dimension(connection)
    cosines = []
    segments = [node for _, _, node in store.nodes(connection, 1)]
    for children in store.children(connection, segments[:: max(1, len(segments) // SAMPLED)]).values():
        memos = store.vectors_of(connection, [row.node for row in children])
        loaded, vectors = stored_vectors.load(connection, list(set(memos.values())), dimension)
        by_memo = dict(zip(loaded.tolist(), vectors, strict=True))
        rows = np.array([by_memo[memo] for memo in memos.values() if memo in by_memo])
        count = len(rows)
        if count > 1:
            cosines.append(float(((rows @ rows.T).sum() - (rows * rows).sum()) / (count * (count - 1))))
    counts = settings.load_summary_counts(connection)
    return TreeStats(
        layers=tuple(store.layers(connection)[1:]),
        sizes=tuple(store.sizes(connection)),
        cosine=float(np.mean(cosines)) if cosines else 0.0,
        waiting=store.count_stale_segments(connection),
        last_made=counts.last_made,
        last_tokens=counts.last_tokens,
        ever_made=counts.ever_made,
        ever_tokens=counts.ever_tokens,
    )
