"""Which pages below an inner page of an index hold its entries of some keys, by SQLite's own format."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from monograph.store.documents.cells import cells, varint

Key: TypeAlias = tuple[int | bytes, ...]
"""The first columns of an entry: whole numbers, and texts or blobs as bytes."""
Range: TypeAlias = tuple[Key, Key]
"""All entries from one key up to another."""

_INTEGERS = (0, 1, 2, 3, 4, 6, 8)
"""Bytes of a whole number, by the type that a record says it has."""
_ZERO, _ONE, _TEXTS = 8, 9, 12


def children(body: bytes, wanted: Sequence[Range]) -> Iterator[tuple[int, list[Range]]]:
    """(page, those of the ranges that have to do with it) of an inner page; ranges are in order.

    Raises
    ------
    IndexError, struct.error, ValueError, TypeError
        If the page is not what SQLite writes, or keys are of other columns.
    """
    places = cells(body, 12)
    pages = [int.from_bytes(body[at : at + 4], "big") for at in places]
    pages.append(int.from_bytes(body[8:12], "big"))
    keys = _Keys(body, places, len(wanted[0][0]))
    found: dict[int, list[Range]] = {}
    for low, high in wanted:
        first = bisect_left(keys, low)
        for page in pages[first : bisect_right(keys, high, first) + 1]:
            found.setdefault(page, []).append((low, high))
    yield from found.items()


class _Keys(Sequence[Key]):
    """The keys of an inner page, each read once, when it is asked for."""

    def __init__(self, body: bytes, places: Sequence[int], columns: int) -> None:
        self._body, self._places, self._columns = body, places, columns
        self._read: dict[int, Key] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: int) -> Key:  # type: ignore[override]
        if place not in self._read:
            self._read[place] = _key(self._body, varint(self._body, self._places[place] + 4)[1], self._columns)
        return self._read[place]


def _key(body: bytes, begin: int, columns: int) -> Key:
    """The first columns of a record; a text that goes on in another page as far as it is here."""
    size, at = varint(body, begin)
    held = begin + size
    found: list[int | bytes] = []
    for _ in range(columns):
        kind, at = varint(body, at)
        if kind in (_ZERO, _ONE):
            found.append(kind - _ZERO)
            continue
        length = _INTEGERS[kind] if kind < _TEXTS else (kind - _TEXTS) // 2
        value = body[held : held + length]
        found.append(value if kind >= _TEXTS else int.from_bytes(value, "big", signed=True))
        held += length
    return tuple(found)
