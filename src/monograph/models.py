"""The one-method protocols of what is plugged in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

Float32: TypeAlias = npt.NDArray[np.float32]
TextKind: TypeAlias = Literal["document", "query"]


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors.

    ``key`` names the model and every setting that changes its output: it is part of the hash
    under which a vector is remembered. ``spec`` is what :func:`monograph.derive.embed.load_embedder`
    needs to make the same embedder again (``"static"``, ``"onnx:/path/to/folder"``); it is stored in the file
    so that the command line can open it without being told. An embedder of your own may use any text.
    """

    @property
    def key(self) -> str:
        """Name of the model and its settings; part of every hash."""
        ...

    @property
    def spec(self) -> str:
        """How to make this embedder again."""
        ...

    @property
    def dimension(self) -> int:
        """Length of every vector."""
        ...

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        """Embed texts.

        Parameters
        ----------
        texts:
            Any texts; empty ones are allowed.
        kind:
            Some models want another prefix for a query than for a document.

        Returns
        -------
        float32 array of shape (len(texts), dimension), in the order of ``texts``; every row has
        unit length, except that a text without any known token may be a zero row.
        """
        ...
