"""Embedders behind an OpenAI-compatible API: Ollama, llama.cpp's server, vLLM, TEI, OpenAI itself (extra ``llm``)."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from monograph import spending
from monograph.derive import loading
from monograph.derive.embed.static import unit_rows
from monograph.derive.replies import tokens_read
from monograph.derive.server import ServedModel
from monograph.derive.traced_request import request
from monograph.errors import ModelUnavailable
from monograph.models import TextKind
from monograph.values import Float32, arguments

TIMEOUT = 120.0
"""Most seconds of one try of a request: the first request may wait until the server has loaded the model."""

RETRIES = 4
"""Retries after the first try. The waits between the tries are about eight seconds together."""

MOST_QUESTIONS = 512
"""Number of questions whose vectors are cached. With 1,024 values each, they take two megabytes."""

_REPLY_HINT = "check that it is an embedding model, and see the server's log"

_TOO_MUCH = (400, 413, 422)
"""HTTP statuses with which servers refuse a request whose texts are too many or too long."""


@dataclass(frozen=True, slots=True)
class ServedSettings:
    """Options of embedding requests.

    - ``dimensions``: requested number of values of a vector. It is sent to the server if it is not 0. Only some models
      support it.
    - ``query_prefix``: put before each query.
    - ``document_prefix``: put before every other text.
    - ``max_characters``: most characters of a text with its prefix, for servers that refuse longer texts. The rest is
      cut off; 0 means no limit.
    - ``batch_size``, ``batch_characters``: most texts, and most characters, of one request.
    """

    dimensions: int = 0
    query_prefix: str = ""
    document_prefix: str = ""
    max_characters: int = 0
    batch_size: int = 32
    batch_characters: int = 60_000

    def __post_init__(self) -> None:
        for name, least in (("dimensions", 0), ("max_characters", 0), ("batch_size", 1), ("batch_characters", 1)):
            object.__setattr__(self, name, arguments.whole_number(getattr(self, name), name, least))
        for name in ("query_prefix", "document_prefix"):
            arguments.text(getattr(self, name), name)


class OpenAIEmbedder(ServedModel):
    """Embedder behind ``BASE_URL/embeddings``; texts are sent in batches, and failed requests are retried.

    If the server refuses a batch as too large, each half of the batch is sent by itself. Vectors are scaled to unit
    length. The first reply determines the dimension; a later vector of another dimension is an error. A text of white
    space only is not sent and gets a zero vector. The vectors of the most recent questions are cached in memory.

    Parameters
    ----------
    base_url:
        URL of the API without ``/embeddings`` at its end: ``http://127.0.0.1:11434/v1`` for Ollama.
    settings:
        Options of the requests.
    model, api_key, timeout, retries:
        See :class:`monograph.derive.server.ServedModel`, also for the errors.
    """

    kind: ClassVar[str] = "openai"
    path: ClassVar[str] = "/embeddings"
    noun: ClassVar[str] = "embedder"
    form: ClassVar[str] = "give openai:BASE_URL#MODEL, with options as JSON after another #: " + ", ".join(
        field.name for field in fields(ServedSettings)
    )
    key_hint: ClassVar[str] = loading.key_hint("embedder")
    max_reply: ClassVar[int] = 64 << 20  # It contains vectors.
    retries_timeouts: ClassVar[bool] = True  # The server may be slow while it loads a model.
    contextual = True
    paid = True

    def __init__(
        self,
        base_url: str,
        model: str,
        settings: ServedSettings = ServedSettings(),
        api_key: str = "",
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:
        changed = loading.changed_settings(settings)
        super().__init__(base_url, model, changed, api_key, timeout, retries)
        self._settings = settings
        self._dimension = settings.dimensions
        self._questions: dict[str, Float32] = {}
        self._lock = threading.Lock()
        vector_settings = {name: value for name, value in changed.items() if not name.startswith("batch_")}
        self.key = loading.write_spec(f"openai-embeddings/{model}", vector_settings, "/")
        """Name of the model, and the settings that change its vectors; not the address, so that a server may move."""

    @classmethod
    def _with_settings(cls, base_url: str, model: str, changed: dict[str, Any], api_key: str) -> Self:
        return cls(base_url, model, replace(ServedSettings(), **changed), api_key)

    @property
    def dimension(self) -> int:
        """Number of values of every vector. If it is not known yet, a request is sent to learn it.

        Raises ModelUnavailable in the same cases as :meth:`embed`.
        """
        if not self._dimension:
            self._fetch(["a"])
        return self._dimension

    def expect(self, dimension: int) -> None:
        """Set the dimension that all vectors from the server must have: the dimension of the vectors in the file.

        Raises
        ------
        ModelUnavailable
            If the server has already sent vectors of another dimension.
        """
        if self._dimension and self._dimension != dimension:
            raise self._dimension_error(self._dimension, dimension)
        self._dimension = dimension

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Return the vectors of texts. Each distinct text is sent once. See :class:`monograph.models.Embedder`.

        Returns
        -------
        float32 of shape (len(texts), dimension), rows of unit length. A text of white space only gets a row of zeros.

        Raises
        ------
        ModelUnavailable
            If the server cannot be reached, refuses, is too slow, or does not reply with one finite vector of
            :attr:`dimension` values for each text.
        """
        prefix = self._settings.query_prefix if kind == "query" else self._settings.document_prefix
        most = self._settings.max_characters or None
        sent = [(prefix + text)[:most] if text.strip() else "" for text in texts]
        vectors: dict[str, Float32] = {}
        if kind == "query":
            with self._lock:
                cached = [text for text in dict.fromkeys(sent) if text in self._questions]
                vectors = {text: self._questions.pop(text) for text in cached}
                self._questions |= vectors  # At the end, as most recently used.
        missing = [text for text in dict.fromkeys(sent) if text and text not in vectors]
        fetched = dict(zip(missing, self._fetch(missing), strict=True))
        if kind == "query":
            with self._lock:
                self._questions |= fetched
                for text in list(self._questions)[:-MOST_QUESTIONS]:
                    del self._questions[text]
        vectors |= fetched
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for index, text in enumerate(sent):
            if text:
                result[index] = vectors[text]
        return result

    def _fetch(self, texts: Sequence[str]) -> list[Float32]:
        """Request vectors from the server, and return one for each text. Texts must be distinct and not blank."""
        return [vector for batch in self._split_batches(texts) for vector in self._fetch_batch(batch)]

    def _split_batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        characters = 0
        for text in texts:
            full = len(batch) >= self._settings.batch_size
            if batch and (full or characters + len(text) > self._settings.batch_characters):
                yield batch
                batch, characters = [], 0
            batch.append(text)
            characters += len(text)
        if batch:
            yield batch

    def _fetch_batch(self, texts: list[str]) -> list[Float32]:
        body: dict[str, Any] = {"model": self._model, "input": texts}
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        try:
            with request("embeddings", self._model, self.base_url) as trace:
                reply = self._post(body)
                tokens = tokens_read(reply)
                trace.read(tokens)
            spending.note("embed", self.key, tokens or 0)
        except ModelUnavailable as error:
            if error.status not in _TOO_MUCH:
                raise
            if len(texts) == 1:
                hint = (
                    f"the text begins {arguments.shown(texts[0][:60])} and has {len(texts[0])} characters; if that"
                    ' is too long, give openai:BASE_URL#MODEL#{"max_characters": NUMBER}'
                )
                raise ModelUnavailable(error.message, hint) from error
            middle = len(texts) // 2
            return self._fetch_batch(texts[:middle]) + self._fetch_batch(texts[middle:])
        vectors = self._read_vectors(reply, len(texts))
        if self._dimension and self._dimension != vectors.shape[1]:
            raise self._dimension_error(vectors.shape[1], self._dimension)
        self._dimension = vectors.shape[1]
        return list(vectors)

    def _read_vectors(self, reply: Mapping[str, Any], count: int) -> Float32:
        """Return a reply's vectors of ``count`` texts, in order: float32 (count, dimension), unit length or zero."""
        who = f"{self._model!r} at {self._url} returned"
        data = reply.get("data")
        if not isinstance(data, list):
            raise ModelUnavailable(f"{self._url} replied without vectors: {self._quote(reply)}", self.hint)
        if len(data) != count:
            raise ModelUnavailable(f"{who} {len(data)} vectors for {count} texts", _REPLY_HINT)
        rows: list[Float32 | None] = [None] * count
        for position, item in enumerate(data):
            index = item.get("index", position) if isinstance(item, dict) else None
            if type(index) is not int or not 0 <= index < count or rows[index] is not None:
                raise ModelUnavailable(f"{who} vectors without saying which text each belongs to", _REPLY_HINT)
            rows[index] = _read_vector(item.get("embedding"), who)
        vectors = [row for row in rows if row is not None]
        lengths = sorted({len(row) for row in vectors})
        if len(lengths) > 1:
            raise ModelUnavailable(f"{who} vectors of {lengths[0]} and of {lengths[-1]} values", _REPLY_HINT)
        # Squares of float32 values may be too large or too small for float32.
        return unit_rows(np.array(vectors, dtype=np.float64)).astype(np.float32)

    def _dimension_error(self, actual: int, expected: int) -> ModelUnavailable:
        return ModelUnavailable(
            f"{self._model!r} at {self._url} returned vectors of {actual} values, not of {expected}",
            "the server has another model under that name now: serve the one that made the file's vectors, or give the"
            " new one another name and run monograph reembed FILE EMBEDDER",
        )


def _read_vector(value: Any, who: str) -> Float32:
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            vector = (
                np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
                if isinstance(value, str)
                else np.asarray(value, dtype=np.float32)
            )
    except (TypeError, ValueError, OverflowError, binascii.Error):
        vector = np.empty(0, dtype=np.float32)
    if vector.ndim != 1 or not len(vector):
        raise ModelUnavailable(f"{who} no vector of numbers for a text", _REPLY_HINT)
    if not np.isfinite(vector).all():
        raise ModelUnavailable(f"{who} a vector with values that are not finite", _REPLY_HINT)
    return vector
