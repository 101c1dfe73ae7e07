"""Language models behind an API of the OpenAI form: Ollama, llama.cpp's server, vLLM, OpenAI itself (extra ``llm``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from monograph.derive.addresses import AskingFirst
from monograph.derive.replies import Joining, ends, text_of, usage
from monograph.derive.served_spec import parted, spec_of
from monograph.derive.server import BASE_URL_MEND, QUOTED, Server
from monograph.derive.tokens import count_tokens
from monograph.derive.told import request
from monograph.errors import InputError, ModelUnavailable
from monograph.models import Allow, Completion, Conversation, LanguageModel, Reply, ReplyPiece

_LIMIT = "max_tokens"
_OTHER_LIMIT = "max_completion_tokens"
_NOT_FOR_ALL = {"tools": "tools", "response_format": "schemas"}
_REFUSALS = re.compile(r"replied with status (?:400|415|422|500|501)\b")


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
        self.base_url = base_url.rstrip("/")
        """Where the server is."""
        self._temperature = None if temperature is None else float(temperature)
        changed = {} if self._temperature == 0 else {"temperature": self._temperature}
        self.spec = spec_of("openai", self.base_url, model, changed)
        """How to make this model again: address, name and, where it is not 0, the temperature."""
        self._server = Server(f"{self.base_url}/chat/completions", api_key, timeout, retries)
        self._model = model
        self._limit = _LIMIT
        self.key = self._key(model)
        """The model's name and the temperature; not the address, so that a server may move."""

    @classmethod
    def from_spec(cls, source: str, api_key: str = "") -> OpenAICompatible:
        """Make a model from what follows ``openai:`` in a spec: ``BASE_URL#MODEL``, and after another ``#`` settings.

        Raises
        ------
        ModelUnavailable
            If it is not of that form.
        """
        try:
            base_url, model, changed = parted(source)
            settings = {"temperature": 0.0} | changed
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
        reply = self.converse(_one_prompt(prompt, max_tokens))
        return Completion(reply.text, reply.tokens_in, reply.tokens_out)

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        """Answer a prompt piece by piece. See :class:`monograph.models.StreamingModel`.

        Raises
        ------
        ModelUnavailable
            As for :meth:`complete`; and if the answer breaks off before the server has said why it ends.
        """
        for piece in self.stream_reply(_one_prompt(prompt, max_tokens)):
            if isinstance(piece, Reply):
                yield Completion(piece.text, piece.tokens_in, piece.tokens_out)
            elif piece.text:
                yield piece.text

    def converse(self, asked: Conversation) -> Reply:
        """Reply to a conversation. See :class:`monograph.models.ConversingModel`.

        Raises
        ------
        ModelUnavailable
            As for :meth:`complete`; and if the model takes no tools, images or schemas, where there are such.
        """
        with request("chat", self._named(asked), self.base_url) as told:
            told.asked(asked.messages)
            made = self._conversed(asked)
            told.answered(made)
            return made

    def _conversed(self, asked: Conversation) -> Reply:
        try:
            reply = self._server.post(self._body(asked))
        except ModelUnavailable as error:
            if not self._other_limit(error):
                raise _refused(error, asked) from error.__cause__
            reply = self._server.post(self._body(asked))
        joining = self._joining(asked)
        joining.take(reply)
        if not joining.answered:
            raise ModelUnavailable(f"{self.spec} replied without an answer: {self._said(reply)}", BASE_URL_MEND)
        return self._reply(asked, joining, usage(reply), ends(reply))

    def stream_reply(self, asked: Conversation) -> Iterator[ReplyPiece | Reply]:
        """Reply piece by piece. See :class:`monograph.models.ConversingModel`.

        Raises
        ------
        ModelUnavailable
            As for :meth:`converse`; and if the reply breaks off before the server has said why it ends.
        """
        with request("chat", self._named(asked), self.base_url, pieces=True) as told:
            told.asked(asked.messages)
            for piece in self._streamed_in_either_way(asked):
                if isinstance(piece, Reply):
                    told.answered(piece)
                yield piece

    def _streamed_in_either_way(self, asked: Conversation) -> Iterator[ReplyPiece | Reply]:
        try:
            yield from self._streamed(asked)
        except ModelUnavailable as error:
            if not self._other_limit(error):
                raise _refused(error, asked) from error.__cause__
            yield from self._streamed(asked)

    def _streamed(self, asked: Conversation) -> Iterator[ReplyPiece | Reply]:
        joining = self._joining(asked)
        counted: tuple[int, int] | None = None
        ended: str | None = None
        try:
            for event in self._server.stream(
                self._body(asked) | {"stream": True, "stream_options": {"include_usage": True}}
            ):
                if "error" in event:
                    raise ModelUnavailable(f"{self.spec} failed while it answered: {self._said(event)}", BASE_URL_MEND)
                piece = joining.take(event)
                ended = ends(event) or ended
                counted = usage(event) or counted
                if piece.text or piece.calls:
                    yield piece
        except ModelUnavailable:
            if ended is None:  # some servers close the connection once they have said why they stop
                raise
        if not joining.answered:
            raise ModelUnavailable(f"{self.spec} replied without an answer", BASE_URL_MEND)
        yield self._reply(asked, joining, counted, ended)

    def _joining(self, asked: Conversation) -> Joining:
        return Joining(self._server.redaction.in_answer, f"call_{len(asked.messages)}_")

    def _reply(
        self, asked: Conversation, joining: Joining, counted: tuple[int, int] | None, ended: str | None
    ) -> Reply:
        text, calls = joining.text, joining.calls
        if counted is None:
            read = "\n\n".join(text_of(message.get("content")) for message in asked.messages)
            in_, out = count_tokens([read, text + "".join(call.name + call.arguments for call in calls)])
            counted = in_, out
        return Reply(text, calls, *counted, ended or "", self._key(self._named(asked)))

    def _named(self, asked: Conversation) -> str:
        """The model that is asked, as the server calls it."""
        return str(asked.options.get("model") or self._model)

    def _key(self, model: str) -> str:
        return f"openai/{model}/{self._temperature}"

    def _body(self, asked: Conversation) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._model, "messages": list(asked.messages), self._limit: asked.max_tokens}
        if self._temperature is not None:
            body["temperature"] = self._temperature
        return body | dict(asked.options)

    def _other_limit(self, error: ModelUnavailable) -> bool:
        """Whether the server wants the limit called otherwise, as OpenAI's newer models do: from now on it is."""
        if self._limit == _OTHER_LIMIT or _OTHER_LIMIT not in error.message:
            return False
        self._limit = _OTHER_LIMIT
        return True

    def _said(self, reply: Mapping[str, Any]) -> str:
        return self._server.redaction.in_error(json.dumps(reply, ensure_ascii=False), QUOTED)


def _one_prompt(prompt: str, max_tokens: int) -> Conversation:
    return Conversation([{"role": "user", "content": prompt}], max_tokens)


def _refused(error: ModelUnavailable, asked: Conversation) -> ModelUnavailable:
    """An error with a mend for what not all models take, if there was such."""
    sent = [what for name, what in _NOT_FOR_ALL.items() if asked.options.get(name)]
    if any(isinstance(message.get("content"), list) for message in asked.messages):
        sent.append("images")
    if not sent or not _REFUSALS.search(error.message):
        return error
    return ModelUnavailable(error.message, f"see that the server's model takes {' and '.join(sent)}")


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
