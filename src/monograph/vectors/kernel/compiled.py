"""The compiled module of vector search."""

from __future__ import annotations

try:
    from monograph.vectors.kernel import _kernel as compiled
except ImportError as error:
    raise ImportError(
        f"the compiled module monograph.vectors.kernel._kernel cannot be loaded ({error}): install a wheel for this "
        "Python, or build for it: pip install --force-reinstall --no-cache-dir monograph"
    ) from error

__all__ = ["compiled"]
