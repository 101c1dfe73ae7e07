"""Embedders in ONNX form: a folder with a model and its tokenizer, or a name on the Hugging Face hub."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from monograph.derive.embed.static import unit_rows
from monograph.derive.loading import changed_settings, folder_of, read_spec, write_spec
from monograph.derive.model_folder import OnnxModel
from monograph.errors import InputError, MissingExtra, ModelUnavailable
from monograph.models import TextKind
from monograph.values import Float32
from monograph.values.arguments import shown

POOLINGS = ("mean", "cls")


@dataclass(frozen=True, slots=True)
class OnnxSettings:
    """Options of the model: text prefixes, maximum tokens per text, texts per batch, and pooling.

    ``pooling`` says how one vector is made of the outputs of a text's tokens: ``mean`` averages them, ``cls`` takes the
    first token's output. If ``pooling`` is empty, the folder's ``1_Pooling/config.json`` decides; without that
    file, ``mean`` is used.
    """

    max_tokens: int = 256
    batch_size: int = 32
    query_prefix: str = ""
    document_prefix: str = ""
    pooling: str = ""

    def __post_init__(self) -> None:
        if self.pooling not in ("", *POOLINGS):
            raise InputError(f"pooling is {shown(self.pooling)}", f"give {' or '.join(POOLINGS)}")


class OnnxEmbedder:
    """Embedder that runs a sentence embedding model in ONNX form.

    The model takes ``input_ids`` and, if it declares them, ``attention_mask`` and ``token_type_ids``. An output of
    shape (batch, dimension) is used as it is. Of an output of shape (batch, tokens, dimension), either the mean over
    the attention mask or the first token's output is used: see ``pooling`` in :class:`OnnxSettings`. Rows are scaled
    to unit length.

    Parameters
    ----------
    source:
        A folder or a hub name. A folder has ``tokenizer.json`` and one ``*.onnx`` file; if it has several, the model
        is ``model.onnx``. A hub name is ``organisation/name``. Its model is downloaded at first use, which needs the
        network.
    settings:
        Options of the model.

    Raises
    ------
    MissingExtra
        If onnxruntime is not installed.
    ModelUnavailable
        If there is no such folder and the hub cannot be reached, or if the folder's files are missing or invalid.
    """

    contextual = True

    def __init__(self, source: str, settings: OnnxSettings = OnnxSettings()) -> None:
        folder = folder_of(source)
        self._folder = _download(source) if folder is None else folder.absolute()
        self._settings = settings
        self._model = OnnxModel(self._folder, settings.max_tokens, "sentence_embedding")
        self.spec = write_spec(f"onnx:{self._folder if folder else source}", changed_settings(settings))
        """``onnx:``, the source and, after ``#``, the settings that are not the default, as JSON."""
        self._pooling = settings.pooling or _read_pooling(self._folder)
        self.dimension = self._run(["a"]).shape[1]
        """Number of values of every vector."""
        kept = {name: value for name, value in asdict(settings).items() if name != "batch_size"}
        self.key = f"onnx/{self._model.key(kept | {'pooling': self._pooling})}"
        """Hash of the model's and the tokenizer's bytes and the settings that change vectors."""

    @classmethod
    def from_spec(cls, source: str) -> OnnxEmbedder:
        """Return the embedder for the part of a spec after ``onnx:``: a source and, after ``#``, settings as JSON."""
        return cls(*read_spec(source, OnnxSettings()))

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Return the vectors of texts. Texts of similar length share a batch. See :class:`monograph.models.Embedder`.

        Returns
        -------
        float32 of shape (len(texts), dimension), rows of unit length.
        """
        prefix = self._settings.query_prefix if kind == "query" else self._settings.document_prefix
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda index: -len(texts[index]))
        for first in range(0, len(order), self._settings.batch_size):
            indices = order[first : first + self._settings.batch_size]
            result[indices] = self._run([prefix + texts[index] for index in indices])
        return unit_rows(result)

    def _run(self, texts: list[str]) -> Float32:
        output, mask = self._model.run(texts)
        vectors = np.asarray(output, dtype=np.float32)
        if vectors.ndim == 3 and self._pooling == "cls":
            return np.ascontiguousarray(vectors[:, 0])
        if vectors.ndim == 3:
            weights = mask[:, :, None].astype(np.float32)
            vectors = (vectors * weights).sum(axis=1) / np.maximum(weights.sum(axis=1), 1)
        return vectors


def _download(name: str) -> Path:
    parts = name.split("/")
    if len(parts) != 2 or not all(parts) or name.startswith("."):
        raise ModelUnavailable(f"{name!r} is neither a folder nor a hub name", "name a folder with model.onnx in it")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as error:
        raise MissingExtra(f"downloading {name!r} needs huggingface_hub", 'pip install "monograph[onnx]"') from error
    patterns: Any = ["*.onnx", "onnx/model.onnx", "tokenizer.json"]
    try:
        return Path(snapshot_download(name, allow_patterns=patterns))
    except Exception as error:  # network, permission and cache errors of many kinds
        raise ModelUnavailable(
            f"the model {name!r} is not on this machine and could not be downloaded: {error}",
            "connect to the network once, or name a folder that contains it",
        ) from error


def _read_pooling(folder: Path) -> str:
    """Return the pooling that the folder's ``1_Pooling/config.json`` names; ``mean`` if there is no such file."""
    for path in (folder / "1_Pooling" / "config.json", folder.parent / "1_Pooling" / "config.json"):
        if not path.is_file():
            continue
        try:
            pooling_config = json.loads(path.read_text("utf-8"))
            modes = {name.removeprefix("pooling_mode_") for name, on in pooling_config.items() if on is True}
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            raise ModelUnavailable(f"{path} cannot be read: {error}", "export the model again") from error
        if "cls_token" in modes:
            return "cls"
        unsupported = sorted(mode for mode in modes if mode not in ("mean_tokens", "include_prompt"))
        if unsupported and "mean_tokens" not in modes:
            raise ModelUnavailable(
                f"{path} requires the pooling {', '.join(unsupported)}; only {' and '.join(POOLINGS)} are supported",
                'export it with its pooling inside, or give onnx:FOLDER#{"pooling": "mean"}',
            )
    return POOLINGS[0]
