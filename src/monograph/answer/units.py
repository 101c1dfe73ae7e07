"""What of a text is judged as one: a sentence, or several brief ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from monograph.derive.sentences import cut, sentence_spans, spans_of_texts, trimmed

LONGEST_SENTENCE = 800
"""Characters; what has no punctuation comes in parts of this."""

BRIEF = 80
"""Characters; where sentences are shorter on average (a chat, a table, code), one alone says little."""

JOINED = 150
"""Characters; shorter sentences of such a text are judged together with those that follow."""

WRAPPED = 400
"""Characters; lines of a longer sentence that begin in lower case are those of a chat or code without punctuation."""


def units(text: str) -> tuple[tuple[int, int], ...]:
    """Where the sentences of a text stand; where they are brief, several together."""
    return _units(text, sentence_spans(text))


def units_of_texts(texts: Sequence[str]) -> list[tuple[tuple[int, int], ...]]:
    """The same of several texts."""
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
    """A sentence; one that is too long for wrapped prose line by line."""
    if end - start <= WRAPPED:
        yield start, end
        return
    at = start
    for line in text[start:end].splitlines(keepends=True):
        yield from trimmed(text, at, at + len(line))
        at += len(line)
