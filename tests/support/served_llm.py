"""LlamaIndex LLM for OpenAI-compatible servers. It replaces ``OpenAILike``, which tests do not install."""

from __future__ import annotations

from typing import Any

from llama_index.core.llms import CompletionResponse, CompletionResponseGen, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_completion_callback

from monograph.derive.openai_compatible import OpenAICompatible


class ServedLLM(CustomLLM):
    """LLM with the parameters of ``OpenAILike`` that the docs use."""

    model: str
    api_base: str
    api_key: str = ""
    is_chat_model: bool = True

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=self.model)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        done = OpenAICompatible(self.api_base, self.model, self.api_key).complete(prompt, kwargs.get("max_tokens", 256))
        counted = {"prompt_tokens": done.tokens_in, "completion_tokens": done.tokens_out}
        return CompletionResponse(text=done.text, additional_kwargs=counted)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponseGen:
        whole = self.complete(prompt).text
        for end in range(1, len(whole) + 1):
            yield CompletionResponse(text=whole[:end], delta=whole[end - 1 : end])
