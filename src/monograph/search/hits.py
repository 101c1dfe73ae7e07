"""Rankings as hits: chunks with their texts, scores and the ways to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from monograph.search.fusion import Fused
from monograph.store import readable
from monograph.store.database import Connection
from monograph.values import Hit, Path

NO_PATHS: Mapping[int, Path] = MappingProxyType({})


def load(connection: Connection, fused: Sequence[Fused], paths: Mapping[int, Path] = NO_PATHS) -> list[Hit]:
    """Hits in the order given; ``paths`` has the way to a chunk by row, where the graph led there.

    What cannot be read is left out, with a warning.
    """
    found = readable.chunks(connection, (one.row for one in fused))
    return [
        Hit(
            one.chunk,
            scored.score,
            rank,
            one.title,
            one.uri,
            one.metadata,
            scored.origins,
            paths.get(scored.row),
            relevance=scored.relevance,
        )
        for rank, (one, scored) in enumerate((found[scored.row], scored) for scored in fused if scored.row in found)
    ]
