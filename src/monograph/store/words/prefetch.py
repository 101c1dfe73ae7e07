"""Reading ahead: announces the pages that a search is about to read, so that the system reads them all at once.

Connections read through memory maps, which is the fastest way for pages in memory. But for each page that is not in
memory, SQLite waits while the system reads about thirty pages around it.
"""

from __future__ import annotations

import json
import os
import struct
import sys
import threading
from collections.abc import Callable, Collection, Hashable, Iterable
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from monograph.store.documents.documents import BLOCK_CHARACTERS
from monograph.store.file import encryption
from monograph.store.file.errors import path_of, sqlite_errors
from monograph.store.file.rows import integer
from monograph.store.file.schema import BLOCK_BITS
from monograph.store.vectors.clusters import code_place
from monograph.store.words.pages import FilePages, descriptor_of, is_of

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from monograph.store.file.database import Connection
    from monograph.store.words.pages import Key, Range, Run

_NAMES_BY_KEY = "sqlite_autoindex_names_1"
_DOCUMENT_QUERY = "SELECT document FROM chunks WHERE chunk = ?1"
_BLOCK_QUERY = f"SELECT document << {BLOCK_BITS} | start / {BLOCK_CHARACTERS} FROM chunks WHERE chunk = ?1"  # noqa: S608
_Wanted = TypeVar("_Wanted", bound=Hashable)

_REMEMBERED_ITEMS = 1 << 16
"""Number of announced items to remember for each table, index or query. If there are more, all are forgotten."""

_MAX_IN_MEMORY = 32
"""Announcing stops after this many announcements in a row (one or two searches) find all pages in memory.

It begins again when the process waits for a page (a major page fault): the system may have dropped pages.
"""


def _major_faults() -> int:
    """Return how often this process has waited for a page of a file so far; always 0 on Windows."""
    return 0 if sys.platform == "win32" else resource.getrusage(resource.RUSAGE_SELF).ru_majflt


class Prefetcher:
    """Announcer of the pages of one file. Safe for use by many threads.

    It skips rows that it has announced since the last major page fault of the process.

    To announce a page is to ask the system to read it before SQLite does. Pages of encrypted files are not announced,
    because these files are not mapped into memory. Pages are announced on Linux only, because other systems do not list
    the descriptors of a process's open files.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: FilePages | None = None
        self._file: os.stat_result | None = None
        self._roots: dict[str, int] = {}
        self._announced: dict[str, set[Hashable]] = {}
        self._in_memory = 0
        self._faults = 0

    def centroids(self, connection: Connection, space: int) -> None:
        """Announce the centroids of the vector index of a space."""
        self._announce_rows(connection, "centroids", [space])

    def clusters(self, connection: Connection, names: Iterable[int]) -> None:
        """Announce the contents of clusters. ``names`` are cluster numbers."""
        self._announce_rows(connection, "parts", (row for name in names for row in (2 * name, 2 * name + 1)))

    def cluster_graphs(self, connection: Connection, names: Iterable[int]) -> None:
        """Announce the graphs of clusters. ``names`` are cluster numbers."""
        self._announce_rows(connection, "cluster_graphs", names)

    def codes(self, connection: Connection, space: int, memos: Iterable[int]) -> None:
        """Announce the codes of the vectors in the given memo rows; ``space`` is the number of the vector index."""
        self._announce_rows(connection, "codes", (code_place(space, memo) for memo in memos))

    def memos(self, connection: Connection, rows: Collection[int]) -> None:
        """Announce the vectors in memo rows, and the index entries of the chunks that have these vectors."""
        self._announce_rows(connection, "memo", rows, small=True)
        self._announce_keys(connection, "vectors_by_memo", rows)

    def vectors(self, connection: Connection, chunks: Iterable[int]) -> None:
        """Announce the vectors of chunks."""
        if self._is_useful:
            rows = list(chunks)
            self._announce_rows(connection, "vectors", rows, small=True)
            self.memos(connection, self._query_new(connection, "SELECT memo FROM vectors WHERE chunk = ?1", rows))

    def words(self, connection: Connection, ranges: str) -> None:
        """Announce rows of ``words_data``; ``ranges`` is a JSON list of [first row, last row]."""
        if self._is_useful:
            # With the row after each range, which SQLite reads to find the end of the range.
            rows = chain(*(range(first, last + 2) for first, last in json.loads(ranges)))
            self._announce_rows(connection, "words_data", rows, small=True)

    def terms(self, connection: Connection, words: Iterable[str], segments: str) -> None:
        """Announce the entries of ``words_idx`` for words; ``segments`` is a JSON list of segment numbers."""
        if self._is_useful:
            terms = [b"0" + word.encode() for word in words]
            keys: list[Key] = [(segment, term) for segment in json.loads(segments) for term in terms]
            self._announce_ranges(connection, "words_idx", ((key, key) for key in keys))

    def lengths(self, connection: Connection, blocks: Iterable[int]) -> None:
        """Announce blocks of the table ``lengths``, which has the lengths of chunks."""
        self._announce_rows(connection, "lengths", blocks, small=True)

    def names(self, connection: Connection, rows: Collection[int]) -> None:
        """Announce the given names and their heads. The head of a name is the name that stands for its entity."""
        self._announce_rows(connection, "names", rows, small=True)
        heads = self._query_new(connection, "SELECT head FROM names WHERE name = ?1 AND head IS NOT NULL", rows)
        self._announce_rows(connection, "names", heads, small=True)

    def keys(self, connection: Connection, keys: Collection[str]) -> None:
        """Announce the pages of the names with these comparison keys, so that the system reads them ahead.

        For comparison keys see :func:`monograph.graph.names.key_of`.
        """
        self._announce_ranges(connection, _NAMES_BY_KEY, (((key.encode(),), (key.encode(),)) for key in keys))
        rows = self._query_new(connection, "SELECT name FROM names WHERE key = ?1", keys)
        self.names(connection, rows)
        self._announce_keys(connection, "subjects", rows)

    def called(self, connection: Connection, first: Collection[str]) -> None:
        """Announce the names that begin with one of the given words and a space."""
        self._announce_ranges(
            connection, _NAMES_BY_KEY, (((f"{word} ".encode(),), (f"{word}!".encode(),)) for word in first)
        )
        query = "SELECT name FROM names WHERE key > ?1 || ' ' AND key < ?1 || '!'"
        self.names(connection, self._query_new(connection, query, first))

    def leads(self, connection: Connection, heads: Collection[int]) -> None:
        """Announce the names of entities, the mentions of these names, and all chunks of documents about these names.

        ``heads`` has the row of each entity's head, the name into which its other names are merged.
        """
        if not self._is_useful:
            return
        self._announce_keys(connection, "names_by_head", heads)
        names = [*heads, *self._query_new(connection, "SELECT name FROM names WHERE head = ?1", heads)]
        self.names(connection, names)
        self._announce_keys(connection, "subjects", names)
        self._announce_keys(connection, "mentions", names)
        documents = self._query_new(connection, "SELECT document FROM subjects WHERE name = ?1", names)
        self._announce_keys(connection, "chunks_by_document", documents)
        self.chunks(connection, self._query_new(connection, "SELECT chunk FROM chunks WHERE document = ?1", documents))

    def chunks(self, connection: Connection, rows: Iterable[int]) -> None:
        """Announce chunks, without their texts."""
        self._announce_rows(connection, "chunks", rows, small=True)

    def graphs(self, connection: Connection, rows: Collection[int]) -> None:
        """Announce the pages that hold the rows of these chunks in ``chunk_graphs``."""
        self._announce_rows(connection, "chunk_graphs", rows, small=True)

    def titles(self, connection: Connection, rows: Collection[int]) -> None:
        """Announce chunks, their rows of ``extractions``, and the documents of the chunks, which have the titles."""
        self.chunks(connection, rows)
        self._announce_rows(connection, "extractions", rows, small=True)
        self._announce_rows(connection, "documents", self._query_new(connection, _DOCUMENT_QUERY, rows, "documents"))

    def texts(self, connection: Connection, rows: Collection[int]) -> None:
        """Announce chunks with their titles and texts."""
        self.titles(connection, rows)
        self._announce_rows(connection, "texts", self._query_new(connection, _BLOCK_QUERY, rows))

    def starts(self, connection: Connection, rows: Collection[int]) -> None:
        """Announce chunks with titles and texts, and the index entries of the names that their documents are about."""
        self.texts(connection, rows)
        documents = self._query_new(connection, _DOCUMENT_QUERY, rows, "subjects_by_document")
        self._announce_keys(connection, "subjects_by_document", documents)

    @property
    def _is_useful(self) -> bool:
        """Whether further announcements may be of use."""
        if (faults := _major_faults()) != self._faults:
            # The process has waited for a page: the system may have dropped pages that were announced before.
            self._faults, self._in_memory = faults, 0
            self._announced.clear()
        return self._in_memory < _MAX_IN_MEMORY

    def _query_new(self, connection: Connection, query: str, values: Iterable[int | str], use: str = "") -> list[int]:
        """Run a query for each value, except values of earlier calls with this query. Return the integers found."""
        # ``use`` is the purpose of the query: a value that is old for one purpose may be new for another.
        new_values = self._select_new(connection, query + use, values)
        try:
            results = [row for value in new_values for (row,) in connection.execute(query, (value,))]
        except sqlite_errors():
            return []  # The search that reads these rows raises the error.
        return [row for row in results if isinstance(row, int)]

    def _announce_rows(self, connection: Connection, table: str, rows: Iterable[int], *, small: bool = False) -> None:
        """Announce the rows of a table that were not announced before. If ``small``, no row has overflow pages."""
        if fresh := self._select_new(connection, table, rows):
            self._announce(connection, table, lambda pages, root: pages.levels(root, fresh, small=small))

    def _announce_keys(self, connection: Connection, index: str, keys: Iterable[int]) -> None:
        """Announce the entries of an index whose first column is one of the given numbers."""
        self._announce_ranges(connection, index, (((key,), (key,)) for key in keys))

    def _announce_ranges(self, connection: Connection, index: str, ranges: Iterable[Range]) -> None:
        """Announce the index entries in each of the given ranges that was not announced before."""
        if fresh := self._select_new(connection, index, ranges):
            self._announce(connection, index, lambda pages, root: pages.levels_of_index(root, fresh))

    def _select_new(self, connection: Connection, what: str, items: Iterable[_Wanted]) -> list[_Wanted]:
        """Return the items not yet announced for ``what``, a table, index or query; none if announcing is useless."""
        if not self._is_useful:
            return []
        announced = self._announced.setdefault(what, set())
        fresh = [item for item in items if item not in announced]
        if len(announced) > _REMEMBERED_ITEMS:
            announced.clear()
        announced.update(fresh)
        return fresh if fresh and not encryption.is_encrypted(connection) else []

    def _announce(
        self, connection: Connection, tree: str, levels: Callable[[FilePages, int], Iterable[list[Run]]]
    ) -> None:
        """Announce pages of the table or index ``tree``. ``levels(file, root page)`` returns them level by level."""
        with self._lock:
            try:
                if self._pages is None or self._file is None or not is_of(self._pages.descriptor, self._file):
                    descriptor = descriptor_of(path_of(connection))
                    self._pages = None if descriptor is None else FilePages.of(descriptor)
                    self._file = None if descriptor is None else os.fstat(descriptor)
                if tree not in self._roots:
                    query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
                    self._roots[tree] = integer(connection, query, tree)
                if self._pages is not None and self._roots[tree]:
                    any_missing = self._pages.announce(levels(self._pages, self._roots[tree]))
                    self._in_memory = 0 if any_missing else self._in_memory + 1
            except (OSError, IndexError, struct.error, ValueError, TypeError):
                return  # Changed meanwhile, or damaged: the search that reads it raises the error.
