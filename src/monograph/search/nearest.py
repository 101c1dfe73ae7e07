"""Search by meaning: chunks whose vectors lie nearest to the query's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph import telemetry
from monograph.search.ranking import Ranking, ranking

if TYPE_CHECKING:
    from monograph.search.snapshot import Snapshot
    from monograph.store.documents.filters import Allowed
    from monograph.values import Float32


@telemetry.traced("monograph.search.vectors")
def search(snapshot: Snapshot, vector: Float32, k: int, allowed: Allowed, *, stretch: float = 1.0) -> Ranking:
    """The k chunks of highest cosine; none for a query without any known word, whose vector is zero.

    ``stretch`` is a factor on the window of the search's stop condition.
    """
    if not vector.any():
        return Ranking("dense", (), ())
    near = snapshot.nearest(vector, k, allowed, stretch)
    return ranking(snapshot, "dense", near.scored, k, near.effort)
