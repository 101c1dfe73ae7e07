"""What other stores call a score, out of a relevance and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from monograph.errors import InputError

Convention: TypeAlias = Literal["relevance", "distance", "squared_l2"]
"""``relevance``: 0 to 1, the best highest. ``distance``: 1 less that, the best lowest; of cosines the cosine distance.
``squared_l2``: 2 less twice that; of cosines the squared Euclidean distance of vectors of unit length."""

CONVENTIONS: tuple[Convention, ...] = get_args(Convention)

_OUT_OF: Mapping[Convention, Callable[[float], float]] = MappingProxyType(
    {
        "relevance": lambda relevance: relevance,
        "distance": lambda relevance: 1.0 - relevance,
        "squared_l2": lambda relevance: 2.0 - 2.0 * relevance,
    }
)
_INTO: Mapping[Convention, Callable[[float], float]] = MappingProxyType(
    {
        "relevance": lambda score: score,
        "distance": lambda score: 1.0 - score,
        "squared_l2": lambda score: 1.0 - score / 2.0,
    }
)


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
    return _OUT_OF[convention(wanted)](min(1.0, max(0.0, _INTO[convention(given)](score))))


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
