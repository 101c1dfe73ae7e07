"""A LlamaIndex LLM as Monograph's language model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llama_index.core.base.llms.types import CompletionResponse
from llama_index.core.llms import LLM

from monograph.errors import ModelUnavailable
from monograph.models import Completion


class Model:
    """Lets a LlamaIndex LLM answer :meth:`monograph.Monograph.ask`.

    Parameters
    ----------
    llm:
        Any LLM.
    key:
        Names the model and every setting that changes its answers: these are remembered under it.
    limit:
        What the LLM calls the most tokens of an answer; empty to hand it none.
    """

    def __init__(self, llm: LLM, key: str, limit: str = "max_tokens") -> None:
        self._llm = llm
        self._limit = limit
        self.key = f"llama_index/{key}"

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        """Answer a prompt. Raises ModelUnavailable whatever goes wrong in the LLM."""
        try:
            response = self._llm.complete(prompt, **self._limits(max_tokens))
        except Exception as error:
            raise _unavailable(error) from error
        return Completion(response.text, *_usage(response))

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        """Answer a prompt piece by piece. See :class:`monograph.models.StreamingModel`."""
        text = ""
        used = (0, 0)
        try:
            for response in self._llm.stream_complete(prompt, **self._limits(max_tokens)):
                piece = response.delta or response.text[len(text) :]
                text += piece
                used = max(used, _usage(response))
                if piece:
                    yield piece
        except Exception as error:
            raise _unavailable(error) from error
        yield Completion(text, *used)

    def _limits(self, max_tokens: int) -> dict[str, Any]:
        return {self._limit: max_tokens} if self._limit else {}


def _usage(response: CompletionResponse) -> tuple[int, int]:
    told = response.additional_kwargs or {}
    return int(told.get("prompt_tokens") or 0), int(told.get("completion_tokens") or 0)


def _unavailable(error: Exception) -> ModelUnavailable:
    return ModelUnavailable(f"the LLM failed: {error}", "see that it answers by itself")
