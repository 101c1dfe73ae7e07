"""What each sentence of some passages is worth to a question.

A logistic model says how probable it is that a sentence holds the answer, or a step to it; a handful of weights, chosen
once on the dev halves of question sets (docs/answering.md). It reads words alone: which of the question's words a
sentence and its neighbours have, or have something near to in meaning (static word vectors), and whether it holds a
thing of the kind that is asked for. Vectors of whole sentences were tried beside these, static ones and MiniLM's, and
added nothing. What a sentence is worth is that probability for each character that it takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from monograph.answer.compared import Spans
from monograph.answer.overlap import QUESTIONS, Comparison, Passage, Places, comparison
from monograph.answer.query_terms import QueryTerms
from monograph.graph.evidence import Float64, Model

SMALLEST_COST = 20
"""Characters that a sentence costs beside its own: its place in what is shown."""

SENTENCE = Model(-0.12, (1.08, 3.16, 0.88, -2.3, 1.62, -0.83, 1.02, -0.32, -1.9, 0.77, 1.31, 1.1, 0.77, 0.46, 0.3))
"""Of a sentence, in its passage: share of the question that it has, each word weighing by how few sentences of the
passage have it; share of the question beyond the title that it has, or has something near to in meaning; the same of
the whole question, less the most of any sentence; how many sentences have more of it (0 to 1); what the sentence before
adds to its words; ln(sentences); whether it is the first; whether it begins with a pronoun or the like; the most of any
sentence; new names (up to 3, as a share), where a person, or a place, is asked for; a time, where that is; an amount,
where that is; new names, or an amount, where the question's words do not tell."""

READ = len(SENTENCE.weights)
"""Features of a sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceFeatures:
    """What is read of the sentences of a passage, in order.

    Parameters
    ----------
    spans:
        (start, end) of each.
    near, has:
        How near each comes to the question's words, and which of them it has: float64 (sentences, words).
    pairs:
        How many of the question's pairs of words each has: float64 (sentences,).
    features:
        What the model reads, float64 (sentences, READ).
    """

    spans: Spans
    near: Float64
    has: Float64
    pairs: Float64
    features: Float64


@dataclass(frozen=True, slots=True, eq=False)
class SentenceScores:
    """The sentences of a passage, in order.

    Parameters
    ----------
    spans:
        (start, end) of each.
    values:
        The logarithm of chance over cost, float64 (sentences,): what to keep first.
    told:
        Whether any word of the question stands in the passage: where none does, nothing tells its sentences apart.
    """

    spans: Spans
    values: Float64
    told: bool


def score_sentences(asked: QueryTerms, passages: Sequence[Passage]) -> list[SentenceScores]:
    """Judge the sentences of passages: one result a passage, in order."""
    read = sentence_features(comparison(asked), passages)
    features = np.concatenate([one.features for one in read]) if read else np.zeros((0, READ))
    chances = features @ np.array(SENTENCE.weights) + SENTENCE.bias
    costs = np.array([end - start + SMALLEST_COST for one in read for start, end in one.spans], dtype=np.float64)
    values = -np.logaddexp(0.0, -chances) - np.log(costs)
    counts = [len(one.spans) for one in read]
    ends = np.cumsum(counts)
    return [
        SentenceScores(one.spans, values[end - count : end], bool(one.features[:, 0].any()))
        for one, count, end in zip(read, counts, ends.tolist(), strict=True)
    ]


def sentence_features(held: Comparison, passages: Sequence[Passage]) -> list[SentenceFeatures]:
    """What is read of the sentences of passages: one result a passage, in order; of none twice for one question."""
    known = _known(held)
    missing = [one for one in dict.fromkeys(passages) if one not in known]
    known.update(zip(missing, _read(held, missing), strict=True))
    return [known[one] for one in passages]


@lru_cache(maxsize=QUESTIONS)
def _known(held: Comparison) -> dict[Passage, SentenceFeatures]:
    """What was read for a question."""
    return {}


def _read(held: Comparison, passages: Sequence[Passage]) -> list[SentenceFeatures]:
    some = held.passages(passages)
    if not some:
        return []
    size = len(held.asked.words)
    rows = np.concatenate([text.rows for _, text in some])
    features = np.zeros((0, READ))
    if len(rows):
        there = [(title, text) for title, text in some if len(text.rows)]
        titles = np.array([title.whole[size : 2 * size] for title, _ in there])
        features = _features(held.asked, rows, Places(np.array([len(text.rows) for _, text in there])), titles)
    made, at = [], 0
    for _, text in some:
        own = slice(at, at := at + len(text.rows))
        near, has, pairs = text.rows[:, :size], text.rows[:, size : 2 * size], text.rows[:, -1]
        made.append(SentenceFeatures(text.spans, near, has, pairs, features[own]))
    return made


def _features(asked: QueryTerms, rows: Float64, places: Places, titles: Float64) -> Float64:
    """What the model reads of sentences, in order: float64 (sentences, READ).

    ``rows`` are what each has to do with the question (:meth:`monograph.answer.compared.Terms.compare`); ``titles``,
    (passages, words), are 1 for each of its words that stands in a title.
    """
    size = len(asked.words)
    near, has = rows[:, :size], rows[:, size : 2 * size]
    names, dated, amounts, pointing, _ = rows[:, 2 * size :].T
    weights = asked.weights
    share, meant = has @ weights, near @ weights
    best = places.most(meant)
    rare = places.rarity(has) * weights
    rare /= np.maximum(rare.sum(axis=1, keepdims=True), 1e-9)
    beyond = _beyond_titles(asked, titles)
    wanted = {"person": names, "place": names, "date": dated, "quantity": amounts, "other": names}
    columns = [
        (has * rare[places.of]).sum(axis=1),
        (near * beyond[places.of]).sum(axis=1),
        meant - best,
        places.rank(meant),
        np.maximum(has, places.before(has)) @ weights - share,
        np.log(places.counts)[places.of],
        places.number == 0,
        pointing,
        best,
        *(wanted[kind] * (asked.kind == kind) for kind in wanted),
        amounts * (asked.kind == "other"),
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def _beyond_titles(asked: QueryTerms, titles: Float64) -> Float64:
    """What the question's words weigh that do not stand in titles: (titles, words)."""
    left = np.where(titles > 0, 0.0, asked.weights)
    total = left.sum(axis=1, keepdims=True)
    result: Float64 = left / np.where(total > 0, total, 1.0)
    return result
