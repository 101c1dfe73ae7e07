"""Pseudo-relevance feedback: the question read together with what was found, and what is near to that.

What a question leaves open, the first passage often tells: who the director was is in the one about the film. A model
that reads texts in context embeds the question and that passage as one, and the passage about the director is near.
Vectors of words alone only add the words of both, which the graph does better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from monograph import telemetry
from monograph.graph.evidence import COVERED
from monograph.search.ranking import Ranking, highest, ranking
from monograph.search.reader import Reader
from monograph.values import Float32

READ = 3
"""Most probable chunks that the question is read together with."""

EXCERPT = 250
"""Characters of each."""

NOTHING = Ranking("feedback", (), ())


@telemetry.traced("monograph.search.context")
def nearest(
    snapshot: Reader, question: str, chances: Mapping[int, float], embed: Callable[[Sequence[str]], Float32]
) -> Ranking:
    """How near the most probable chunks are to the question read together with the first of them.

    Parameters
    ----------
    snapshot:
        What is searched.
    question:
        As it was asked.
    chances:
        How probable it is that a chunk is evidence, by row.
    embed:
        float32 (n, dimension) of n texts, rows of unit length.

    Returns
    -------
    The COVERED most probable that have a vector, by the highest of their cosines.
    """
    best = highest(snapshot, chances, COVERED)
    texts = [text[:EXCERPT] for _, text in snapshot.titled_texts(best[:READ])]
    cosines: dict[int, float] = {}
    if texts:
        together = embed([f"{question} {text}" for text in texts])
        rows, each = snapshot.cosines(best, together)
        cosines = {row: float(max(some)) for row, *some in zip(rows.tolist(), *each, strict=True)}
    return ranking(snapshot, "feedback", cosines.items(), COVERED)
