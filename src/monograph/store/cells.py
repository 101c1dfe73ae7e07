"""Where the cells of a page of SQLite's begin, and the numbers in them."""

from __future__ import annotations

import struct


def cells(body: bytes, header: int) -> tuple[int, ...]:
    """Where the cells of a page begin."""
    (count,) = struct.unpack_from(">H", body, 3)
    return struct.unpack_from(f">{count}H", body, header)


def varint(body: bytes, at: int) -> tuple[int, int]:
    """(number, where it ends) of one of SQLite's numbers."""
    value = 0
    for place in range(8):
        byte = body[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | body[at + 8], at + 9
