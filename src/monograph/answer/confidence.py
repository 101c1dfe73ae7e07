"""Probability that the hits answer a question, the threshold to abstain, and the best sentence.

:func:`confidence` calls no language model. It computes two features and combines them by a logistic model:

- Coverage of the question by one passage. The similarity of a content word of the question to the passage is the
  similarity to the nearest word of the passage. The feature is the geometric mean of the similarities of all content
  words, weighted by the words' rarity in the file. So one missing rare word lowers the feature strongly. If the graph
  led to a passage, this passage is also combined with every other passage, and the coverage by both is multiplied by
  LED. A yes-or-no question often compares two statements. For such a question, any two passages are combined, and their
  coverage is not lowered.
- Wording: the number of different triples of consecutive words of the question that occur in one passage.

The weights of the logistic model were chosen once on the dev halves of question sets, with one unanswerable question
for each answerable question: a prior probability of one half (docs/benchmarks/answers.md).

:func:`best_sentence` ranks the sentences of the best hits by a linear model: see :data:`RANKED`. This model compares
sentences of different hits, in contrast to :mod:`monograph.answer.reduce`. The weights were chosen once, by a softmax
over the sentences of each question (docs/benchmarks/answers.md). The questions came from SQuAD (ids with an even
SHA-256) and from the dev halves of three other sets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from monograph.answer.reading import QueryTerms, Reading, content_words, runs_of, span_of, titled
from monograph.errors import InputError
from monograph.graph.evidence import Float64, Model
from monograph.graph.names import stem
from monograph.regex import regex
from monograph.store.words.terms import words_of
from monograph.values import BestSentence, Hit, Mention, Span
from monograph.values.answer import TokenCounter

RANKED = (0.4, 4.29, 1.88, 2.68, 1.58, 5.46, 2.55, -0.48)
"""Weights of the features by which the best sentence is chosen.

The features of a sentence, in this order (each "mean similarity" is weighted by the rarity of the words in the file):

- ln of the probability that the sentence holds the answer, if its passage does: see
  :data:`monograph.answer.reading.SENTENCE`;
- mean similarity of the sentence's passage to the question's words; for words that the title contains, the similarity
  is 1;
- relevance of the sentence's hit, divided by the highest relevance of a hit;
- share of the question's pairs of consecutive words that the sentence contains;
- whether the sentence contains a name of the requested kind;
- mean similarity of the sentence to the question's words; for words that the title contains, the similarity is 1;
- share, weighted by rarity, of the question's words that occur in the previous sentence, but neither in the sentence
  nor in the title;
- whether the sentence is the first of its passage.
"""

HOLDS = Model(-1.09, (0.68,))
"""Logistic model of the probability that the best sentence contains the answer, if any sentence does.

Its one feature is the log-odds of the best sentence's share in the softmax over all sentences.
"""

MARK = "» "
"""Prefix of the sentence that is most likely the answer, in answers without a model."""

WANTED = 1.5
"""Value of each word of the requested name, date or number, when :func:`excerpt` chooses a stretch of text.

The value of a word that occurs in the question is 1. If a word has both values, they add up. Other words have no value.
"""

BREAK = 0.3
"""Value added to a stretch of words if it begins at a clause boundary, and again if it ends at one."""

AWAY = 0.05
"""Value subtracted from a stretch of words per word of distance from the words that have a value: see :data:`WANTED`.

The distance is from the middle of the stretch to the mean position of the words that have a value.
"""

_WORD = regex(r"\w+")
_WRITTEN = regex(r"\S+")
_BLANK_LINE = regex(r"\n\s*\n")
_HEADING = regex(r"\s*#{1,6}\s[^\n]*")
_CLOSES = ",;:.!?—–)"
_NARROW = frozenset(("person", "place", "date", "quantity"))


def best_sentence(
    reading: Reading, hits: Sequence[Hit], named: Mapping[int, Sequence[Mention]], confidence: float
) -> BestSentence | None:
    """Return the sentence that is most likely the answer.

    Return None if no hit is a chunk with text, or the question has no words. Summaries among the hits are skipped,
    because their text is in no document. ``named`` maps the index of a hit to the mentions in it that have the kind
    that the question asks for. ``confidence`` is the probability that any of the hits answers the question.
    """
    looked_at = [index for index, hit in enumerate(hits[:LOOKED_AT]) if hit.summary is None and hit.text.strip()]
    if not looked_at or not reading.question.words:
        return None
    positions, rows = features(reading, {index: hits[index] for index in looked_at}, named)
    scores = rows @ RANKED
    headings = np.array(
        [_HEADING.fullmatch(hits[index].text[start:end].rstrip()) is not None for index, start, end in positions]
    )
    if not headings.all():
        # A Markdown heading repeats the question's words, but states nothing.
        scores[headings] = -np.inf
    best = int(np.argmax(scores))
    shares = np.exp(scores - scores[best])
    odds = -np.log(max(float(shares.sum()) - 1.0, 1e-6))
    holds = float(HOLDS.probability(np.array([[odds]]))[0])
    hit_index, start, end = positions[best]
    hit = hits[hit_index]
    inside = [mention for mention in named.get(hit_index, ()) if start <= mention.start and mention.end <= end]
    return BestSentence(
        span=span_of(hit, start, end),
        title=hit.title,
        uri=hit.uri,
        confidence=confidence * holds,
        within=_find_mention(reading.question, hit, (start, end), inside),
    )


def features(
    reading: Reading, hits: Mapping[int, Hit], named: Mapping[int, Sequence[Mention]]
) -> tuple[list[tuple[int, int, int]], Float64]:
    """Return (index of the hit, start, end) of each sentence of the hits, and the features of each sentence.

    ``hits`` and ``named`` have the index of a hit as key. The sentences are in the order of ``hits`` and of the text.
    The features are float64 (sentences, len(RANKED)), in the order that :data:`RANKED` describes.
    """
    sentences = reading.sentences([titled(hit) for hit in hits.values()])
    positions = [(index, *span) for index, spans in zip(hits, sentences.spans, strict=True) for span in spans]
    has_name = [
        any(start <= mention.start and mention.end <= end for mention in named.get(index, ()))
        for index, start, end in positions
    ]
    layout, similarity, has = sentences.at, sentences.near, sentences.has
    in_title = sentences.titles[layout.of]
    here = np.maximum(has, in_title)
    most = max(hit.relevance for hit in hits.values()) or 1.0
    question = reading.question
    columns = [
        sentences.chances,
        np.maximum(layout.most(similarity), in_title) @ question.weights,
        np.array([hit.relevance / most for hit in hits.values()])[layout.of],
        sentences.features[:, -1] / max(1, len(runs_of(question.every, 2))),
        np.array(has_name),
        np.maximum(similarity, in_title) @ question.weights,
        (np.maximum(here, layout.before(has)) - here) @ question.weights,
        layout.number == 0,
    ]
    return positions, np.stack(columns, axis=1).astype(np.float64)


def fitted(asked: QueryTerms, best: BestSentence, budget: int, count: TokenCounter) -> BestSentence | None:
    """Return the best sentence without headings, shortened to fit the budget; None if not even one word fits.

    If the sentence does not fit, a stretch of its words is returned. The stretch contains the requested name, date or
    number if there is one and it fits.
    """
    inner = best.within
    target = None if inner is None else (inner.start - best.span.start, inner.end - best.span.start)
    start, end = excerpt(asked, best.text, target, budget, count)
    if start == end:
        return None
    original = best.span
    span = Span(original.document_id, original.start + start, original.start + end, original.text[start:end])
    is_whole = inner is not None and span.start <= inner.start and inner.end <= span.end
    return BestSentence(span, best.title, best.uri, best.confidence, inner if is_whole else None)


def _find_mention(question: QueryTerms, hit: Hit, sentence: tuple[int, int], inside: Sequence[Mention]) -> Span | None:
    """Return the span of the mention (of those ``inside`` the sentence) that is nearest to words of the question.

    Return None without mentions, or if the question does not ask for a person, a place, a date or a quantity.
    """
    if question.kind not in _NARROW or not inside:
        return None
    if len(inside) == 1:
        return span_of(hit, inside[0].start, inside[0].end)
    start, end = sentence
    stems = set(question.stems)
    matches = [
        (match.start(), match.end())
        for match in _WORD.finditer(hit.text, start, end)
        if not stems.isdisjoint(map(stem, words_of(match[0])))
    ]
    best = min(
        inside,
        key=lambda mention: (
            not may_answer(mention, hit.text),
            sum(math.log1p(max(0, first - mention.end, mention.start - last)) for first, last in matches),
            mention.start,
        ),
    )
    return span_of(hit, best.start, best.end)


def may_answer(one: Mention, text: str) -> bool:
    """Return whether a mention in ``text`` may be an answer.

    A single word of unknown kind at the start of a sentence is never an answer.
    """
    if one.kind != "name" or " " in one.name:
        return True
    before = text[: one.start].rstrip(" \t\"'“")
    return not (before == "" or before[-1] in ".!?:\n")


def excerpt(
    asked: QueryTerms, text: str, wanted: tuple[int, int] | None, budget: int, count: TokenCounter
) -> tuple[int, int]:
    """Return (start, end) of the best stretch of at most ``budget`` tokens; (0, 0) if not even one word fits.

    ``wanted`` is (start, end) of the part of the text that is most likely the answer, or None. A word has a value if it
    occurs in the question or in ``wanted``. The best paragraph is the one whose words have the highest sum of values.
    If the best paragraph fits, it is returned. Otherwise, its best run of whole words is returned. A heading is
    returned only if the text contains nothing else.
    """
    words = [match.span() for match in _WRITTEN.finditer(text)]
    if not words:
        return 0, 0
    if _BLANK_LINE.search(text) is None and count([text[words[0][0] : words[-1][1]]])[0] <= budget:
        return words[0][0], words[-1][1]
    stems, (begin, end) = set(asked.stems), wanted or (0, 0)
    matching = [float(not stems.isdisjoint(map(stem, words_of(text[start:stop])))) for start, stop in words]
    value = np.array(matching) + WANTED * np.array([start < end and begin < stop for start, stop in words])
    breaks = [
        index
        for index, (previous, following) in enumerate(pairwise(words), 1)
        if _BLANK_LINE.search(text, previous[1], following[0])
    ]
    paragraphs = list(pairwise([0, *breaks, len(words)]))
    prose = [
        (first, last)
        for first, last in paragraphs
        if not _HEADING.fullmatch(text[words[first][0] : words[last - 1][1]])
    ]
    first, last = max(prose or paragraphs, key=lambda paragraph: (value[slice(*paragraph)].sum(), paragraph))
    if count([text[words[first][0] : words[last - 1][1]]])[0] > budget:
        begin, end = _find_stretch(text, words[first:last], value[first:last], budget, count)
        first, last = first + begin, first + end
    # The tokens of the single words add up only approximately to those of the stretch.
    while last > first and count([text[words[first][0] : words[last - 1][1]]])[0] > budget:
        last -= 1
    return (words[first][0], words[last - 1][1]) if last > first else (0, 0)


def _find_stretch(
    text: str, words: Sequence[tuple[int, int]], value: Float64, budget: int, count: TokenCounter
) -> tuple[int, int]:
    """Return (first, last) of the run of words with the highest value that fits the budget: words[first:last]."""
    costs = np.maximum(count([text[start:end] for start, end in words]), 1)
    spent, gained = np.concatenate(([0], np.cumsum(costs))), np.concatenate(([0.0], np.cumsum(value)))
    valued = np.flatnonzero(value)
    middle = float(valued.mean()) if len(valued) else len(words) / 2
    best, first, last = -np.inf, 0, 0
    for begin in range(len(words)):
        end = int(np.searchsorted(spent, spent[begin] + budget, side="right")) - 1
        breaks = (begin == 0 or text[words[begin - 1][1] - 1] in _CLOSES) + (text[words[end - 1][1] - 1] in _CLOSES)
        score = gained[end] - gained[begin] + BREAK * breaks - AWAY * abs((begin + end) / 2 - middle)
        if end > begin and score > best:
            best, first, last = score, begin, end
    return first, last


CONFIDENCE = Model(-4.65, (6.32, 0.89))
"""Logistic model of the probability that a file answers a question. For its two features, see :func:`read`."""

LEAST = 0.22
"""Confidence below which a question counts as not answered by the file.

In most question sets, one in twenty of the answerable questions has a lower confidence (docs/benchmarks/answers.md).
"""

LEAST_FOR_A_MODEL = 0.06
"""Confidence below which no model is called. In all dev sets, the confidence of answerable questions is far higher."""

LOOKED_AT = 10
"""Number of hits that are examined, the best first. Further hits are ignored."""

LED = 0.75
"""Factor of the coverage of a question by two passages together, if the graph led to one of the two passages."""

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
        raise InputError(f"threshold is {threshold}", "give the minimum confidence of an answer, from 0 to 1")


def confidence(reading: Reading, hits: Sequence[Hit]) -> float:
    """Return the probability that the hits answer a question, 0 to 1; 0 without hits or without content words."""
    looked_at = hits[:LOOKED_AT]
    if not looked_at or not reading.question.words:
        return 0.0
    return float(CONFIDENCE.probability(read(reading, looked_at)[None])[0])


def read(reading: Reading, hits: Sequence[Hit]) -> Float64:
    """Return the two features of a question and its hits that :data:`CONFIDENCE` reads: float64 (2,).

    The first feature is the coverage of the question's words by the best passage, or by two passages together, 0 to 1.
    The second feature is the number of different triples of consecutive words of the question that occur in one
    passage, at most MOST_RUNS, divided by MOST_RUNS.
    """
    passages, question = list(map(titled, hits)), reading.question
    similarity = reading.nearness(passages)
    if _YES_OR_NO.match(question.text):
        coverage = _cover_words(question, _combine_rows(similarity, range(len(similarity))))
    else:
        paths = [() if hit.path is None else hit.path.nodes for hit in hits]
        led = [index for index, nodes in enumerate(paths) if any(node.kind == "entity" for node in nodes)]
        led_coverage = LED * _cover_words(question, _combine_rows(similarity, led))
        coverage = max(_cover_words(question, similarity), led_coverage)
    return np.array([coverage, min(reading.triples(passages), MOST_RUNS) / MOST_RUNS])


def shares_words(asked: str, hits: Sequence[Hit]) -> bool:
    """Return whether a content word of a question occurs in a hit or its title, in any inflected form.

    Only the first :data:`LOOKED_AT` hits are examined.
    """
    stems = set(map(stem, content_words(asked)))
    return any(not stems.isdisjoint(map(stem, words_of(f"{hit.title}\n{hit.text}"))) for hit in hits[:LOOKED_AT])


def _combine_rows(similarity: Float64, indices: Sequence[int]) -> Float64:
    """Return the rows of ``similarity``, then, for each i in ``indices``, np.maximum(similarity, similarity[i])."""
    return np.concatenate([similarity, *(np.maximum(similarity, similarity[index]) for index in indices)])


def _cover_words(question: QueryTerms, similarity: Float64) -> float:
    return float(min(1.0, np.exp((np.log(_FLOOR + similarity) @ question.weights).max())))
