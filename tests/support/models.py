"""Small deterministic models that record their inputs: embedders, an extractor and a summarizer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from monograph.errors import ModelUnavailable
from monograph.models import TextKind
from monograph.values import Chunk, Extraction, Float32, Mention, SummaryText


@lru_cache(100_000)
def _vector_of(word: str, dimension: int) -> Float32:
    seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
    return np.random.default_rng(seed).standard_normal(dimension).astype(np.float32)


class HashEmbedder:
    """Embedder by hashes of words: texts that share words are similar. ``texts`` records the embedded documents."""

    spec = "tests:hash"

    def __init__(self, dimension: int = 32, log: Path | None = None) -> None:
        self.dimension = dimension
        self.key = f"hash/{dimension}"
        self.texts: list[str] = []
        self.log = log

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            for word in text.lower().split():
                result[place] += _vector_of(word, self.dimension)
        if kind == "document":
            self.texts.extend(texts)
            if self.log is not None:
                with self.log.open("a") as file:
                    file.writelines(hashlib.sha256(text.encode()).hexdigest() + "\n" for text in texts)
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        np.divide(result, lengths, out=result, where=lengths > 0)
        return result


class CapitalExtractor:
    """Extractor of capitalised words. ``chunks`` records its inputs."""

    key = "tests/capitals"
    spec = "tests:capitals"

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        for chunk in chunks:
            self.chunks.append(chunk)
            words = re.finditer(r"\b[A-Z]\w+", chunk.text)
            yield Extraction(tuple(Mention(word[0], "name", word.start(), word.end()) for word in words))


class BagEmbedder(HashEmbedder):
    """Embedder that ignores the order of words."""

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        return super().embed([" ".join(sorted(text.lower().replace(".", "").split())) for text in texts], kind)


class OtherEmbedder(HashEmbedder):
    """Embedder with the dimension of HashEmbedder, but other vectors."""

    def __init__(self, dimension: int = 32) -> None:
        super().__init__(dimension)
        self.key = f"other/{dimension}"

    def embed(self, texts: Sequence[str], kind: Any = "document") -> Float32:
        signs = np.where(np.arange(self.dimension) % 3, 1, -1).astype(np.float32)
        turned: Float32 = np.roll(super().embed(texts, kind), 1, axis=1) * signs
        return turned


class CountingSummarizer:
    """Summarizer that joins the beginnings of texts. ``asked`` has its inputs; after ``fail_at`` calls it raises."""

    spec = "tests:counting"

    def __init__(self, key: str = "counting", fail_at: float = float("inf")) -> None:
        self.key = key
        self.asked: list[tuple[str, ...]] = []
        self.fail_at = fail_at

    def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
        if len(self.asked) >= self.fail_at:
            raise ModelUnavailable("the model is down", "start it")
        self.asked.append(tuple(texts))
        return SummaryText(" ".join(text.split(".")[0][:24] for text in texts)[:200], (), 10, 2)
