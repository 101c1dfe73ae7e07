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

from monograph.answer.compared import TOLD, Spans
from monograph.answer.overlap import QUESTIONS, Comparison, Held, Passage, Places, comparison
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
    """What is read of the sentences of passages, in order.

    Parameters
    ----------
    spans:
        (start, end) of each, passage by passage.
    at:
        Where they stand: in which of the passages that have sentences.
    near, has:
        How near each comes to the question's words, and which of them it has: float64 (sentences, words).
    told:
        What else each tells: float64 (sentences, TOLD), as :meth:`monograph.answer.compared.Terms.compare` has it.
    titles:
        Which of the question's words stand in the title of each passage that has sentences: float64 (passages, words).
    columns:
        What the model reads, float64 (sentences, READ).
    odds:
        What the model says: the logarithm of the odds of each, float64 (sentences,).
    """

    spans: Sequence[Spans]
    at: Places
    near: Float64
    has: Float64
    told: Float64
    titles: Float64
    columns: Float64
    odds: Float64


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
    costs = np.array([end - start + SMALLEST_COST for some in read.spans for start, end in some], dtype=np.float64)
    values = -np.logaddexp(0.0, -read.odds) - np.log(costs)
    share = read.columns[:, 0].tolist()
    scores, end = [], 0
    for spans in read.spans:
        own = slice(end, end := end + len(spans))
        scores.append(SentenceScores(spans, values[own], any(share[own])))
    return scores


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """What was read of a passage; ``columns`` are what the model reads of its sentences."""

    title: Held
    text: Held
    columns: Float64


def sentence_features(held: Comparison, passages: Sequence[Passage]) -> SentenceFeatures:
    """What is read of the sentences of passages; of none twice for one question."""
    known = _known(held)
    missing = [one for one in dict.fromkeys(passages) if one not in known]
    known.update(zip(missing, _read(held, missing), strict=True))
    some, size = [known[one] for one in passages], len(held.asked.words)
    near, has, told, titles, at = _in_order([(one.title, one.text) for one in some], size)
    columns = np.concatenate([np.zeros((0, READ)), *(one.columns for one in some)])
    odds = columns @ np.array(SENTENCE.weights) + SENTENCE.bias
    return SentenceFeatures([one.text.spans for one in some], at, near, has, told, titles, columns, odds)


@lru_cache(maxsize=QUESTIONS)
def _known(held: Comparison) -> dict[Passage, _Read]:
    """What was read for a question."""
    return {}


def _read(held: Comparison, passages: Sequence[Passage]) -> list[_Read]:
    some = held.passages(passages)
    near, has, told, titles, at = _in_order(some, len(held.asked.words))
    columns = _columns(held.asked, (near, has, told), at, titles) if len(near) else np.zeros((0, READ))
    made, end = [], 0
    for title, text in some:
        own = slice(end, end := end + len(text.rows))
        made.append(_Read(title, text, columns[own]))
    return made


def _in_order(some: Sequence[tuple[Held, Held]], size: int) -> tuple[Float64, Float64, Float64, Float64, Places]:
    """All sentences of some passages: how near, which words, what else, titles, and where they stand."""
    rows = np.concatenate([np.zeros((0, 2 * size + TOLD)), *(text.rows for _, text in some)])
    there = [(title, text) for title, text in some if len(text.rows)]
    titles = np.array([title.whole[size : 2 * size] for title, _ in there]).reshape(len(there), size)
    at = Places(np.array([len(text.rows) for _, text in there], dtype=np.int64))
    return rows[:, :size], rows[:, size : 2 * size], rows[:, 2 * size :], titles, at


def _columns(asked: QueryTerms, read: tuple[Float64, Float64, Float64], places: Places, titles: Float64) -> Float64:
    """What the model reads of sentences, in order: float64 (sentences, READ).

    ``read`` is how near each comes to the question's words, which of them it has, and what else it tells; ``titles``,
    (passages, words), which of them stand in each title.
    """
    near, has, told = read
    names, dated, amounts, pointing, _ = told.T
    weights = asked.weights
    share, meant = has @ weights, near @ weights
    best = places.most(meant)
    rare = places.rarity(has) * weights
    rare /= np.maximum(rare.sum(axis=1, keepdims=True), 1e-9)
    # What the question's words weigh that do not stand in titles: (titles, words).
    left = np.where(titles > 0, 0.0, asked.weights)
    total = left.sum(axis=1, keepdims=True)
    beyond: Float64 = left / np.where(total > 0, total, 1.0)
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
