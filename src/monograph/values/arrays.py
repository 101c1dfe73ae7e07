"""Arrays as they travel between modules."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

Float32: TypeAlias = npt.NDArray[np.float32]
"""An array of float32: vectors, as rows."""

Float64: TypeAlias = npt.NDArray[np.float64]
"""An array of float64: scores."""

_Real = TypeVar("_Real", np.float32, np.float64)


def inner_products(rows: npt.NDArray[_Real], others: npt.NDArray[_Real]) -> npt.NDArray[_Real]:
    """Return the inner product of each row with a vector, or with the row of its place.

    A row's is the same to the bit wherever it stands and whatever stands beside it: a matrix product promises no such
    thing, and scores that differ in their last bit would hang on the order in which rows are stored.

    Parameters
    ----------
    rows:
        (n, dimension).
    others:
        (dimension,), or (n, dimension).

    Returns
    -------
    (n,), of the same type.
    """
    products: npt.NDArray[_Real] = np.vecdot(rows, others)
    return products
