"""Rerankers: a question and texts in, a score a text out."""

from __future__ import annotations

from monograph.derive.api_key import api_key_of
from monograph.derive.rerank.function import ScoringFunction
from monograph.errors import InputError, UnknownModel
from monograph.models import Reranker
from monograph.values.arguments import shown

__all__ = ["ScoringFunction", "checked_reranker", "load_reranker"]


def load_reranker(spec: str, api_key: str = "") -> Reranker:
    """Make a reranker from the text that names it.

    Parameters
    ----------
    spec:
        ``onnx:FOLDER``, a cross-encoder; ``rerank:BASE_URL#MODEL``, a server; ``embedder:SPEC``, the cosines of an
        embedder (see :func:`monograph.derive.embed.load_embedder`).
    api_key:
        For a server that asks for one; by default what the environment holds (:mod:`monograph.derive.api_key`).

    Raises
    ------
    ModelUnavailable
        If the spec is unknown, or its model cannot be loaded here.
    MissingExtra
        If the package it needs is not installed.
    """
    kind, _, source = spec.partition(":")
    if kind == "onnx" and source:
        from monograph.derive.rerank.onnx import OnnxReranker

        return OnnxReranker.from_spec(source)
    if kind == "rerank" and source:
        from monograph.derive.rerank.served import ServedReranker

        return ServedReranker.from_spec(source, api_key_of("reranker", api_key))
    if kind == "embedder" and source:
        from monograph.derive.embed import load_embedder
        from monograph.derive.rerank.cosines import EmbedderReranker

        return EmbedderReranker(load_embedder(source, api_key=api_key))
    raise UnknownModel(
        f"unknown reranker {spec!r}",
        "give onnx:FOLDER, rerank:URL#MODEL or embedder:EMBEDDER; in Python: one of your own is handed over as an"
        " object",
    )


def checked_reranker(given: object) -> Reranker:
    """Return what was given as a reranker. Raises InputError if it is none."""
    if not isinstance(given, Reranker) or isinstance(given, type):
        raise InputError(f"the reranker is {shown(given)}", "give one, or the text that names one: onnx:FOLDER")
    return given
