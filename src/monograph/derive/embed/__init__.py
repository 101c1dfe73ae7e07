"""Embedders: texts in, unit vectors out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.derive.addresses import ask
from monograph.derive.api_key import api_key_of
from monograph.derive.embed.given import GivenVectors
from monograph.derive.embed.static import StaticEmbedder
from monograph.errors import UnknownModel

if TYPE_CHECKING:
    from monograph.models import Allow, Embedder

__all__ = ["GivenVectors", "StaticEmbedder", "load_embedder"]


def load_embedder(spec: str, allow: Allow | None = None, api_key: str = "") -> Embedder:
    """Make an embedder from the text that names it.

    Parameters
    ----------
    spec:
        ``static``; ``given:DIMENSION``; ``onnx:FOLDER`` or ``onnx:ORGANISATION/NAME``;
        ``sentence-transformers:FOLDER_OR_NAME``; ``model2vec:FOLDER``; ``openai:BASE_URL#MODEL``.
    allow:
        Asked before a folder is opened, a model fetched from its hub, or its server asked, where the spec does not come
        from the user.
    api_key:
        For a server that asks for one; by default what the environment holds (:mod:`monograph.derive.api_key`).

    Raises
    ------
    ModelUnavailable
        If the spec is unknown, or its model cannot be loaded here.
    MissingExtra
        If the package it needs is not installed.
    """
    if spec == "static":
        return StaticEmbedder()
    kind, _, source = spec.partition(":")
    ask(spec, allow)
    if kind == "given" and source.isdecimal():
        return GivenVectors(int(source))
    if kind == "onnx" and source:
        from monograph.derive.embed.onnx import OnnxEmbedder

        return OnnxEmbedder.from_spec(source)
    if kind == "sentence-transformers" and source:
        from monograph.derive.embed.sentence_transformers import SentenceTransformerEmbedder

        return SentenceTransformerEmbedder(source)
    if kind == "model2vec" and source:
        from monograph.derive.embed.model2vec import Model2VecEmbedder

        return Model2VecEmbedder(source)
    if kind == "openai" and source:
        from monograph.derive.embed.openai_compatible import OpenAIEmbedder

        return OpenAIEmbedder.from_spec(source, api_key_of("embedder", api_key))
    raise UnknownModel(
        f"unknown embedder {spec!r}",
        "give static, openai:URL#MODEL, model2vec:FOLDER, onnx:FOLDER or sentence-transformers:NAME; in Python: an"
        " embedder of your own is handed to Monograph.open",
    )
