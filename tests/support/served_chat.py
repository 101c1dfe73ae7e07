"""LangChain chat model for OpenAI-compatible servers. It replaces ``ChatOpenAI``, which tests do not install."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.chat_models import SimpleChatModel
from langchain_core.messages import BaseMessage

from monograph.derive.openai_compatible import OpenAICompatible


class ServedChat(SimpleChatModel):
    """Chat model with the parameters of ``ChatOpenAI`` that the docs use."""

    model: str
    base_url: str
    api_key: str = ""

    @property
    def _llm_type(self) -> str:
        return "served"

    def _call(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> str:
        prompt = "\n\n".join(str(one.text) for one in messages)
        return OpenAICompatible(self.base_url, self.model, self.api_key).complete(prompt, 256).text
