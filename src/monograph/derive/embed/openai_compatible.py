"""Embedders behind an API of the OpenAI form: Ollama, llama.cpp's server, vLLM, TEI, OpenAI itself (extra ``llm``)."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np

from monograph import spending
from monograph.derive.api_key import VARIABLE, variable_of
from monograph.derive.embed.replied import vectors_of
from monograph.derive.replies import tokens_read
from monograph.derive.served_spec import changed_of, parted, spec_of
from monograph.derive.server import Server
from monograph.derive.told import request
from monograph.errors import InputError, ModelUnavailable, UnknownModel
from monograph.models import TextKind
from monograph.values import Float32, arguments

TIMEOUT = 120.0
"""Seconds for one request: a first one may wait until a model is loaded."""

RETRIES = 4
"""Tries after the first: with the waits between them, about eight seconds."""

MOST_QUESTIONS = 512
"""Questions whose vectors are kept: of 1,024 values each, two megabytes."""

_TOO_MUCH = (400, 413, 422)
"""What servers refuse with where a request has too many texts, or too long ones."""


@dataclass(frozen=True, slots=True)
class ServedSettings:
    """How texts are given to a server: values a vector, prefixes, characters of a text; texts and characters a request.

    ``dimensions`` are asked for where they are not 0, which some models understand; ``max_characters`` cuts texts that
    are longer, for servers that refuse those, and 0 cuts none.
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


class _VectorServer(Server):
    """A server whose replies hold vectors, and which may be slow while it loads a model."""

    most_bytes: ClassVar[int] = 64 << 20
    asks_slow_again: ClassVar[bool] = True


class OpenAIEmbedder:
    """A model behind ``BASE_URL/embeddings``, asked for many texts at once, and again where that may help.

    A batch that the server refuses as too large is asked for in halves. Rows are brought to unit length. How long they
    are is learnt from the first reply; one of another length is an error. A text of blanks alone is not sent: its
    vector is zero. The vectors of the last questions stay in memory.

    Parameters
    ----------
    base_url:
        Up to and without ``/embeddings``: ``http://127.0.0.1:11434/v1`` for Ollama. It is stored in files, so it may
        hold neither a password nor a query.
    model:
        The name that the server knows it by.
    settings:
        How texts are given to it.
    api_key:
        Sent as a bearer token, stored in no file, and in no error where the server says it back.
    timeout:
        Seconds for one try.
    retries:
        Tries after the first.

    Raises
    ------
    MissingExtra
        If urllib3 is not installed.
    InputError
        If a value will not do.
    """

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
        self.base_url = base_url.rstrip("/")
        """Where the server is."""
        changed = changed_of(settings)
        self.spec = spec_of("openai", self.base_url, model, changed)
        """How to make this embedder again: address, name and, where they are not the usual ones, the settings."""
        self._url = f"{self.base_url}/embeddings"
        self._server = _VectorServer(self._url, api_key, timeout, retries)
        self._model = model
        self._settings = settings
        self._dimension = settings.dimensions
        self._questions = _QuestionVectors()
        told = {name: value for name, value in changed.items() if not name.startswith("batch_")}
        self.key = f"openai-embeddings/{model}" + (f"/{json.dumps(told, sort_keys=True)}" if told else "")
        """The model's name and what changes its vectors; not the address, so that a server may move."""

    @classmethod
    def from_spec(cls, source: str, api_key: str = "") -> OpenAIEmbedder:
        """Make an embedder from what follows ``openai:`` in a spec: ``BASE_URL#MODEL``, after another ``#`` settings.

        Raises
        ------
        ModelUnavailable
            If it is not of that form.
        """
        try:
            base_url, model, changed = parted(source)
            return cls(base_url, model, replace(ServedSettings(), **changed), api_key)
        except (TypeError, ValueError, InputError) as error:
            known = ", ".join(one.name for one in fields(ServedSettings))
            raise UnknownModel(
                f"cannot use this embedder: {error}",
                f"give openai:BASE_URL#MODEL, and what differs as JSON behind another #: {known}",
            ) from error

    @property
    def dimension(self) -> int:
        """Length of every vector; the server is asked for one where none was made yet.

        Raises ModelUnavailable as :meth:`embed`.
        """
        if not self._dimension:
            self._asked(["a"])
        return self._dimension

    def expect(self, dimension: int) -> None:
        """Let no other dimension pass than that of the vectors that a file holds.

        Raises
        ------
        ModelUnavailable
            If the server gave another already.
        """
        if self._dimension and self._dimension != dimension:
            raise self._changed_dimension(self._dimension, dimension)
        self._dimension = dimension

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Embed texts, each different one once. See :class:`monograph.models.Embedder`.

        Returns
        -------
        float32 of shape (len(texts), dimension), rows of unit length; zero for a text of blanks.

        Raises
        ------
        ModelUnavailable
            If the server cannot be reached, refuses, is too slow, or replies with anything but a finite vector of the
            dimension for each text.
        """
        prefix = self._settings.query_prefix if kind == "query" else self._settings.document_prefix
        most = self._settings.max_characters or None
        sent = [(prefix + text)[:most] if text.strip() else "" for text in texts]
        known = self._questions.among(sent) if kind == "query" else {}
        left = [text for text in dict.fromkeys(sent) if text and text not in known]
        made = dict(zip(left, self._asked(left), strict=True))
        if kind == "query":
            self._questions.keep(made)
        known |= made
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for place, text in enumerate(sent):
            if text:
                result[place] = known[text]
        return result

    def _asked(self, texts: Sequence[str]) -> list[Float32]:
        """The vectors of different texts, none of blanks alone."""
        return [vector for batch in self._batches(texts) for vector in self._of_batch(batch)]

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Texts in order, so many at once as a request may have."""
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

    def _of_batch(self, texts: list[str]) -> list[Float32]:
        asked: dict[str, Any] = {"model": self._model, "input": texts}
        if self._settings.dimensions:
            asked["dimensions"] = self._settings.dimensions
        try:
            with request("embeddings", self._model, self.base_url) as told:
                reply = self._server.post(asked)
                counted = tokens_read(reply)
                told.read(counted)
            spending.note("embed", self.key, counted or 0)
        except ModelUnavailable as error:
            if error.status not in _TOO_MUCH or len(texts) == 1:
                raise self._mended(error, texts[0]) from error
            middle = len(texts) // 2
            return self._of_batch(texts[:middle]) + self._of_batch(texts[middle:])
        made = vectors_of(reply, len(texts), self._url, self._model, self._server.redaction)
        if self._dimension and self._dimension != made.shape[1]:
            raise self._changed_dimension(made.shape[1], self._dimension)
        self._dimension = made.shape[1]
        return list(made)

    def _changed_dimension(self, given: int, expected: int) -> ModelUnavailable:
        return ModelUnavailable(
            f"{self._url} gives vectors of {given} values for {self._model!r}, where {expected} are wanted",
            "the model behind that name is another: serve the one that the vectors were made with, or name the new one"
            " otherwise and make them anew: monograph reembed FILE EMBEDDER",
        )

    def _mended(self, error: ModelUnavailable, text: str) -> ModelUnavailable:
        """The same error, with what helps an embedder."""
        mend = error.mend
        if error.status in (401, 403):
            mend = f"put the server's key into the variable {variable_of('embedder')}, or {VARIABLE}"
        elif error.status in _TOO_MUCH:
            mend = (
                f"the text begins {arguments.shown(text[:60])} and has {len(text)} characters; where that is too long,"
                ' give openai:BASE_URL#MODEL#{"max_characters": NUMBER}'
            )
        made = ModelUnavailable(error.message, mend)
        made.status = error.status
        return made


class _QuestionVectors:
    """Vectors of the questions asked last, by text. Safe for many threads."""

    def __init__(self) -> None:
        self._held: dict[str, Float32] = {}
        self._lock = threading.Lock()

    def among(self, texts: Iterable[str]) -> dict[str, Float32]:
        """The vectors that are known of some texts."""
        with self._lock:
            found = {text: self._held.pop(text) for text in dict.fromkeys(texts) if text in self._held}
            self._held.update(found)  # They go to the end, as asked for last.
            return found

    def keep(self, made: Mapping[str, Float32]) -> None:
        """Remember the vectors of some texts."""
        with self._lock:
            self._held.update(made)
            for text in list(self._held)[: max(0, len(self._held) - MOST_QUESTIONS)]:
                del self._held[text]
