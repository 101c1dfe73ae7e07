"""Retrieval metrics: pure functions of a ranking and the evidence.

The parameter ``found`` is a ranking of distinct document ids, best first. The parameter ``evidence`` has the ids of the
documents that answer the question.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Sequence

from monograph.regex import regex

TAU = 1.8
BETA = 0.5
"""TAU and BETA are the constants of Terminus' rank weight (Sec. 3, Eq. 2)."""

_WORD = regex(r"\w+")


def recall_at_k(found: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return the share of the evidence that is among the first k documents: |found[:k] ∩ evidence| / |evidence|."""
    return len(set(found[:k]) & set(evidence)) / len(set(evidence))


def all_evidence_at_k(found: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return 1 if all documents of the evidence are among the first k documents, else 0."""
    return float(set(evidence) <= set(found[:k]))


def reciprocal_rank(found: Sequence[str], evidence: Collection[str]) -> float:
    """Return 1 / rank of the first found document that is evidence, with ranks from 1; 0 if none is."""
    return next((1.0 / rank for rank, document_id in enumerate(found, start=1) if document_id in evidence), 0.0)


def rank_weight(rank: int) -> float:
    """Return Terminus Eq. 2: w(r) = exp(-(r / TAU) ** BETA), for a rank r counted from 0."""
    return math.exp(-((rank / TAU) ** BETA))


def ranked_recall_at_k(found: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return Terminus Eq. 4: the sum of the weights (:func:`rank_weight`) of the evidence among the first k documents.

    Ranks count from 0, as in Eq. 2. The sum is divided by the largest possible sum. So the value is 1 if the first
    min(k, number of documents in the evidence) documents are all evidence.
    """
    reached = sum(rank_weight(rank) for rank, document_id in enumerate(found[:k]) if document_id in evidence)
    return reached / sum(rank_weight(rank) for rank in range(min(k, len(set(evidence)))))


def contains_answer(context: str, answers: Collection[str]) -> float:
    """Return 1 if the context contains one of the answers, else 0. Case, accents and punctuation are ignored."""
    words = _normalise(context)
    return float(any(_normalise(answer).strip() and _normalise(answer) in words for answer in answers))


def _normalise(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold())
    words = _WORD.findall("".join(character for character in plain if not unicodedata.combining(character)))
    return f" {' '.join(words)} "


def percentile(values: Sequence[float], share: float) -> float:
    """Return a percentile of values by nearest rank; 0 if there are no values.

    ``share`` is from 0 to 1. For 0.95, the result is the smallest value that at least 95 % of the values are below or
    equal to.
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def mean(values: Collection[float]) -> float:
    """Return the arithmetic mean; 0 for no values."""
    return sum(values) / len(values) if values else 0.0
