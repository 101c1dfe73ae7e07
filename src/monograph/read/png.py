"""Pixels as a PNG file."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

_LEVEL = 4


def png(pixels: npt.NDArray[Any]) -> bytes:
    """A PNG file of pixels: uint8 (height, width, 3) of red, green and blue, or (height, width, 1) of grey."""
    height, width, channels = pixels.shape
    rows = np.ascontiguousarray(pixels, dtype=np.uint8).reshape(height, width * channels)
    filtered = np.empty((height, 1 + width * channels), dtype=np.uint8)
    filtered[:, 0] = 2  # Each row as what differs from the row above.
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), _LEVEL)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
