"""The oracle of the vector index: every vector compared, read anew for each search."""

from __future__ import annotations

import numpy as np

from monograph.store import clusters as store
from monograph.store.database import Connection
from monograph.values import Float32
from monograph.vectors import search
from monograph.vectors.design import DEFAULT_DESIGN, Design, Space
from monograph.vectors.stop import Never


class ExactIndex:
    """Searches as :class:`~monograph.vectors.index.EcoVectorIndex` does, and misses nothing.

    Parameters
    ----------
    design:
        Only its metric matters here.
    space:
        Which of the file's vectors.
    """

    def __init__(self, design: Design = DEFAULT_DESIGN, space: int = store.CHUNKS) -> None:
        self.design = design
        self.space = space

    def search(self, connection: Connection, vector: Float32, query: search.Query) -> search.Neighbours:
        """See :meth:`monograph.vectors.index.EcoVectorIndex.search`."""
        asked = search.prepare(vector, len(vector), self.design.metric)
        memos = np.array(store.members(connection, self.space), dtype=np.int64)
        if query.allowed is not None:
            bits = np.unpackbits(query.allowed, bitorder="little")
            memos = memos[memos < len(bits)]
            memos = memos[bits[memos] == 1]
        whole = search.Search(query, search.Effort(Never()), asked, Space(self.space, self.design, len(asked)))
        return search.exact(connection, memos.tolist(), whole, asked)
