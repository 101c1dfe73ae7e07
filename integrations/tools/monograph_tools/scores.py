"""Conversion of scores to the conventions of other stores, and selection of diverse hits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

import numpy as np

from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph.shelf import Archive
    from monograph.values import Float32

Convention: TypeAlias = Literal["relevance", "distance", "squared_l2"]
"""``relevance``: 0 to 1, higher is better. ``distance``: 1 - relevance, lower is better; the cosine distance if the
relevance is a cosine. ``squared_l2``: 2 - 2 * relevance, lower is better; the squared Euclidean distance of unit
vectors if the relevance is a cosine.
"""

Found = TypeVar("Found")

_LINES: Mapping[Convention, tuple[float, float]] = MappingProxyType(
    {"relevance": (0.0, 1.0), "distance": (1.0, -1.0), "squared_l2": (2.0, -2.0)}
)
"""For each convention: the score at relevance 0, and the score at relevance 1 minus the score at relevance 0."""


def convert_score(score: float, given: Convention = "relevance", wanted: Convention = "distance") -> float:
    """Convert a finite score from the convention ``given`` to ``wanted``. Raises InputError for unknown conventions.

    Scores whose relevance is outside 0 to 1 are clipped; a negative cosine has relevance 0.
    """
    zero, step = _LINES[convention(given)]
    relevance = min(1.0, max(0.0, (score - zero) / step))
    zero, step = _LINES[convention(wanted)]
    return zero + step * relevance


def convention(name: str) -> Convention:
    """Return a convention by its name. Raises InputError if the name is unknown."""
    if name not in list(_LINES):  # A name of another type may have no hash.
        raise InputError(f"{name!r} is not a convention of scores", f"use one of {', '.join(_LINES)}")
    return name


def select_diverse(
    archive: Archive, found: Mapping[str, Found], vector: Sequence[float] | Float32, k: int, relevance: float
) -> list[Found]:
    """Choose k candidates by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998), in order of choice.

    ``found`` is {chunk id: candidate}; candidates without a vector are left out. ``vector`` is the vector of the query;
    it need not have unit length. ``relevance`` is a weight: 1 ranks by similarity to the query only, 0 by dissimilarity
    to the chunks that are chosen already.

    A candidate is compared with every chunk that is chosen already. LlamaIndex's function compares a candidate with
    the last chosen chunk only, so it can choose two of three identical chunks.
    """
    vectors = {
        stored.chunk.id: stored.vector
        for stored in archive.fetch(list(found), vectors=True)
        if stored.vector is not None
    }
    if not vectors or k <= 0:
        return []
    rows, query = np.stack(list(vectors.values())), np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(query))
    query_similarity = rows @ (query / length if length > 0 else query)
    chosen = [int(query_similarity.argmax())]
    chosen_similarity = rows @ rows[chosen[0]]
    while len(chosen) < min(k, len(rows)):
        score = relevance * query_similarity - (1 - relevance) * chosen_similarity
        score[chosen] = -np.inf
        chosen.append(int(score.argmax()))
        chosen_similarity = np.maximum(chosen_similarity, rows @ rows[chosen[-1]])
    names = list(vectors)
    return [found[names[index]] for index in chosen]
