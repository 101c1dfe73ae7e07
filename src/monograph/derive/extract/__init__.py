"""Extractors: chunks in, what they name and how these belong together out."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.derive.addresses import ask
from monograph.derive.extract.kinds import ENTITY_KINDS
from monograph.errors import UnknownModel
from monograph.models import Allow, Extractor
from monograph.values import Chunk

__all__ = ["ENTITY_KINDS", "extraction_price", "load_extractor"]


def load_extractor(spec: str, api_key: str = "", allow: Allow | None = None) -> Extractor:
    """Make an extractor from the text that names it.

    Parameters
    ----------
    spec:
        ``pattern``; ``spacy:PIPELINE``, an installed pipeline's name or its folder; ``llm:MODEL``, where MODEL is
        ``openai:BASE_URL#NAME`` (see :class:`monograph.derive.extract.llm.LLMExtractor` for more).
    api_key:
        For a server that asks for one. It is in no spec, so never in a file.
    allow:
        Asked before a pipeline is loaded, or a server asked, where the spec does not come from the user.

    Raises
    ------
    ModelUnavailable
        If the spec is unknown, or its model cannot be loaded here.
    MissingExtra
        If the package it needs is not installed.
    """
    kind, _, source = spec.partition(":")
    if spec == "pattern":
        from monograph.derive.extract.pattern import PatternExtractor

        return PatternExtractor()
    if kind == "spacy" and source:
        from monograph.derive.extract.spacy import SpacyExtractor

        ask(spec, allow)
        return SpacyExtractor(source)
    if kind.partition("/")[0] == "llm" and source:
        from monograph.derive.extract.llm import LLMExtractor

        return LLMExtractor.from_spec(spec, api_key, allow)
    raise UnknownModel(
        f"unknown extractor {spec!r}",
        "give pattern, spacy:PIPELINE or llm:openai:BASE_URL#NAME; in Python: one of your own is handed to"
        " Monograph.open",
    )


def extraction_price(extractor: Extractor, chunks: Sequence[Chunk]) -> tuple[int, int]:
    """(calls of a language model, tokens) that extracting from chunks takes at most; nothing without a model."""
    from monograph.derive.extract.llm import LLMExtractor

    return extractor.price(chunks) if isinstance(extractor, LLMExtractor) else (0, 0)
