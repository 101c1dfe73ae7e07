"""Probability that a chunk is evidence, found by itself or reached over a name; the weights of the default walk.

Two logistic models, a handful of weights each, chosen once on the dev halves of the question sets by recall@5
(docs/measuring.md). A chunk's own probability comes from how it was found; a link's is the probability that what it
leads to is evidence, given that what it starts from is. Evidence adds up as independent chances do (noisy or).
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
"""Chunks whose links are followed at once, the most probable."""

HOPS = 2

COVERAGE = 5.62
"""What covering all of the question's words that no hit before it covers adds to the logarithm of a probability."""

COVERED = 40
"""Most probable chunks that are put in order by what they add."""

IN_CONTEXT = 6.5
"""What a cosine of 1 with the question read together with a probable chunk adds to the logarithm of a chunk's odds."""

LOWEST, _HIGHEST = 1e-9, 1.0 - 1e-6
"""Chances are taken for no nearer to 0 and to 1."""


_LEAST_LOGARITHM = -709.0
"""Of odds: of a lower one the power has no number."""


@dataclass(frozen=True, slots=True)
class Model:
    """A logistic model: a bias, and a weight for each feature, in order."""

    bias: float
    weights: tuple[float, ...]

    def probability(self, features: Float64) -> Float64:
        """Probabilities (n,) of rows of features (n, len(weights)); equal rows have equal ones."""
        # Added up from the first value on: the last bits depend on the order.
        weighted = np.add.accumulate(features * np.array(self.weights), axis=1)[:, -1]
        sums = np.maximum(weighted + self.bias, _LEAST_LOGARITHM)
        # As the C library has it: numpy's own differs from it, and between processors, in its last bit.
        result: Float64 = 1.0 / (1.0 + np.array(list(map(math.exp, (-sums).tolist()))))
        return np.nan_to_num(result)


FOUND = Model(-6.3, (0.58, 0.4, 3.15, 0.4, 0.34, 1.72, 2.11, 1.05))
"""Of a chunk: fused score; best score for one clause of the question; whether its document's title stands in the
question, which share of the question that is, how its qualifier fits (-0.5 to 0.5), 1 / sqrt(documents of that title);
whether its document begins with a name of the question; which share of the question's entities it names, rare ones
counting more."""

DEFINES = Model(0.35, (-3.38, 0.75, -1.9, 0.1, 8.12, 0.78, 3.1, 4.35))
"""Of a link to a document about the name: by its beginning and not its title; 1 / sqrt(documents about it); ln(1 + uses
of the name); whether the question names it; share of the question's words that only the target has; whether it is named
in the first sentence; words of the name, in fours; share of the question's words beside the name in its sentence."""

MENTIONS = Model(-2.35, (-1.0, 0.56, -0.9, 9.4, -0.85, 1.13, 0.07))
"""Of a link to a chunk that names it too: ln(1 + uses); whether the start's document is about it; whether the question
names it; share of the question's words that only the target has; words of the name, in fours; share of the question's
words beside the name in its sentence; the target's best score for one clause."""


def read_in_context(chances: Float64, cosines: Float64) -> Float64:
    """Chances of chunks, once it is known how near each is to the question read together with probable ones.

    The odds of the nearest stay as they are, and those of the others fall by how much farther they are. What was all
    but certain stays so, and what was open is decided.

    Parameters
    ----------
    chances, cosines:
        (n,) each, n above 0.
    """
    certain = np.clip(chances, LOWEST, _HIGHEST)
    logarithms = np.log(certain) - np.log1p(-certain) + IN_CONTEXT * (cosines - cosines.max())
    return np.asarray(1.0 / (1.0 + np.exp(-logarithms)))
