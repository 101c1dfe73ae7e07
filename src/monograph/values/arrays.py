"""Arrays as they travel between modules."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Float32: TypeAlias = npt.NDArray[np.float32]
"""An array of float32: vectors, as rows."""

Float64: TypeAlias = npt.NDArray[np.float64]
"""An array of float64: scores."""
