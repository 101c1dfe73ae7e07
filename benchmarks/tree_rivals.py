"""RAPTOR from its LlamaIndex pack, rebuilt as a corpus grows; its summarizer counts the tokens that it reads."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from monograph.derive.embed.static import StaticEmbedder
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.derive.tokens import count_tokens


def installed() -> bool:
    """Return whether umap and llama_index, which the pack needs, are installed."""
    return find_spec("umap") is not None and find_spec("llama_index") is not None


def rebuild(texts: Sequence[str]) -> dict[str, float]:
    """Build RAPTOR's tree over some chunks; return the calls of its model, the tokens read, and the seconds.

    Embeddings are static word vectors. The model answers with the sentences that the extractive summarizer selects.
    """
    from llama_index.core import Settings
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
    from llama_index.core.schema import TextNode

    _make_room()
    from llama_index.packs.raptor.base import RaptorRetriever

    embedder, summarizer = StaticEmbedder(), ExtractiveSummarizer()
    counted = {"calls": 0, "tokens": 0}

    class Static(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return list(map(float, embedder.embed([text])[0]))

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    class Scripted(CustomLLM):
        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata(context_window=32_000, num_output=100, model_name="scripted")

        def complete(self, prompt: str, formatted: bool = False, **_: Any) -> CompletionResponse:
            counted["calls"] += 1
            counted["tokens"] += count_tokens([prompt])[0]
            return CompletionResponse(text=summarizer.summarize([prompt], 100).text)

        def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
            raise NotImplementedError

    model = Scripted()
    Settings.llm, Settings.embed_model = model, Static()
    nodes = [TextNode(text=text, id_=f"n{place}") for place, text in enumerate(texts)]
    started = time.perf_counter()
    RaptorRetriever(nodes, llm=model, embed_model=Settings.embed_model, transformations=[])
    return {**counted, "seconds": time.perf_counter() - started}


def _make_room() -> None:
    """Add a stub of the pack's base class, which newer versions of the core lack and which is not used here."""
    place = "llama_index.core.llama_pack"
    if place not in sys.modules and find_spec(place) is None:
        shell = ModuleType(f"{place}.base")
        shell.BaseLlamaPack = object  # type: ignore[attr-defined]
        sys.modules.setdefault(place, ModuleType(place))
        sys.modules.setdefault(f"{place}.base", shell)
