"""The inner loops of vector search: compiled where a compiler was at hand, in numpy elsewhere.

Both give the same results and raise the same errors; every test of one is a test of the other. :data:`IMPLEMENTATION`
says which is in use.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from monograph.errors import InputError
from monograph.models import Float32
from monograph.vectors.kernel import reference

try:
    from monograph.vectors.kernel import _kernel
except ImportError:
    IMPLEMENTATION: Literal["compiled", "numpy"] = "numpy"
    _top_k = reference.top_k
else:
    IMPLEMENTATION = "compiled"
    _top_k = _kernel.top_k

__all__ = ["IMPLEMENTATION", "top_k"]


def top_k(vectors: Float32, query: Float32, k: int) -> tuple[npt.NDArray[np.int64], Float32]:
    """The k rows of highest inner product with a query.

    Parameters
    ----------
    vectors:
        float32 of shape (n, d), C-contiguous.
    query:
        float32 of shape (d,), finite.
    k:
        0 or more.

    Returns
    -------
    (rows, scores): int64 and float32 of shape (min(k, n),), by score, highest first, then by row.

    Raises
    ------
    InputError
        If a shape or type is wrong, k is negative, or a score is not a number.
    """
    try:
        return _top_k(vectors, query, k)
    except TypeError:
        raise InputError(
            f"top_k needs float32 arrays of shape (n, d) and (d,), C-contiguous, and a whole number k; got "
            f"{_described(vectors)}, {_described(query)} and {k!r}",
            "use numpy.ascontiguousarray(..., dtype=numpy.float32)",
        ) from None
    except ValueError as error:
        raise InputError(str(error)) from None


def _described(array: object) -> str:
    return f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
