"""Models across the border: what the adapters of all frameworks share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from monograph.errors import ModelUnavailable
from monograph.models import Completion, LanguageModel, StreamingModel, TextKind
from monograph.values import Float32


class BorrowedEmbedder:
    """A framework's embedding model as the embedder of a file.

    Parameters
    ----------
    key:
        Names the model and every setting that changes its vectors.
    documents, query:
        Make the vectors of texts, and that of a question.
    dimension:
        Length of the vectors; found out by embedding a word where it is not given.
    """

    def __init__(
        self,
        key: str,
        documents: Callable[[list[str]], Sequence[Sequence[float]]],
        query: Callable[[str], Sequence[float]],
        dimension: int | None = None,
    ) -> None:
        self.key = key
        self._documents = documents
        self._query = query
        self._dimension = dimension

    @property
    def spec(self) -> str:
        """Says where it comes from; nobody but the caller can make it again."""
        return self.key

    @cached_property
    def _measured(self) -> int:
        return len(self._query("length"))

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        return self._measured if self._dimension is None else self._dimension

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """float32 (len(texts), dimension), rows of unit length.

        Raises
        ------
        ModelUnavailable
            Whatever goes wrong in the model.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        try:
            made = [self._query(text) for text in texts] if kind == "query" else self._documents(list(texts))
        except Exception as error:
            raise ModelUnavailable(
                f"the embedding model {self.key!r} failed: {error}", "see its own settings"
            ) from error
        vectors = np.asarray(made, dtype=np.float32)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Float32 = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return unit


class BorrowedModel(ABC):
    """A framework's language model as :meth:`monograph.Monograph.ask` takes it.

    Parameters
    ----------
    key:
        Names the model and every setting that changes its answers: these are remembered under it.
    limit:
        What the model calls the most tokens of an answer; empty to hand it none.
    """

    called = "the model"

    def __init__(self, key: str, limit: str) -> None:
        self.key = key
        self._limit = limit

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        """Answer a prompt. Raises ModelUnavailable whatever goes wrong in the model."""
        try:
            return self._whole(prompt, self._limits(max_tokens))
        except Exception as error:
            raise self._unavailable(error) from error

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        """Answer a prompt piece by piece. See :class:`monograph.models.StreamingModel`."""
        text, read, written = "", 0, 0
        try:
            for piece in self._pieces(prompt, self._limits(max_tokens)):
                text += piece.text
                read, written = max(read, piece.tokens_in), max(written, piece.tokens_out)
                if piece.text:
                    yield piece.text
        except Exception as error:
            raise self._unavailable(error) from error
        yield Completion(text, read, written)

    @abstractmethod
    def _whole(self, prompt: str, limits: dict[str, Any]) -> Completion:
        """The model's answer."""

    @abstractmethod
    def _pieces(self, prompt: str, limits: dict[str, Any]) -> Iterator[Completion]:
        """The answer's pieces in order, each with the tokens of all until then as far as the model tells them."""

    def _limits(self, max_tokens: int) -> dict[str, Any]:
        return {self._limit: max_tokens} if self._limit else {}

    def _unavailable(self, error: Exception) -> ModelUnavailable:
        return ModelUnavailable(f"{self.called} failed: {error}", "see that it answers by itself")


def in_pieces(model: LanguageModel, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
    """What a model of Monograph's writes, as it comes, and then all of it; one that cannot stream says it in one piece.

    Raises
    ------
    ModelUnavailable
        If the model does not answer, or breaks off.
    """
    if isinstance(model, StreamingModel):
        yield from model.stream(prompt, max_tokens)
        return
    done = model.complete(prompt, max_tokens)
    yield done.text
    yield done
