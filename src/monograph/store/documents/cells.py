"""Where the cells of a page of SQLite's begin, and the numbers in them."""

from __future__ import annotations

import struct
from collections.abc import Iterator


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


def varints(data: bytes) -> Iterator[int]:
    """Numbers one after the other, seven bits a byte; no more than eight bytes each are met where words are counted."""
    value = 0
    for byte in data:
        value = value << 7 | byte & 127
        if byte < 128:
            yield value
            value = 0
