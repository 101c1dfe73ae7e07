"""Sentences of passages compared with a question, and the model that scores the sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.derive.embed.static import stored_vectors
from monograph.derive.extract.function_words import ASKING_WORDS, FUNCTION_WORDS, language_of
from monograph.derive.extract.kinds import answer_kinds
from monograph.derive.sentences import cut, spans_of_texts, trim
from monograph.derive.tokens import tokenizer
from monograph.graph.evidence import Bools, Float64
from monograph.graph.names import stem
from monograph.regex import regex
from monograph.store.words import terms
from monograph.text_pass import compiled
from monograph.values import Span

if TYPE_CHECKING:
    from monograph.search.reader import Reader
    from monograph.text_pass._text_pass import Clues as CompiledClues
    from monograph.values import Hit

Spans: TypeAlias = Sequence[tuple[int, int]]

LONGEST_SENTENCE = 800
"""Maximum number of characters of a sentence; longer text without punctuation is split into parts of this length."""

BRIEF = 80
"""A text is brief (chat, table, code) if sentences have a mean length below BRIEF characters: see :data:`JOINED`."""

JOINED = 150
"""In a brief text, a sentence is joined to the previous sentence if both have fewer characters than this.

Joined sentences count as one sentence, to which the next sentence may be joined.
"""

WRAPPED = 400
"""A sentence of more characters than this is split at line breaks.

Such a sentence is probably a chat or code without punctuation.
"""

FEATURES, TEXT_FEATURES = 4, 1
"""Number of feature columns of :func:`compare`: for a stretch (a part of a text), and for a whole text.

Before the feature columns, there are two columns for each content word of the question.
"""

DATE, AMOUNT = 2, 4
"""Bit flags: for words of dates and times, and for words of amounts.

The enum ``Clue`` in text_pass/compared.hpp has the same values.
"""

_TIMES = """century centuries yesterday today tomorrow monday tuesday wednesday thursday friday saturday sunday januar
    january februar february march april may june july august september october november december"""
_AMOUNTS = """one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred
    hundreds thousand thousands million millions billion billions half third quarter dozen once twice"""
_CLUES = {**dict.fromkeys(_TIMES.split(), DATE), **dict.fromkeys(_AMOUNTS.split(), AMOUNT)}
"""Bit flag of each word of ``_TIMES`` and ``_AMOUNTS``: see :data:`DATE`."""

SENTENCE = (0.24, 3.92, 1.39, 4.63, 0.51, 2.1, 0.66, 0.93, 2.73, -0.26, 0.76)
"""Weights of the softmax over the sentences of a passage, which gives the probability that a sentence holds the answer.

``make bench-reduce`` chooses the weights on the training half of SQuAD and on the dev halves of other question sets.
All features compare words. Vectors of whole sentences were tried as further features, and did not improve the model.

The list of features uses these terms:

- *share*: sum of ``QueryTerms.weights`` (rarity in the file) over some words of the question.
- *similarity*: mean of the similarities of the sentence to words of the question, weighted by ``QueryTerms.weights``.
- *best sentence*: the sentence of the passage with the highest similarity to all words of the question.

Features of a sentence, in the order of the weights:

- share of the question's words that the sentence contains. Here each weight is multiplied by the word's rarity in the
  passage (see :meth:`Places.rarity`), and the products are normalized to sum 1;
- similarity to the question's words that are not in the title;
- similarity to all words of the question;
- similarity to all words of the question, where the weight of a word is multiplied by 1 minus the word's similarity to
  the best sentence;
- 1 if the sentence is the best sentence, else 0;
- share of the question's words that the previous sentence contains and this sentence lacks;
- share of the question's words that the next sentence contains and this sentence lacks;
- share of the question's pairs of consecutive words that the sentence contains;
- 1 if the sentence has what the question asks for, else 0. This is a capitalized word that the question lacks, for
  persons and places; a date or time; or an amount;
- 1 if the sentence has a date or time, else 0;
- 1 if the sentence is the first one of the passage and contains all words of the title, else 0.
"""

MOST_WORDS = 64
LIGHTEST = 0.3
"""Minimum weight of a word of the question, before normalization.

It is above 0 because even a word that occurs in every chunk helps a little to rank sentences.
"""

_POSSESSIVE = regex(r"['’]s\b")
_KINDS = (
    ("person", ("person", "organisation")),
    ("place", ("place",)),
    ("date", ("date", "time")),
    ("quantity", ("quantity",)),
)


@dataclass(frozen=True, slots=True, eq=False)
class QueryTerms:
    """Words of a question, their weights, and the kind of answer that the question asks for.

    All words are folded.

    - ``words``: the content words of the question: see :func:`content_words`.
    - ``stems``: the stem of each word in ``words``.
    - ``weights``: float64 (words,), the inverse document frequency of each word in the file, normalized to sum 1.
    - ``every``: all words of the question in order, with repeats.
    - ``kinds``: the kinds of entities that can answer the question; empty if no word of the question indicates a kind.
    - ``kind``: the first of ``person``, ``place``, ``date`` and ``quantity`` that fits ``kinds``, else ``other``.
    """

    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]
    weights: Float64
    every: tuple[str, ...]
    kinds: frozenset[str]
    kind: str


def query_terms(reader: Reader, text: str) -> QueryTerms:
    """Return the terms of a question, its words weighted by their rarity in the file or shelf."""
    words = content_words(text)
    return weigh_terms(text, reader.document_frequency(words), reader.total(), words)


def content_words(text: str) -> tuple[str, ...]:
    """Return the content words of a question, or all its words if it has only function words.

    The words are folded (without case and accents), in order, without repeats. At most MOST_WORDS are returned.
    """
    all_words = list(dict.fromkeys(terms.words_of(_POSSESSIVE.sub(" ", text))))
    small = FUNCTION_WORDS[language_of(text)]
    telling = [
        word
        for word in all_words
        if word not in small and word not in ASKING_WORDS and (len(word) > 1 or not word.isascii() or word.isdigit())
    ]
    return tuple((telling or all_words)[:MOST_WORDS])


def weigh_terms(
    text: str, frequency: Mapping[str, int], total: int, words: tuple[str, ...] | None = None
) -> QueryTerms:
    """Return the terms of a question, weighted by the rarity of its words.

    ``frequency`` maps words to the number of chunks that contain the word; missing words occur in no chunk. ``total``
    is the number of all chunks. ``words`` are the content words of the question; by default they are computed.
    """
    words = content_words(text) if words is None else words
    weights = np.array([max(LIGHTEST, math.log((total + 1) / (frequency.get(word, 0) + 0.5))) for word in words])
    kinds = answer_kinds(text)
    return QueryTerms(
        text=text,
        words=words,
        stems=tuple(map(stem, words)),
        weights=weights / weights.sum() if words else weights,
        every=tuple(terms.words_of(text)),
        kinds=kinds,
        kind=next((name for name, group in _KINDS if kinds.intersection(group)), "other"),
    )


@dataclass(frozen=True, slots=True)
class PiecePart:
    """Part of a document, or a whole summary.

    ``start`` is the offset in the document where ``text`` begins. It is 0 for a summary.
    """

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class CitedPiece:
    """Parts of one document in reading order, or a summary. ``hit`` is the best of the hits that form the piece."""

    hit: Hit
    chunks: tuple[str, ...]
    parts: tuple[PiecePart, ...]


@dataclass(frozen=True, slots=True)
class TitledText:
    """Text of a hit or piece, and the title of its document."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Sentences:
    """Sentences of several passages, passage by passage, with their features. Arrays are float64.

    In the shapes, ``sentences`` counts the sentences of all passages, and ``words`` the content words of the question.

    - ``spans``: for each passage, the (start, end) of its sentences.
    - ``at``: for each sentence, the index of its passage, and the index of the sentence in the passage. The index of
      a passage counts only passages that have sentences.
    - ``near``, (sentences, words): similarity of the sentence to each word of the question, 0 to 1.
    - ``has``, (sentences, words): 1 where the sentence contains the word, else 0.
    - ``features``, (sentences, FEATURES): the last FEATURES columns of :func:`compare`.
    - ``titles``, (passages with sentences, words): 1 where the passage's title contains the word, else 0.
    - ``inputs``, (sentences, len(SENTENCE)): the features of :data:`SENTENCE`.
    - ``chances``, (sentences,): ln of the probability that the sentence holds the answer, if its passage does: the
      softmax of ``inputs @ SENTENCE`` over the sentences of the passage.
    """

    spans: Sequence[Spans]
    at: Places
    near: Float64
    has: Float64
    features: Float64
    titles: Float64
    inputs: Float64
    chances: Float64


class Reading:
    """Passages compared with a question. Safe for use by many threads.

    ``passages`` must contain every passage that a method is called with later. Duplicates are compared once.
    """

    def __init__(self, question: QueryTerms, passages: Iterable[TitledText]) -> None:
        self.question = question
        distinct = list(dict.fromkeys(passages))
        self._index = {passage: index for index, passage in enumerate(distinct)}
        self._spans = units_of_texts([passage.text for passage in distinct])
        titles = list(dict.fromkeys(passage.title for passage in distinct))
        texts = [*(passage.text for passage in distinct), *titles]
        rows, text_rows = compare(question, texts, [*self._spans, *([(0, len(title))] for title in titles)])
        title_row = {title: len(distinct) + index for index, title in enumerate(titles)}
        self._text_rows = text_rows[: len(distinct)]
        self._titles = text_rows[[title_row[passage.title] for passage in distinct]]
        self._ends = np.cumsum([0, *map(len, self._spans)])
        self._rows = rows[: self._ends[-1]]
        self._has_title = [_has_title(passage, spans) for passage, spans in zip(distinct, self._spans, strict=True)]

    def nearness(self, passages: Sequence[TitledText]) -> Float64:
        """Return the similarity of passages to each word of the question, float64 (passages, words).

        The similarity is 1 if the passage or its title contains the word in any form. Otherwise it is the highest
        cosine of the word with a word of the passage or title. Negative cosines count as 0.
        """
        indices, size = [self._index[passage] for passage in passages], len(self.question.words)
        near: Float64 = np.maximum(self._titles[indices], self._text_rows[indices])[:, :size]
        return near

    def triples(self, passages: Sequence[TitledText]) -> int:
        """Count the distinct three-word sequences of the question in each passage; return the highest count."""
        return int(self._text_rows[[self._index[passage] for passage in passages], -1].max())

    def sentences(self, passages: Sequence[TitledText]) -> Sentences:
        """Return the sentences of passages, in order, with their features."""
        indices = [self._index[passage] for passage in passages]
        near, has, clues, titles, layout = self._slice_rows(indices)
        spans = [self._spans[index] for index in indices]
        inputs = self._compute_inputs(indices, near, has, clues, titles, layout)
        chances = layout.log_softmax(inputs @ np.array(SENTENCE))
        return Sentences(spans, layout, near, has, clues, titles, inputs, chances)

    def _row_numbers(self, indices: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the indices of rows in ``_rows``, for all sentences of the passages with these indices."""
        return np.concatenate(
            [np.zeros(0, np.int64), *(np.arange(self._ends[index], self._ends[index + 1]) for index in indices)]
        )

    def _slice_rows(self, indices: Sequence[int]) -> tuple[Float64, Float64, Float64, Float64, Places]:
        """Return (near, has, features, titles, at) of :class:`Sentences` for the passages with these indices."""
        size, rows = len(self.question.words), self._rows[self._row_numbers(indices)]
        non_empty = [index for index in indices if self._spans[index]]
        layout = Places(np.array([len(self._spans[index]) for index in non_empty], dtype=np.int64))
        titles = self._titles[np.array(non_empty, dtype=np.int64), size : 2 * size]
        return rows[:, :size], rows[:, size : 2 * size], rows[:, 2 * size :], titles, layout

    def _compute_inputs(
        self, indices: Sequence[int], near: Float64, has: Float64, clues: Float64, titles: Float64, layout: Places
    ) -> Float64:
        """Return the features of :data:`SENTENCE`. Arguments: see :meth:`_slice_rows`."""
        if not len(near):
            return np.zeros((0, len(SENTENCE)))
        names, dated, amounts, pairs = clues.T
        question, weights = self.question, self.question.weights
        share, mean = has @ weights, near @ weights
        is_best = layout.is_best(mean)
        rare = layout.rarity(has) * weights
        rare /= np.maximum(rare.sum(axis=1, keepdims=True), 1e-9)
        # Weights of the question's words that are not in the title: (titles, words).
        remaining = np.where(titles > 0, 0.0, weights)
        total = remaining.sum(axis=1, keepdims=True)
        untitled_weights: Float64 = remaining / np.where(total > 0, total, 1.0)
        asked_for = {"person": names, "place": names, "date": dated, "quantity": amounts}.get(question.kind)
        has_title = [self._has_title[index] for index in indices if self._spans[index]]
        columns = [
            (has * rare[layout.of]).sum(axis=1),
            (near * untitled_weights[layout.of]).sum(axis=1),
            mean,
            (near * (1.0 - near[is_best])[layout.of]) @ weights,
            is_best,
            np.maximum(has, layout.before(has)) @ weights - share,
            np.maximum(has, layout.after(has)) @ weights - share,
            pairs / max(1, len(runs_of(question.every, 2))),
            np.zeros(len(mean)) if asked_for is None else asked_for > 0,
            dated,
            (layout.number == 0) & np.array(has_title)[layout.of],
        ]
        return np.stack(columns, axis=1).astype(np.float64)


class Places:
    """Positions of the sentences of several passages. Each passage has at least one sentence.

    - ``counts``: for each passage, the number of its sentences.
    - ``of``: for each sentence, the index of its passage, from 0.
    - ``number``: for each sentence, its index in the passage, from 0.
    """

    def __init__(self, counts: npt.NDArray[np.int64]) -> None:
        self.counts = counts
        self._starts = np.cumsum(counts) - counts
        self.of = np.repeat(np.arange(len(counts)), counts)
        self.number = np.arange(int(counts.sum())) - self._starts[self.of]

    def most(self, values: Float64) -> Float64:
        """Return, for each sentence, the maximum of ``values`` over the sentences of its passage."""
        result: Float64 = np.maximum.reduceat(values, self._starts)[self.of]
        return result

    def log_softmax(self, scores: Float64) -> Float64:
        """Return ln of the softmax of ``scores`` over the sentences of each passage."""
        if not len(scores):
            return scores
        shifted = scores - self.most(scores)
        result: Float64 = shifted - np.log(np.add.reduceat(np.exp(shifted), self._starts))[self.of]
        return result

    def rarity(self, has: Float64) -> Float64:
        """Return the rarity of each word among the sentences of each passage.

        The result is float64 (passages, words). In a passage of n sentences, the rarity of a word that m sentences
        contain is ln((n + 1) / (m + 0.5)). It is 0 if m is 0. ``has`` is 1 where a sentence contains a word, else 0.
        """
        counts = np.add.reduceat(has, self._starts, axis=0)
        result: Float64 = np.where(counts > 0, np.log((self.counts[:, None] + 1) / (counts + 0.5)), 0.0)
        return result

    def is_best(self, values: Float64) -> Bools:
        """Return, for each sentence, whether it is the first of its passage that has the highest of ``values``."""
        result = np.zeros(len(values), dtype=bool)
        result[np.lexsort((-values, self.of))[self._starts]] = True
        return result

    def before(self, rows: Float64) -> Float64:
        """Return, for each sentence, the row of the previous sentence in its passage; zeros for the first sentence."""
        result = np.zeros_like(rows)
        result[1:] = rows[:-1]
        result[self.number == 0] = 0.0
        return result

    def after(self, rows: Float64) -> Float64:
        """Return, for each sentence, the row of the next sentence in its passage; zeros for the last sentence."""
        result = np.zeros_like(rows)
        result[:-1] = rows[1:]
        result[self.number == self.counts[self.of] - 1] = 0.0
        return result


def read_hits(question: QueryTerms, hits: Sequence[Hit]) -> Reading:
    """Compare hits with a question, and also the pieces that adjacent hits form (see :func:`gather`)."""
    return Reading(question, [*map(titled, hits), *(part for piece in gather(hits) for part in titled_parts(piece))])


def titled(hit: Hit) -> TitledText:
    """Return the text of a hit with its title."""
    return TitledText(hit.text, hit.title)


def span_of(hit: Hit, start: int, end: int) -> Span:
    """Return text[start:end] of a hit as a span of its document. The hit must not be a summary."""
    chunk = hit.chunk
    return Span(chunk.document_id, chunk.start + start, chunk.start + end, chunk.text[start:end])


def _has_title(passage: TitledText, spans: Spans) -> bool:
    """Return whether the first sentence of a passage contains all content words of the passage's title."""
    if not passage.title or not spans:
        return False
    words = content_words(passage.title)
    return bool(words) and set(words).issubset(terms.words_of(passage.text[slice(*spans[0])]))


def titled_parts(piece: CitedPiece) -> list[TitledText]:
    """Return the texts of a piece's parts, each with its title."""
    return [TitledText(part.text, piece.hit.title) for part in piece.parts]


def gather(hits: Sequence[Hit]) -> list[CitedPiece]:
    """Group hits into pieces to cite, best first. Chunks that overlap or follow each other become one piece."""
    summaries = {hit.summary.id: hit for hit in reversed(hits) if hit.summary is not None}
    pieces = [
        CitedPiece(hit, hit.summary.chunks, (PiecePart(0, hit.text),)) for hit in summaries.values() if hit.summary
    ]
    documents: dict[str, dict[str, Hit]] = {}
    for hit in hits:
        if hit.summary is None:
            documents.setdefault(hit.chunk.document_id, {}).setdefault(hit.chunk.id, hit)
    for by_id in documents.values():
        ordered = sorted(by_id.values(), key=lambda hit: (hit.chunk.start, hit.chunk.ordinal))
        ends = accumulate((hit.chunk.end for hit in ordered), max)
        breaks = [
            second.chunk.start > end and second.chunk.ordinal != first.chunk.ordinal + 1
            for end, (first, second) in zip(ends, pairwise(ordered), strict=False)
        ]
        cuts = [0, *(index for index, is_break in enumerate(breaks, 1) if is_break), len(ordered)]
        pieces += [_join_hits(ordered[first:last]) for first, last in pairwise(cuts)]
    return sorted(pieces, key=lambda piece: piece.hit.rank)


def _join_hits(hits: Sequence[Hit]) -> CitedPiece:
    """Return one piece for adjacent hits of one document, which are given in reading order."""
    parts: list[PiecePart] = []
    for chunk in (hit.chunk for hit in hits):
        end = parts[-1].start + len(parts[-1].text) if parts else -1
        if chunk.start > end:
            parts.append(PiecePart(chunk.start, chunk.text))
        elif chunk.end > end:
            parts[-1] = PiecePart(parts[-1].start, parts[-1].text + chunk.text[end - chunk.start :])
    best = min(hits, key=lambda hit: hit.rank)
    return CitedPiece(best, tuple(hit.chunk.id for hit in hits), tuple(parts))


@cache
def _load_clues() -> CompiledClues:
    return compiled.Clues(_CLUES)


def compare(question: QueryTerms, texts: Sequence[str], stretches: Sequence[Spans]) -> tuple[Float64, Float64]:
    """Compare texts, and stretches of these texts, with the words of a question.

    A stretch is a part of a text, such as a sentence. ``stretches`` has the (start, end) of the stretches of each text,
    in order. The text between stretches must be white space.

    Returns
    -------
    Two arrays. In their shapes, W is the number of content words of the question (``QueryTerms.words``).

    float64 (stretches, 2 W + FEATURES), a row for each stretch of each text:

    - W columns: the similarity of the stretch to each word, 0 to 1. It is the highest cosine of the word and any word
      of the stretch;
    - W columns: 1 if the stretch contains the word in any inflected form, else 0. If several words of the question have
      the same stem, only the last of these words can have a 1;
    - number of capitalized words that the question lacks, divided by 3, at most 1. The first word of the stretch does
      not count;
    - 1 if the stretch has a date or time, else 0;
    - 1 if the stretch has an amount, else 0;
    - number of different pairs of consecutive words of the question that the stretch contains.

    float64 (texts, 2 W + TEXT_FEATURES), a row for each text:

    - W columns: the similarity of the text to each word, computed as for a stretch;
    - W columns: 1 if the text contains the word in any inflected form, else 0;
    - number of different triples of consecutive words of the question that the text contains.
    """
    vectors, words = stored_vectors().view(np.uint16), list(question.words)
    terms = compiled.AskedTerms(tokenizer(), vectors, words, list(question.every), _load_clues())
    rows = np.empty((sum(map(len, stretches)), 2 * len(words) + FEATURES))
    text_rows = np.empty((len(texts), 2 * len(words) + TEXT_FEATURES))
    terms.compare(list(texts), stretches, rows, text_rows)
    return rows, text_rows


def runs_of(words: Sequence[str], length: int) -> frozenset[tuple[str, ...]]:
    """Return the runs of ``length`` consecutive words, as tuples of stems, without repeats."""
    stems = list(map(stem, words))
    return frozenset(zip(*(stems[start:] for start in range(length)), strict=False))


def units(text: str) -> tuple[tuple[int, int], ...]:
    """Return (start, end) of the sentences of a text; in a brief text, short ones are joined: see :data:`BRIEF`."""
    return units_of_texts([text])[0]


def units_of_texts(texts: Sequence[str]) -> list[tuple[tuple[int, int], ...]]:
    """Return the :func:`units` of several texts."""
    return list(map(_join_sentences, texts, spans_of_texts(texts)))


def _join_sentences(text: str, sentences: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    lengths = [end - start for start, end in sentences]
    if max(lengths, default=0) <= WRAPPED and sum(lengths) >= BRIEF * len(lengths):
        return tuple(sentences)  # The common case.
    spans = [
        part
        for span in sentences
        for line in _split_lines(text, *span)
        for part in ((line,) if line[1] - line[0] <= LONGEST_SENTENCE else cut(text, *line, LONGEST_SENTENCE))
    ]
    if sum(end - start for start, end in spans) >= BRIEF * len(spans):
        return tuple(spans)
    joined = spans[:1]
    for start, end in spans[1:]:
        first, last = joined[-1]
        if last - first < JOINED and end - start < JOINED:
            joined[-1] = (first, end)
        else:
            joined.append((start, end))
    return tuple(joined)


def _split_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span of a sentence, or the spans of its lines if it has more than :data:`WRAPPED` characters."""
    if end - start <= WRAPPED:
        yield start, end
        return
    offset = start
    for line in text[start:end].splitlines(keepends=True):
        yield from trim(text, offset, offset + len(line))
        offset += len(line)
