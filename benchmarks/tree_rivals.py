"""RAPTOR from its LlamaIndex pack; its summarizer counts the tokens that it reads."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np

from monograph import Document
from monograph.derive.embed.static import StaticEmbedder
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.derive.tokens import count_tokens


def installed() -> bool:
    """Return whether umap and llama_index, which the pack needs, are installed."""
    return find_spec("umap") is not None and find_spec("llama_index") is not None


class Raptor:
    """RAPTOR's tree over documents, each of which is one chunk.

    Embeddings are static word vectors. The model answers with the sentences that the extractive summarizer selects.
    ``spent`` has its calls, the tokens read, and the seconds.
    """

    def __init__(self, documents: Sequence[Document]) -> None:
        from llama_index.core import Settings
        from llama_index.core.embeddings import BaseEmbedding
        from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
        from llama_index.core.schema import TextNode

        _make_room()
        from llama_index.packs.raptor.base import RaptorRetriever

        embedder, summarizer = StaticEmbedder(), ExtractiveSummarizer()
        counted = {"summaries": 0, "tokens": 0}

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
                counted["summaries"] += 1
                counted["tokens"] += count_tokens([prompt])[0]
                return CompletionResponse(text=summarizer.summarize([prompt], 100).text)

            def stream_complete(self, prompt: str, formatted: bool = False, **_: Any) -> Any:
                raise NotImplementedError

        model = Scripted()
        Settings.llm, Settings.embed_model = model, Static()
        keys = ["document"]  # Kept in the metadata, because the pack gives nodes new ids.
        nodes = [
            TextNode(
                text=f"{one.title}\n{one.text}", metadata={"document": one.id},
                excluded_embed_metadata_keys=keys, excluded_llm_metadata_keys=keys,
            )
            for one in documents
        ]  # fmt: skip
        started = time.perf_counter()
        retriever = RaptorRetriever(nodes, llm=model, embed_model=Settings.embed_model, transformations=[])
        self.spent = counted | {"seconds": time.perf_counter() - started}
        self._embedder = embedder
        made = list(retriever.index.docstore.docs.values())
        self._texts = {node.id_: node.get_content() for node in made}
        vectors = retriever.index.vector_store.data.embedding_dict
        self._ids = list(vectors)
        self._vectors = np.array([vectors[name] for name in self._ids], dtype=np.float32)
        parents = {node.id_: node.metadata.get("parent_id", "") for node in made}
        leaves = {node.id_: node.metadata["document"] for node in made if "document" in node.metadata}
        self._nearest = self._find_nearest(parents, leaves)

    def _find_nearest(self, parents: dict[str, str], leaves: dict[str, str]) -> dict[str, str]:
        """Return the document that stands for each node, as for Monograph's summaries: that of the nearest child."""
        places = {name: place for place, name in enumerate(self._ids)}
        children: dict[str, list[str]] = {}
        for name, parent in parents.items():
            children.setdefault(parent, []).append(name)

        def find(name: str) -> str:
            if name in leaves:
                return leaves[name]
            below = children.get(name, [])
            cosines = self._vectors[[places[child] for child in below]] @ self._vectors[places[name]]
            return find(below[int(np.argmax(cosines))]) if below else name

        return {name: find(name) for name in self._ids}

    def search(self, question: str, most: int = 50) -> list[tuple[str, str]]:
        """Return (document id, text) of the ``most`` nearest nodes of all layers: RAPTOR's collapsed search."""
        cosines = self._vectors @ self._embedder.embed([question], "query")[0]
        return [
            (self._nearest[self._ids[place]], self._texts[self._ids[place]]) for place in np.argsort(-cosines)[:most]
        ]


def _make_room() -> None:
    """Add a stub of the pack's base class, which newer versions of the core lack and which is not used here."""
    place = "llama_index.core.llama_pack"
    if place not in sys.modules and find_spec(place) is None:
        shell = ModuleType(f"{place}.base")
        shell.BaseLlamaPack = object  # type: ignore[attr-defined]
        sys.modules.setdefault(place, ModuleType(place))
        sys.modules.setdefault(f"{place}.base", shell)
