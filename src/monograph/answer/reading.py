"""Comparison of a question with passages, sentence by sentence, and the weights of the sentence model."""

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
from monograph.derive.sentences import cut, sentence_spans, spans_of_texts, trimmed
from monograph.derive.tokens import tokenizer
from monograph.graph.evidence import Float64, Model
from monograph.graph.names import stem
from monograph.regex import regex
from monograph.store.words import terms
from monograph.text_pass import compiled

if TYPE_CHECKING:
    from monograph.search.reader import Reader
    from monograph.text_pass._text_pass import Clues as CompiledClues
    from monograph.values import Hit

Spans: TypeAlias = Sequence[tuple[int, int]]

LONGEST_SENTENCE = 800
"""Characters; what has no punctuation comes in parts of this."""

BRIEF = 80
"""Characters; where sentences are shorter on average (a chat, a table, code), one alone says little."""

JOINED = 150
"""Characters; shorter sentences of such a text are judged together with those that follow."""

WRAPPED = 400
"""Characters; lines of a longer sentence that begin in lower case are those of a chat or code without punctuation."""

TOLD, TOLD_OF_TEXT = 5, 1
"""Numbers of a row beside two for each word of the question."""

DATE, AMOUNT, POINTER = 2, 4, 8
"""The bits of what a word tells, as the compiled module has them."""

_TIMES = """century centuries yesterday today tomorrow monday tuesday wednesday thursday friday saturday sunday januar
    january februar february march april may june july august september october november december"""
_AMOUNTS = """one two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty sixty hundred
    hundreds thousand thousands million millions billion billions half third quarter dozen once twice"""
_POINTING = "he she it they this these that those his her its their such there here"
_CLUES = {
    **dict.fromkeys(_TIMES.split(), DATE),
    **dict.fromkeys(_AMOUNTS.split(), AMOUNT),
    **dict.fromkeys(_POINTING.split(), POINTER),
}
"""What words in small letters tell."""

SENTENCE = Model(-0.12, (1.08, 3.16, 0.88, -2.3, 1.62, -0.83, 1.02, -0.32, -1.9, 0.77, 1.31, 1.1, 0.77, 0.46, 0.3))
"""Whether a sentence holds the answer, or a step to it: a logistic model, chosen once on the dev halves of question
sets (docs/answering.md). It reads words alone; vectors of whole sentences were tried beside these and added nothing.

Of a sentence, in its passage: share of the question that it has, each word weighing by how few sentences of the
passage have it; share of the question beyond the title that it has, or has something near to in meaning; the same of
the whole question, less the most of any sentence; how many sentences have more of it (0 to 1); what the sentence before
adds to its words; ln(sentences); whether it is the first; whether it begins with a pronoun or the like; the most of any
sentence; new names (up to 3, as a share), where a person, or a place, is asked for; a time, where that is; an amount,
where that is; new names, or an amount, where the question's words do not tell."""

MOST_WORDS = 64
LIGHTEST = 0.3
"""What a word weighs at least: one that stands in every chunk still tells sentences apart a little."""

_POSSESSIVE = regex(r"['’]s\b")
_KINDS = (
    ("person", ("person", "organisation")),
    ("place", ("place",)),
    ("date", ("date", "time")),
    ("quantity", ("quantity",)),
)


@dataclass(frozen=True, slots=True, eq=False)
class QueryTerms:
    """Words of a question, their weights, and the kind of its answer.

    Parameters
    ----------
    text:
        As it was asked.
    words, stems:
        Its telling words, folded, each once, in order; and their stems.
    weights:
        Inverse document frequency of each in the file, all together 1; float64 (words,).
    every:
        All its folded words, in order.
    kinds:
        Of which an answer may be; empty where the question's words do not tell.
    kind:
        Of the answer: ``person``, ``place``, ``date``, ``quantity``, or ``other`` where its words do not tell.
    """

    text: str
    words: tuple[str, ...]
    stems: tuple[str, ...]
    weights: Float64
    every: tuple[str, ...]
    kinds: frozenset[str]
    kind: str


def query_terms(reader: Reader, text: str) -> QueryTerms:
    """Return the terms of a question, its words weighed by how rare they are in a corpus."""
    words = telling_words(text)
    return weighed(text, reader.document_frequency(words), reader.total(), words)


def telling_words(text: str) -> tuple[str, ...]:
    """Return the folded words of a question that say what it is about; all of them, where these are none."""
    every = list(dict.fromkeys(terms.words_of(_POSSESSIVE.sub(" ", text))))
    small = FUNCTION_WORDS[language_of(text)]
    telling = [
        word
        for word in every
        if word not in small and word not in ASKING_WORDS and (len(word) > 1 or not word.isascii() or word.isdigit())
    ]
    return tuple((telling or every)[:MOST_WORDS])


def weighed(text: str, frequency: Mapping[str, int], total: int, words: tuple[str, ...] | None = None) -> QueryTerms:
    """Return a question whose telling words are weighed by how many of ``total`` chunks have each."""
    words = telling_words(text) if words is None else words
    weights = np.array([max(LIGHTEST, math.log((total + 1) / (frequency.get(word, 0) + 0.5))) for word in words])
    kinds = answer_kinds(text)
    return QueryTerms(
        text=text,
        words=words,
        stems=tuple(map(stem, words)),
        weights=weights / weights.sum() if words else weights,
        every=tuple(terms.words_of(text)),
        kinds=kinds,
        kind=next((name for name, some in _KINDS if kinds.intersection(some)), "other"),
    )


@dataclass(frozen=True, slots=True)
class PiecePart:
    """A stretch of a document, or a summary's text: ``text`` begins at ``start`` of it."""

    start: int
    text: str


@dataclass(frozen=True, slots=True)
class CitedPiece:
    """Parts of one document in reading order, or a summary; ``hit`` is the best of those it is made of."""

    hit: Hit
    chunks: tuple[str, ...]
    parts: tuple[PiecePart, ...]


@dataclass(frozen=True, slots=True)
class TitledText:
    """A text that was found, and the title of its document."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Sentences:
    """The sentences of some passages, in order.

    Parameters
    ----------
    spans:
        (start, end) of each, passage by passage.
    at:
        Where they stand: in which of the passages that have sentences.
    near, has:
        How near each comes to the question's words, and which of them it has: float64 (sentences, words).
    told:
        What else each tells: float64 (sentences, TOLD), as :func:`compare` has it.
    titles:
        Which of the question's words stand in the title of each passage that has sentences: float64 (passages, words).
    shares:
        The share of the question that each has, rare words counting more: float64 (sentences,).
    odds:
        The logarithm of the odds that each holds the answer, float64 (sentences,): see :data:`SENTENCE`.
    """

    spans: Sequence[Spans]
    at: Places
    near: Float64
    has: Float64
    told: Float64
    titles: Float64
    shares: Float64
    odds: Float64


class Reading:
    """Passages held against a question. Safe for use by many threads.

    Parameters
    ----------
    question:
        Its words and their weights.
    passages:
        All that will be asked for; one that comes twice is read once.
    """

    def __init__(self, question: QueryTerms, passages: Iterable[TitledText]) -> None:
        self.question = question
        distinct = list(dict.fromkeys(passages))
        self._place = {one: place for place, one in enumerate(distinct)}
        self._spans = units_of_texts([one.text for one in distinct])
        titles = list(dict.fromkeys(one.title for one in distinct))
        texts = [*(one.text for one in distinct), *titles]
        rows, wholes = compare(question, texts, [*self._spans, *([(0, len(one))] for one in titles)])
        title = {one: len(distinct) + place for place, one in enumerate(titles)}
        self._wholes, self._titles = wholes[: len(distinct)], wholes[[title[one.title] for one in distinct]]
        self._ends = np.cumsum([0, *map(len, self._spans)])
        self._rows = rows[: self._ends[-1]]
        self._columns = self._columns_of(*self._parts(range(len(distinct))))

    def nearness(self, passages: Sequence[TitledText]) -> Float64:
        """Return how near passages and their titles come to each word of the question, float64 (passages, words).

        1 where a passage has the word, else the highest cosine of any of its words, at least 0.
        """
        places, size = [self._place[one] for one in passages], len(self.question.words)
        near: Float64 = np.maximum(self._titles[places], self._wholes[places])[:, :size]
        return near

    def triples(self, passages: Sequence[TitledText]) -> int:
        """Return how many different triples of the question's words stand in a row in one of some passages, at most."""
        return int(self._wholes[[self._place[one] for one in passages], -1].max())

    def sentences(self, passages: Sequence[TitledText]) -> Sentences:
        """Return what is read of the sentences of passages, in order."""
        places = [self._place[one] for one in passages]
        near, has, told, titles, at = self._parts(places)
        columns = self._columns[self._numbers(places)]
        odds = columns @ np.array(SENTENCE.weights) + SENTENCE.bias
        return Sentences([self._spans[one] for one in places], at, near, has, told, titles, columns[:, 0], odds)

    def _numbers(self, places: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the rows of the sentences of passages."""
        return np.concatenate(
            [np.zeros(0, np.int64), *(np.arange(self._ends[one], self._ends[one + 1]) for one in places)]
        )

    def _parts(self, places: Sequence[int]) -> tuple[Float64, Float64, Float64, Float64, Places]:
        """Return (how near, which words, what else, titles, where they stand) of the sentences of passages."""
        size, rows = len(self.question.words), self._rows[self._numbers(places)]
        held = [one for one in places if self._spans[one]]
        at = Places(np.array([len(self._spans[one]) for one in held], dtype=np.int64))
        titles = self._titles[np.array(held, dtype=np.int64), size : 2 * size]
        return rows[:, :size], rows[:, size : 2 * size], rows[:, 2 * size :], titles, at

    def _columns_of(self, near: Float64, has: Float64, told: Float64, titles: Float64, at: Places) -> Float64:
        """Return what the model reads of sentences: float64 (sentences, features)."""
        if not len(near):
            return np.zeros((0, len(SENTENCE.weights)))
        names, dated, amounts, pointing, _ = told.T
        weights, kind_asked = self.question.weights, self.question.kind
        share, meant = has @ weights, near @ weights
        best = at.most(meant)
        rare = at.rarity(has) * weights
        rare /= np.maximum(rare.sum(axis=1, keepdims=True), 1e-9)
        # What the question's words weigh that do not stand in titles: (titles, words).
        left = np.where(titles > 0, 0.0, weights)
        total = left.sum(axis=1, keepdims=True)
        beyond: Float64 = left / np.where(total > 0, total, 1.0)
        wanted = {"person": names, "place": names, "date": dated, "quantity": amounts, "other": names}
        columns = [
            (has * rare[at.of]).sum(axis=1),
            (near * beyond[at.of]).sum(axis=1),
            meant - best,
            at.rank(meant),
            np.maximum(has, at.before(has)) @ weights - share,
            np.log(at.counts)[at.of],
            at.number == 0,
            pointing,
            best,
            *(wanted[kind] * (kind_asked == kind) for kind in wanted),
            amounts * (kind_asked == "other"),
        ]
        return np.stack(columns, axis=1).astype(np.float64)


class Places:
    """Places of sentences: the passage that each is ``of``, and its ``number`` there."""

    def __init__(self, counts: npt.NDArray[np.int64]) -> None:
        self.counts = counts
        self._starts = np.cumsum(counts) - counts
        self.of = np.repeat(np.arange(len(counts)), counts)
        self.number = np.arange(int(counts.sum())) - self._starts[self.of]

    def most(self, values: Float64) -> Float64:
        """Return the most of a value in the passage of each sentence."""
        result: Float64 = np.maximum.reduceat(values, self._starts)[self.of]
        return result

    def rarity(self, has: Float64) -> Float64:
        """Return how telling each word is in each passage, (passages, words): 0 where it does not stand there."""
        counts = np.add.reduceat(has, self._starts, axis=0)
        result: Float64 = np.where(counts > 0, np.log((self.counts[:, None] + 1) / (counts + 0.5)), 0.0)
        return result

    def rank(self, values: Float64) -> Float64:
        """Return which place each sentence takes in its passage by a value, from 0 to below 1."""
        order = np.lexsort((-values, self.of))
        ranks = np.empty(len(values))
        ranks[order] = self.number
        return ranks / self.counts[self.of]

    def before(self, rows: Float64) -> Float64:
        """Return the row of the sentence before each, in its passage; zeros for the first."""
        result = np.zeros_like(rows)
        result[1:] = rows[:-1]
        result[self.number == 0] = 0.0
        return result


def read_hits(question: QueryTerms, hits: Sequence[Hit]) -> Reading:
    """Hold hits, and the pieces that they make, against a question."""
    return Reading(question, [*map(titled, hits), *(one for piece in gather(hits) for one in titled_parts(piece))])


def titled(hit: Hit) -> TitledText:
    """Return the text of a hit with its title."""
    return TitledText(hit.text, hit.title)


def titled_parts(piece: CitedPiece) -> list[TitledText]:
    """Return the texts of a piece's parts, each with its title."""
    return [TitledText(part.text, piece.hit.title) for part in piece.parts]


def gather(hits: Sequence[Hit]) -> list[CitedPiece]:
    """Return hits as pieces to cite, those of the best hits first: chunks that overlap or follow each other are one."""
    summaries = {hit.summary.id: hit for hit in reversed(hits) if hit.summary is not None}
    pieces = [
        CitedPiece(hit, hit.summary.chunks, (PiecePart(0, hit.text),)) for hit in summaries.values() if hit.summary
    ]
    documents: dict[str, dict[str, Hit]] = {}
    for hit in hits:
        if hit.summary is None:
            documents.setdefault(hit.chunk.document_id, {}).setdefault(hit.chunk.id, hit)
    for some in documents.values():
        ordered = sorted(some.values(), key=lambda hit: (hit.chunk.start, hit.chunk.ordinal))
        ends = accumulate((hit.chunk.end for hit in ordered), max)
        apart = [
            two.chunk.start > end and two.chunk.ordinal != one.chunk.ordinal + 1
            for end, (one, two) in zip(ends, pairwise(ordered), strict=False)
        ]
        cuts = [0, *(at for at, cut in enumerate(apart, 1) if cut), len(ordered)]
        pieces += [_piece(ordered[first:last]) for first, last in pairwise(cuts)]
    return sorted(pieces, key=lambda piece: piece.hit.rank)


def _piece(hits: Sequence[Hit]) -> CitedPiece:
    """Return the piece of hits of one document that touch, in reading order."""
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
def _clues() -> CompiledClues:
    return compiled.Clues(_CLUES)


def compare(question: QueryTerms, texts: Sequence[str], stretches: Sequence[Spans]) -> tuple[Float64, Float64]:
    """Compare stretches of texts with a question.

    Parameters
    ----------
    question:
        Its telling words, and all its words in order.
    texts:
        Any.
    stretches:
        Of each text, in order; they leave out nothing but white space.

    Returns
    -------
    float64 (stretches, 2 words + TOLD), a row for each stretch of each text: how near it comes to each word of the
    question, 0 to 1, by the highest cosine of any of its words; 1 for each that it has, of those that share a stem
    for the last one only; words with a capital beyond its first that the question has not, 1 for three; 1 for a
    time, an amount, a first word that points elsewhere; how many different pairs of the question's words stand in
    a row in it.

    float64 (texts, 2 words + TOLD_OF_TEXT), a row for each text: how near it comes to each; 1 for each that stands
    in it in whatever form; how many different triples of the question's words stand in a row in it.
    """
    vectors, words = stored_vectors().view(np.uint16), list(question.words)
    terms = compiled.AskedTerms(tokenizer(), vectors, words, list(question.every), _clues())
    rows = np.empty((sum(map(len, stretches)), 2 * len(words) + TOLD))
    wholes = np.empty((len(texts), 2 * len(words) + TOLD_OF_TEXT))
    terms.compare(list(texts), stretches, rows, wholes)
    return rows, wholes


def runs_of(words: Sequence[str], length: int) -> frozenset[tuple[str, ...]]:
    """Return the stems of words that follow each other, so many in a row."""
    stems = list(map(stem, words))
    return frozenset(zip(*(stems[start:] for start in range(length)), strict=False))


def units(text: str) -> tuple[tuple[int, int], ...]:
    """Return where the sentences of a text stand; where they are brief, several together."""
    return _units(text, sentence_spans(text))


def units_of_texts(texts: Sequence[str]) -> list[tuple[tuple[int, int], ...]]:
    """Return the units of several texts."""
    return list(map(_units, texts, spans_of_texts(texts)))


def _units(text: str, sentences: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    lengths = [end - start for start, end in sentences]
    if max(lengths, default=0) <= WRAPPED and sum(lengths) >= BRIEF * len(lengths):
        return tuple(sentences)  # As nearly all are.
    spans = [
        part
        for span in sentences
        for line in _lines(text, *span)
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


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Return a sentence; one that is too long for wrapped prose line by line."""
    if end - start <= WRAPPED:
        yield start, end
        return
    at = start
    for line in text[start:end].splitlines(keepends=True):
        yield from trimmed(text, at, at + len(line))
        at += len(line)
