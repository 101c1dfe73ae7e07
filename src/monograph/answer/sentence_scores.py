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

import numpy as np

from monograph.answer.overlap import Places, Words, written_words
from monograph.answer.query_terms import QueryTerms
from monograph.answer.units import units
from monograph.graph.evidence import Float64, Model
from monograph.graph.names import stem
from monograph.store.terms import words_of

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
    spans = [units(one.text) for one in passages]
    counts = [len(some) for some in spans]
    features = read(asked, passages, spans)
    chances = features @ np.array(SENTENCE.weights) + SENTENCE.bias
    costs = np.array([end - start + SMALLEST_COST for some in spans for start, end in some], dtype=np.float64)
    values = -np.logaddexp(0.0, -chances) - np.log(costs)
    ends = np.cumsum(counts)
    return [
        SentenceScores(some, values[end - count : end], bool(features[end - count : end, 0].any()))
        for some, count, end in zip(spans, counts, ends.tolist(), strict=True)
    ]


def read(asked: QueryTerms, passages: Sequence[Passage], spans: Sequence[Sequence[tuple[int, int]]]) -> Float64:
    """What the model reads of all sentences of all passages, in order: float64 (sentences, READ)."""
    written = [written_words(one.text, *span) for one, some in zip(passages, spans, strict=True) for span in some]
    if not written:
        return np.zeros((0, READ))
    words = Words(asked, written)
    places = Places(np.array([len(some) for some in spans if some]))
    has, near = words.over_sentences(words.has), words.over_sentences(words.near)
    weights = asked.weights
    share, meant = has @ weights, near @ weights
    best = places.most(meant)
    rare = places.rarity(has) * weights
    rare /= np.maximum(rare.sum(axis=1, keepdims=True), 1e-9)
    beyond = np.array([_beyond_title(asked, one.title) for one, some in zip(passages, spans, strict=True) if some])
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


def _beyond_title(asked: QueryTerms, title: str) -> Float64:
    """What the question's words weigh that do not stand in a title."""
    there = {stem(word) for word in words_of(title)}
    left = np.where([one in there for one in asked.stems], 0.0, asked.weights)
    total = left.sum()
    return left / total if total > 0 else left
