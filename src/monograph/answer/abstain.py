"""Whether what was found answers a question at all, without asking a model.

What tells best, on a year of chats and questions that they do not answer, is whether one passage has something near to
every telling word of the question: the geometric mean of how near, each word weighing by how rare it is in the file,
so that one rare word that is nowhere counts for much. Two passages together may have the words where the graph led from
one to another, though that counts for less, and where yes or no is asked for: such questions often hold two statements
against each other. Beside it counts how much of the question stands in a passage as it was put, three words in a row.
A logistic model makes a probability of the two, chosen once on the dev halves of question sets, each question beside
another that its file does not answer (docs/answering.md).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from monograph.answer.query_terms import QueryTerms, telling_words
from monograph.answer.reading import Reading, titled
from monograph.errors import InputError
from monograph.graph.evidence import Float64, Model
from monograph.graph.names import stem
from monograph.regex import regex
from monograph.store.words.terms import words_of
from monograph.values import Hit

CONFIDENCE = Model(-4.65, (6.32, 0.89))
"""That a file answers a question: how well a passage covers its words, 0 to 1; how many times three words of it stand
in a row in one passage (up to 3, as a share). One question in two is taken to have no answer."""

LEAST = 0.22
"""Confidence below which a question counts as not answered by the file: one in twenty of the answerable questions of
most sets lies below it (docs/answering.md)."""

LEAST_FOR_A_MODEL = 0.06
"""Confidence below which not even a model is asked: nothing that answerable questions of any dev set come near to."""

LOOKED_AT = 10
"""Hits that are looked at, the best ones."""

LED = 0.75
"""What it counts for that two passages have the words where the graph led to one of them."""

MOST_RUNS = 3

_FLOOR = 0.02
_YES_OR_NO = regex(
    r"\W*(?:did|do|does|is|are|was|were|has|have|had|can|could|will|would|should|hat|hast|haben|ist|sind|war|waren|kann"
    r"|wird|es|son|fue|ha|han|hay|está)\b",
    re.IGNORECASE,
)


def check(threshold: float) -> None:
    """Raise InputError if a threshold is not in [0, 1]."""
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold is {threshold}", "give the least confidence of an answer, from 0 to 1")


def confidence(reading: Reading, hits: Sequence[Hit]) -> float:
    """Return how probable it is that what was found answers a question, 0 to 1; 0 where nothing was found or asked."""
    looked_at = hits[:LOOKED_AT]
    if not looked_at or not reading.question.words:
        return 0.0
    return float(CONFIDENCE.probability(read(reading, looked_at)[None])[0])


def read(reading: Reading, hits: Sequence[Hit]) -> Float64:
    """Return the features of a question and its first hits, as the model reads them: float64 (2,)."""
    passages = list(map(titled, hits))
    coverage = _coverage(reading.question, hits, reading.nearness(passages))
    return np.array([coverage, min(reading.triples(passages), MOST_RUNS) / MOST_RUNS])


def _coverage(asked: QueryTerms, looked_at: Sequence[Hit], near: Float64) -> float:
    if _YES_OR_NO.match(asked.text):
        return _covered(asked, _with(near, range(len(near))))
    paths = [() if hit.path is None else hit.path.nodes for hit in looked_at]
    led = [place for place, nodes in enumerate(paths) if any(node.kind == "entity" for node in nodes)]
    return max(_covered(asked, near), LED * _covered(asked, _with(near, led)))


def shares_words(asked: str, hits: Sequence[Hit]) -> bool:
    """Return whether any telling word of a question stands, in whatever form, in what was found."""
    stems = set(map(stem, telling_words(asked)))
    return any(not stems.isdisjoint(map(stem, words_of(f"{hit.title}\n{hit.text}"))) for hit in hits[:LOOKED_AT])


def _with(near: Float64, others: Sequence[int]) -> Float64:
    """Return each row, and the maximum of it and each of some others."""
    return np.concatenate([near, *(np.maximum(near, near[other]) for other in others)])


def _covered(asked: QueryTerms, near: Float64) -> float:
    return float(min(1.0, np.exp((np.log(_FLOOR + near) @ asked.weights).max())))
