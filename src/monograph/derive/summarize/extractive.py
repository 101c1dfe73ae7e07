"""Extractive summaries, without a model: the sentences that are most similar to all sentences of the texts."""

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
"""Characters of a text that are read; the rest is cut off. By default, only chunks that a caller made are longer."""
MAX_SENTENCES = 400
"""Limit of the sentences that are compared: if there are more, the ones with vectors nearest to the mean vector."""
LEAST_TOKENS = 12
"""Fewest tokens of a sentence. Shorter ones (headings, signatures, fragments) are chosen only if all are shorter."""
JOIN = "\n"


@dataclass(frozen=True, slots=True)
class _SummarySentence:
    source: int
    start: int
    end: int
    text: str


class ExtractiveSummarizer:
    """Summarizer that quotes, word for word, the sentences that together are most similar to all sentences.

    The coverage of a sentence is its similarity to the most similar chosen sentence. Sentences are chosen one by one.
    Each time, the summarizer chooses the sentence that adds most to the sum of all coverages. In this sum, a sentence
    has its number of tokens as weight. So the chosen sentences are central and unlike each other (facility location:
    Lin and Bilmes 2011). The similarity of two sentences is the cosine of their static vectors (see
    :class:`monograph.derive.embed.static.StaticEmbedder`). The summary has the chosen sentences in the order of the
    texts, one per line.
    """

    spec = "extractive"
    key = f"extractive/1/{StaticEmbedder.key}"
    """Key of this summarizer. Its number is raised when a new version of the code chooses different sentences."""

    def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
        """Return a summary of quoted sentences. See :class:`monograph.models.Summarizer`.

        If no sentence fits into ``max_tokens``, or no sentence has a letter or digit, the summary is the beginning of
        the first sentence. The summary is empty only if all texts are blank.
        """
        by_text: dict[str, _SummarySentence] = {}  # Neighbouring chunks overlap.
        for source, text in enumerate(texts):
            for start, end in sentence_spans(text[:MAX_TEXT]):
                by_text.setdefault(text[start:end], _SummarySentence(source, start, end, text[start:end]))
        sentences = [sentence for text, sentence in by_text.items() if any(map(str.isalnum, text))]
        if not sentences:
            return _join_sentences([_cut(sentence, max_tokens) for sentence in list(by_text.values())[:1]])
        vectors, tokens = _embed_sentences([sentence.text for sentence in sentences])
        fitting = [index for index, count in enumerate(tokens) if LEAST_TOKENS <= count < max_tokens]
        fitting = fitting or [index for index, count in enumerate(tokens) if count < max_tokens]
        if not fitting:
            return _join_sentences([_cut(sentences[0], max_tokens)])
        chosen = _choose_sentences(vectors[fitting], [tokens[index] for index in fitting], max_tokens)
        return _fit_summary([sentences[fitting[index]] for index in chosen], max_tokens)


@lru_cache(maxsize=65_536)
def _tokenize_word(word: str) -> tuple[int, ...]:
    """Return the token ids of a word, from a cache. Texts are tokenized word by word, as no token spans a space."""
    return tuple(token_ids(word))


def _embed_sentences(sentences: Sequence[str]) -> tuple[Float32, list[int]]:
    """Return (vectors, token counts) of sentences. The vectors are float32 (n, 256), rows of unit length."""
    tokens = [list(chain.from_iterable(map(_tokenize_word, sentence.split()))) for sentence in sentences]
    counts = [len(ids) for ids in tokens]
    starts = np.cumsum([0, *counts[:-1]])
    sums = np.add.reduceat(token_vectors()[list(chain.from_iterable(tokens))], starts, axis=0)
    return unit_rows(sums), counts


def _choose_sentences(vectors: Float32, tokens: Sequence[int], max_tokens: int) -> list[int]:
    """Return the indices of the chosen sentences, in the order of choice: see :class:`ExtractiveSummarizer`."""
    indices = np.arange(len(vectors))
    if len(vectors) > MAX_SENTENCES:
        similarity = vectors @ vectors.mean(axis=0)
        indices = np.sort(np.argsort(-np.round(similarity, 6), kind="stable")[:MAX_SENTENCES])
    vectors = vectors[indices]
    lengths = np.array(tokens, dtype=np.float64)[indices]
    similarities = np.clip(vectors @ vectors.T, 0.0, None).astype(np.float64)
    covered = np.zeros(len(vectors))
    remaining = float(max_tokens)
    chosen: list[int] = []
    eligible = lengths + 1 <= remaining
    while eligible.any():
        gains = np.maximum(similarities - covered, 0.0) @ lengths
        # Rounded, so that two machines that differ in the last digit choose the same sentence.
        best = int(np.argmax(np.where(eligible, np.round(gains, 6), -1.0)))
        if gains[best] <= 0 and chosen:
            break
        chosen.append(int(indices[best]))
        covered = np.maximum(covered, similarities[best])
        remaining -= lengths[best] + 1  # One token for the line break.
        eligible &= lengths + 1 <= remaining
        eligible[best] = False
    return chosen


def _fit_summary(best: list[_SummarySentence], max_tokens: int) -> SummaryText:
    """Return a summary of as many sentences from the start of ``best`` as fit into ``max_tokens``."""
    while True:
        summary = _join_sentences(sorted(best, key=lambda sentence: (sentence.source, sentence.start)))
        if count_tokens([summary.text])[0] <= max_tokens:
            return summary
        if len(best) == 1:
            return _join_sentences([_cut(best[0], max_tokens)])
        best = best[:-1]


def _join_sentences(sentences: Sequence[_SummarySentence]) -> SummaryText:
    quotes = []
    offset = 0
    for sentence in sentences:
        quotes.append(Quote(offset, offset + len(sentence.text), sentence.source, sentence.start, sentence.end))
        offset += len(sentence.text) + len(JOIN)
    return SummaryText(JOIN.join(sentence.text for sentence in sentences), tuple(quotes))


def _cut(sentence: _SummarySentence, max_tokens: int) -> _SummarySentence:
    """Return a sentence of at most ``max_tokens`` tokens. A longer sentence is cut, at white space if possible."""
    head = first_tokens(sentence.text, max_tokens)
    space = max(head.rfind(" "), head.rfind("\n")) if len(head) < len(sentence.text) else -1
    head = head[:space].rstrip() if space > len(head) // 2 else head
    return _SummarySentence(sentence.source, sentence.start, sentence.start + len(head), head)
