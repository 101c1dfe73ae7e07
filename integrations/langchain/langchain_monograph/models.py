"""LangChain chat model as the language model of Monograph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from monograph.models import Completion
from monograph_tools import BorrowedModel


class LangChainModel(BorrowedModel):
    """A LangChain chat model as the model that answers ``Monograph.ask``.

    Its answers can be streamed. An exception of the model is raised as ModelUnavailable.

    Parameters
    ----------
    model:
        Any chat model of LangChain.
    key:
        Text that identifies the model and every setting that changes its answers. The file stores the answers under
        this key.
    limit:
        Name of the model's argument for the maximum number of tokens of an answer, such as ``num_predict``. If it is
        empty, no limit is passed to the model.
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
            read, generated = _usage(chunk)
            written += generated
            yield Completion(str(chunk.text), read, written)


def _usage(message: BaseMessage) -> tuple[int, int]:
    usage: Mapping[str, int] = getattr(message, "usage_metadata", None) or {}
    return usage.get("input_tokens", 0), usage.get("output_tokens", 0)
