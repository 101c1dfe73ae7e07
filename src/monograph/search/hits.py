"""Make hits of fused scores: chunks with their texts, scores and paths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from monograph import telemetry
from monograph.values import Hit

if TYPE_CHECKING:
    from monograph.search.fusion import Fused
    from monograph.search.reader import Reader
    from monograph.store.documents.chunks import LoadedChunk
    from monograph.values import Path

NO_PATHS: Mapping[int, Path] = MappingProxyType({})


@telemetry.traced("monograph.search.hits")
def load(reader: Reader, fused: Sequence[Fused]) -> list[Hit]:
    """Return hits in the order given, without paths; rows that are not there are left out."""
    return of(reader.show([one.row for one in fused])[0], fused)


def of(found: Mapping[int, LoadedChunk], fused: Sequence[Fused], paths: Mapping[int, Path] = NO_PATHS) -> list[Hit]:
    """Hits in the order given, of chunks that were read; ``paths`` has the ways to those that the graph led to."""
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
            date=one.date,
            valid=one.valid,
        )
        for rank, (one, scored) in enumerate((found[scored.row], scored) for scored in fused if scored.row in found)
    ]


def is_exact(hit: Hit) -> bool:
    """Whether a hit holds a code of the query word for word."""
    return any(one.retriever == "exact" for one in hit.origins)
