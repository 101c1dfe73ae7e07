"""What a model asks beyond this process: its address, and whether it may."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monograph.models import Allow, Completion, VisionModel

HUB = "https://huggingface.co/"
"""Before a model's name on the hub: its address."""


def addresses(spec: str) -> tuple[str, ...]:
    """The addresses that the model of a spec asks, in order; none where nothing leaves this machine.

    A model's server is asked what it is to do. A model that lies in no folder here is fetched from the hub.
    """
    kind, _, source = spec.partition(":")
    if kind.partition("/")[0] == "llm":
        model, _, fallback = source.partition(" else ")
        return (*addresses(model), *addresses(fallback))
    if kind == "openai" and source:
        return (source.partition("#")[0].rstrip("/"),)
    if kind in ("onnx", "sentence-transformers") and source:
        name = source.partition("#")[0] if kind == "onnx" else source
        return () if folder_of(name) is not None else (HUB + name,)
    return ()


def folder_of(name: str) -> Path | None:
    """The folder of this machine that a model lies in; None where there is none, or none can be called so."""
    with suppress(ValueError, OSError, RuntimeError):
        folder = Path(name).expanduser()
        if folder.is_dir():
            return folder
    return None


class AskingFirst:
    """A model that asks for leave before it asks its server.

    Parameters
    ----------
    model:
        What answers.
    spec:
        How to make it again.
    address:
        Its server's.
    allow:
        Told the address before the first request, and again as long as it has raised.
    """

    def __init__(self, model: VisionModel, spec: str, address: str, allow: Allow) -> None:
        self._model = model
        self._address = address
        self._allow = allow
        self._allowed = False
        self.spec = spec
        """How to make the model again."""

    @property
    def key(self) -> str:
        """The model's own."""
        return self._model.key

    def complete(self, prompt: str, max_tokens: int) -> Completion:
        """As the model does. See :class:`monograph.models.LanguageModel`."""
        self._ask()
        return self._model.complete(prompt, max_tokens)

    def stream(self, prompt: str, max_tokens: int) -> Iterator[str | Completion]:
        """As the model does. See :class:`monograph.models.StreamingModel`."""
        self._ask()
        return self._model.stream(prompt, max_tokens)

    def complete_with_image(self, prompt: str, image: bytes, media_type: str, max_tokens: int) -> Completion:
        """As the model does. See :class:`monograph.models.VisionModel`."""
        self._ask()
        return self._model.complete_with_image(prompt, image, media_type, max_tokens)

    def _ask(self) -> None:
        if not self._allowed:
            self._allow(self._address)
            self._allowed = True
