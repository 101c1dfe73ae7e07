"""Arrays as they travel between modules.

Inner products of rows are made by ``numpy.vecdot``, not by a matrix product: it gives a row the same bits wherever the
row stands and whatever stands beside it, so that scores do not depend on the order in which rows are stored.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Float32: TypeAlias = npt.NDArray[np.float32]
"""An array of float32: vectors, as rows."""

Float64: TypeAlias = npt.NDArray[np.float64]
"""An array of float64: scores."""
