"""Finder of the pages of an open file that hold given rows of a table or given entries of an index.

The pages are found by reading B-trees in SQLite's file format, without SQLite. They are found only to be read ahead.
Newer versions of them may be in the write-ahead log, so no result may depend on their contents.

The file is read through a descriptor that SQLite opened. If this module opened and closed a descriptor of its own, the
process would lose SQLite's locks on the file.
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
"""Consecutive pages: (number of the first page, counted from 1; number of pages)."""
Key: TypeAlias = tuple[int | bytes, ...]
"""The first columns of an index entry. Whole numbers are int; texts and blobs are bytes."""
Range: TypeAlias = tuple[Key, Key]
"""All index entries from the first key to the second, both included."""
_DESCRIPTORS_FOLDER = Path("/proc/self/fd")
_INNER, _LEAF = 5, 13
_INNER_OF_INDEX = 2
_MAX_DEPTH = 12
_MAX_JUMPS = 64
"""Largest number of runs that :meth:`FilePages.levels` yields for one chain of overflow pages."""
_HEADER_BYTES = 100
_BYTES_PER_CALL = 128 << 10
"""Largest number of bytes for one call of ``posix_fadvise``. Of a longer range, the system reads only the beginning."""
_LONGEST_RANGE = 64 << 20
_TESTED_PAGES = 32
"""Largest number of tested pages in each level of a B-tree. If all tested pages are in memory, the level is skipped."""
_INTEGERS = (0, 1, 2, 3, 4, 6, 8)
"""Number of bytes of an integer in a record, by its serial type (0 to 6)."""
_ZERO, _ONE, _TEXTS = 8, 9, 12


def descriptor_of(path: str) -> int | None:
    """Return a file descriptor under which this process has a file open.

    Returns None if no descriptor is found, or if the system is not Linux.
    """
    if sys.platform != "linux":
        return None
    try:
        file = Path(path).stat()
        descriptors = [int(entry.name) for entry in _DESCRIPTORS_FOLDER.iterdir()]
    except OSError:
        return None
    return next((descriptor for descriptor in descriptors if is_of(descriptor, file)), None)


def is_of(descriptor: int, file: os.stat_result) -> bool:
    """Return whether a descriptor belongs to a file, given by its ``os.stat`` result."""
    try:
        return os.path.samestat(os.fstat(descriptor), file)
    except OSError:
        return False


@dataclass(frozen=True, slots=True)
class FilePages:
    """The pages of an open file.

    ``descriptor`` is a file descriptor. ``size`` is the number of bytes of a page. ``usable`` is the number of these
    bytes that hold content; the others are reserved.
    """

    descriptor: int
    size: int
    usable: int

    @classmethod
    def of(cls, descriptor: int) -> FilePages | None:
        """Return the pages of a descriptor's file; None if the file is encrypted or is not an SQLite file."""
        try:
            header = os.pread(descriptor, _HEADER_BYTES, 0)
        except OSError:
            return None
        if len(header) < _HEADER_BYTES or not header.startswith(b"SQLite format 3\0"):
            return None
        size = int.from_bytes(header[16:18], "big")
        size = 65_536 if size == 1 else size
        return cls(descriptor, size, size - header[20]) if size >= 512 else None

    def announce(self, levels: Iterable[Sequence[Run]]) -> bool:
        """Ask the system to read pages, level by level. Return True if a tested page was not in memory.

        ``levels`` comes from :meth:`levels` or :meth:`levels_of_index`, and may raise the errors of that method. A few
        pages of each level are tested. If all of them are in memory, the level is skipped.
        """
        any_missing = False
        for runs in levels:
            if all(self._is_in_memory(page) for page, _ in runs[:: -(-len(runs) // _TESTED_PAGES) or 1]):
                continue
            any_missing = True
            for page, count in runs:
                begin, size = (page - 1) * self.size, min(count * self.size, _LONGEST_RANGE)
                for offset in range(begin, begin + size, _BYTES_PER_CALL):
                    length = min(_BYTES_PER_CALL, begin + size - offset)
                    os.posix_fadvise(self.descriptor, offset, length, os.POSIX_FADV_WILLNEED)
        return any_missing

    def _is_in_memory(self, page: int) -> bool:
        """Return whether a page is in memory; False if the file system does not support this test."""
        try:
            return bool(os.preadv(self.descriptor, [bytearray(1)], (page - 1) * self.size, os.RWF_NOWAIT))
        except OSError:
            return False

    def levels(self, root: int, rows: Iterable[int], *, small: bool = False) -> Iterator[list[Run]]:
        """Yield the pages on the way to rows of a table: one list for each level of the table's B-tree, from the root.

        Lists with the overflow pages of the rows follow. The pages of a list are read when the next list is requested,
        so that the caller can announce them first. ``root`` is the number of the B-tree's root page. ``rows`` are row
        numbers above 0; missing rows are skipped. ``small`` states that no row has overflow pages: then the leaves are
        yielded, but not read. Raises OSError, IndexError or struct.error if the pages are not as SQLite writes them.
        """
        current, overflow = {root: sorted(set(rows))}, list[Run]()
        for _ in range(_MAX_DEPTH):
            yield [(page, 1) for page in current]
            if small and current and self._read(next(iter(current)), 1) == bytes([_LEAF]):
                return
            next_level: dict[int, list[int]] = {}
            for page, page_rows in current.items():
                body = self._read(page, self.size)
                if body[0] == _INNER:
                    for child, child_rows in _children(body, page_rows):
                        next_level.setdefault(child, []).extend(child_rows)
                elif body[0] == _LEAF:
                    overflow += self._overflow_runs(body, page_rows)
            current = next_level
            if not current:
                break
        yield from self._chains(overflow)

    def levels_of_index(self, root: int, ranges: Iterable[Range]) -> Iterator[list[Run]]:
        """Yield the pages of an index that may have entries in the given ranges: one list for each level of its B-tree.

        ``root`` is the number of the B-tree's root page. The leaves are yielded, but not read. Raises OSError,
        IndexError or struct.error if the pages are not as SQLite writes them. Raises ValueError or TypeError if the
        columns of the index differ in number or type from the values of the keys.
        """
        current = {root: sorted(set(ranges))}
        for _ in range(_MAX_DEPTH):
            yield [(page, 1) for page in current]
            next_level: dict[int, list[Range]] = {}
            for page, page_ranges in current.items():
                if self._read(page, 1) != bytes([_INNER_OF_INDEX]):
                    return  # All leaves are on one level.
                body = self._read(page, self.size)
                for child, child_range in _index_children(body, page_ranges):
                    next_level.setdefault(child, []).append(child_range)
            current = next_level

    def _read(self, page: int, size: int) -> bytes:
        """Return the first ``size`` bytes of a page."""
        return os.pread(self.descriptor, size, (page - 1) * self.size)

    def _chains(self, runs: Iterable[Run]) -> Iterator[list[Run]]:
        """Yield lists of the next run of each overflow chain. ``runs`` has (first page, page count) of each chain."""
        most = _LONGEST_RANGE // self.size
        # A page names the next page of its chain. A run is yielded before it is read, so its length is a guess.
        chains = [(page, min(count, most), min(count, most)) for page, count in runs]
        for _ in range(_MAX_JUMPS):
            yield [(page, min(remaining, guess)) for page, remaining, guess in chains]
            chains = [next_chain for chain in chains if (next_chain := self._follow_chain(*chain)) is not None]
            if not chains:
                return

    def _follow_chain(self, page: int, remaining: int, guess: int) -> tuple[int, int, int] | None:
        """Read up to ``guess`` pages of a chain. Return the next (page, ``remaining``, ``guess``); None at its end."""
        for passed in range(1, min(remaining, guess + 1)):
            following = int.from_bytes(self._read(page, 4), "big")
            if following <= 1:
                return None
            if following != page + 1 or passed == guess:
                # After a correct guess, the next guess is doubled. After a wrong guess, it is one page.
                return following, remaining - passed, 2 * guess if passed == guess else 1
            page = following
        return None

    def _overflow_runs(self, body: bytes, rows: Sequence[int]) -> Iterator[Run]:
        """Yield (first page, number of pages) of the overflow pages of each row in a leaf. ``body`` is the leaf."""
        offsets = _cell_offsets(body, 8)
        for row in rows:
            index = bisect_left(offsets, row, key=lambda offset: _read_varint(body, _read_varint(body, offset)[1])[0])
            if index == len(offsets):
                continue
            size, offset = _read_varint(body, offsets[index])
            number, begin = _read_varint(body, offset)
            # Section 1.6 of SQLite's file format defines how many bytes of a row are in its leaf.
            most, least = self.usable - 35, (self.usable - 12) * 32 // 255 - 23
            local_size = size if size <= most else least + (size - least) % (self.usable - 4)
            local_size = local_size if local_size <= most else least
            if number == row and local_size < size:
                first = int.from_bytes(body[begin + local_size : begin + local_size + 4], "big")
                yield first, -(-(size - local_size) // (self.usable - 4))


def _children(body: bytes, rows: Sequence[int]) -> Iterator[tuple[int, Sequence[int]]]:
    """Yield (child page, wanted rows below it) of an inner page of a table; ``body`` is the page's bytes."""
    offsets, start = _cell_offsets(body, 12), 0
    while start < len(rows):
        index = bisect_left(offsets, rows[start], key=lambda offset: _read_varint(body, offset + 4)[0])
        page, end = int.from_bytes(body[8:12], "big"), len(rows)
        if index < len(offsets):
            page = int.from_bytes(body[offsets[index] : offsets[index] + 4], "big")
            end = bisect_left(rows, _read_varint(body, offsets[index] + 4)[0] + 1, start)
        yield page, rows[start:end]
        start = max(end, start + 1)


def _index_children(body: bytes, ranges: Sequence[Range]) -> Iterator[tuple[int, Range]]:
    """Yield (child page, range) for each child of an inner index page that may have entries of a range."""
    offsets = _cell_offsets(body, 12)
    pages = [int.from_bytes(body[offset : offset + 4], "big") for offset in offsets]
    pages.append(int.from_bytes(body[8:12], "big"))

    @cache
    def key(offset: int) -> Key:
        return _read_key(body, _read_varint(body, offset + 4)[1], len(ranges[0][0]))

    for low, high in ranges:
        first = bisect_left(offsets, low, key=key)
        for page in pages[first : bisect_right(offsets, high, first, key=key) + 1]:
            yield page, (low, high)


def _read_key(body: bytes, begin: int, columns: int) -> Key:
    """Return a record's first ``columns`` values. A value that continues on another page is right only at its start."""
    size, cursor = _read_varint(body, begin)
    value_start = begin + size
    values: list[int | bytes] = []
    for _ in range(columns):
        kind, cursor = _read_varint(body, cursor)
        if kind in (_ZERO, _ONE):
            values.append(kind - _ZERO)
            continue
        length = _INTEGERS[kind] if kind < _TEXTS else (kind - _TEXTS) // 2
        value = body[value_start : value_start + length]
        values.append(value if kind >= _TEXTS else int.from_bytes(value, "big", signed=True))
        value_start += length
    return tuple(values)


def _cell_offsets(body: bytes, header: int) -> tuple[int, ...]:
    """Return the offsets of the cells of a page; ``header`` is the length of the page's header in bytes."""
    (count,) = struct.unpack_from(">H", body, 3)
    return struct.unpack_from(f">{count}H", body, header)


def _read_varint(body: bytes, offset: int) -> tuple[int, int]:
    """Read a variable-length integer of SQLite; return (value, offset of the byte after it)."""
    value = 0
    for position in range(8):
        byte = body[offset + position]
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, offset + position + 1
    return value << 8 | body[offset + 8], offset + 9
