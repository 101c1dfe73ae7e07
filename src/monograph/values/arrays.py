"""Types of the arrays that modules exchange.

Compute inner products of rows with ``numpy.vecdot``, not with a matrix product. The result of ``vecdot`` for a row has
the same bits wherever the row is in the array, and whatever the other rows are. So scores do not depend on the order of
stored rows.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Float32: TypeAlias = npt.NDArray[np.float32]
"""Array of float32: vectors, one per row."""

Float64: TypeAlias = npt.NDArray[np.float64]
"""Array of float64: scores."""
