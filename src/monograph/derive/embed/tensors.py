"""Arrays out of a file of the safetensors form, which holds numbers and nothing that could be run."""

from __future__ import annotations

import json
import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from monograph.errors import ModelUnavailable

MOST_HEADER = 16 << 20
"""Bytes of a header that is read."""

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U8": "<u1"}
_HALF = "BF16"
"""The upper half of a float32."""


@dataclass(frozen=True, slots=True)
class _TensorHeader:
    """What the header says of an array: its type, its shape, and its first byte and the one behind its last."""

    kind: str
    shape: tuple[int, ...]
    first: int
    end: int


class Tensors:
    """The arrays of a file by name.

    Parameters
    ----------
    path:
        The file.

    Raises
    ------
    ModelUnavailable
        If it cannot be read, or is not of the form.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._size = path.stat().st_size
            with path.open("rb") as file:
                (length,) = struct.unpack("<Q", file.read(8))
                if not 2 <= length <= min(MOST_HEADER, self._size - 8):
                    raise self._fault("its header is cut off")
                header = json.loads(file.read(length))
                self._told = {name: _told(one) for name, one in header.items() if name != "__metadata__"}
        except OSError as error:
            raise ModelUnavailable(f"{path} cannot be read: {error.strerror or error}", _HINT) from error
        except (struct.error, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            raise self._fault(str(error)) from error
        self._start = 8 + length

    def __contains__(self, name: str) -> bool:
        return name in self._told

    def array(self, name: str) -> npt.NDArray[Any]:
        """An array by its name: one that is read where it is looked at, but of bfloat16 float32.

        Raises
        ------
        ModelUnavailable
            If there is none of that name, or it is not as the header says.
        """
        if name not in self._told:
            raise self._fault(f"it has no array {name!r}, but {', '.join(sorted(self._told)) or 'none'}")
        one = self._told[name]
        kind = np.dtype("<u2" if one.kind == _HALF else _TYPES.get(one.kind, "V0"))
        count = math.prod(one.shape)
        whole = 0 <= one.first <= one.end <= self._size - self._start and one.end - one.first == count * kind.itemsize
        if not kind.itemsize or not whole or min(one.shape, default=0) < 1:
            raise self._fault(f"{name!r} is not {one.kind} of shape {one.shape} at bytes {one.first} to {one.end}")
        try:
            made = np.memmap(self._path, kind, "r", self._start + one.first, one.shape)
        except (OSError, ValueError) as error:
            raise ModelUnavailable(f"{self._path} cannot be read: {error}", _HINT) from error
        return (made.astype(np.uint32) << 16).view(np.float32) if one.kind == _HALF else made

    def _fault(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(f"{self._path} is not of the safetensors form: {what}", _HINT)


_HINT = "copy the model's folder again"


def _told(one: Any) -> _TensorHeader:
    first, end = map(int, one["data_offsets"])
    return _TensorHeader(str(one["dtype"]), tuple(map(int, one["shape"])), first, end)
