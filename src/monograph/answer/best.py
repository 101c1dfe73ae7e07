"""The one sentence, of all that was found, that is most likely to answer a question.

A linear model ranks the sentences of the best hits; its weights were chosen once, by a softmax over the sentences of
each question, on SQuAD's questions whose id has an even SHA-256 and the dev halves of three other sets
(docs/answering.md). It reads the words that :mod:`monograph.answer.sentence_scores` reads, and holds hits against each
other, which that does not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from monograph.answer.compared import runs_of
from monograph.answer.excerpt import Counter, excerpt
from monograph.answer.overlap import Passage, comparison
from monograph.answer.preamble import may_answer
from monograph.answer.query_terms import QueryTerms
from monograph.answer.sentence_scores import sentence_features
from monograph.graph.evidence import Float64, Model
from monograph.graph.names import stem
from monograph.regex import regex
from monograph.store.words.terms import words_of
from monograph.values import BestSentence, Hit, Mention, Span

LOOKED_AT = 10
"""Hits whose sentences are looked at, the best ones."""

RANKED = (0.4, 4.29, 1.88, 2.68, 1.58, 5.46, 2.55, -0.48)
"""Of a sentence: its log-odds in its passage; share of the question that its passage or title has, or has something
near to; its hit's relevance, as a share of the best hit's; share of the question's pairs of words that it has; whether
it names something of the kind that is asked for; share of the question that it or the title has or comes near to; what
the sentence before adds; whether it is its passage's first."""

HOLDS = Model(-1.09, (0.68,))
"""That the best sentence holds the answer, if any does: the log-odds of its share in the softmax."""

_WORD = regex(r"\w+")
_NARROW = frozenset(("person", "place", "date", "quantity"))


def best_sentence(
    asked: QueryTerms, hits: Sequence[Hit], named: Mapping[int, Sequence[Mention]], confidence: float
) -> BestSentence | None:
    """The sentence most likely to answer; None where no sentence of a document was found.

    Parameters
    ----------
    asked, hits:
        The question and what was found, best first. Summaries are passed over: their words stand in no document.
    named:
        What in each hit is of the kind that is asked for, by its place among the hits.
    confidence:
        How probable it is that what was found answers at all.
    """
    looked_at = [place for place, hit in enumerate(hits[:LOOKED_AT]) if hit.summary is None and hit.text.strip()]
    if not looked_at or not asked.words:
        return None
    read = sentence_features(comparison(asked), [Passage(hits[place].text, hits[place].title) for place in looked_at])
    places = [(place, *span) for place, some in zip(looked_at, read.spans, strict=True) for span in some]
    scores = features(asked, [hits[place] for place in looked_at], _names(places, named)) @ RANKED
    best = int(np.argmax(scores))
    shares = np.exp(scores - scores[best])
    odds = -np.log(max(float(shares.sum()) - 1.0, 1e-6))
    holds = float(HOLDS.probability(np.array([[odds]]))[0])
    place, start, end = places[best]
    hit = hits[place]
    inside = [one for one in named.get(place, ()) if start <= one.start and one.end <= end]
    return BestSentence(
        span=_span(hit, start, end),
        title=hit.title,
        uri=hit.uri,
        confidence=confidence * holds,
        within=_within(asked, hit, (start, end), inside),
    )


def features(asked: QueryTerms, hits: Sequence[Hit], names: Sequence[bool]) -> Float64:
    """What the model reads of all sentences of all hits, in order: float64 (sentences, len(RANKED)).

    ``names`` says of each sentence whether something of the kind that is asked for stands in it.
    """
    read = sentence_features(comparison(asked), [Passage(hit.text, hit.title) for hit in hits])
    at, near, has = read.at, read.near, read.has
    title = read.titles[at.of]
    here = np.maximum(has, title)
    most = max(hit.relevance for hit in hits) or 1.0
    weights = asked.weights
    columns = [
        read.odds,
        np.maximum(at.most(near), title) @ weights,
        np.array([hit.relevance / most for hit in hits])[at.of],
        read.told[:, -1] / max(1, len(runs_of(asked.every, 2))),
        np.array(names),
        np.maximum(near, title) @ weights,
        (np.maximum(here, at.before(has)) - here) @ weights,
        at.number == 0,
    ]
    return np.stack(columns, axis=1).astype(np.float64)


def fitted(asked: QueryTerms, best: BestSentence, budget: int, count: Counter) -> BestSentence | None:
    """The best sentence without headings, or the stretch of it that has room under a budget; None where no word has.

    The stretch holds the name, date or number that is asked for, where there is one and it has room.
    """
    inner = best.within
    wanted = None if inner is None else (inner.start - best.span.start, inner.end - best.span.start)
    start, end = excerpt(asked, best.text, wanted, budget, count)
    if start == end:
        return None
    one = best.span
    span = Span(one.document_id, one.start + start, one.start + end, one.text[start:end])
    whole = inner is not None and span.start <= inner.start and inner.end <= span.end
    return BestSentence(span, best.title, best.uri, best.confidence, inner if whole else None)


def _names(places: Sequence[tuple[int, int, int]], named: Mapping[int, Sequence[Mention]]) -> list[bool]:
    return [any(start <= one.start and one.end <= end for one in named.get(place, ())) for place, start, end in places]


def _within(asked: QueryTerms, hit: Hit, sentence: tuple[int, int], inside: Sequence[Mention]) -> Span | None:
    """What of some mentions in a sentence stands nearest to the question's words in it."""
    if asked.kind not in _NARROW or not inside:
        return None
    if len(inside) == 1:
        return _span(hit, inside[0].start, inside[0].end)
    start, end = sentence
    stems = set(asked.stems)
    said = [
        (found.start(), found.end())
        for found in _WORD.finditer(hit.text, start, end)
        if not stems.isdisjoint(map(stem, words_of(found[0])))
    ]
    best = min(
        inside,
        key=lambda one: (
            not may_answer(one, hit.text),
            sum(math.log1p(max(0, first - one.end, one.start - last)) for first, last in said),
            one.start,
        ),
    )
    return _span(hit, best.start, best.end)


def _span(hit: Hit, start: int, end: int) -> Span:
    chunk = hit.chunk
    return Span(chunk.document_id, chunk.start + start, chunk.start + end, hit.text[start:end])
