"""Static word vectors: the mean of a text's token vectors (WordLlama, 256 dimensions). No model runs."""

from __future__ import annotations

import functools
import json
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import numpy.typing as npt

from monograph.derive.tokens import tokenizer, wordllama_file

if TYPE_CHECKING:
    from monograph.models import TextKind
    from monograph.values import Float32

Real = TypeVar("Real", np.float32, np.float64)

TOKENS_AT_ONCE = 8_192
"""Token vectors of one text that are summed in one step: 8 MB."""

_FEW = 64
"""Most texts that are embedded from float16 vectors. Converting all vectors takes as long as thousands of texts."""


@functools.cache
def stored_vectors() -> npt.NDArray[np.float16]:
    """Return the token vectors as stored, float16 of shape (32000, 256), as a memory map."""
    path = wordllama_file("weights", "l2_supercat_256.safetensors")
    with path.open("rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))["embedding.weight"]
    return np.memmap(path, "<f2", "r", 8 + size + header["data_offsets"][0], tuple(header["shape"]))


@functools.cache
def token_vectors() -> Float32:
    """Return the token vectors, float32 of shape (32000, 256). Loaded once."""
    return np.ascontiguousarray(stored_vectors(), dtype=np.float32)


def unit_rows(rows: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """Scale rows, floats (n, dimension), to unit length in place, and return them; rows of zeros stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


class StaticEmbedder:
    """WordLlama's ``l2_supercat`` vectors, shipped inside the wordllama package. The default embedder."""

    key = "wordllama/l2_supercat/256/mean"
    spec = "static"
    dimension = 256

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Return the vectors of texts; ``kind`` makes no difference. See :class:`monograph.models.Embedder`.

        Returns
        -------
        float32 of shape (len(texts), 256), rows of unit length; zero for a text without tokens.
        """
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        table = stored_vectors().view(np.uint16) if len(texts) <= _FEW else token_vectors()
        tokenizer().sums(list(texts), table, TOKENS_AT_ONCE, result)
        # Sums suffice: means differ by a factor, which scaling to unit length removes.
        return unit_rows(result)
