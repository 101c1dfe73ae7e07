"""SQLite's numbers of one to nine bytes, as FTS5's records hold them."""

from __future__ import annotations

from collections.abc import Iterator


def varints(data: bytes) -> Iterator[int]:
    """Numbers one after the other, seven bits a byte; no more than eight bytes each are met where words are counted."""
    value = 0
    for byte in data:
        value = value << 7 | byte & 127
        if byte < 128:
            yield value
            value = 0
