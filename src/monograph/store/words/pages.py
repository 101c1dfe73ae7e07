"""Pages of an open file that hold some rows of a table, or some entries of an index, found by SQLite's own format.

Only for reading ahead: the pages may be older than the write-ahead log, so no result depends on their contents. The
descriptor is SQLite's own, because closing another descriptor of the file would drop SQLite's locks.
"""

from __future__ import annotations

import os
import struct
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

Run: TypeAlias = tuple[int, int]
"""Consecutive pages: the number of the first, counted from 1, and how many there are."""
Key: TypeAlias = tuple[int | bytes, ...]
"""The first columns of an entry of an index: whole numbers, and texts or blobs as bytes."""
Range: TypeAlias = tuple[Key, Key]
"""All entries from the first key to the second, both included."""
_OPEN = Path("/proc/self/fd")
_INNER, _LEAF = 5, 13
_INNER_OF_INDEX = 2
_DEEPEST = 12
_MOST_LEAPS = 64
"""Most jumps between consecutive runs of a chain of overflow pages that are followed."""
_HEADER = 100
_AT_ONCE = 128 << 10
"""Bytes announced in one call: of a longer range the system reads only the beginning."""
_MOST = 64 << 20
_TESTED = 32
"""Pages of a level, evenly spaced, that are tested for being in memory: if they are, all are assumed to be."""
_INTEGERS = (0, 1, 2, 3, 4, 6, 8)
"""Bytes of an integer, by its serial type in a record."""
_ZERO, _ONE, _TEXTS = 8, 9, 12


def descriptor_of(path: str) -> int | None:
    """Return a descriptor under which this process has a file open; None if none is found, or not on Linux."""
    if sys.platform != "linux":
        return None
    try:
        wanted = Path(path).stat()
        held = [int(one.name) for one in _OPEN.iterdir()]
    except OSError:
        return None
    return next((one for one in held if is_of(one, wanted)), None)


def is_of(descriptor: int, file: os.stat_result) -> bool:
    """Return whether a descriptor belongs to a file."""
    try:
        return os.path.samestat(os.fstat(descriptor), file)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class FilePages:
    """The pages of an open file.

    Parameters
    ----------
    descriptor:
        See :func:`descriptor_of`.
    size, usable:
        Bytes of a page, and those of them that SQLite uses.
    """

    descriptor: int
    size: int
    usable: int

    @classmethod
    def of(cls, descriptor: int) -> FilePages | None:
        """Return the pages of a descriptor's file; None if it is not an SQLite file, or is encrypted."""
        try:
            header = os.pread(descriptor, _HEADER, 0)
        except OSError:
            return None
        if len(header) < _HEADER or not header.startswith(b"SQLite format 3\0"):
            return None
        size = int.from_bytes(header[16:18], "big")
        size = 65_536 if size == 1 else size
        return cls(descriptor, size, size - header[20]) if size >= 512 else None

    def announce(self, levels: Iterable[Sequence[Run]]) -> bool:
        """Ask the system to read pages, a level at a time; return whether any tested page was not in memory.

        ``levels`` are the results of :meth:`levels` or :meth:`levels_of_index`. Raises as these methods.
        """
        came = False
        for runs in levels:
            if all(self._is_held(page) for page, _ in runs[:: -(-len(runs) // _TESTED) or 1]):
                continue
            came = True
            for page, count in runs:
                begin, size = (page - 1) * self.size, min(count * self.size, _MOST)
                for at in range(begin, begin + size, _AT_ONCE):
                    length = min(_AT_ONCE, begin + size - at)
                    os.posix_fadvise(self.descriptor, at, length, os.POSIX_FADV_WILLNEED)
        return came

    def _is_held(self, page: int) -> bool:
        """Return whether a page is in memory; False if the file system does not say."""
        try:
            return bool(os.preadv(self.descriptor, [bytearray(1)], (page - 1) * self.size, os.RWF_NOWAIT))
        except OSError:
            return False

    def levels(self, root: int, rows: Iterable[int], *, small: bool = False) -> Iterator[list[Run]]:
        """Yield the pages of rows of a table: those of each level of its B-tree, then overflow pages.

        The pages of a level are read only when the next level is requested.

        Parameters
        ----------
        root:
            The page at the root of the table's tree.
        rows:
            Row numbers, above 0; missing rows are skipped.
        small:
            The rows fit into leaves, which are then not read.

        Raises
        ------
        OSError, IndexError, struct.error
            If the pages are not as SQLite writes them.
        """
        below, beyond = {root: sorted(set(rows))}, list[Run]()
        for _ in range(_DEEPEST):
            yield [(page, 1) for page in below]
            if small and below and self._kind_of(next(iter(below))) == bytes([_LEAF]):
                return
            deeper: dict[int, list[int]] = {}
            for page, wanted in below.items():
                body = os.pread(self.descriptor, self.size, (page - 1) * self.size)
                if body[0] == _INNER:
                    for child, some in _children(body, wanted):
                        deeper.setdefault(child, []).extend(some)
                elif body[0] == _LEAF:
                    beyond += self._beyond(body, wanted)
            below = deeper
            if not below:
                break
        yield from self._chains(beyond)

    def levels_of_index(self, root: int, ranges: Iterable[Range]) -> Iterator[list[Run]]:
        """Yield the pages of each level of an index with entries in some ranges; leaves are not read.

        Raises
        ------
        OSError, IndexError, struct.error, ValueError, TypeError
            If the pages are not as SQLite writes them, or the keys have other columns than the index.
        """
        below = {root: sorted(set(ranges))}
        for _ in range(_DEEPEST):
            yield [(page, 1) for page in below]
            deeper: dict[int, list[Range]] = {}
            for page, wanted in below.items():
                if self._kind_of(page) != bytes([_INNER_OF_INDEX]):
                    return  # All leaves are on one level.
                body = os.pread(self.descriptor, self.size, (page - 1) * self.size)
                for child, some in _index_children(body, wanted):
                    deeper.setdefault(child, []).append(some)
            below = deeper

    def _kind_of(self, page: int) -> bytes:
        return os.pread(self.descriptor, 1, (page - 1) * self.size)

    def _chains(self, runs: Iterable[Run]) -> Iterator[list[Run]]:
        """Yield the pages of overflow chains, (first page, number of pages), one jump of all chains at a time.

        All pages of a chain are assumed to be consecutive at first, as they were written. After a page that is not, a
        single page is assumed, and twice as many after each jump for which the assumption was right.
        """
        most = _MOST // self.size
        waiting = [(page, min(count, most), min(count, most)) for page, count in runs]
        for _ in range(_MOST_LEAPS):
            yield [(page, min(left, guess)) for page, left, guess in waiting]
            follow = (self._next(*one) for one in waiting)
            waiting = [one for one in follow if one is not None]
            if not waiting:
                return

    def _next(self, page: int, left: int, guess: int) -> tuple[int, int, int] | None:
        """Return (next page, pages left, pages assumed next) after a jump of a chain; None if the chain ends."""
        for passed in range(1, min(left, guess + 1)):
            following = int.from_bytes(os.pread(self.descriptor, 4, (page - 1) * self.size), "big")
            if following <= 1:
                return None
            if following != page + 1 or passed == guess:
                return following, left - passed, 2 * guess if passed == guess else 1
            page = following
        return None

    def _beyond(self, body: bytes, wanted: Sequence[int]) -> Iterator[Run]:
        """Yield the overflow pages of rows of a leaf, assumed to be consecutive."""
        places = _cells(body, 8)
        for row in wanted:
            place = bisect_left(places, row, key=lambda at: _varint(body, _varint(body, at)[1])[0])
            if place == len(places):
                continue
            size, at = _varint(body, places[place])
            number, begin = _varint(body, at)
            # Section 1.6 of SQLite's file format defines how many bytes of a row are in its leaf.
            most, least = self.usable - 35, (self.usable - 12) * 32 // 255 - 23
            held = size if size <= most else least + (size - least) % (self.usable - 4)
            held = held if held <= most else least
            if number == row and held < size:
                first = int.from_bytes(body[begin + held : begin + held + 4], "big")
                yield first, -(-(size - held) // (self.usable - 4))


def _children(body: bytes, wanted: Sequence[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield (child page, wanted rows below it) of an inner page of a table."""
    places, place = _cells(body, 12), 0
    while place < len(wanted):
        at = bisect_left(places, wanted[place], key=lambda one: _varint(body, one + 4)[0])
        page, end = int.from_bytes(body[8:12], "big"), len(wanted)
        if at < len(places):
            page = int.from_bytes(body[places[at] : places[at] + 4], "big")
            end = bisect_left(wanted, _varint(body, places[at] + 4)[0] + 1, place)
        yield page, wanted[place:end]
        place = max(end, place + 1)


def _index_children(body: bytes, wanted: Sequence[Range]) -> Iterator[tuple[int, Range]]:
    """Yield (child page, range) of an inner page of an index for each child that may have entries of a range."""
    places = _cells(body, 12)
    pages = [int.from_bytes(body[at : at + 4], "big") for at in places]
    pages.append(int.from_bytes(body[8:12], "big"))

    @cache
    def key(at: int) -> Key:
        return _key(body, _varint(body, at + 4)[1], len(wanted[0][0]))

    for low, high in wanted:
        first = bisect_left(places, low, key=key)
        for page in pages[first : bisect_right(places, high, first, key=key) + 1]:
            yield page, (low, high)


def _key(body: bytes, begin: int, columns: int) -> Key:
    """Return the first columns of a record; a text that continues on another page is cut off."""
    size, at = _varint(body, begin)
    held = begin + size
    found: list[int | bytes] = []
    for _ in range(columns):
        kind, at = _varint(body, at)
        if kind in (_ZERO, _ONE):
            found.append(kind - _ZERO)
            continue
        length = _INTEGERS[kind] if kind < _TEXTS else (kind - _TEXTS) // 2
        value = body[held : held + length]
        found.append(value if kind >= _TEXTS else int.from_bytes(value, "big", signed=True))
        held += length
    return tuple(found)


def _cells(body: bytes, header: int) -> tuple[int, ...]:
    """Return the offsets of the cells of a page."""
    (count,) = struct.unpack_from(">H", body, 3)
    return struct.unpack_from(f">{count}H", body, header)


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """Return (value, offset after it) of a variable-length integer of SQLite."""
    value = 0
    for place in range(8):
        byte = body[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | body[at + 8], at + 9
