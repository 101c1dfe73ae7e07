"""Summaries without a model: the sentences that say most of what the others say."""

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
"""Characters of a text that are read; only ready-made passages are longer."""
MAX_SENTENCES = 400
"""Sentences that are held against each other: those nearest to the mean, where there are more."""
LEAST_TOKENS = 12
"""Shorter sentences are chosen only where there are no others: headings, signatures, crumbs."""
JOIN = "\n"


@dataclass(frozen=True, slots=True)
class _SummarySentence:
    source: int
    start: int
    end: int
    text: str


class ExtractiveSummarizer:
    """Quotes the sentences that together are nearest to all others, word for word.

    Each sentence is chosen for what it adds to how well the chosen ones cover all sentences of the texts, token for
    token, so that they are central and unlike each other (facility location: Lin and Bilmes 2011), by static word
    vectors (see :class:`monograph.derive.embed.StaticEmbedder`). They come in the order of the texts, one a line.
    """

    spec = "extractive"
    key = f"extractive/1/{StaticEmbedder.key}"
    """Raised when other sentences are chosen than before."""

    def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
        """Choose sentences. See :class:`monograph.models.Summarizer`.

        Where no sentence is short enough, the beginning of the first text that has any stands for all; the gist is
        empty only where all texts are blank.
        """
        sentences = list(_sentences(texts))
        if not sentences:
            return SummaryText("")
        vectors, tokens = _embedded([one.text for one in sentences])
        fitting = [place for place, count in enumerate(tokens) if LEAST_TOKENS <= count < max_tokens]
        fitting = fitting or [place for place, count in enumerate(tokens) if count < max_tokens]
        if not fitting:
            return _gist([_cut(sentences[0], max_tokens)])
        chosen = _chosen(vectors[fitting], [tokens[place] for place in fitting], max_tokens)
        return _fitted([sentences[fitting[place]] for place in chosen], max_tokens)


def _sentences(texts: Sequence[str]) -> list[_SummarySentence]:
    """The sentences of texts, each wording once: neighbouring chunks overlap."""
    found: dict[str, _SummarySentence] = {}
    for source, text in enumerate(texts):
        for start, end in sentence_spans(text[:MAX_TEXT]):
            sentence = text[start:end]
            if sentence not in found and any(one.isalnum() for one in sentence):
                found[sentence] = _SummarySentence(source, start, end, sentence)
    return list(found.values())


@lru_cache(maxsize=65_536)
def _tokens_of(word: str) -> tuple[int, ...]:
    """Numbers of a word's tokens: no token of this tokenizer reaches over a space, and words come again and again."""
    return tuple(token_ids(word))


def _embedded(sentences: Sequence[str]) -> tuple[Float32, list[int]]:
    """Sums of the vectors of sentences' tokens, of unit length, and how many tokens each has."""
    tokens = [list(chain.from_iterable(map(_tokens_of, sentence.split()))) for sentence in sentences]
    counts = [len(some) for some in tokens]
    starts = np.cumsum([0, *counts[:-1]])
    sums = np.add.reduceat(token_vectors()[list(chain.from_iterable(tokens))], starts, axis=0)
    return unit_rows(sums), counts


def _chosen(vectors: Float32, tokens: Sequence[int], max_tokens: int) -> list[int]:
    """Places of sentences that cover all of them best within so many tokens, the best first."""
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
        # Rounded, lest two machines differ in the last digit and choose differently.
        best = int(np.argmax(np.where(open_, np.round(gains, 6), -1.0)))
        if gains[best] <= 0 and chosen:
            break
        chosen.append(int(places[best]))
        covered = np.maximum(covered, likeness[best])
        left -= lengths[best] + 1  # A token for what joins it to the next.
        open_ &= lengths + 1 <= left
        open_[best] = False
    return chosen


def _fitted(best: list[_SummarySentence], max_tokens: int) -> SummaryText:
    """A gist of sentences, the best first; of so many as fit when their tokens are counted together."""
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
    """A sentence, or the beginning of one that is too long, up to white space where there is some."""
    head = first_tokens(sentence.text, max_tokens)
    space = max(head.rfind(" "), head.rfind("\n")) if len(head) < len(sentence.text) else -1
    head = head[:space].rstrip() if space > len(head) // 2 else head
    return _SummarySentence(sentence.source, sentence.start, sentence.start + len(head), head)
