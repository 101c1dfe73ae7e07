"""Vectors that benchmarks/vectors.py searches: real embeddings, computed once and stored, and synthetic vectors.

``python benchmarks/vector_data.py`` computes and stores the real embeddings. After an interruption, it continues.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from machine import SHARED
from writing_files import shuffled

Float32 = npt.NDArray[np.float32]
CACHE = Path(__file__).resolve().parents[1] / "build" / "vectors"
QUERIES = 400
SHARD = 4_096
PART = 50_000
_SENTENCES = re.compile(r"(?<=[.!?。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class VectorSet:
    """Vectors (n, d) to store, of unit length or not; queries (m, d); and ``recipe``, a description of their origin."""

    name: str
    vectors: Float32
    queries: Float32
    recipe: str


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def sentences() -> list[str]:
    """Return the distinct sentences of 25 to 400 characters of all corpora in the shared data, in order of SHA-256."""
    found = set()
    for path in sorted(SHARED.glob("data/*/corpus.jsonl.gz")):
        for document in _lines(path):
            parts = _SENTENCES.split(document["text"])
            found.update(part.strip() for part in parts if 25 <= len(part.strip()) <= 400)
    return sorted(found, key=lambda text: hashlib.sha256(text.encode()).digest())


def questions() -> list[str]:
    """Return the first ``QUERIES`` questions of the question sets in the shared data, in order of SHA-256."""
    found = set()
    for path in sorted(SHARED.glob("data/*/queries.jsonl.gz")):
        found.update(query["question"].strip() for query in _lines(path))
    return sorted(found, key=lambda text: hashlib.sha256(text.encode()).digest())[:QUERIES]


def embed_minilm(seconds: float) -> None:
    """Embed sentences with MiniLM, shard by shard, until ``seconds`` have passed. Stored shards are skipped."""
    from monograph.derive.embed.onnx import OnnxEmbedder, OnnxSettings

    embedder = OnnxEmbedder(str(SHARED / "models" / "all-MiniLM-L6-v2"), OnnxSettings(max_tokens=128))
    CACHE.mkdir(parents=True, exist_ok=True)
    if not (CACHE / "minilm-queries.npy").exists():
        np.save(CACHE / "minilm-queries.npy", embedder.embed(questions(), "query"))
    texts, started = sentences(), time.monotonic()
    for first in range(0, len(texts), SHARD):
        path = CACHE / f"minilm-{first // SHARD:04d}.npy"
        if path.exists():
            continue
        if time.monotonic() - started > seconds:
            return
        part = texts[first : first + SHARD]
        order = np.argsort([len(text) for text in part])
        made = np.empty((len(part), embedder.dimension), dtype=np.float32)
        made[order] = embedder.embed([part[place] for place in order], "document")
        np.save(path, made)
        print(f"{first + len(part):,} of {len(texts):,} sentences, {time.monotonic() - started:,.0f} s", flush=True)


def minilm() -> VectorSet:
    """Return all stored embeddings by MiniLM, of 384 dimensions."""
    shards = sorted(CACHE.glob("minilm-0*.npy"))
    vectors = np.concatenate([np.load(shard) for shard in shards])
    recipe = (
        f"all-MiniLM-L6-v2 (int8 ONNX) from {len(vectors):,} sentences of the shared texts and {QUERIES:,} questions"
    )
    return VectorSet("MiniLM", vectors, np.load(CACHE / "minilm-queries.npy"), recipe)


def static(n: int) -> VectorSet:
    """Return the static word vectors (the default embedder, 256 values) of at most n sentences."""
    from monograph.derive.embed.static import StaticEmbedder

    embedder = StaticEmbedder()
    made = [embedder.embed(sentences()[:n], "document"), embedder.embed(questions(), "query")]
    vectors, queries = (one[one.any(axis=1)] for one in made)
    recipe = f"static word vectors of {len(vectors):,} sentences of the shared texts and {len(queries):,} questions"
    return VectorSet("static", vectors, queries, recipe)


def passages(n: int) -> VectorSet:
    """Return the static word vectors (the default embedder) of n passages of 80 words, made of random sentences."""
    from monograph.derive.embed.static import StaticEmbedder

    embedder, every = StaticEmbedder(), shuffled(n)
    made = np.concatenate([embedder.embed(list(islice(every, PART))) for _ in range(0, n, PART)])
    recipe = f"static word vectors of {n:,} passages (80 words in random sentences of the shared texts) and {QUERIES} questions"
    return VectorSet("passages", made, embedder.embed(questions(), "query"), recipe)


def synthetic(n: int = 1_000_000, queries: int = 400) -> VectorSet:
    """Return easy vectors: a mixture of normal distributions, scaled to unit length."""
    random = np.random.default_rng(7)
    centres = random.standard_normal((4096, 128)).astype(np.float32)

    def draw(count: int) -> Float32:
        chosen = centres[random.integers(0, len(centres), count)]
        made = chosen + np.float32(0.5) * random.standard_normal((count, 128), dtype=np.float32)
        unit: Float32 = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit

    made = np.concatenate([draw(min(100_000, n - start)) for start in range(0, n, 100_000)])
    recipe = f"synthetic: {n:,} x 128, each a normal centre (one of 4,096) + 0.5 x normal noise, of unit length, seed 7"
    return VectorSet("synthetic", made, draw(queries), recipe)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3_600, help="how long to embed")
    embed_minilm(parser.parse_args().seconds)


def nearest(base: Any, queries: Any, k: int) -> Any:
    """Return the rows of the k nearest vectors of each query by cosine, nearest first."""
    units = base / np.linalg.norm(base, axis=1, keepdims=True)
    found = []
    for query in queries:
        scores = units @ query
        best = np.argpartition(-scores, k)[:k]
        found.append(best[np.argsort(-scores[best])])
    return np.array(found)
