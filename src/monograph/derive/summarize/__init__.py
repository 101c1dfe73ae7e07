"""Summarizers: many texts in, few words out."""

from __future__ import annotations

from collections.abc import Sequence

from monograph.errors import UnknownModel
from monograph.models import Allow, Summarizer

__all__ = ["load_summarizer", "summary_price", "workers_of"]

WORKERS = 4
"""Calls at once of a summarizer that is not known to do better with another number."""


def load_summarizer(spec: str, api_key: str = "", allow: Allow | None = None) -> Summarizer:
    """Make a summarizer from the text that names it.

    Parameters
    ----------
    spec:
        ``extractive``; or ``llm:MODEL``, where MODEL is ``openai:BASE_URL#NAME``.
    api_key:
        For a server that asks for one. It is in no spec, so never in a file.
    allow:
        Asked before a server is, where the spec does not come from the user.

    Raises
    ------
    ModelUnavailable
        If the spec is unknown, or its model cannot be loaded here.
    MissingExtra
        If the package it needs is not installed.
    """
    kind, _, source = spec.partition(":")
    if spec == "extractive":
        from monograph.derive.summarize.extractive import ExtractiveSummarizer

        return ExtractiveSummarizer()
    if kind == "llm" and source:
        from monograph.derive.openai_compatible import load_model
        from monograph.derive.summarize.llm import LLMSummarizer

        return LLMSummarizer(load_model(source, api_key, allow))
    raise UnknownModel(
        f"unknown summarizer {spec!r}",
        "give extractive or llm:openai:BASE_URL#NAME; in Python: one of your own is handed to Monograph.open",
    )


def summary_price(summarizer: Summarizer, asked: Sequence[Sequence[str]], max_tokens: int) -> tuple[int, int]:
    """(calls of a language model, tokens) that summaries of some texts take at most; nothing without a model."""
    from monograph.derive.summarize.llm import LLMSummarizer

    return summarizer.price(asked, max_tokens) if isinstance(summarizer, LLMSummarizer) else (0, 0)


def workers_of(summarizer: Summarizer) -> int:
    """How many calls of a summarizer are best made at once."""
    from monograph.derive.summarize.extractive import ExtractiveSummarizer
    from monograph.derive.summarize.llm import LLMSummarizer

    if isinstance(summarizer, ExtractiveSummarizer):
        return 1
    return summarizer.workers if isinstance(summarizer, LLMSummarizer) else WORKERS
