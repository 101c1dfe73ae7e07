"""Reranker that calls a function of the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from monograph.errors import InputError, ModelError, ModelUnavailable
from monograph.values import Float64


class ScoringFunction:
    """Reranker that calls a function of a question and texts. It returns a score for each text, the higher the better.

    Parameters
    ----------
    function:
        Called from several threads at once. The score of a text must not depend on the other texts.
    key:
        Name of the function and of every setting that changes its scores, which are stored in the memo under this key.
    weight:
        Weight of the scores relative to those of the search.

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
        """Weight of the scores relative to those of the search."""
        self.key = self.spec = f"function/{key}"
        """``function/`` and the given key: only the caller can build this reranker again."""

    def score(self, question: str, texts: Sequence[str]) -> Float64:
        """Return the function's score of each text. See :class:`monograph.models.Reranker`.

        Raises
        ------
        ModelUnavailable
            If the function raises, or returns no numbers.
        """
        try:
            return np.asarray(self._function(question, list(texts)), dtype=np.float64)
        except ModelError:
            raise
        except Exception as error:
            raise ModelUnavailable(f"the reranker {self.key!r} failed: {error}", "check its settings") from error
