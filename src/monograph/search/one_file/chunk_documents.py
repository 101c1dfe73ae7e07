"""Of which documents chunks are: asked of the file, until it has paid to read all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monograph.graph.evidence import Int64
from monograph.search.snapshot import NO_DOCUMENT
from monograph.store.file.database import Connection
from monograph.store.graph import graphs
from monograph.store.words import terms

MOST = 1 << 20
"""Where rows of chunks go beyond, their documents are not kept: 8 MB."""

LOOKED_UP = 3
"""To look a chunk up takes as long as to read so many in order."""


class ChunkDocuments:
    """The documents of chunks, in one state of a file.

    They are read once to look up as many as were asked for took as long: until then no more was spent than has to be,
    and from then on nothing.
    """

    def __init__(self) -> None:
        self._asked = 0
        self._count: int | None = None
        self._held: Int64 | None = None

    def of(self, connection: Connection, rows: Sequence[int]) -> Int64:
        """The documents of some chunks, (n,); NO_DOCUMENT for those that are not there."""
        wanted = np.array(rows, dtype=np.int64)
        every = self._every(connection)
        if every is not None and len(wanted) and 0 <= wanted.min() <= wanted.max() < len(every):
            return every[wanted]
        self._asked += len(rows)
        found = graphs.documents_of(connection, rows)
        return np.array([found.get(row, NO_DOCUMENT) for row in rows], dtype=np.int64)

    def _every(self, connection: Connection) -> Int64 | None:
        """The documents of all chunks by row; None as long as they are not read."""
        if self._held is None and self._asked:
            if self._count is None:
                self._count = terms.count(connection)
            if self._count <= min(LOOKED_UP * self._asked, MOST):
                self._count = MOST + 1  # Rows that are far from each other are not read again.
                rows, documents = (np.array(one, dtype=np.int64) for one in graphs.every_document(connection))
                if len(rows) and 0 <= rows.min() <= rows.max() < MOST and documents.min() > NO_DOCUMENT:
                    every = np.full(int(rows.max()) + 1, NO_DOCUMENT, dtype=np.int64)
                    every[rows] = documents
                    self._held = every
        return self._held
