"""Addresses of models: the servers, folders, hub names and packages that a spec names, and leave to open them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from monograph.models import Allow, Completion, VisionModel

HUB = "https://huggingface.co/"
"""Before a model's name on the hub: its address."""


def addresses(spec: str) -> tuple[str, ...]:
    """Return the addresses that the model of a spec opens, in order; none for the models that are part of Monograph.

    The address of a server is its URL, that of a folder its absolute path without links, and that of an installed
    spaCy pipeline its spec. A model that lies in no folder here is fetched from the hub.
    """
    kind, _, source = spec.partition(":")
    if kind.partition("/")[0] == "llm":
        model, _, fallback = source.partition(" else ")
        return (*addresses(model), *addresses(fallback))
    if kind == "openai" and source:
        return (source.partition("#")[0].rstrip("/"),)
    if kind in ("onnx", "sentence-transformers", "model2vec", "spacy") and source:
        name = source.partition("#")[0] if kind == "onnx" else source
        if folder_of(name) is not None:
            return (normal(name),)
        return {"spacy": (spec,), "model2vec": ()}.get(kind, (HUB + name,))
    return ()


_KINDS = ("given", "llm", "model2vec", "onnx", "openai", "sentence-transformers", "spacy")
_OWN = ("extractive", "pattern", "static")


def is_named(spec: str) -> bool:
    """Whether a spec names a model that a command can make; a caller's own model is handed over in Python."""
    kind, colon, _ = spec.partition(":")
    return spec in _OWN or (bool(colon) and kind.partition("/")[0] in _KINDS)


def ask(spec: str, allow: Allow | None) -> None:
    """Ask for leave to open each address of a spec; ``allow`` is None where the user named the spec."""
    if allow is not None:
        for address in addresses(spec):
            allow(address)


def normal(address: str) -> str:
    """Return an address as :func:`addresses` writes it: a folder without links, a URL without a slash at its end."""
    folder = None if "://" in address else folder_of(address)
    return address.rstrip("/") if folder is None else os.path.realpath(folder)


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
