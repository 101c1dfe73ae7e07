"""Reduction of hits to the sentences that a question needs: selective content reduction (SCR).

:func:`reduce_to_windows` is the method of the MobileRAG paper. It keeps the window of three sentences that is nearest
to the question, and one more sentence on either side. :func:`reduce` scores each sentence separately, and keeps the
sentences above a threshold. So a hit with many good sentences keeps more sentences than a hit with few.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from monograph.answer.reading import Reading, Spans, TitledText, span_of, titled
from monograph.derive.sentences import sentence_spans
from monograph.graph.evidence import Bools, Float64
from monograph.values import DEFAULT_CUT, Hit, ReducedHit, Windows, arguments

if TYPE_CHECKING:
    from monograph.models import Embedder

_CUTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 1.0)
# Measured by ``make bench-reduce`` on gold passages of SQuAD's training half.
_LEAST = (-30.0, -10.51, -9.78, -9.22, -8.76, -8.3, -7.83, -7.01, 0.0)
"""Threshold for each cut in ``_CUTS``: see :func:`least_value`. A cut is the share of tokens to remove."""

CUT_HINT = "give the share to cut away, from 0 to 1"

SHORT = 240
"""Number of characters up to which a text is kept whole."""

RANK = 1.5
"""Factor of the deduction for a hit's rank: a value is lowered by RANK * ln(1 + rank). Ranks count from 0."""

COVERAGE = 2.0
"""Weight of the similarity of a passage to the words of the question, in :class:`SentenceScores`."""

SMALLEST_COST = 20
"""Number of characters added to the length of a sentence to get its cost, ``c`` in :class:`SentenceScores`."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceScores:
    """Sentences of a passage with their values.

    - ``spans``: the (start, end) of the sentences, in order.
    - ``values``, float64 (sentences,): ln(p / c) + COVERAGE * (s - 1) for each sentence. Here p is the probability that
      the sentence holds the answer, if the passage does, and c is the number of the sentence's characters, plus
      SMALLEST_COST. s is the mean similarity of the passage to the question's words, weighted by their rarity, 0 to 1.
      Sentences with higher values are kept first.
    - ``has_question_word``: whether the passage contains a content word of the question. If not, the sentences cannot
      be ranked.
    """

    spans: Spans
    values: Float64
    has_question_word: bool


def score_sentences(reading: Reading, passages: Sequence[TitledText]) -> list[SentenceScores]:
    """Return the scores of the sentences of each passage, in order."""
    sentences = reading.sentences(passages)
    costs = [end - start + SMALLEST_COST for passage_spans in sentences.spans for start, end in passage_spans]
    coverage = np.repeat(reading.nearness(passages) @ reading.question.weights, list(map(len, sentences.spans)))
    values = sentences.chances - np.log(np.array(costs, dtype=np.float64)) + COVERAGE * (coverage - 1.0)
    has_word: Bools = np.asarray(sentences.has.any(axis=1))
    scores, end = [], 0
    for spans in sentences.spans:
        passage_slice = slice(end, end := end + len(spans))
        scores.append(SentenceScores(spans, values[passage_slice], bool(has_word[passage_slice].any())))
    return scores


def least_value(cut: float) -> float:
    """Return the threshold that removes about the share ``cut`` of the tokens.

    Sentences with a lower value than the threshold are removed. For a cut of 0, the threshold is -inf. Raises
    InputError if ``cut`` is not in [0, 1].
    """
    cut = arguments.share(cut, "cut", CUT_HINT)
    if cut == 0:
        return -math.inf
    above = max(1, bisect_left(_CUTS, cut))
    first, last = _CUTS[above - 1 : above + 1]
    low, high = _LEAST[above - 1 : above + 1]
    return low + (high - low) * (cut - first) / (last - first)


def kept(scores: SentenceScores, length: int, least: float) -> Bools:
    """Return which sentences of a passage are kept: bool (sentences,).

    The best sentence, and every sentence with a value of at least ``least``, is kept. ``length`` is the number of
    characters of the passage. All sentences are kept if the passage is short (at most SHORT), or if no word of the
    question occurs in it, because its sentences cannot be ranked then.
    """
    if length <= SHORT or not scores.has_question_word:
        return np.ones(len(scores.spans), dtype=bool)
    chosen: Bools = scores.values >= least
    chosen[int(np.argmax(scores.values))] = True
    return chosen


def reduce(reading: Reading, hits: Sequence[Hit], cut: float = DEFAULT_CUT) -> list[ReducedHit]:
    """Reduce hits to the sentences that a question needs.

    Return one reduced hit for each hit, in the order of the hits. Its value is the value of its best sentence, minus a
    deduction for the rank of the hit. A summary is kept whole. Which sentences of a hit are kept does not depend on the
    other hits.

    ``cut`` is the approximate share of the tokens to remove, 0 to 1. Less is removed from relevant texts, and more from
    others. Raises InputError if ``cut`` is not in [0, 1].
    """
    least = least_value(cut)
    scores = score_sentences(reading, list(map(titled, hits)))
    result = []
    for hit, sentence_scores in zip(hits, scores, strict=True):
        best = float(sentence_scores.values.max(initial=-np.inf))
        chosen = kept(sentence_scores, len(hit.text), least)
        ranges = () if hit.summary else runs(sentence_scores.spans, chosen.tolist())
        value = best - RANK * math.log1p(hit.rank)
        result.append(ReducedHit(hit, tuple(span_of(hit, *pair) for pair in ranges), value))
    return result


def runs(spans: Sequence[tuple[int, int]], chosen: Sequence[bool]) -> list[tuple[int, int]]:
    """Return the chosen spans in order; neighbouring chosen spans are joined to one."""
    joined: list[tuple[int, int]] = []
    was_kept = False
    for (start, end), keep in zip(spans, chosen, strict=True):
        if keep and was_kept:
            joined[-1] = (joined[-1][0], end)
        elif keep:
            joined.append((start, end))
        was_kept = keep
    return joined


def reduce_to_windows(embedder: Embedder, question: str, hits: Sequence[Hit], windows: Windows) -> list[ReducedHit]:
    """Reduce each hit to the window of sentences that is nearest to the question: MobileRAG's method.

    Return one reduced hit for each hit, in the order of the hits. Its value is the cosine of its window with the
    question; -1 for a hit without text. All windows of all hits are embedded in one batch. A summary is kept whole.
    """
    sentences = [sentence_spans(hit.text) for hit in hits]
    step = windows.window - windows.overlap
    cuts: list[list[tuple[int, int]]] = []  # (first, last) of each window; the last one ends with the last sentence.
    for count in map(len, sentences):
        firsts = range(0, max(1, count - windows.window + step), step)
        cuts.append([(first, min(count, first + windows.window)) for first in firsts if first < count])
    texts = [
        hit.text[spans[first][0] : spans[last - 1][1]]
        for hit, spans, ranges in zip(hits, sentences, cuts, strict=True)
        for first, last in ranges
    ]
    cosines = embedder.embed(texts, "document") @ embedder.embed([question], "query")[0] if texts else np.zeros(0)
    result, offset = [], 0
    for hit, spans, ranges in zip(hits, sentences, cuts, strict=True):
        hit_cosines = cosines[offset : offset + len(ranges)]
        offset += len(ranges)
        if not ranges:
            result.append(ReducedHit(hit, (), -1.0))
            continue
        best = int(np.argmax(hit_cosines))
        first, last = ranges[best]
        start = spans[max(0, first - windows.context)][0]
        end = spans[min(len(spans), last + windows.context) - 1][1]
        span = () if hit.summary else (span_of(hit, start, end),)
        result.append(ReducedHit(hit, span, float(hit_cosines[best])))
    return result
