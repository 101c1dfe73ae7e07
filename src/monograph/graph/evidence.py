"""Probability that a chunk is evidence, found by itself or reached over a name; the weights of the default walk.

The probabilities are logistic models with a handful of weights each, chosen once on the dev halves of the question sets
by recall@5 (docs/explanation/measuring.md). One model gives the probability of a chunk from how it was found. The
others give the probability that the target of a link is evidence, given that its start is. Probabilities from several
links combine as independent ones do (noisy or).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Float64: TypeAlias = npt.NDArray[np.float64]
Int64: TypeAlias = npt.NDArray[np.int64]
Bools: TypeAlias = npt.NDArray[np.bool_]

STARTS = 6
"""Number of chunks whose links are followed in one hop, the most probable ones."""

HOPS = 2

COVERAGE = 5.62
"""Added to the logarithm of a chunk's probability if it covers all of the question's words that no hit before it
covers."""

COVERED = 40
"""Number of most probable chunks that are ordered by what they add to those before them."""

IN_CONTEXT = 6.5
"""Added to the logarithm of a chunk's odds for a cosine of 1 to the question embedded together with a probable
chunk."""

LOWEST, _HIGHEST = 1e-9, 1.0 - 1e-6
"""Probabilities are clipped to this range."""


_LEAST_LOGARITHM = -709.0
"""Lowest logarithm of odds: exp of the negative of a lower one overflows."""


@dataclass(frozen=True, slots=True)
class Model:
    """A logistic model: a bias, and a weight for each feature, in order."""

    bias: float
    weights: tuple[float, ...]

    def probability(self, features: Float64) -> Float64:
        """Return the probabilities (n,) of rows of features (n, len(weights)); equal rows have equal ones."""
        # Sum from the first value on: the last bits depend on the order.
        weighted = np.add.accumulate(features * np.array(self.weights), axis=1)[:, -1]
        sums = np.maximum(weighted + self.bias, _LEAST_LOGARITHM)
        # Use the C library's exp: numpy's differs from it in the last bit, and between processors.
        result: Float64 = 1.0 / (1.0 + np.array(list(map(math.exp, (-sums).tolist()))))
        return np.nan_to_num(result)


FOUND = Model(-6.3, (0.58, 0.4, 3.15, 0.4, 0.34, 1.72, 2.11, 1.05))
"""Model of a chunk by itself. Features: fused score; best score for one clause of the question; whether its document's
title occurs in the question, the share of the question that the title is, how its qualifier fits (-0.5 to 0.5), 1 /
sqrt(documents of that title); whether its document begins with a name of the question; the share of the question's
entities that the chunk names, rare ones counting more."""

DEFINES = Model(0.35, (-3.38, 0.75, -1.9, 0.1, 8.12, 0.78, 3.1, 4.35))
"""Model of a link to a document about the name. Features: whether the document has the name only at its beginning, not
in its title; 1 / sqrt(documents about it); ln(1 + uses of the name); whether the question names it; share of the
question's words that only the target has; whether the name is in the first sentence; words of the name, in fours; share
of the question's words next to the name in its sentence."""

MENTIONS = Model(-2.35, (-1.0, 0.56, -0.9, 9.4, -0.85, 1.13, 0.07))
"""Model of a link to a chunk that names it too. Features: ln(1 + uses); whether the start's document is about it;
whether the question names it; share of the question's words that only the target has; words of the name, in fours;
share of the question's words next to the name in its sentence; the target's best score for one clause."""


def read_in_context(chances: Float64, cosines: Float64) -> Float64:
    """Return the probabilities of chunks, updated by their cosines to the question in context.

    All are float64 (n,), n above 0. The odds of the nearest chunk stay the same; those of each other chunk fall by how
    much lower its cosine is. So a probability near 1 changes little, and an uncertain one much.
    """
    certain = np.clip(chances, LOWEST, _HIGHEST)
    logarithms = np.log(certain) - np.log1p(-certain) + IN_CONTEXT * (cosines - cosines.max())
    return np.asarray(1.0 / (1.0 + np.exp(-logarithms)))
