"""Reranker that calls a function that the user wrote."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from monograph.errors import InputError, ModelError, ModelUnavailable
from monograph.values import Float64


class ScoringFunction:
    """Reranker that calls a function with a question and a list of texts, and uses the scores that it returns.

    Parameters
    ----------
    function:
        Returns one score for each text, in order; higher is better. It is called from several threads at once. The
        score of a text must not depend on the other texts.
    key:
        Name of the function, with every setting that changes its scores. Scores are stored in the memo under this key.
    weight:
        Weight of the function's scores relative to the scores of the search.

    Raises
    ------
    InputError
        If the key is empty.
    """

    def __init__(self, function: Callable[[str, list[str]], Sequence[float]], key: str, weight: float = 1.0) -> None:
        if not key:
            raise InputError("the scoring function has no key", "name it and the settings that change its scores")
        self._function = function
        self.weight = weight
        """Weight of this reranker's scores relative to the scores of the search."""
        self.key = self.spec = f"function/{key}"
        """``function/`` and the given key: only the caller can build this reranker again."""

    def score(self, question: str, texts: Sequence[str]) -> Float64:
        """Return the function's score of each text. See :class:`monograph.models.Reranker`.

        Raises
        ------
        ModelUnavailable
            If the function raises, or returns something other than numbers.
        """
        try:
            return np.asarray(self._function(question, list(texts)), dtype=np.float64)
        except ModelError:
            raise
        except Exception as error:
            raise ModelUnavailable(f"the reranker {self.key!r} failed: {error}", "check its settings") from error
