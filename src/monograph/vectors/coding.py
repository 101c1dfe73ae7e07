"""Codes of vectors for the clusters that they come to: the same for all, or about the centre of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.store.file.database import Connection
from monograph.store.vectors import clusters as store
from monograph.values import Float32
from monograph.vectors import kernel
from monograph.vectors.cluster import Centre, Entries, encode, encode_about, joined, pack, unpack_all
from monograph.vectors.design import Design, Space

Int64: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Items:
    """Vectors on their way into clusters.

    Parameters
    ----------
    design:
        Of the index.
    coded:
        Their codes by value.
    vectors:
        float32 (n, dimension), in the same order.
    """

    design: Design
    coded: Entries
    vectors: Float32

    @classmethod
    def of(cls, design: Design, ids: Int64, vectors: Float32) -> Items:
        """Vectors that are new: int64 (n,) and float32 (n, dimension), prepared."""
        return cls(design, encode(ids, vectors), vectors)

    @classmethod
    def held(cls, connection: Connection, space: Space, entries: list[Entries]) -> Items:
        """Vectors that clusters hold, each once, by memo row.

        Raises
        ------
        DamagedBytes
            If the codes by value are not there, or not what was written.
        """
        design = space.design
        if design.has_graphs:
            coded = _distinct(joined(entries))
            return cls(design, coded, coded.vectors())
        wanted = np.unique(np.concatenate([part.ids for part in entries]))
        if not len(wanted):
            return cls.of(design, wanted, np.empty((0, space.dimension), dtype=np.float32))
        found = store.load_codes(connection, space.number, wanted.tolist())
        if len(found) != len(wanted) or not np.array_equal((coded := _distinct(unpack_all(found))).ids, wanted):
            raise kernel.DamagedBytes("vectors lack the codes that they are compared by")
        return cls(design, coded, coded.vectors())

    def entries(self, parts: Iterable[tuple[int, Int64]], centroids: Float32) -> Iterator[tuple[int, Entries]]:
        """Some of them for each of some clusters.

        Parameters
        ----------
        parts:
            (which centroid, rows of the vectors).
        centroids:
            float32 (clusters, dimension).

        Returns
        -------
        (which centroid, entries), in the same order.
        """
        if self.design.has_graphs:
            return ((place, self.coded.take(rows)) for place, rows in parts)
        held = list(parts)
        centres = Centre.many(centroids[[place for place, _ in held]]) if held else []
        return ((place, self._about(rows, centre)) for (place, rows), centre in zip(held, centres, strict=True))

    def _about(self, rows: Int64, centre: Centre) -> Entries:
        return encode_about(centre, self.coded.ids[rows], self.vectors[rows])

    def by_memo(self) -> Iterator[tuple[int, bytes]]:
        """(memo row, code by value) of each."""
        for place, memo in enumerate(self.coded.ids.tolist()):
            yield memo, pack(self.coded.take(slice(place, place + 1)))


def _distinct(entries: Entries) -> Entries:
    _, rows = np.unique(entries.ids, return_index=True)
    return entries.take(rows)
