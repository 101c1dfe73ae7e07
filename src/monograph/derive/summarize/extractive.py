"""Extractive summaries, without a model: the sentences that cover most of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import numpy as np

from monograph.derive.embed.static import StaticEmbedder, token_vectors, unit_rows
from monograph.derive.sentences import sentence_spans
from monograph.derive.tokens import count_tokens, first_tokens, token_ids
from monograph.values import Float32, Quote, SummaryText

MAX_TEXT = 12_000
"""Most characters of a text that are read. Only chunks that a caller has cut are longer."""
MAX_SENTENCES = 400
"""Most sentences that are compared with each other: if there are more, those nearest to their mean."""
LEAST_TOKENS = 12
"""Shorter sentences (headings, signatures, fragments) are chosen only if there are no others."""
JOIN = "\n"


@dataclass(frozen=True, slots=True)
class _SummarySentence:
    source: int
    start: int
    end: int
    text: str


class ExtractiveSummarizer:
    """Summarizer that quotes, word for word, the sentences that together are nearest to all others.

    Each next sentence is the one that adds most to the coverage of all sentences, weighted by their tokens. So the
    chosen sentences are central and unlike each other (facility location: Lin and Bilmes 2011). Sentences are compared
    by static word vectors (see :class:`monograph.derive.embed.static.StaticEmbedder`). They keep the order of the
    texts, one a line.
    """

    spec = "extractive"
    key = f"extractive/1/{StaticEmbedder.key}"
    """The number is raised when the code chooses other sentences than before."""

    def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
        """Return a summary of quoted sentences. See :class:`monograph.models.Summarizer`.

        If no sentence is short enough, or none has a letter or digit, the summary is the beginning of the first one.
        It is empty only if all texts are blank.
        """
        every = _sentences(texts)
        sentences = [one for one in every if any(sign.isalnum() for sign in one.text)]
        if not sentences:
            return _gist([_cut(one, max_tokens) for one in every[:1]])
        vectors, tokens = _embedded([one.text for one in sentences])
        fitting = [place for place, count in enumerate(tokens) if LEAST_TOKENS <= count < max_tokens]
        fitting = fitting or [place for place, count in enumerate(tokens) if count < max_tokens]
        if not fitting:
            return _gist([_cut(sentences[0], max_tokens)])
        chosen = _chosen(vectors[fitting], [tokens[place] for place in fitting], max_tokens)
        return _fitted([sentences[fitting[place]] for place in chosen], max_tokens)


def _sentences(texts: Sequence[str]) -> list[_SummarySentence]:
    """Return the distinct sentences of texts, since neighbouring chunks overlap."""
    found: dict[str, _SummarySentence] = {}
    for source, text in enumerate(texts):
        for start, end in sentence_spans(text[:MAX_TEXT]):
            sentence = text[start:end]
            if sentence not in found:
                found[sentence] = _SummarySentence(source, start, end, sentence)
    return list(found.values())


@lru_cache(maxsize=65_536)
def _tokens_of(word: str) -> tuple[int, ...]:
    """Return the token ids of a word. No token spans a space, and words repeat, so results are cached."""
    return tuple(token_ids(word))


def _embedded(sentences: Sequence[str]) -> tuple[Float32, list[int]]:
    """Return the unit vectors of sentences, float32 (n, 256), and the number of tokens of each."""
    tokens = [list(chain.from_iterable(map(_tokens_of, sentence.split()))) for sentence in sentences]
    counts = [len(some) for some in tokens]
    starts = np.cumsum([0, *counts[:-1]])
    sums = np.add.reduceat(token_vectors()[list(chain.from_iterable(tokens))], starts, axis=0)
    return unit_rows(sums), counts


def _chosen(vectors: Float32, tokens: Sequence[int], max_tokens: int) -> list[int]:
    """Return the indices of the sentences that cover all of them best within ``max_tokens``, best first."""
    places = np.arange(len(vectors))
    if len(vectors) > MAX_SENTENCES:
        near = vectors @ vectors.mean(axis=0)
        places = np.sort(np.argsort(-np.round(near, 6), kind="stable")[:MAX_SENTENCES])
    vectors = vectors[places]
    lengths = np.array(tokens, dtype=np.float64)[places]
    likeness = np.clip(vectors @ vectors.T, 0.0, None).astype(np.float64)
    covered = np.zeros(len(vectors))
    left = float(max_tokens)
    chosen: list[int] = []
    open_ = lengths + 1 <= left
    while open_.any():
        gains = np.maximum(likeness - covered, 0.0) @ lengths
        # Rounded, so that two machines that differ in the last digit choose the same sentence.
        best = int(np.argmax(np.where(open_, np.round(gains, 6), -1.0)))
        if gains[best] <= 0 and chosen:
            break
        chosen.append(int(places[best]))
        covered = np.maximum(covered, likeness[best])
        left -= lengths[best] + 1  # One token for the line break.
        open_ &= lengths + 1 <= left
        open_[best] = False
    return chosen


def _fitted(best: list[_SummarySentence], max_tokens: int) -> SummaryText:
    """Return a summary of the first sentences of ``best``, as many as fit when their tokens are counted together."""
    while True:
        gist = _gist(sorted(best, key=lambda one: (one.source, one.start)))
        if count_tokens([gist.text])[0] <= max_tokens:
            return gist
        if len(best) == 1:
            return _gist([_cut(best[0], max_tokens)])
        best = best[:-1]


def _gist(sentences: Sequence[_SummarySentence]) -> SummaryText:
    quotes = []
    at = 0
    for one in sentences:
        quotes.append(Quote(at, at + len(one.text), one.source, one.start, one.end))
        at += len(one.text) + len(JOIN)
    return SummaryText(JOIN.join(one.text for one in sentences), tuple(quotes))


def _cut(sentence: _SummarySentence, max_tokens: int) -> _SummarySentence:
    """Return a sentence, or the beginning of one that is too long, cut at white space if there is any."""
    head = first_tokens(sentence.text, max_tokens)
    space = max(head.rfind(" "), head.rfind("\n")) if len(head) < len(sentence.text) else -1
    head = head[:space].rstrip() if space > len(head) // 2 else head
    return _SummarySentence(sentence.source, sentence.start, sentence.start + len(head), head)
