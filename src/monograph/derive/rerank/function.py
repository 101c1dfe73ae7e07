"""A function that scores texts, as a reranker."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from monograph.errors import InputError, ModelError, ModelUnavailable
from monograph.values import Float64


class ScoringFunction:
    """A function of a question and texts that gives a score a text, the higher the better.

    Parameters
    ----------
    function:
        It may be called from several threads at once. A text's score may hang on no other text.
    key:
        Names it and every setting that changes its scores: these are remembered under it.
    weight:
        What its scores count beside those of the search.

    Raises
    ------
    InputError
        If the key is empty.
    """

    def __init__(self, function: Callable[[str, list[str]], Sequence[float]], key: str, weight: float = 1.0) -> None:
        if not key:
            raise InputError("a function that scores has no key", "name it, and what changes its scores")
        self._function = function
        self.weight = weight
        """What its scores count beside those of the search."""
        self.key = f"function/{key}"
        """Its name."""

    @property
    def spec(self) -> str:
        """Its name; nobody but the caller can make it again."""
        return self.key

    def score(self, question: str, texts: Sequence[str]) -> Float64:
        """Return the scores of the function: see :class:`monograph.models.Reranker`.

        Raises
        ------
        ModelUnavailable
            If it raises, or gives no numbers.
        """
        try:
            return np.asarray(self._function(question, list(texts)), dtype=np.float64)
        except ModelError:
            raise
        except Exception as error:
            raise ModelUnavailable(f"the reranker {self.key!r} failed: {error}", "see its own settings") from error
