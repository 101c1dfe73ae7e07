"""Embedders of the sentence-transformers library.

The extra ``sentence-transformers`` installs the library and PyTorch, which take gigabytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monograph.derive.loading import folder_of
from monograph.errors import MissingExtra, ModelUnavailable
from monograph.models import TextKind
from monograph.values import Float32

OLDEST = 6
"""First major version of sentence-transformers that can load a model without running Python code in its folder."""


class SentenceTransformerEmbedder:
    """Embedder that runs a sentence-transformers model. Python code in its folder, or on the hub, is never run.

    Parameters
    ----------
    name:
        A folder, or a hub name. A model that is not on this machine is downloaded, which needs the network once.

    Raises
    ------
    MissingExtra
        If sentence-transformers is not installed, or is older than version 6.
    ModelUnavailable
        If the model is not on this machine and cannot be downloaded.
    """

    contextual = True

    def __init__(self, name: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer, __version__
        except ImportError as error:
            raise MissingExtra(
                "SentenceTransformerEmbedder needs sentence-transformers",
                'pip install "monograph[sentence-transformers]"',
            ) from error
        if int(__version__.partition(".")[0]) < OLDEST:  # Earlier versions run Python code in a model's folder.
            raise MissingExtra(
                f"SentenceTransformerEmbedder needs sentence-transformers {OLDEST} or later, not {__version__}",
                'pip install --upgrade "monograph[sentence-transformers]"',
            )
        try:
            self._model = SentenceTransformer(str(folder_of(name) or name), trust_remote_code=False)
        except Exception as error:  # network, file and model errors of many kinds
            raise ModelUnavailable(
                f"the model {name!r} is not on this machine and could not be downloaded: {error}",
                "connect to the network once, or name a folder that contains it",
            ) from error
        self.spec = f"sentence-transformers:{name}"
        """Spec of this embedder."""
        self.dimension = int(self._model.get_sentence_embedding_dimension())
        """Number of values of every vector."""
        self.key = f"sentence-transformers/{name}/{self._model.max_seq_length}/{self.dimension}"
        """Name of the model and the settings that change its vectors."""

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Return the vectors of texts, float32 (len(texts), dimension). See :class:`monograph.models.Embedder`.

        The model's own prompt for queries or for documents is used.
        """
        encode = self._model.encode_query if kind == "query" else self._model.encode_document
        vectors = encode(list(texts), normalize_embeddings=True, convert_to_numpy=True, show_progress_bar=False)
        return np.asarray(vectors, dtype=np.float32).reshape(len(texts), self.dimension)
