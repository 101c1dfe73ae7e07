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

from monograph.answer.overlap import QUESTIONS, Comparison, Places, Words, comparison
from monograph.answer.query_terms import QueryTerms
from monograph.answer.reading import Read, joined
from monograph.graph.evidence import Bools, Float64, Model

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


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that was found, and the title of its document."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class SentenceFeatures:
    """What is read of the sentences of a passage, in order.

    Parameters
    ----------
    spans, words:
        (start, end) of each, and their words.
    has, near:
        Which of the question's words each has, and how near it comes to them: float64 (sentences, words).
    features:
        What the model reads, float64 (sentences, READ).
    """

    spans: tuple[tuple[int, int], ...]
    words: Read
    has: Float64
    near: Float64
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

    spans: tuple[tuple[int, int], ...]
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
    asked = held.asked
    sentences = [held.sentences(one.text) for one in passages]
    some = [(one, read) for one, (spans, read) in zip(passages, sentences, strict=True) if spans]
    has, near = np.zeros((2, 0, len(asked.words)))
    features = np.zeros((0, READ))
    if some:
        words = Words(held, joined([read for _, read in some]))
        has, near = words.over_sentences(words.has), words.over_sentences(words.near)
        titles = held.stand_in([one.title for one, _ in some])
        features = _features(
            asked, words, (has, near), Places(np.array([len(read.counts) for _, read in some])), titles
        )
    made, at = [], 0
    for spans, read in sentences:
        own = slice(at, at := at + len(spans))
        made.append(SentenceFeatures(spans, read, has[own], near[own], features[own]))
    return made


def _features(
    asked: QueryTerms, words: Words, shared: tuple[Float64, Float64], places: Places, titles: Bools
) -> Float64:
    """What the model reads of sentences, in order: float64 (sentences, READ).

    ``shared`` says which words of the question each has, and how near it comes to them; ``titles``, (passages, words),
    which of them stand in each title.
    """
    has, near = shared
    weights = asked.weights
    share, meant = has @ weights, near @ weights
    best = places.most(meant)
    rare = places.rarity(has) * weights
    rare /= np.maximum(rare.sum(axis=1, keepdims=True), 1e-9)
    beyond = _beyond_titles(asked, titles)
    names = words.names
    amounts = words.over_sentences(words.counted)
    wanted = {
        "person": names,
        "place": names,
        "date": words.over_sentences(words.dated),
        "quantity": amounts,
        "other": names,
    }
    columns = [
        (has * rare[places.of]).sum(axis=1),
        (near * beyond[places.of]).sum(axis=1),
        meant - best,
        places.rank(meant),
        np.maximum(has, places.before(has)) @ weights - share,
        np.log(places.counts)[places.of],
        places.number == 0,
        words.pointing,
        best,
        *(wanted[kind] * (asked.kind == kind) for kind in wanted),
        amounts * (asked.kind == "other"),
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def _beyond_titles(asked: QueryTerms, titles: Bools) -> Float64:
    """What the question's words weigh that do not stand in titles: (titles, words)."""
    left = np.where(titles, 0.0, asked.weights)
    total = left.sum(axis=1, keepdims=True)
    result: Float64 = left / np.where(total > 0, total, 1.0)
    return result
