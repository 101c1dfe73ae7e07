"""Hits cut down to the sentences that a question needs.

MobileRAG's selective content reduction keeps the window of three sentences that is nearest to the question, and one
more on either side; :mod:`monograph.answer.windows` is that. Here every sentence is judged by itself, as many are kept
as are worth it, from a hit of many good sentences more than from one of few.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence

import numpy as np

from monograph.answer.overlap import Passage
from monograph.answer.query_terms import QueryTerms
from monograph.answer.sentence_scores import SentenceScores, score_sentences
from monograph.graph.evidence import Bools
from monograph.values import DEFAULT_CUT, Hit, ReducedHit, Span, arguments

_CUTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.42, 0.5, 0.6, 0.7, 1.0)
_LEAST = (-30.0, -9.3, -8.65, -8.14, -7.67, -7.58, -7.22, -6.73, -6.12, 0.0)
"""The least value that is kept so that so much goes, measured on gold passages of SQuAD (docs/answering.md)."""

CUT_MEND = "give the share that is to go, from 0 to 1"

SHORT = 240
"""Characters of a text that is kept whole."""

RANK = 1.5
"""What a hit's rank takes off the value of its sentences, times ln(1 + rank)."""


def least_value(cut: float) -> float:
    """The least value of a sentence that is kept where about ``cut`` of the tokens are to go.

    Raises
    ------
    InputError
        If ``cut`` is not in [0, 1].
    """
    cut = arguments.share(cut, "cut", CUT_MEND)
    if cut == 0:
        return -math.inf
    above = max(1, bisect_left(_CUTS, cut))
    first, last = _CUTS[above - 1 : above + 1]
    low, high = _LEAST[above - 1 : above + 1]
    return low + (high - low) * (cut - first) / (last - first)


def kept(scores: SentenceScores, length: int, least: float) -> Bools:
    """Which sentences of a passage are kept, (sentences,), where ``least`` is the least value: the best one always.

    All are in a short text, and where no word of the question stands in it, so that nothing tells them apart.
    """
    if length <= SHORT or not scores.told:
        return np.ones(len(scores.spans), dtype=bool)
    chosen: Bools = scores.values >= least
    chosen[int(np.argmax(scores.values))] = True
    return chosen


def reduce(asked: QueryTerms, hits: Sequence[Hit], cut: float = DEFAULT_CUT) -> list[ReducedHit]:
    """Cut hits down to the sentences that a question needs.

    What is kept of a hit does not depend on the others, nor on their order: to reduce again changes nothing.

    Parameters
    ----------
    asked:
        The question.
    hits:
        What was found. A summary is kept whole.
    cut:
        About which share of their tokens is to go, 0 to 1. From texts that are to the point less goes than this, from
        others more.

    Returns
    -------
    One a hit, in order of their best sentences, those of better hits weighing more.

    Raises
    ------
    InputError
        If ``cut`` is not in [0, 1].
    """
    least = least_value(cut)
    scores = score_sentences(asked, [Passage(hit.text, hit.title) for hit in hits])
    made = []
    for hit, one in zip(hits, scores, strict=True):
        best = float(one.values.max()) if len(one.values) else -np.inf
        chosen = kept(one, len(hit.text), least)
        made.append(ReducedHit(hit, spans_of(hit, one, chosen), best - RANK * float(np.log1p(hit.rank))))
    return sorted(made, key=lambda one: (-one.value, one.hit.rank))


def spans_of(hit: Hit, scores: SentenceScores, chosen: Bools) -> tuple[Span, ...]:
    """The chosen sentences of a hit's chunk as spans of its document; those that follow each other are one."""
    if hit.summary is not None:
        return ()
    chunk = hit.chunk
    return tuple(
        Span(chunk.document_id, chunk.start + start, chunk.start + end, chunk.text[start:end])
        for start, end in runs(scores.spans, chosen.tolist())
    )


def runs(spans: Sequence[tuple[int, int]], chosen: Sequence[bool]) -> list[tuple[int, int]]:
    """The chosen spans in order, those that follow each other as one."""
    found: list[tuple[int, int]] = []
    before = False
    for (start, end), keep in zip(spans, chosen, strict=True):
        if keep and before:
            found[-1] = (found[-1][0], end)
        elif keep:
            found.append((start, end))
        before = keep
    return found
