"""Reading ahead: what a search is about to want is announced to the system, which then reads it all at once.

Connections read through memory maps, which is fastest for what is in memory; for what is not, each page is a wait
of its own, in which the system reads thirty pages around it.
"""

from __future__ import annotations

import json
import os
import struct
import threading
from collections.abc import Callable, Collection, Hashable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from monograph.store.documents.documents import BLOCK_CHARACTERS
from monograph.store.file import encryption
from monograph.store.file.checksums import BLOCK_BITS
from monograph.store.file.database import path_of
from monograph.store.vectors import codes
from monograph.store.words.pages import Pages, descriptor_of, is_of

if TYPE_CHECKING:
    from monograph.store.file.database import Connection
    from monograph.store.words.index_pages import Key

_BY_KEY = "sqlite_autoindex_names_1"
_DOCUMENT = "SELECT document FROM chunks WHERE chunk = ?1"
_Wanted = TypeVar("_Wanted", bound=Hashable)

_MOST = 1 << 16
"""What was announced is remembered, at most so much of it: then it begins anew."""

_ENOUGH = 32
"""Announcements one after the other of what is in memory already, after which there are no more: of a search or two."""


class Prefetcher:
    """Announces rows of one file, each once. Safe for use by many threads.

    Nothing is announced of encrypted files, which are not mapped, and where the system does not tell which files it has
    open (that is, on Linux alone).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: Pages | None = None
        self._file: os.stat_result | None = None
        self._roots: dict[str, int] = {}
        self._announced: dict[str, set[Hashable]] = {}
        self._in_memory = 0

    def centroids(self, connection: Connection, space: int) -> None:
        """Announce the centroids of an index."""
        self._announce(connection, "centroids", [space])

    def clusters(self, connection: Connection, names: Iterable[int]) -> None:
        """Announce clusters that are about to be read."""
        self._announce(connection, "parts", (row for name in names for row in (2 * name, 2 * name + 1)))

    def codes(self, connection: Connection, space: int, memos: Iterable[int]) -> None:
        """Announce codes of memo rows that are about to be compared by value."""
        self._announce(connection, "codes", (codes.place(space, memo) for memo in memos))

    def memos(self, connection: Connection, rows: Collection[int]) -> None:
        """Announce vectors that are about to be read from the memo, and what tells which chunks have them."""
        if not self._is_wanted:
            return
        self._announce(connection, "memo", rows, small=True)
        self._announce_keys(connection, "vectors_by_memo", rows)

    def vectors(self, connection: Connection, chunks: Iterable[int]) -> None:
        """Announce the vectors of chunks."""
        if not self._is_wanted:
            return
        rows = list(chunks)
        self._announce(connection, "vectors", rows, small=True)
        self.memos(connection, self._ask(connection, "SELECT memo FROM vectors WHERE chunk = ?1", rows))

    def words(self, connection: Connection, ranges: str) -> None:
        """Announce pages of the inverted index that are about to be read; ``ranges`` are [first, last], as JSON."""
        if self._is_wanted:
            # With the row behind each range, which SQLite looks at to find its end.
            rows = chain(*(range(first, last + 2) for first, last in json.loads(ranges)))
            self._announce(connection, "words_data", rows, small=True)

    def terms(self, connection: Connection, words: Iterable[str], segments: str) -> None:
        """Announce what tells where words stand in the inverted index; ``segments`` are numbers, as JSON."""
        if self._is_wanted:
            terms = [b"0" + word.encode() for word in words]
            keys: list[Key] = [(segment, term) for segment in json.loads(segments) for term in terms]
            self._announce_ranges(connection, "words_idx", [(key, key) for key in keys])

    def lengths(self, connection: Connection, blocks: Iterable[int]) -> None:
        """Announce lengths of chunks."""
        self._announce(connection, "lengths", blocks, small=True)

    def names(self, connection: Connection, rows: Iterable[int]) -> None:
        """Announce names, and those that they are another form of."""
        if not self._is_wanted:
            return
        wanted = list(rows)
        self._announce(connection, "names", wanted, small=True)
        heads = self._ask(connection, "SELECT head FROM names WHERE name = ?1 AND head IS NOT NULL", wanted)
        self._announce(connection, "names", heads, small=True)

    def subjects(self, connection: Connection) -> None:
        """Announce what counts the names that documents are about."""
        self._announce_ranges(connection, "subjects_by_document", [((), ())])

    def keys(self, connection: Connection, keys: Collection[str]) -> None:
        """Announce names by key, and whether documents are about them."""
        if self._is_wanted:
            written = [key.encode() for key in keys]
            self._announce_ranges(connection, _BY_KEY, [((key,), (key,)) for key in written])
            rows = self._ask(connection, "SELECT name FROM names WHERE key = ?1", keys)
            self.names(connection, rows)
            self._announce_keys(connection, "subjects", rows)

    def called(self, connection: Connection, first: Collection[str]) -> None:
        """Announce names that begin with some words."""
        if self._is_wanted:
            written = [word.encode() for word in first]
            self._announce_ranges(connection, _BY_KEY, [((word + b" ",), (word + b"!",)) for word in written])
            called = "SELECT name FROM names WHERE key > ?1 || ' ' AND key < ?1 || '!'"
            self.names(connection, self._ask(connection, called, first))

    def leads(self, connection: Connection, heads: Collection[int]) -> None:
        """Announce entities, and where all their names lead: to documents about them, and to chunks that have them."""
        if not self._is_wanted:
            return
        self._announce_keys(connection, "names_by_head", heads)
        names = [*heads, *self._ask(connection, "SELECT name FROM names WHERE head = ?1", heads)]
        self.names(connection, names)
        self._announce_keys(connection, "subjects", names)
        self._announce_keys(connection, "mentions", names)
        documents = self._ask(connection, "SELECT document FROM subjects WHERE name = ?1", names)
        self._announce_keys(connection, "chunks_by_document", documents)
        self.chunks(connection, self._ask(connection, "SELECT chunk FROM chunks WHERE document = ?1", documents))

    def chunks(self, connection: Connection, rows: Iterable[int]) -> None:
        """Announce chunks, without their texts."""
        self._announce(connection, "chunks", rows, small=True)

    def graphs(self, connection: Connection, rows: Iterable[int]) -> None:
        """Announce chunks, and their part of the graph."""
        if not self._is_wanted:
            return
        wanted = list(rows)
        self.chunks(connection, wanted)
        self._announce(connection, "chunk_graphs", wanted, small=True)

    def titles(self, connection: Connection, rows: Collection[int]) -> None:
        """Announce chunks, what their documents are called, and which extractions they have."""
        if not self._is_wanted:
            return
        self.chunks(connection, rows)
        self._announce(connection, "extractions", rows, small=True)
        documents = self._ask(connection, _DOCUMENT, rows, "documents")
        self._announce(connection, "documents", documents)

    def texts(self, connection: Connection, rows: Collection[int]) -> None:
        """Announce chunks with their titles and texts."""
        if not self._is_wanted:
            return
        self.titles(connection, rows)
        block = f"document << {BLOCK_BITS} | start / {BLOCK_CHARACTERS}"
        blocks = self._ask(connection, f"SELECT {block} FROM chunks WHERE chunk = ?1", rows)  # noqa: S608 - numbers
        self._announce(connection, "texts", blocks)

    def starts(self, connection: Connection, rows: Collection[int]) -> None:
        """Announce chunks with their texts, and what their documents are about."""
        if not self._is_wanted:
            return
        self.texts(connection, rows)
        documents = self._ask(connection, _DOCUMENT, rows, "subjects_by_document")
        self._announce_keys(connection, "subjects_by_document", documents)

    @property
    def _is_wanted(self) -> bool:
        """Whether there is any use in announcing more."""
        return self._in_memory < _ENOUGH

    def _ask(self, connection: Connection, query: str, values: Iterable[int | str], use: str = "") -> list[int]:
        """What a query of one column gives for each of some values that it was not asked of before for the same use."""
        if not self._is_wanted:
            return []
        fresh = self._fresh(query + use, values)
        if not fresh or encryption.is_encrypted(connection):
            return []
        try:
            found = [row for value in fresh for (row,) in connection.execute(query, (value,))]
        except encryption.errors():
            return []  # Whoever reads it in earnest will say so.
        return [row for row in found if isinstance(row, int)]

    def _announce(self, connection: Connection, table: str, rows: Iterable[int], *, small: bool = False) -> None:
        """Announce rows of a table."""
        if self._is_wanted:
            self._announce_fresh(
                connection, table, rows, lambda pages, root, fresh: pages.announce(root, fresh, small=small)
            )

    def _announce_keys(self, connection: Connection, index: str, keys: Iterable[int]) -> None:
        """Announce what an index has of some numbers."""
        if self._is_wanted:
            self._announce_ranges(connection, index, [((key,), (key,)) for key in keys])

    def _announce_ranges(self, connection: Connection, index: str, ranges: Collection[tuple[Key, Key]]) -> None:
        self._announce_fresh(connection, index, ranges, Pages.announce_entries)

    def _announce_fresh(
        self,
        connection: Connection,
        tree: str,
        wanted: Iterable[_Wanted],
        announce: Callable[[Pages, int, Iterable[_Wanted]], bool],
    ) -> None:
        """Announce of a tree what was not announced before."""
        fresh = self._fresh(tree, wanted)
        if not fresh or encryption.is_encrypted(connection):
            return
        with self._lock:
            try:
                pages, root = self._of(connection), self._root(connection, tree)
                if pages is not None and root:
                    self._in_memory = 0 if announce(pages, root, fresh) else self._in_memory + 1
            except (OSError, IndexError, struct.error, ValueError, TypeError):
                return  # Changed meanwhile, or damaged: whoever reads it in earnest will say so.

    def _fresh(self, what: str, wanted: Iterable[_Wanted]) -> list[_Wanted]:
        """Those that come for the first time."""
        known = self._announced.setdefault(what, set())
        fresh = [one for one in wanted if one not in known]
        if len(known) > _MOST:
            known.clear()
        known.update(fresh)
        return fresh

    def _of(self, connection: Connection) -> Pages | None:
        """The file's pages, by a descriptor that is still the file's."""
        if self._pages is None or self._file is None or not is_of(self._pages.descriptor, self._file):
            path = path_of(connection)
            descriptor = descriptor_of(path)
            self._pages = None if descriptor is None else Pages.of(descriptor)
            self._file = None if descriptor is None else os.fstat(descriptor)
        return self._pages

    def _root(self, connection: Connection, table: str) -> int:
        if table not in self._roots:
            found = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (table,)).fetchone()
            self._roots[table] = 0 if found is None else int(found[0])
        return self._roots[table]
