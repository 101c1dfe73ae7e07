"""Base classes of the adapters that make a framework's models usable in Monograph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from monograph.errors import InputError, ModelUnavailable
from monograph.models import Completion, Embedder, TextKind, is_given
from monograph.values import Float32, Float64

_ANSWERS = "check that it answers outside of Monograph"


@contextmanager
def _failing(model: str, hint: str) -> Iterator[None]:
    """Raise ModelUnavailable, with a hint, in place of any other exception that the ``with`` block raises."""
    try:
        yield
    except ModelUnavailable:
        raise
    except Exception as error:
        raise ModelUnavailable(f"{model} failed: {error}", hint) from error


class BorrowedEmbedder:
    """A framework's embedding model as the embedder of a file.

    ``documents`` is a function that returns the vectors of texts, and ``query`` a function that returns the vector of a
    question. ``dimension`` is the length of the vectors; if it is None, it is measured by embedding one word.
    """

    def __init__(
        self,
        key: str,
        documents: Callable[[list[str]], Sequence[Sequence[float]]],
        query: Callable[[str], Sequence[float]],
        dimension: int | None = None,
    ) -> None:
        self.key = self.spec = key  # Monograph cannot load the model by this name; only the caller can create it.
        self._documents = documents
        self._query = query
        self._dimension = dimension

    @cached_property
    def dimension(self) -> int:
        """Length of every vector."""
        return len(self._query("length")) if self._dimension is None else self._dimension

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Return the vectors of texts: float32 (len(texts), dimension), rows of unit length. A zero vector stays zero.

        Raises ModelUnavailable if the model raises any exception.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        with _failing(f"the embedding model {self.key!r}", "check the model's own settings"):
            rows = [self._query(text) for text in texts] if kind == "query" else self._documents(list(texts))
        vectors = np.asarray(rows, dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Float32 = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return unit


def require_vectors(embedder: Embedder, place: str) -> None:
    """Raise InputError if an embedder computes no vectors.

    Such an embedder belongs to a file whose vectors were all supplied by the caller. Without this check, a framework
    would store and search zero vectors. ``place`` is the framework's parameter or setting for an embedding model. The
    error message names ``place``.
    """
    if is_given(embedder):
        raise InputError(
            f"the file has no model: its vectors were given, {embedder.dimension} values each",
            f"pass the model that made them as {place}, or give the file a model: monograph reembed FILE static",
        )


class BorrowedReranker:
    """A framework's reranker as a reranker of Monograph (``monograph.Reranker``).

    Its method ``score`` returns one score for each text; a higher score is better. ``key`` identifies the model and
    every setting that changes its scores. The file stores the scores under this key. ``weight`` is the weight of these
    scores relative to the scores of the search.
    """

    def __init__(self, key: str, score: Callable[[str, list[str]], Sequence[float]], weight: float = 1.0) -> None:
        self.key = self.spec = key  # Monograph cannot load the reranker by this name.
        self.weight = weight
        self._score = score

    def score(self, question: str, texts: Sequence[str]) -> Float64:
        """Return the score of each text for a question, float64 (len(texts),), in order; a higher score is better.

        Raises ModelUnavailable if the reranker raises any exception.
        """
        with _failing(f"the reranker {self.key!r}", "check its own settings"):
            return np.asarray(self._score(question, list(texts)), dtype=np.float64)


def all_scores(key: str, found: Mapping[int, Any], count: int) -> list[float]:
    """Return the scores of all ``count`` texts as a list. ``found`` is {index of text, from 0: its score}.

    ``key`` names the reranker in the message. Raises ModelUnavailable if a text has no score, because incomplete scores
    give no order and must not be stored.
    """
    scores = {index: score for index, score in found.items() if isinstance(score, Real) and not isinstance(score, bool)}
    if len(scores) != count:
        raise ModelUnavailable(
            f"the reranker {key!r} returned scores of {len(scores)} texts instead of {count}",
            "let it return a score for every text, for example with top_n=30",
        )
    return [float(scores[index]) for index in range(count)]


class BorrowedModel(ABC):
    """Base of adapters that make a framework's language model usable in :meth:`monograph.Monograph.ask`.

    ``key`` identifies the model and every setting that changes its answers. The file stores the answers under this key.
    ``limit`` is the name of the model's parameter for the maximum number of tokens of an answer; if it is empty, no
    limit is passed to the model.
    """

    called = "the model"

    def __init__(self, key: str, limit: str) -> None:
        self.key = key
        self._limit = limit

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        """Return the answer to a prompt. Raises ModelUnavailable if the model raises any exception."""
        with _failing(self.called, _ANSWERS):
            return self._whole(prompt, self._limits(max_tokens))

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        """Yield the answer to a prompt in pieces, then one :class:`monograph.models.Completion` with the whole answer.

        Raises ModelUnavailable if the model raises any exception.
        """
        text, read, written = "", 0, 0
        with _failing(self.called, _ANSWERS):
            for piece in self._pieces(prompt, self._limits(max_tokens)):
                text += piece.text
                read, written = max(read, piece.tokens_in), max(written, piece.tokens_out)
                if piece.text:
                    yield piece.text
        yield Completion(text, read, written)

    @abstractmethod
    def _whole(self, prompt: str, limits: dict[str, Any]) -> Completion:
        """Return the model's whole answer."""

    @abstractmethod
    def _pieces(self, prompt: str, limits: dict[str, Any]) -> Iterator[Completion]:
        """Yield the answer's pieces in order, each with the token counts so far, if the model reports them."""

    def _limits(self, max_tokens: int) -> dict[str, Any]:
        return {self._limit: max_tokens} if self._limit else {}
