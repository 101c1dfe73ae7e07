"""Static word vectors: the mean of a text's token vectors (WordLlama, 256 dimensions). No model runs."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from monograph.derive.tokens import tokenizer, wordllama_file
from monograph.models import Float32, TextKind

TOKENS_AT_ONCE = 32_768
"""Token vectors gathered at once: 32 MB."""


@functools.cache
def _table() -> Float32:
    """Token vectors, float32 of shape (32000, 256)."""
    from safetensors.numpy import load_file

    table = load_file(wordllama_file("weights", "l2_supercat_256.safetensors"))["embedding.weight"]
    return np.ascontiguousarray(table, dtype=np.float32)


class StaticEmbedder:
    """WordLlama's ``l2_supercat`` vectors, shipped inside the wordllama package. The default embedder."""

    key = "wordllama/l2_supercat/256/mean"
    spec = "static"
    dimension = 256

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Embed texts; ``kind`` makes no difference. See :class:`monograph.models.Embedder`.

        Returns
        -------
        float32 of shape (len(texts), 256), rows of unit length; zero for a text without tokens.
        """
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        encodings = tokenizer().encode_batch_fast(list(texts), add_special_tokens=False)
        batch: list[int] = []
        tokens = 0
        for place, encoding in enumerate(encodings):
            if batch and tokens + len(encoding.ids) > TOKENS_AT_ONCE:
                _pool(result, batch, [encodings[one].ids for one in batch])
                batch, tokens = [], 0
            if encoding.ids:
                batch.append(place)
                tokens += len(encoding.ids)
        if batch:
            _pool(result, batch, [encodings[one].ids for one in batch])
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        np.divide(result, lengths, out=result, where=lengths > 0)
        return result


def _pool(result: Float32, places: Sequence[int], tokens: Sequence[Sequence[int]]) -> None:
    """Write the sums of token vectors to their places; the mean differs by a factor that unit length takes away."""
    table = _table()
    ids = np.fromiter((token for one in tokens for token in one), dtype=np.intp)
    starts = np.zeros(len(tokens), dtype=np.intp)
    np.cumsum([len(one) for one in tokens[:-1]], out=starts[1:])
    result[places] = np.add.reduceat(table[np.minimum(ids, len(table) - 1)], starts, axis=0)
