"""Loading of ONNX models and their tokenizers from a folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph.errors import MissingExtra, ModelUnavailable

if TYPE_CHECKING:
    import onnxruntime
    from tokenizers import Tokenizer


def files(folder: Path) -> tuple[Path, Path]:
    """Return the paths of the model and the tokenizer of a folder.

    The model is the folder's only ``*.onnx`` file, or ``model.onnx``; the tokenizer is ``tokenizer.json``.

    Raises
    ------
    ModelUnavailable
        If the folder lacks one of them, or has several models and none is called ``model.onnx``.
    """
    model, tokens = _model_file(folder), folder / "tokenizer.json"
    if not tokens.is_file():
        raise ModelUnavailable(f"{folder} has no tokenizer.json", "export the model with its fast tokenizer")
    return model, tokens


def digest(paths: Iterable[Path], settings: Mapping[str, Any]) -> str:
    """Return 16 hex digits that hash the bytes of files, and settings: part of a model's key."""
    hasher = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            hasher.update(hashlib.file_digest(file, "sha256").digest())
    hasher.update(json.dumps(settings, sort_keys=True).encode())
    return hasher.hexdigest()[:16]


def session(path: Path) -> onnxruntime.InferenceSession:
    """Return a session that runs the model on the CPU. Raises MissingExtra and ModelUnavailable."""
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingExtra("models in ONNX form need onnxruntime", 'pip install "monograph[onnx]"') from error
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime raises many kinds, none of a common base
        raise ModelUnavailable(f"{path} is not a model that onnxruntime can run: {error}", "export it again") from error


def tokenizer(path: Path, max_tokens: int) -> Tokenizer:
    """Return a tokenizer that truncates texts to ``max_tokens`` tokens, and pads the shorter texts of a batch.

    Raises ModelUnavailable if the file is no tokenizer.
    """
    from tokenizers import Tokenizer

    try:
        loaded = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelUnavailable(
            f"{path} is not a tokenizer: {error}", "export the model with its fast tokenizer"
        ) from error
    loaded.enable_truncation(max_tokens)
    loaded.enable_padding()
    return loaded


def _model_file(folder: Path) -> Path:
    models = sorted(folder.glob("*.onnx")) or sorted(folder.glob("onnx/*.onnx"))
    named = [path for path in models if path.name == "model.onnx"]
    if len(models) == 1 or named:
        return (named or models)[0]
    if not models:
        raise ModelUnavailable(f"{folder} has no .onnx file", "name the folder that contains the model")
    names = ", ".join(path.name for path in models)
    raise ModelUnavailable(f"{folder} has several models: {names}", "rename the one to use to model.onnx")
