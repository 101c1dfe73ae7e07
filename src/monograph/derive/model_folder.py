"""Folders with a model: the hash of the files, the tokenizer, and the ONNX model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from monograph.errors import MissingExtra, ModelUnavailable

if TYPE_CHECKING:
    from tokenizers import Tokenizer

EXPORT_HINT = "export the model with its fast tokenizer"


class OnnxModel:
    """ONNX model and tokenizer of a folder.

    The model is the folder's only ``*.onnx`` file; if there are several, it is ``model.onnx``. If the folder has no
    ``*.onnx`` file, the model is in the subfolder ``onnx``. The tokenizer is ``tokenizer.json``.

    Parameters
    ----------
    folder:
        Folder of the model.
    max_tokens:
        Most tokens of a text; the rest is cut off.
    output:
        Name of the model's output to read. If no output has this name, the first output is read.

    Raises
    ------
    MissingExtra
        If onnxruntime is not installed.
    ModelUnavailable
        If the folder lacks a file, has several models and none is called ``model.onnx``, or a file is invalid.
    """

    def __init__(self, folder: Path, max_tokens: int, output: str) -> None:
        models = sorted(folder.glob("*.onnx")) or sorted(folder.glob("onnx/*.onnx"))
        named = [path for path in models if path.name == "model.onnx"]
        if not models:
            raise ModelUnavailable(f"{folder} has no .onnx file", "name the folder that contains the model")
        if len(models) > 1 and not named:
            names = ", ".join(path.name for path in models)
            raise ModelUnavailable(f"{folder} has several models: {names}", "rename the one to use to model.onnx")
        self._paths = (named or models)[0], folder / "tokenizer.json"
        model, tokens = self._paths
        if not tokens.is_file():
            raise ModelUnavailable(f"{folder} has no tokenizer.json", EXPORT_HINT)
        try:
            import onnxruntime
        except ImportError as error:
            raise MissingExtra("models in ONNX form need onnxruntime", 'pip install "monograph[onnx]"') from error
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        try:
            self._session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime raises many kinds, none of a common base
            raise ModelUnavailable(
                f"{model} is not a model that onnxruntime can run: {error}", "export it again"
            ) from error
        self._tokenizer = load_tokenizer(tokens, EXPORT_HINT)
        self._tokenizer.enable_truncation(max_tokens)
        self._tokenizer.enable_padding()
        self._inputs = {node.name for node in self._session.get_inputs()}
        outputs = [node.name for node in self._session.get_outputs()]
        self._output = output if output in outputs else outputs[0]

    def key(self, settings: Mapping[str, Any]) -> str:
        """Return the model's key: its file's name, and a hash of the file, ``tokenizer.json`` and ``settings``."""
        return f"{self._paths[0].stem}/{digest(self._paths, json.dumps(settings, sort_keys=True))}"

    def run(self, texts: Sequence[Any]) -> tuple[Any, npt.NDArray[np.int64]]:
        """Return the model's output for texts or pairs of texts, and the attention mask of shape (texts, tokens)."""
        encodings = self._tokenizer.encode_batch(texts)
        mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
        arrays = {
            "input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64),
            "attention_mask": mask,
            "token_type_ids": np.array([encoding.type_ids for encoding in encodings], dtype=np.int64),
        }
        feed = {name: value for name, value in arrays.items() if name in self._inputs}
        (output,) = self._session.run([self._output], feed)
        return output, mask


def digest(paths: Iterable[Path], settings: str = "") -> str:
    """Return a hash, as 16 hex digits, of the bytes of files and of ``settings``. It is part of a model's key."""
    hasher = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            hasher.update(hashlib.file_digest(file, "sha256").digest())
    hasher.update(settings.encode())
    return hasher.hexdigest()[:16]


def load_tokenizer(path: Path, hint: str) -> Tokenizer:
    """Load a tokenizer from a file. Raises ModelUnavailable with ``hint`` if the file is not a tokenizer."""
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelUnavailable(f"{path} is not a tokenizer: {error}", hint) from error
