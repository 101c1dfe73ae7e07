"""What other stores call a score, out of a relevance and back."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from monograph.errors import InputError

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
