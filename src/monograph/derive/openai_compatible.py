"""Language models behind an OpenAI-compatible API: Ollama, llama.cpp's server, vLLM, OpenAI itself (extra ``llm``)."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any, ClassVar, Self

from monograph.derive.replies import has_ended, text_in, usage
from monograph.derive.server import ServedModel
from monograph.derive.tokens import count_tokens
from monograph.derive.traced_request import TracedRequest, request
from monograph.errors import ModelUnavailable
from monograph.models import Completion

_NO_IMAGES = (400, 415, 422, 500, 501)
"""HTTP statuses with which servers refuse an image because their model does not take images."""


class OpenAICompatible(ServedModel):
    """Language model behind ``BASE_URL/chat/completions``; failed requests are retried.

    See :class:`monograph.derive.server.ServedModel` for which errors are retried, and when.

    Parameters
    ----------
    base_url:
        URL of the API without ``/chat/completions`` at its end: ``http://127.0.0.1:11434/v1`` for Ollama. Files store
        it, so it may contain neither a password nor a query.
    model:
        Name of the model on the server.
    api_key:
        Sent as a bearer token. It is never read from the environment, and no file stores it. It is removed from error
        messages that quote the server.
    timeout:
        Most seconds of one try from the request to the beginning of the reply. The same number of seconds is allowed
        from the beginning to the end of the reply. Small models on small machines need minutes.
    temperature:
        Sampling temperature; 0 gives the likeliest answer. None sends no temperature, for models that refuse it.
    retries:
        Retries after the first try.

    Raises
    ------
    MissingExtra
        If urllib3 is not installed.
    InputError
        If an argument is invalid.
    """

    kind: ClassVar[str] = "openai"
    path: ClassVar[str] = "/chat/completions"
    noun: ClassVar[str] = "model"
    form: ClassVar[str] = "give openai:BASE_URL#MODEL"
    other_form: ClassVar[str] = "max_completion_tokens"  # As OpenAI's newer models name the token limit.

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        timeout: float = 600.0,
        temperature: float | None = 0.0,
        retries: int = 2,
    ) -> None:
        self._temperature = None if temperature is None else float(temperature)
        changed = {} if self._temperature == 0 else {"temperature": self._temperature}
        super().__init__(base_url, model, changed, api_key, timeout, retries)
        self.key = f"openai/{model}/{self._temperature}"
        """Name of the model and the temperature. The address is no part of it, so a server may move."""

    @classmethod
    def _with_settings(cls, base_url: str, model: str, changed: dict[str, Any], api_key: str) -> Self:
        return cls(base_url, model, api_key, temperature=({"temperature": 0.0} | changed)["temperature"])

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        """Return the model's answer to a prompt. See :class:`monograph.models.LanguageModel`.

        The completion has the token counts of the server. If the server sends none, they are estimated.

        Raises
        ------
        ModelUnavailable
            If the server cannot be reached, refuses, is too slow, or its reply contains no answer.
        """
        return self._complete(prompt, prompt, max_tokens)

    def complete_with_image(self, prompt: str, image: bytes, media_type: str, max_tokens: int) -> Completion:
        """Return the model's answer to a prompt about a picture. See :class:`monograph.models.VisionModel`.

        Raises
        ------
        ModelUnavailable
            As for :meth:`complete`; also if the model takes no images.
        """
        address = f"data:{media_type};base64,{base64.b64encode(image).decode()}"
        parts: list[dict[str, Any]] = [
            {"type": "text", "text": prompt},
            {"type": "image_url", "image_url": {"url": address}},
        ]
        return self._complete(prompt, parts, max_tokens)

    def _complete(self, prompt: str, content: str | list[dict[str, Any]], max_tokens: int) -> Completion:
        self._ask_permission()
        with request("chat", self._model, self.base_url) as trace:
            trace.asked(prompt)
            try:
                reply = self._post(self._build_body(content, max_tokens))
            except ModelUnavailable as error:
                if self._switch_form(error):
                    reply = self._post(self._build_body(content, max_tokens))
                elif not isinstance(content, str) and error.status in _NO_IMAGES:
                    hint = "check that the server's model accepts images"
                    raise ModelUnavailable(error.message, hint) from error.__cause__
                else:
                    raise
            text = text_in(reply)
            if text is None:
                raise ModelUnavailable(f"{self.spec} replied without an answer: {self._quote(reply)}", self.hint)
            completion = self._make_completion(prompt, self._redaction.in_answer(text), usage(reply))
            trace.answered(completion)
            return completion

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        """Yield the pieces of the model's answer as texts, then the whole answer as a :class:`Completion`.

        See :class:`monograph.models.StreamingModel`.

        Raises
        ------
        ModelUnavailable
            As for :meth:`complete`; also if the stream ends before the server says why the answer ended.
        """
        self._ask_permission()
        with request("chat", self._model, self.base_url, pieces=True) as trace:
            trace.asked(prompt)
            try:
                yield from self._stream_once(prompt, max_tokens, trace)
            except ModelUnavailable as error:
                if not self._switch_form(error):
                    raise
                yield from self._stream_once(prompt, max_tokens, trace)

    def _stream_once(self, prompt: str, max_tokens: int, trace: TracedRequest) -> Iterator[str | Completion]:
        clean = self._redaction.in_answer
        pieces: list[str] = []
        counted: tuple[int, int] | None = None
        ended = answered = False
        body = self._build_body(prompt, max_tokens) | {"stream": True, "stream_options": {"include_usage": True}}
        try:
            for event in self._stream(body):
                if "error" in event:
                    raise ModelUnavailable(f"{self.spec} failed while it answered: {self._quote(event)}", self.hint)
                text = text_in(event)
                answered = answered or text is not None
                ended = ended or has_ended(event)
                counted = usage(event) or counted
                if text:
                    pieces.append(clean(text))
                    yield pieces[-1]
        except ModelUnavailable:
            if not ended:  # some servers close the connection after the reason for the end
                raise
        if not answered:
            raise ModelUnavailable(f"{self.spec} replied without an answer", self.hint)
        completion = self._make_completion(prompt, clean("".join(pieces)), counted)
        trace.answered(completion)
        yield completion

    def _make_completion(self, prompt: str, text: str, counted: tuple[int, int] | None) -> Completion:
        read, written = counted or count_tokens([prompt, text])
        return Completion(text, read, written)

    def _build_body(self, content: str | list[dict[str, Any]], max_tokens: int) -> dict[str, Any]:
        messages = [{"role": "user", "content": content}]
        limit = self.other_form if self._uses_other_form else "max_tokens"
        body: dict[str, Any] = {"model": self._model, "messages": messages, limit: max_tokens}
        return body if self._temperature is None else body | {"temperature": self._temperature}
