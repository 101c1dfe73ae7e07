"""Pages of an open file that hold some rows of a table, or some entries of an index, found by SQLite's own format.

For reading ahead alone: the pages may be older than the file's log, and nothing read here is taken for true. The
descriptor is SQLite's own: closing another descriptor of the file would drop SQLite's locks.
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
"""Pages that follow each other: the first, counted from 1, and how many."""
Key: TypeAlias = tuple[int | bytes, ...]
"""The first columns of an entry of an index: whole numbers, and texts or blobs as bytes."""
Range: TypeAlias = tuple[Key, Key]
"""All entries from one key up to another."""
_OPEN = Path("/proc/self/fd")
_INNER, _LEAF = 5, 13
_INNER_OF_INDEX = 2
_DEEPEST = 12
_MOST_LEAPS = 64
"""Leaps of a chain that are followed."""
_HEADER = 100
_AT_ONCE = 128 << 10
"""Bytes announced in one piece: of a larger one the system reads the beginning alone."""
_MOST = 64 << 20
_TESTED = 32
"""Pages of a level, far from each other, that are looked for in memory: if they are there, all are taken to be."""
_INTEGERS = (0, 1, 2, 3, 4, 6, 8)
"""Bytes of a whole number, by its type in a record."""
_ZERO, _ONE, _TEXTS = 8, 9, 12


def descriptor_of(path: str) -> int | None:
    """Return the descriptor under which this process has a file open; None if the system does not tell."""
    if sys.platform != "linux":
        return None
    try:
        wanted = Path(path).stat()
        held = [int(one.name) for one in _OPEN.iterdir()]
    except OSError:
        return None
    return next((one for one in held if is_of(one, wanted)), None)


def is_of(descriptor: int, file: os.stat_result) -> bool:
    """Whether a descriptor is one of a file."""
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
        """Return the pages of a descriptor's file; None if it is no file of SQLite's."""
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
        """Have the system read pages, a level at once; return whether any of them was not in memory.

        ``levels`` are those of :meth:`levels` or :meth:`levels_of_index`, whose errors are raised.
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
        """Whether a page is in memory, as far as the file system tells."""
        try:
            return bool(os.preadv(self.descriptor, [bytearray(1)], (page - 1) * self.size, os.RWF_NOWAIT))
        except OSError:
            return False

    def levels(self, root: int, rows: Iterable[int], *, small: bool = False) -> Iterator[list[Run]]:
        """Yield the pages of rows of a table: those of each level of its tree, then those beyond the leaves.

        A level is read when the next one is asked for.

        Parameters
        ----------
        root:
            The page at the root of the table's tree.
        rows:
            Row numbers, above 0; those that are not there are passed over.
        small:
            Rows fit into leaves, which are not read.

        Raises
        ------
        OSError, IndexError, struct.error
            If the file is not what SQLite writes.
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
        """Yield the pages of entries between some keys, of each level of an index; leaves are not read.

        Raises
        ------
        OSError, IndexError, struct.error, ValueError, TypeError
            If the file is not what SQLite writes, or the keys are of other columns.
        """
        below = {root: sorted(set(ranges))}
        for _ in range(_DEEPEST):
            yield [(page, 1) for page in below]
            deeper: dict[int, list[Range]] = {}
            for page, wanted in below.items():
                if self._kind_of(page) != bytes([_INNER_OF_INDEX]):
                    return  # All leaves lie equally deep.
                body = os.pread(self.descriptor, self.size, (page - 1) * self.size)
                for child, some in _index_children(body, wanted):
                    deeper.setdefault(child, []).append(some)
            below = deeper

    def _kind_of(self, page: int) -> bytes:
        return os.pread(self.descriptor, 1, (page - 1) * self.size)

    def _chains(self, runs: Iterable[Run]) -> Iterator[list[Run]]:
        """Yield the pages of chains of so many pages each, a leap of all chains at a time.

        At first the pages of a chain are taken to follow each other, as they were written. After a page that does not
        follow, twice as many are taken to with each leap for which it holds.
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
        """Return where a chain goes on after pages that were taken to follow each other; None if it ends there."""
        for passed in range(1, min(left, guess + 1)):
            following = int.from_bytes(os.pread(self.descriptor, 4, (page - 1) * self.size), "big")
            if following <= 1:
                return None
            if following != page + 1 or passed == guess:
                return following, left - passed, 2 * guess if passed == guess else 1
            page = following
        return None

    def _beyond(self, body: bytes, wanted: Sequence[int]) -> Iterator[Run]:
        """Yield the pages that rows of a leaf have beyond it, taken to follow each other."""
        places = _cells(body, 8)
        for row in wanted:
            place = bisect_left(places, row, key=lambda at: _varint(body, _varint(body, at)[1])[0])
            if place == len(places):
                continue
            size, at = _varint(body, places[place])
            number, begin = _varint(body, at)
            # The file format's section 1.6 says how many bytes of a row lie in its leaf.
            most, least = self.usable - 35, (self.usable - 12) * 32 // 255 - 23
            held = size if size <= most else least + (size - least) % (self.usable - 4)
            held = held if held <= most else least
            if number == row and held < size:
                first = int.from_bytes(body[begin + held : begin + held + 4], "big")
                yield first, -(-(size - held) // (self.usable - 4))


def _children(body: bytes, wanted: Sequence[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield (page, those of the rows that lie below it) of an inner page of a table."""
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
    """Yield (page, range) for each page below an inner page of an index that may have entries of a range, in order."""
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
    """Return the first columns of a record; of a text that goes on in another page the part that is here."""
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
    """Return where the cells of a page begin."""
    (count,) = struct.unpack_from(">H", body, 3)
    return struct.unpack_from(f">{count}H", body, header)


def _varint(body: bytes, at: int) -> tuple[int, int]:
    """Return (number, where it ends) of one of SQLite's numbers."""
    value = 0
    for place in range(8):
        byte = body[at + place]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + place + 1
    return value << 8 | body[at + 8], at + 9
