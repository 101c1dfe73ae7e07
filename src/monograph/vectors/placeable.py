"""Vectors on their way into an index: those that have a direction are prepared, the others noted."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.store import clusters as store
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors.design import Space
from monograph.vectors.search import prepare_many

Int64: TypeAlias = npt.NDArray[np.int64]


def placeable(connection: Connection, space: Space, memos: Int64, vectors: Float32) -> tuple[Int64, Float32]:
    """Vectors without those that have no direction, whose placement says so.

    Parameters
    ----------
    connection:
        A write transaction.
    memos, vectors:
        int64 (n,) and float32 (n, dimension).

    Returns
    -------
    int64 (m,) and float32 (m, dimension), prepared for the metric, in the same order.

    Raises
    ------
    InputError
        If a vector has another dimension or is not finite.
    """
    if space.design.metric == "cosine":
        some = vectors.any(axis=1)
        nowhere = memos[~some].tolist()
        store.place(connection, space.number, (store.Placement(memo, 0, 0) for memo in nowhere))
        memos, vectors = memos[some], vectors[some]
    return memos, prepare_many(vectors, space.dimension, space.design.metric)
