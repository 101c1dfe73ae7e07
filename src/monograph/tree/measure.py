"""Statistics of a tree: its layers, the sizes of its segments, and how similar their nodes are."""

from __future__ import annotations

import numpy as np

from monograph.store.file import settings
from monograph.store.file.database import Connection
from monograph.store.tree import tree as store
from monograph.store.vectors import vectors as stored_vectors
from monograph.tree.leaves import planes_of
from monograph.values import TreeStats

SAMPLED = 256
"""Segments over chunks whose cosines are looked at."""


def measure(connection: Connection) -> TreeStats | None:
    """The tree in numbers; None where the file has none."""
    planes = planes_of(connection)
    if planes is None:
        return None
    counts = settings.load_summary_counts(connection)
    return TreeStats(
        layers=tuple(store.layers(connection)[1:]),
        sizes=tuple(store.sizes(connection)),
        cosine=mean_cosine(connection, planes.dimension),
        waiting=store.count_stale_segments(connection),
        learned_from=planes.learned_from,
        last_made=counts.last_made,
        last_tokens=counts.last_tokens,
        ever_made=counts.ever_made,
        ever_tokens=counts.ever_tokens,
    )


def mean_cosine(connection: Connection, dimension: int, sampled: int = SAMPLED) -> float:
    """Mean over segments of the mean cosine of two of their chunks; 0 where no segment has two."""
    found = []
    for children in store.children(connection, store.sample_segments(connection, sampled)).values():
        memos = store.vectors_of(connection, [row.node for row in children])
        held, vectors = stored_vectors.load(connection, list(set(memos.values())), dimension)
        by_memo = dict(zip(held.tolist(), vectors, strict=True))
        rows = np.array([by_memo[memo] for memo in memos.values() if memo in by_memo])
        count = len(rows)
        if count > 1:
            found.append(float(((rows @ rows.T).sum() - (rows * rows).sum()) / (count * (count - 1))))
    return float(np.mean(found)) if found else 0.0
