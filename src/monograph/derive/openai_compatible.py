"""Language models behind an API of the OpenAI form: Ollama, llama.cpp's server, vLLM, OpenAI itself (extra ``llm``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from monograph.derive.addresses import AskingFirst
from monograph.derive.server import BASE_URL_MEND, QUOTED, Server
from monograph.derive.tokens import count_tokens
from monograph.derive.told import request
from monograph.errors import InputError, ModelUnavailable
from monograph.models import Allow, Completion, LanguageModel

_LIMIT = "max_tokens"
_OTHER_LIMIT = "max_completion_tokens"


class OpenAICompatible:
    """A model behind ``BASE_URL/chat/completions``, tried again where that may help.

    See :class:`monograph.derive.server.Server` for what is tried again, and when.

    Parameters
    ----------
    base_url:
        Up to and without ``/chat/completions``: ``http://127.0.0.1:11434/v1`` for Ollama. It is stored in files, so it
        may hold neither a password nor a query.
    model:
        The name that the server knows it by.
    api_key:
        Sent as a bearer token. It is read from no environment and stored in no file, and where the server says it back
        it is in no error.
    timeout:
        Seconds for one try, from the request to the last byte: small models on small machines need minutes.
    temperature:
        0 for the likeliest answer; None to send none, for models that refuse it.
    retries:
        Tries after the first.

    Raises
    ------
    MissingExtra
        If urllib3 is not installed.
    InputError
        If a value will not do.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        api_key: str = "",
        timeout: float = 600.0,
        temperature: float | None = 0.0,
        retries: int = 2,
    ) -> None:
        if not model or "#" in model:
            raise InputError(f"{model!r} is no model's name", "give the name that the server knows it by")
        self.base_url = base_url.rstrip("/")
        """Where the server is."""
        self._server = Server(f"{self.base_url}/chat/completions", api_key, timeout, retries)
        self._model = model
        self._temperature = None if temperature is None else float(temperature)
        self._limit = _LIMIT
        changed = "" if self._temperature == 0 else f"#{json.dumps({'temperature': self._temperature})}"
        self.spec = f"openai:{self.base_url}#{model}{changed}"
        """How to make this model again: address, name and, where it is not 0, the temperature."""
        self.key = f"openai/{model}/{self._temperature}"
        """The model's name and the temperature; not the address, so that a server may move."""

    @classmethod
    def from_spec(cls, source: str, api_key: str = "") -> OpenAICompatible:
        """Make a model from what follows ``openai:`` in a spec: ``BASE_URL#MODEL``, and after another ``#`` settings.

        Raises
        ------
        ModelUnavailable
            If it is not of that form.
        """
        base_url, _, rest = source.partition("#")
        model, _, changed = rest.partition("#")
        try:
            settings = {"temperature": 0.0} | json.loads(changed or "{}")
            return cls(base_url, model, api_key, temperature=settings["temperature"])
        except (TypeError, ValueError, InputError) as error:
            raise ModelUnavailable(f"cannot use this model: {error}", "give openai:BASE_URL#MODEL") from error

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        """Answer a prompt. See :class:`monograph.models.LanguageModel`.

        Tokens are those that the server counted; where it counted none, they are estimated.

        Raises
        ------
        ModelUnavailable
            If the server cannot be reached, refuses, is too slow or replies with something else.
        """
        with request("chat", self._model, self.base_url) as told:
            told.asked(prompt)
            made = self._completed(prompt, max_tokens)
            told.answered(made)
            return made

    def _completed(self, prompt: str, max_tokens: int) -> Completion:
        try:
            reply = self._server.post(self._asked(prompt, max_tokens))
        except ModelUnavailable as error:
            if self._limit == _OTHER_LIMIT or _OTHER_LIMIT not in error.message:
                raise
            self._limit = _OTHER_LIMIT  # what newer models of OpenAI's want it called
            reply = self._server.post(self._asked(prompt, max_tokens))
        text = _text(reply)
        if text is None:
            raise ModelUnavailable(f"{self.spec} replied without an answer: {self._said(reply)}", BASE_URL_MEND)
        text = self._server.redaction.in_answer(text)
        read, written = _usage(reply) or count_tokens([prompt, text])
        return Completion(text, read, written)

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        """Answer a prompt piece by piece. See :class:`monograph.models.StreamingModel`.

        Raises
        ------
        ModelUnavailable
            As for :meth:`complete`; and if the answer breaks off before the server has said why it ends.
        """
        with request("chat", self._model, self.base_url, pieces=True) as told:
            told.asked(prompt)
            for piece in self._streamed_in_either_way(prompt, max_tokens):
                if isinstance(piece, Completion):
                    told.answered(piece)
                yield piece

    def _streamed_in_either_way(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        try:
            yield from self._streamed(prompt, max_tokens)
        except ModelUnavailable as error:
            if self._limit == _OTHER_LIMIT or _OTHER_LIMIT not in error.message:
                raise
            self._limit = _OTHER_LIMIT
            yield from self._streamed(prompt, max_tokens)

    def _streamed(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        asked = self._asked(prompt, max_tokens) | {"stream": True, "stream_options": {"include_usage": True}}
        pieces: list[str] = []
        usage: tuple[int, int] | None = None
        answered = ended = False
        try:
            for event in self._server.stream(asked):
                if "error" in event:
                    raise ModelUnavailable(f"{self.spec} failed while it answered: {self._said(event)}", BASE_URL_MEND)
                piece = _text(event)
                answered = answered or piece is not None
                piece = self._server.redaction.in_answer(piece or "")
                ended = ended or _ends(event)
                usage = _usage(event) or usage
                if piece:
                    pieces.append(piece)
                    yield piece
        except ModelUnavailable:
            if not ended:  # some servers close the connection once they have said why they stop
                raise
        if not answered:
            raise ModelUnavailable(f"{self.spec} replied without an answer", BASE_URL_MEND)
        text = self._server.redaction.in_answer("".join(pieces))
        read, written = usage or count_tokens([prompt, text])
        yield Completion(text, read, written)

    def _asked(self, prompt: str, max_tokens: int) -> dict[str, Any]:
        asked: dict[str, Any] = {"model": self._model, "messages": [{"role": "user", "content": prompt}]}
        asked[self._limit] = max_tokens
        if self._temperature is not None:
            asked["temperature"] = self._temperature
        return asked

    def _said(self, reply: Mapping[str, Any]) -> str:
        return self._server.redaction.in_error(json.dumps(reply, ensure_ascii=False), QUOTED)


def load_model(spec: str, api_key: str = "", allow: Allow | None = None) -> LanguageModel:
    """Make a language model from the text that names it: ``openai:BASE_URL#MODEL``.

    Parameters
    ----------
    spec:
        Its name.
    api_key:
        For a server that asks for one.
    allow:
        Asked before the server is, where the spec does not come from the user.

    Raises
    ------
    ModelUnavailable
        If the spec is unknown.
    MissingExtra
        If the package it needs is not installed.
    """
    kind, _, source = spec.partition(":")
    if kind == "openai" and source:
        made = OpenAICompatible.from_spec(source, api_key)
        return made if allow is None else AskingFirst(made, made.spec, made.base_url, allow)
    raise ModelUnavailable(f"unknown language model {spec!r}", "give openai:BASE_URL#MODEL")


def _text(reply: Mapping[str, Any]) -> str | None:
    """The text of the first choice of a reply or an event, which may be empty; None where there is no choice."""
    try:
        choice = reply["choices"][0]
        content = (choice["delta"] if "delta" in choice else choice["message"]).get("content")
    except (AttributeError, IndexError, KeyError, TypeError):
        return None
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content.encode("utf-8", "replace").decode() if isinstance(content, str) else ""


def _ends(event: Mapping[str, Any]) -> bool:
    """Whether an event says why the answer ends."""
    try:
        return event["choices"][0].get("finish_reason") is not None
    except (AttributeError, IndexError, KeyError, TypeError):
        return False


def _usage(reply: Mapping[str, Any]) -> tuple[int, int] | None:
    """Tokens read and written, as the server counted them."""
    usage = reply.get("usage")
    if not isinstance(usage, dict):
        return None
    read, written = usage.get("prompt_tokens"), usage.get("completion_tokens")
    return (read, written) if isinstance(read, int) and isinstance(written, int) and min(read, written) >= 0 else None
