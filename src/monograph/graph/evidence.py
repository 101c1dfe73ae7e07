"""Probability that a chunk is evidence (answers the question), as the default walk along the graph computes it.

The probabilities come from three logistic models with at most eight features each. The weights of the models were
chosen once for the best recall@5 on the dev halves of the question sets (docs/explanation/measuring.md). FOUND gives
the probability of a chunk from the first searches, without links. DEFINES and MENTIONS give the probability that the
target of a link is evidence if the chunk at the link's start is evidence. The probabilities of several links are
combined as if they were independent (noisy or).
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
"""Factor by which new words of the question raise a chunk in the order of the hits. A word is new if the chunks ranked
before lack it. COVERAGE times the weight of a chunk's new words is added to the logarithm of the chunk's probability.
The weights of all the question's words add up to 1."""

COVERED = 40
"""Number of most probable chunks that are put into a new order. Each next chunk is chosen by its probability and by the
words of the question that it adds: see COVERAGE."""

IN_CONTEXT = 6.5
"""Weight of a chunk's cosine in the logarithm of the chunk's odds: see :func:`read_in_context`. The cosine compares
the chunk with the question in context: the question and a probable chunk, embedded as one text."""

LOWEST, _HIGHEST = 1e-9, 1.0 - 1e-6
"""Range to which probabilities are limited."""


_LEAST_LOGARITHM = -709.0
"""Lowest logarithm of odds that is used. For a lower logarithm x, exp(-x) would overflow."""


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
"""Model of the probability that a chunk is evidence, from how the first searches found it. Its features:

1. the fused score of the chunk;
2. the chunk's best score for one clause of the question;
3. whether the title of the chunk's document has a name that is in the question;
4. the weight of this name's words, as a share of the weight of all the question's words;
5. the share of the words of the title's qualifier that the question has, minus 0.5; 0 without a qualifier;
6. 1 / sqrt(number of documents about this name);
7. whether only the beginning of the document's text, and not its title, has a name that is in the question;
8. the share of the question's entities that the chunk names; rare entities count more.

Features 4 to 6 are 0 if feature 3 is 0.
"""

DEFINES = Model(0.35, (-3.38, 0.75, -1.9, 0.1, 8.12, 0.78, 3.1, 4.35))
"""Model of the probability that the target of a link is evidence, if the target's document is about the linked name.

The start is the chunk at the link's start. Its title is the title of its document. The features are:

1. whether the target's document has the name only at its beginning, not in its title;
2. 1 / sqrt(number of documents about the name);
3. ln(1 + number of chunks that mention the name + number of documents about it);
4. whether the question has the name;
5. the share of the question's words, by weight, that the target contains and the start does not;
6. whether the name is in the first sentence of the start;
7. the number of words in the name that the start's title lacks, divided by 4;
8. the largest share of the question's words, by weight, in a sentence of the start that has the name; words of the
   name and of the start's title do not count.
"""

MENTIONS = Model(-2.35, (-1.0, 0.56, -0.9, 9.4, -0.85, 1.13, 0.07))
"""Model of the probability that the target of a link is evidence, if the target only mentions the linked name.

The start is the chunk at the link's start. Its title is the title of its document. The features are:

1. ln(1 + number of chunks that mention the name + number of documents about it);
2. whether the document of the start is about the name;
3. whether the question has the name;
4. the share of the question's words, by weight, that the target contains and the start does not;
5. the number of words in the name that the start's title lacks, divided by 4;
6. the largest share of the question's words, by weight, in a sentence of the start that has the name; words of the
   name and of the start's title do not count;
7. the target's best score for one clause of the question.
"""


def read_in_context(chances: Float64, cosines: Float64) -> Float64:
    """Return the probabilities of chunks after a comparison with the question in context, float64 (n,).

    ``chances`` are the probabilities before the comparison. ``cosines`` are the cosines of the chunks to the question
    in context (see IN_CONTEXT). Both are float64 (n,), with n above 0.

    The odds of the chunk with the highest cosine stay the same. The odds of another chunk fall with the difference
    between its cosine and the highest one. So a probability near 1 changes little, and one near 0.5 changes much.
    """
    certain = np.clip(chances, LOWEST, _HIGHEST)
    logarithms = np.log(certain) - np.log1p(-certain) + IN_CONTEXT * (cosines - cosines.max())
    return np.asarray(1.0 / (1.0 + np.exp(-logarithms)))
