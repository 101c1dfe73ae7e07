"""A LangChain chat model as Monograph's language model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from monograph.errors import ModelUnavailable
from monograph.models import Completion


class ChatModel:
    """Lets a LangChain chat model answer :meth:`monograph.Monograph.ask`.

    Parameters
    ----------
    model:
        Any chat model.
    key:
        Names the model and every setting that changes its answers: these are remembered under it.
    limit:
        What the model calls the most tokens of an answer; empty to hand it none.
    """

    def __init__(self, model: BaseChatModel, key: str, limit: str = "max_tokens") -> None:
        self._model = model
        self._limit = limit
        self.key = f"langchain/{key}"

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        """Answer a prompt. Raises ModelUnavailable whatever goes wrong in the model."""
        try:
            message = self._model.invoke(prompt, **self._limits(max_tokens))
        except Exception as error:
            raise _unavailable(error) from error
        return Completion(str(message.text), *_usage(message))

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        """Answer a prompt piece by piece. See :class:`monograph.models.StreamingModel`."""
        pieces: list[str] = []
        read = written = 0
        try:
            for chunk in self._model.stream(prompt, **self._limits(max_tokens)):
                more = _usage(chunk)
                read, written = max(read, more[0]), written + more[1]
                if chunk.text:
                    pieces.append(str(chunk.text))
                    yield pieces[-1]
        except Exception as error:
            raise _unavailable(error) from error
        yield Completion("".join(pieces), read, written)

    def _limits(self, max_tokens: int) -> dict[str, Any]:
        return {self._limit: max_tokens} if self._limit else {}


def _usage(message: BaseMessage) -> tuple[int, int]:
    usage: Mapping[str, int] = getattr(message, "usage_metadata", None) or {}
    return usage.get("input_tokens", 0), usage.get("output_tokens", 0)


def _unavailable(error: Exception) -> ModelUnavailable:
    return ModelUnavailable(f"the chat model failed: {error}", "see that it answers by itself")
