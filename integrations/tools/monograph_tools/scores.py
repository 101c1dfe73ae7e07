"""Scores as other stores have them, and hits that are unlike each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

import numpy as np

from monograph.errors import InputError

if TYPE_CHECKING:
    from monograph.shelf import Archive
    from monograph.values import Float32

Convention: TypeAlias = Literal["relevance", "distance", "squared_l2"]
"""``relevance``: 0 to 1, the best highest. ``distance``: 1 less that, the best lowest; of cosines the cosine distance.
``squared_l2``: 2 less twice that; of cosines the squared Euclidean distance of vectors of unit length."""

CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

_LINES: Mapping[Convention, tuple[float, float]] = MappingProxyType(
    {"relevance": (0.0, 1.0), "distance": (1.0, -1.0), "squared_l2": (2.0, -2.0)}
)
"""The score of the relevance 0, and what a relevance of 1 adds to it."""


def convert_score(score: float, given: Convention = "relevance", wanted: Convention = "distance") -> float:
    """A score of one convention in another.

    Parameters
    ----------
    score:
        A finite number; what is beyond 0 to 1 as a relevance counts as 0 or 1. So does, as a distance, a vector that
        points away: its cosine is negative, and its relevance 0.
    given, wanted:
        The conventions.

    Raises
    ------
    InputError
        If a convention is none of these.
    """
    zero, step = _LINES[convention(given)]
    relevance = min(1.0, max(0.0, (score - zero) / step))
    zero, step = _LINES[convention(wanted)]
    return zero + step * relevance


def convention(name: str) -> Convention:
    """A convention by its name.

    Raises
    ------
    InputError
        If it is none of these.
    """
    for known in CONVENTIONS:
        if name == known:
            return known
    raise InputError(f"{name!r} is no convention of scores", f"take one of {', '.join(CONVENTIONS)}")


def most_diverse(
    archive: Archive, ids: Sequence[str], vector: Sequence[float] | Float32, k: int, relevance: float
) -> list[str]:
    """Choose chunks by maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    LlamaIndex's own function compares with the last chosen one alone, so that of three twins it takes two.

    Parameters
    ----------
    archive, ids:
        The candidates; those without a vector are left out.
    vector:
        The query's, of any length.
    k:
        Most to choose.
    relevance:
        1 ranks by likeness to the query only, 0 by unlikeness to what is chosen only.

    Returns
    -------
    The ids of the chosen, in the order in which they were.
    """
    held = {one.chunk.id: one.vector for one in archive.fetch(ids, vectors=True) if one.vector is not None}
    if not held or k <= 0:
        return []
    rows, query = np.stack(list(held.values())), np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(query))
    near = rows @ (query / length if length > 0 else query)
    chosen = [int(near.argmax())]
    like = rows @ rows[chosen[0]]
    while len(chosen) < min(k, len(rows)):
        worth = relevance * near - (1 - relevance) * like
        worth[chosen] = -np.inf
        chosen.append(int(worth.argmax()))
        like = np.maximum(like, rows @ rows[chosen[-1]])
    names = list(held)
    return [names[place] for place in chosen]
