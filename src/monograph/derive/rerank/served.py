"""Rerankers behind a server with a rerank API: Cohere, Jina, vLLM, llama.cpp's server, TEI (extra ``llm``)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from monograph import spending
from monograph.derive import loading
from monograph.derive.server import ServedModel
from monograph.derive.traced_request import request
from monograph.errors import ModelUnavailable
from monograph.values import Float64, arguments

TIMEOUT = 60.0
"""Most seconds of one try of a request."""

RETRIES = 2
"""Retries after the first try: few, since a user waits for the hits."""


@dataclass(frozen=True, slots=True)
class ServedRerankerSettings:
    """Options of requests to a rerank server.

    ``max_characters`` is the most characters of a text that are sent; with 0, whole texts are sent. ``batch_size`` is
    the number of texts in a request. ``weight`` is the weight of the server's scores relative to the scores of the
    search.
    """

    max_characters: int = 0
    batch_size: int = 32
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_characters", arguments.whole_number(self.max_characters, "max_characters", 0))
        object.__setattr__(self, "batch_size", arguments.whole_number(self.batch_size, "batch_size", 1))
        object.__setattr__(self, "weight", arguments.finite(self.weight, "weight"))


class ServedReranker(ServedModel):
    """Reranker behind ``BASE_URL/rerank``; failed requests are retried.

    Requests have the form of Cohere's API, which most servers understand. If a server refuses a request and its error
    mentions ``texts``, the server expects the form of the API of TEI (Text Embeddings Inference). The request is then
    sent again in this form. All later requests have this form, too.

    Parameters
    ----------
    base_url:
        URL of the API without ``/rerank`` at its end: ``https://api.cohere.com/v2``, ``http://127.0.0.1:8000/v1``.
    settings:
        Options of the requests.
    model, api_key, timeout, retries:
        See :class:`monograph.derive.server.ServedModel`, also for the errors.
    """

    kind: ClassVar[str] = "rerank"
    path: ClassVar[str] = "/rerank"
    noun: ClassVar[str] = "reranker"
    form: ClassVar[str] = "give rerank:BASE_URL#MODEL, with options as JSON after another #: " + ", ".join(
        field.name for field in fields(ServedRerankerSettings)
    )
    hint: ClassVar[str] = (
        "give the base URL of a server that has /rerank, such as Cohere, Jina, vLLM, llama.cpp's server or TEI"
    )
    key_hint: ClassVar[str] = loading.key_hint("reranker")
    retries_timeouts: ClassVar[bool] = True  # The server may be slow while it loads a model.
    other_form: ClassVar[str] = "texts"  # TEI's form.

    def __init__(
        self,
        base_url: str,
        model: str,
        settings: ServedRerankerSettings = ServedRerankerSettings(),
        api_key: str = "",
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
    ) -> None:
        super().__init__(base_url, model, loading.changed_settings(settings), api_key, timeout, retries)
        self._settings = settings
        self.weight = settings.weight
        """Weight of this reranker's scores relative to the scores of the search."""
        self.key = f"rerank/{model}" + (f"/{settings.max_characters}" if settings.max_characters else "")
        """Name of the model, and ``max_characters`` if it is set; not the address, so that a server may move."""

    @classmethod
    def _with_settings(cls, base_url: str, model: str, changed: dict[str, Any], api_key: str) -> Self:
        return cls(base_url, model, replace(ServedRerankerSettings(), **changed), api_key)

    def score(self, question: str, texts: Sequence[str]) -> Float64:
        """Return the server's score of each text, mostly from 0 to 1. See :class:`monograph.models.Reranker`.

        Raises
        ------
        ModelUnavailable
            If the server cannot be reached, refuses, is too slow, or does not reply with one finite score for each
            text.
        """
        most = self._settings.max_characters or None
        cut = [text[:most] for text in texts]
        size = self._settings.batch_size
        batches = (cut[first : first + size] for first in range(0, len(cut), size))
        return np.array([score for batch in batches for score in self._score_batch(question, batch)], dtype=np.float64)

    def _score_batch(self, question: str, texts: list[str]) -> list[float]:
        with request("rerank", self._model, self.base_url):
            try:
                reply = self._parse(self._send(self._build_request(question, texts)))
            except ModelUnavailable as error:
                if error.status not in (400, 413, 422):
                    raise
                if error.status == 413 or not self._switch_form(error):
                    hint = 'if a text is too long, give rerank:BASE_URL#MODEL#{"max_characters": NUMBER}'
                    raise ModelUnavailable(error.message, hint) from error
                reply = self._parse(self._send(self._build_request(question, texts)))
        spending.note("rerank", self.key)
        # The results are the reply itself, or its list ``results`` or, from older servers, ``data``.
        results = reply.get("results", reply.get("data")) if isinstance(reply, dict) else reply
        if not isinstance(results, list):
            raise ModelUnavailable(f"{self._url} replied without scores: {self._quote(reply)}", self.hint)
        scores: dict[int, float] = {}
        for result in results:
            item = result if isinstance(result, dict) else {}
            index: Any = item.get("index")
            score: Any = item.get("relevance_score", item.get("score"))
            if type(index) is not int or type(score) not in (int, float):
                raise self._make_error("a result without an index and a score")
            try:
                scores[index] = float(score)
            except OverflowError:
                scores[index] = math.inf
        if set(scores) != set(range(len(texts))):
            raise self._make_error(f"scores of {len(scores)} texts, where {len(texts)} were sent")
        if not all(map(math.isfinite, scores.values())):
            raise self._make_error("a score that is not finite")
        return [scores[position] for position in range(len(texts))]

    def _build_request(self, question: str, texts: list[str]) -> dict[str, Any]:
        if self._uses_other_form:
            return {"query": question, self.other_form: texts}
        return {"model": self._model, "query": question, "documents": texts, "top_n": len(texts)}

    def _make_error(self, what: str) -> ModelUnavailable:
        return ModelUnavailable(
            f"{self._model!r} at {self._url} returned {what}",
            "check that it is a reranking model, and see the server's log",
        )
