"""Where rows and entries of indexes lie in a file: pages, found by SQLite's own trees.

For hints alone: what is read here may be older than what the file's log has, and is never taken for true. The file's
descriptor is the one that SQLite has open; one more could not be closed, for closing it would drop SQLite's locks.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from monograph.store.documents.cells import cells, varint
from monograph.store.words import index_pages
from monograph.store.words.index_pages import Range

Run: TypeAlias = tuple[int, int]
"""Pages that follow each other: the first, counted from 1, and how many."""
_OPEN = Path("/proc/self/fd")
_INNER, _LEAF = 5, 13
_INNER_OF_INDEX = 2
_DEEPEST = 12
_LONGEST_WAY = 64
"""Leaps of a chain that are followed."""
_HEADER = 100
_AT_ONCE = 128 << 10
"""Bytes announced in one piece: of a larger one the system reads the beginning alone."""
_MOST = 64 << 20
_SEEN = 32
"""Pages of a level that are looked for in memory, far from each other: where they are there, all are taken to be."""


def descriptor_of(path: str) -> int | None:
    """The descriptor under which this process has a file open; None where the system does not tell."""
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
class Pages:
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
    def of(cls, descriptor: int) -> Pages | None:
        """Of a descriptor; None where it is none of a file of SQLite's."""
        try:
            header = os.pread(descriptor, _HEADER, 0)
        except OSError:
            return None
        if len(header) < _HEADER or not header.startswith(b"SQLite format 3\0"):
            return None
        size = int.from_bytes(header[16:18], "big")
        size = 65_536 if size == 1 else size
        return cls(descriptor, size, size - header[20]) if size >= 512 else None

    def announce(self, root: int, rows: Iterable[int], *, small: bool = False) -> bool:
        """Have the system read what rows of a table take, a level at once; whether any of it was not in memory.

        Parameters
        ----------
        root, rows, small:
            As for :meth:`levels`.

        Raises
        ------
        OSError, IndexError, struct.error
            If the file is not what SQLite writes.
        """
        return self._announce(self.levels(root, rows, small=small))

    def announce_entries(self, root: int, ranges: Iterable[Range]) -> bool:
        """The same for what an index, or a table that is one, has between some keys.

        Raises
        ------
        OSError, IndexError, struct.error, ValueError, TypeError
            If the file is not what SQLite writes.
        """
        return self._announce(self.levels_of_index(root, ranges))

    def _announce(self, levels: Iterable[list[Run]]) -> bool:
        came = False
        for runs in levels:
            if not all(self._is_held(page) for page, _ in runs[:: -(-len(runs) // _SEEN) or 1]):
                self._want(runs)
                came = True
        return came

    def levels(self, root: int, rows: Iterable[int], *, small: bool = False) -> Iterator[list[Run]]:
        """The pages that rows of a table take: of each level of its tree, then what the leaves have no room for.

        A level is read when the next one is asked for.

        Parameters
        ----------
        root:
            The page at the root of the table's tree.
        rows:
            Row numbers, above 0; those that are not there are passed over.
        small:
            Rows fit into leaves, which are not read.
        """
        below, beyond = {root: sorted(set(rows))}, list[Run]()
        for _ in range(_DEEPEST):
            yield [(page, 1) for page in below]
            if small and below and os.pread(self.descriptor, 1, (next(iter(below)) - 1) * self.size) == bytes([_LEAF]):
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
        """The pages that entries between some keys take, of each level of an index; leaves are not read."""
        below = {root: sorted(set(ranges))}
        for _ in range(_DEEPEST):
            yield [(page, 1) for page in below]
            deeper: dict[int, list[Range]] = {}
            for page, wanted in below.items():
                if os.pread(self.descriptor, 1, (page - 1) * self.size) != bytes([_INNER_OF_INDEX]):
                    return  # All leaves lie equally deep.
                body = os.pread(self.descriptor, self.size, (page - 1) * self.size)
                for child, some in index_pages.children(body, wanted):
                    deeper.setdefault(child, []).extend(some)
            below = deeper

    def _chains(self, runs: Iterable[Run]) -> Iterator[list[Run]]:
        """Chains of pages, of so many each: at first they are taken to follow each other, as they were written.

        Where they do not, ever more are taken to as long as it holds: a chain whose pages lie here and there is gone
        along page by page, beside all others.
        """
        most = _MOST // self.size
        waiting = [(page, min(count, most), min(count, most)) for page, count in runs]
        for _ in range(_LONGEST_WAY):
            yield [(page, min(left, guess)) for page, left, guess in waiting]
            follow = (self._next(*one) for one in waiting)
            waiting = [one for one in follow if one is not None]
            if not waiting:
                return

    def _next(self, page: int, left: int, guess: int) -> tuple[int, int, int] | None:
        """Where a chain goes on behind pages that were taken to follow each other; None where it ends with them."""
        for passed in range(1, min(left, guess + 1)):
            told = int.from_bytes(os.pread(self.descriptor, 4, (page - 1) * self.size), "big")
            if told <= 1:
                return None
            if told != page + 1 or passed == guess:
                return told, left - passed, 2 * guess if passed == guess else 1
            page = told
        return None

    def _is_held(self, page: int) -> bool:
        """Whether a page is in memory, as far as the file system tells."""
        try:
            return bool(os.preadv(self.descriptor, [bytearray(1)], (page - 1) * self.size, os.RWF_NOWAIT))
        except OSError:
            return False

    def _want(self, runs: Iterable[Run]) -> None:
        for page, count in runs:
            begin, size = (page - 1) * self.size, min(count * self.size, _MOST)
            for at in range(begin, begin + size, _AT_ONCE):
                os.posix_fadvise(self.descriptor, at, min(_AT_ONCE, begin + size - at), os.POSIX_FADV_WILLNEED)

    def _beyond(self, body: bytes, wanted: Sequence[int]) -> Iterator[Run]:
        """What rows of a leaf have beyond it: pages that are taken to follow each other, as they were written."""
        places = cells(body, 8)
        keys = _LeafKeys(body, places)
        for row in wanted:
            place = bisect_left(keys, row)
            if place < len(keys) and keys[place] == row:
                size, at = varint(body, places[place])
                begin = varint(body, at)[1]
                held = self._held(size)
                if held < size:
                    first = int.from_bytes(body[begin + held : begin + held + 4], "big")
                    yield first, -(-(size - held) // (self.usable - 4))

    def _held(self, size: int) -> int:
        """Bytes of a row of a size that lie in its leaf (the file format's section 1.6)."""
        most = self.usable - 35
        if size <= most:
            return size
        least = (self.usable - 12) * 32 // 255 - 23
        held = least + (size - least) % (self.usable - 4)
        return held if held <= most else least


def _children(body: bytes, wanted: Sequence[int]) -> Iterator[tuple[int, list[int]]]:
    """(page, those of the rows that lie below it) of an inner page."""
    places = cells(body, 12)
    keys = _Keys(body, places)
    place = 0
    while place < len(wanted):
        at = bisect_left(keys, wanted[place])
        inside = at < len(places)
        page = int.from_bytes(body[places[at] : places[at] + 4] if inside else body[8:12], "big")
        end = bisect_left(wanted, keys[at] + 1, place) if inside else len(wanted)
        yield page, list(wanted[place:end])
        place = max(end, place + 1)


class _Keys(Sequence[int]):
    """The keys of an inner page, each read when it is asked for."""

    def __init__(self, body: bytes, places: Sequence[int]) -> None:
        self._body, self._places = body, places

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, place: int) -> int:  # type: ignore[override]
        return varint(self._body, self._places[place] + 4)[0]


class _LeafKeys(_Keys):
    """Those of a leaf, which stand behind the sizes of the rows."""

    def __getitem__(self, place: int) -> int:  # type: ignore[override]
        return varint(self._body, varint(self._body, self._places[place])[1])[0]
