"""Cross-encoders in ONNX form: models that read a question and a text together, each in a folder with its tokenizer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from monograph.derive.loading import changed_settings, folder_of, read_spec, write_spec
from monograph.derive.model_folder import OnnxModel
from monograph.errors import ModelUnavailable
from monograph.values import Float64, arguments

_HINT = "name a folder with a cross-encoder of one or two labels: model.onnx and tokenizer.json"


@dataclass(frozen=True, slots=True)
class CrossEncoderSettings:
    """Options of a cross-encoder.

    ``max_tokens`` is the most tokens of a question and a text together. ``batch_size`` is the number of (question,
    text) pairs in a batch. ``weight`` is the weight of the model's scores relative to the scores of the search.
    """

    max_tokens: int = 512
    batch_size: int = 16
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "max_tokens", arguments.whole_number(self.max_tokens, "max_tokens", 8))
        object.__setattr__(self, "batch_size", arguments.whole_number(self.batch_size, "batch_size", 1))
        object.__setattr__(self, "weight", arguments.finite(self.weight, "weight"))


class OnnxReranker:
    """Reranker that runs a cross-encoder in ONNX form.

    The model takes ``input_ids`` and, if it declares them, ``attention_mask`` and ``token_type_ids``. The scores are
    read from the output ``logits``, or else from the first output. An output of shape (batch,) or (batch, 1) has the
    scores themselves. If its shape is (batch, 2), the score is the second value minus the first. If a question and a
    text are too long together, the longer one is truncated.

    Parameters
    ----------
    source:
        Folder with ``tokenizer.json`` and one ``*.onnx`` file. If it has several, the model is ``model.onnx``.
    settings:
        Options of the cross-encoder.

    Raises
    ------
    MissingExtra
        If onnxruntime is not installed.
    ModelUnavailable
        If there is no such folder, it lacks a file, or its model is no cross-encoder.
    """

    def __init__(self, source: str, settings: CrossEncoderSettings = CrossEncoderSettings()) -> None:
        folder = folder_of(source)
        if folder is None:
            raise ModelUnavailable(f"there is no folder {source!r}", _HINT)
        self._folder = folder.absolute()
        self._settings = settings
        self._model = OnnxModel(self._folder, settings.max_tokens, "logits")
        self.spec = write_spec(f"onnx:{self._folder}", changed_settings(settings))
        """``onnx:``, the folder and, after ``#``, the settings that are not the default, as JSON."""
        self.key = f"cross-encoder/{self._model.key({'max_tokens': settings.max_tokens})}"
        """Hash of the model's and the tokenizer's bytes and the settings that change scores."""
        self.weight = settings.weight
        """Weight of this reranker's scores relative to the scores of the search."""
        self._run([("a", "b")])  # A model that is no cross-encoder fails here, not at the first search.

    @classmethod
    def from_spec(cls, source: str) -> OnnxReranker:
        """Return the reranker for the part of a spec after ``onnx:``: a folder and, after ``#``, settings as JSON."""
        return cls(*read_spec(source, CrossEncoderSettings()))

    def score(self, question: str, texts: Sequence[str]) -> Float64:
        """Return the logit of each text. Texts of similar length share a batch. See :class:`monograph.models.Reranker`.

        Raises
        ------
        ModelUnavailable
            If the model fails on the texts.
        """
        result = np.zeros(len(texts))
        order = sorted(range(len(texts)), key=lambda index: (-len(texts[index]), texts[index]))
        for first in range(0, len(order), self._settings.batch_size):
            indices = order[first : first + self._settings.batch_size]
            result[indices] = self._run([(question, texts[index]) for index in indices])
        return result

    def _run(self, pairs: list[tuple[str, str]]) -> Float64:
        readable = [tuple(text.encode("utf-8", "replace").decode() for text in pair) for pair in pairs]
        try:
            output, _ = self._model.run(readable)
        except Exception as error:  # onnxruntime raises many kinds, none of a common base
            raise ModelUnavailable(f"the model in {self._folder} failed: {error}", _HINT) from error
        logits = np.asarray(output, dtype=np.float64)
        if logits.shape == (len(pairs),):
            return logits
        if logits.ndim != 2 or logits.shape[0] != len(pairs) or logits.shape[1] not in (1, 2):
            raise ModelUnavailable(
                f"the model in {self._folder} gives an output of shape {logits.shape} for {len(pairs)} pairs", _HINT
            )
        return np.asarray(logits[:, -1] - logits[:, 0] if logits.shape[1] == 2 else logits[:, 0])
