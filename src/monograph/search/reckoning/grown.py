"""Arrays that grow while a search goes on."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

_Array = TypeVar("_Array", bound=npt.NDArray[Any])


def grown(array: _Array, shape: tuple[int, ...], fill: float = 0) -> _Array:
    """An array in the corner of a larger one; ``fill`` is elsewhere."""
    larger = np.full(shape, fill, dtype=array.dtype)
    larger[tuple(map(slice, array.shape))] = array
    return larger  # type: ignore[return-value]
