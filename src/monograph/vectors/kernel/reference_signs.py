"""Signs of vectors, a bit a value, held against other vectors: in numpy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from monograph.values import Float32

AT_ONCE = 16_384
"""Codes that are scored together."""


def nearest_signs(table: Float32, codes: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], scores: Float32) -> None:
    """Find the codes of highest score, highest first, ties by place.

    Parameters
    ----------
    table:
        What every byte of a code adds to its score, float32 (vectors, bytes, 256): in the order of the bytes.
    codes:
        uint8 (codes, bytes).
    places, scores:
        What is filled: int64 and float32 (vectors, k), k at most the number of codes.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """
    if table.shape[1:] != (codes.shape[1], 256):
        raise ValueError("the table does not fit the codes")
    if places.shape != scores.shape or len(places) != len(table) or places.shape[1] > len(codes):
        raise ValueError("what is to be filled does not fit the vectors and the codes")
    k = places.shape[1]
    held = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)) for _ in table]
    for first in range(0, len(codes), AT_ONCE) if k else ():
        some = np.arange(first, min(first + AT_ONCE, len(codes)))
        for vector, fresh in enumerate(_scores(table, codes[first : first + AT_ONCE])):
            held[vector] = _best(np.append(held[vector][0], some), np.append(held[vector][1], fresh), k)
    for vector, (found, values) in enumerate(held):
        places[vector], scores[vector] = found, values


def _scores(table: Float32, codes: npt.NDArray[np.uint8]) -> Float32:
    """Scores of vectors and codes, float32 (vectors, codes)."""
    scores = np.zeros((len(table), len(codes)), dtype=np.float32)
    for place in range(table.shape[1]):
        scores += table[:, place].take(codes[:, place], axis=1)
    return scores


def _best(places: npt.NDArray[np.int64], scores: Float32, k: int) -> tuple[npt.NDArray[np.int64], Float32]:
    """The k highest scores with their places, highest first; ties by place."""
    if len(scores) > k:
        least = np.partition(scores, -k)[-k]
        places, scores = places[scores >= least], scores[scores >= least]
    order = np.lexsort((places, -scores))[:k]
    return places[order], scores[order]
