"""Probability that a chunk is evidence, found by itself or reached over a name; the weights of the default walk.

The probabilities come from three logistic models with at most eight features each. Their weights were chosen once by
recall@5, on the dev halves of the question sets (docs/explanation/measuring.md). The model FOUND gives the probability
of a chunk from how it was found. The models DEFINES and MENTIONS give the probability that the target of a link is
evidence if the chunk at the link's start is evidence. The probabilities of several links are combined as if they were
independent (noisy or).
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
"""Number of chunks whose links are followed in one hop: the most probable ones."""

HOPS = 2

COVERAGE = 5.62
"""Value added to the logarithm of a chunk's probability if it contains all words of the question that no hit before it
contains. A chunk that contains a part of them gets a part of the value."""

COVERED = 40
"""Number of most probable chunks that are ordered by what each adds to the chunks before it."""

IN_CONTEXT = 6.5
"""Value added to the logarithm of a chunk's odds for a cosine of 1 to the question in context: the question embedded
together with a probable chunk."""

LOWEST, _HIGHEST = 1e-9, 1.0 - 1e-6
"""Range to which probabilities are limited."""


_LEAST_LOGARITHM = -709.0
"""Lowest logarithm of odds; for a lower one, exp of its negative would overflow."""


@dataclass(frozen=True, slots=True)
class Model:
    """A logistic model: a bias, and one weight for each feature, in the order of the features."""

    bias: float
    weights: tuple[float, ...]

    def probability(self, features: Float64) -> Float64:
        """Return the probability for each row of features, float64 (n,).

        ``features`` is float64 (n, number of weights). Equal rows have equal probabilities, to the last bit.
        """
        # Sum from the first value on: the last bits depend on the order.
        weighted = np.add.accumulate(features * np.array(self.weights), axis=1)[:, -1]
        sums = np.maximum(weighted + self.bias, _LEAST_LOGARITHM)
        # Use the C library's exp: numpy's differs from it in the last bit, and between processors.
        result: Float64 = 1.0 / (1.0 + np.array(list(map(math.exp, (-sums).tolist()))))
        return np.nan_to_num(result)


FOUND = Model(-6.3, (0.58, 0.4, 3.15, 0.4, 0.34, 1.72, 2.11, 1.05))
"""Model of the probability that a chunk, found by itself, is evidence. Its features:

1. the fused score;
2. the best score for one clause of the question;
3. whether the title of its document occurs in the question;
4. the share of the question that this title is;
5. how the title's qualifier fits the question (-0.5 to 0.5);
6. 1 / sqrt(number of documents with this title);
7. whether its document begins with a name of the question;
8. the share of the question's entities that the chunk names, where rare entities count more.
"""

DEFINES = Model(0.35, (-3.38, 0.75, -1.9, 0.1, 8.12, 0.78, 3.1, 4.35))
"""Model of the probability that the target of a link is evidence, if its document is about the linked name. Its
features:

1. whether the document has the name only at its beginning, not in its title;
2. 1 / sqrt(number of documents about the name);
3. ln(1 + uses of the name);
4. whether the question has the name;
5. the share of the question's words that the target contains and the start of the link does not;
6. whether the name is in the first sentence of the start;
7. the number of words of the name, divided by 4;
8. the share of the question's words next to the name in its sentence.
"""

MENTIONS = Model(-2.35, (-1.0, 0.56, -0.9, 9.4, -0.85, 1.13, 0.07))
"""Model of the probability that the target of a link is evidence, if it only mentions the linked name. Its features:

1. ln(1 + uses of the name);
2. whether the document of the link's start is about the name;
3. whether the question has the name;
4. the share of the question's words that the target contains and the start does not;
5. the number of words of the name, divided by 4;
6. the share of the question's words next to the name in its sentence;
7. the target's best score for one clause of the question.
"""


def read_in_context(chances: Float64, cosines: Float64) -> Float64:
    """Return the probabilities of chunks, updated by their cosines to the question in context, float64 (n,).

    ``chances`` has the probabilities before, and ``cosines`` the cosines; both are float64 (n,), with n above 0. The
    odds of the chunk with the highest cosine stay the same. The lower the cosine of another chunk, the more its odds
    fall. So a probability near 1 changes little, and one near 0.5 changes much.
    """
    certain = np.clip(chances, LOWEST, _HIGHEST)
    logarithms = np.log(certain) - np.log1p(-certain) + IN_CONTEXT * (cosines - cosines.max())
    return np.asarray(1.0 / (1.0 + np.exp(-logarithms)))
