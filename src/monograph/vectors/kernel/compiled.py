"""The compiled module of vector search, and what it raises as errors of ours."""

from __future__ import annotations

import numpy as np

from monograph.errors import InputError

try:
    from monograph.vectors.kernel import _kernel as compiled
except ImportError as error:
    raise ImportError(
        f"the compiled module monograph.vectors.kernel._kernel cannot be loaded ({error}): install a wheel for this "
        "Python, or build for it: pip install --force-reinstall --no-cache-dir monograph"
    ) from error

__all__ = ["KERNEL_ERRORS", "SEARCHED", "DamagedBytes", "compiled", "ours"]


class DamagedBytes(Exception):
    """A stored cluster or graph is not what was written. The index turns it into an error that names the file."""


KERNEL_ERRORS = (TypeError, ValueError, RuntimeError)
SEARCHED = "bytes, a float32 query of shape (d,), whole numbers, and a bitmap of uint8 or None"


def ours(error: Exception, name: str, expected: str, *given: object) -> Exception:
    """An error of a kernel function, which was given this and expected that."""
    if isinstance(error, TypeError):
        got = ", ".join(_described(one) for one in given)
        mend = "use numpy.ascontiguousarray(..., dtype=numpy.float32)"
        return InputError(f"{name} needs {expected}; got {got}", mend)
    if isinstance(error, ValueError):
        return InputError(str(error))
    if str(error).startswith("damaged: "):
        return DamagedBytes(str(error).removeprefix("damaged: "))
    return error


def _described(array: object) -> str:
    if isinstance(array, np.ndarray):
        return f"{array.dtype} {array.shape}"
    return repr(array) if isinstance(array, int | float | str) else type(array).__name__
