"""LlamaIndex LLM as the language model of Monograph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from monograph.lazy import requires

with requires("LlamaIndex", "llama-index", __name__):
    from llama_index.core.base.llms.types import CompletionResponse
    from llama_index.core.llms import LLM

from monograph.models import Completion
from monograph_tools import BorrowedModel

__all__ = ["LlamaIndexModel"]


class LlamaIndexModel(BorrowedModel):
    """A LlamaIndex LLM as the model that answers ``Monograph.ask``.

    Its answers can be streamed. An exception of the LLM is raised as ModelUnavailable.

    Parameters
    ----------
    llm:
        Any LLM of LlamaIndex.
    key:
        Text that identifies the LLM and every setting that changes its answers. The file stores the answers under this
        key.
    limit:
        Name of the LLM's argument for the maximum number of tokens of an answer, such as ``num_predict``. If it is
        empty, no limit is passed to the LLM.
    """

    called = "the LLM"

    def __init__(self, llm: LLM, key: str, limit: str = "max_tokens") -> None:
        super().__init__(f"llama_index/{key}", limit)
        self._llm = llm

    def _whole(self, prompt: str, limits: dict[str, Any]) -> Completion:
        response = self._llm.complete(prompt, **limits)
        return Completion(response.text, *_usage(response))

    def _pieces(self, prompt: str, limits: dict[str, Any]) -> Iterator[Completion]:
        length = 0
        for response in self._llm.stream_complete(prompt, **limits):
            piece = response.delta or response.text[length:]
            length += len(piece)
            yield Completion(piece, *_usage(response))


def _usage(response: CompletionResponse) -> tuple[int, int]:
    counts = response.additional_kwargs or {}
    return int(counts.get("prompt_tokens") or 0), int(counts.get("completion_tokens") or 0)
