"""Embedder that averages static word vectors (WordLlama, 256 dimensions). No model runs."""

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
"""Maximum number of token vectors of one text in memory at once (8 MB); a longer text is summed in several steps."""

_FEW = 64
"""Calls with at most this number of texts use the stored float16 vectors, without converting them to float32."""


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
    """Return the token vectors converted to float32, of shape (32000, 256). They are converted once per process."""
    return np.ascontiguousarray(stored_vectors(), dtype=np.float32)


def unit_rows(rows: npt.NDArray[Real]) -> npt.NDArray[Real]:
    """Scale the rows of a float array (n, dimension) to unit length in place; return the array. Zero rows stay zero."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    np.divide(rows, lengths, out=rows, where=lengths > 0)
    return rows


class StaticEmbedder:
    """The default embedder: the mean of WordLlama's ``l2_supercat`` token vectors, from the wordllama package."""

    key = "wordllama/l2_supercat/256/mean"
    spec = "static"
    dimension = 256

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Return the vectors of texts. ``kind`` has no effect. See :class:`monograph.models.Embedder`.

        Returns
        -------
        float32 of shape (len(texts), 256), rows of unit length. A text without tokens gets a row of zeros.
        """
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        # token_vectors() converts all vectors, which takes as long as embedding thousands of texts.
        table = stored_vectors().view(np.uint16) if len(texts) <= _FEW else token_vectors()
        tokenizer().sums(list(texts), table, TOKENS_AT_ONCE, result)
        # Sums suffice: means differ by a factor, which scaling to unit length removes.
        return unit_rows(result)
