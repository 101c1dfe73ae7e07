"""Embedders for tests: deterministic, small, and counting."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from monograph.models import TextKind
from monograph.values import Float32


class HashEmbedder:
    """Vectors made of hashes of words: texts that share words are near each other. Counts what it is given."""

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
                seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
                result[place] += np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
        if kind == "document":
            self.texts.extend(texts)
            if self.log is not None:
                with self.log.open("a") as file:
                    file.writelines(hashlib.sha256(text.encode()).hexdigest() + "\n" for text in texts)
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        return np.divide(result, lengths, out=result, where=lengths > 0)
