"""LangChain's chat models as Monograph's language models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from monograph.models import Completion
from monograph_tools import BorrowedModel


class LangChainModel(BorrowedModel):
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

    called = "the chat model"

    def __init__(self, model: BaseChatModel, key: str, limit: str = "max_tokens") -> None:
        super().__init__(f"langchain/{key}", limit)
        self._model = model

    def _whole(self, prompt: str, limits: dict[str, Any]) -> Completion:
        message = self._model.invoke(prompt, **limits)
        return Completion(str(message.text), *_usage(message))

    def _pieces(self, prompt: str, limits: dict[str, Any]) -> Iterator[Completion]:
        written = 0
        for chunk in self._model.stream(prompt, **limits):
            read, more = _usage(chunk)
            written += more
            yield Completion(str(chunk.text), read, written)


def _usage(message: BaseMessage) -> tuple[int, int]:
    usage: Mapping[str, int] = getattr(message, "usage_metadata", None) or {}
    return usage.get("input_tokens", 0), usage.get("output_tokens", 0)
