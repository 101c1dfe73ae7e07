"""Tables of token vectors as model2vec writes them: a folder with ``model.safetensors`` and ``tokenizer.json``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from monograph.derive.embed.static import unit_rows
from monograph.derive.loading import folder_of
from monograph.derive.model_folder import digest, load_tokenizer
from monograph.errors import ModelUnavailable
from monograph.models import TextKind
from monograph.values import Float32

AT_ONCE = 8_192
"""Maximum number of token vectors of one text in memory at once; a longer text is summed in several steps."""

TEXTS_AT_ONCE = 256
"""Number of texts that are tokenized in one call."""

_HINT = "name a folder with model.safetensors and tokenizer.json, as model2vec's save_pretrained writes it"


class Model2VecEmbedder:
    """Embedder that averages the stored vectors of a text's tokens, and scales the mean to unit length. No model runs.

    ``model.safetensors`` has the token vectors in the array ``embeddings`` (``embedding.weight`` in files of
    sentence-transformers). It may have two further arrays: ``weights``, the weight of each token in the mean, and
    ``mapping``, the row of each token in the array of token vectors. The token for unknown words is skipped. A text of
    any length is read to its end, while model2vec itself stops after 512 tokens. No code in the folder is run, and
    nothing is downloaded.

    Parameters
    ----------
    source:
        Folder of the model.

    Raises
    ------
    ModelUnavailable
        If there is no such folder, or its files are missing or invalid.
    """

    def __init__(self, source: str) -> None:
        folder = folder_of(source)
        if folder is None:
            raise ModelUnavailable(f"there is no folder {source!r}", _HINT)
        inner = folder / "0_StaticEmbedding"
        self._folder = (inner if (inner / "model.safetensors").is_file() else folder).absolute()
        self._source = str(folder.absolute())
        table, tokens = self._folder / "model.safetensors", self._folder / "tokenizer.json"
        for path in (table, tokens):
            if not path.is_file():
                raise ModelUnavailable(f"{self._folder} has no {path.name}", _HINT)
        self._tokenizer = load_tokenizer(tokens, _HINT)
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        word = getattr(self._tokenizer.model, "unk_token", None)
        # The token for unknown words carries no meaning.
        self._unknown = None if word is None else self._tokenizer.token_to_id(word)
        arrays = load_tensors(table)
        name = "embeddings" if "embeddings" in arrays else "embedding.weight"
        if name not in arrays:
            raise ModelUnavailable(f"{table} has no array {name!r}, but {', '.join(sorted(arrays)) or 'none'}", _HINT)
        self._table = arrays[name]
        if self._table.ndim != 2:
            raise ModelUnavailable(f"{table}: the table has shape {self._table.shape}", _HINT)
        self._weights, self._mapping = arrays.get("weights"), arrays.get("mapping")
        for name, array in (("weights", self._weights), ("mapping", self._mapping)):
            if array is not None and array.ndim != 1:
                raise ModelUnavailable(f"{table}: {name} has shape {array.shape}", _HINT)
        rows = len(self._table) if self._mapping is None else len(self._mapping)
        if self._tokenizer.get_vocab_size() > rows or (self._weights is not None and len(self._weights) < rows):
            raise ModelUnavailable(
                f"{table} has vectors of {rows} tokens, but {tokens.name} has {self._tokenizer.get_vocab_size()}",
                "copy the model's folder again: its files belong to different models",
            )
        if self._mapping is not None and not 0 <= self._mapping.min() <= self._mapping.max() < len(self._table):
            raise ModelUnavailable(f"{table}: the mapping names rows that do not exist", _HINT)
        self.dimension = int(self._table.shape[1])
        """Number of values of every vector."""
        self.spec = f"model2vec:{self._source}"
        """Spec of this embedder."""
        self.key = f"model2vec/{digest((table, tokens))}"
        """Hash of the table's and the tokenizer's bytes."""

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Return the vectors of texts. ``kind`` has no effect. See :class:`monograph.models.Embedder`.

        Returns
        -------
        float32 of shape (len(texts), dimension), rows of unit length. A text without known tokens gets a row of zeros.

        Raises
        ------
        ModelUnavailable
            If a token's vector is not finite.
        """
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            batch = [text.encode("utf-8", "replace").decode() for text in texts[first : first + TEXTS_AT_ONCE]]
            encodings = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            for index, encoding in enumerate(encodings, start=first):
                ids = np.array([token for token in encoding.ids if token != self._unknown], dtype=np.int64)
                for start in range(0, len(ids), AT_ONCE):
                    part = ids[start : start + AT_ONCE]
                    rows = self._table[part if self._mapping is None else self._mapping[part]].astype(np.float32)
                    if self._weights is not None:
                        rows *= self._weights[part].astype(np.float32)[:, None]
                    result[index] += rows.sum(axis=0)
        if not np.isfinite(result).all():
            raise ModelUnavailable(
                f"{self._folder} contains vectors that are not finite", "copy the model's folder again"
            )
        # Sums suffice: means differ by a factor, which scaling to unit length removes.
        return unit_rows(result)


_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1", "U8": "<u1"}
_HALF = "BF16"
"""Name of the type bfloat16, which is the upper half of a float32."""


def load_tensors(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of a safetensors file by name. Arrays of bfloat16 are converted to float32.

    Raises
    ------
    ModelUnavailable
        If the file cannot be read, is no safetensors file, or has an array whose type is not supported. Floats of 16 to
        64 bits, signed integers of 8 to 64 bits and uint8 are supported.
    """
    from safetensors import SafetensorError, deserialize

    advice = "copy the model's folder again"
    try:
        stored = deserialize(path.read_bytes())  # type: ignore[no-untyped-call]
    except OSError as error:
        raise ModelUnavailable(f"{path} cannot be read: {error.strerror or error}", advice) from error
    except SafetensorError as error:
        raise ModelUnavailable(f"{path} is not a safetensors file: {error}", advice) from error
    arrays = {}
    for name, tensor in stored:
        kind = "<u2" if tensor["dtype"] == _HALF else _TYPES.get(tensor["dtype"])
        if kind is None:
            what = f"{path}: {name!r} has numbers of the type {tensor['dtype']}"
            raise ModelUnavailable(what, f"save it as {', '.join(_TYPES)}")
        array = np.frombuffer(tensor["data"], dtype=kind).reshape(tensor["shape"])
        arrays[name] = (array.astype(np.uint32) << 16).view(np.float32) if tensor["dtype"] == _HALF else array
    return arrays
