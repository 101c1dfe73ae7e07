"""A text as sentences, each with its tokens and the strength of the break before it."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from monograph.derive.sentences import after_space, blocks, spans_of_block, trimmed
from monograph.derive.tokens import count_tokens, token_spans
from monograph.regex import regex

HEADING, PARAGRAPH, SENTENCE = 3, 2, 1

_BLANK_LINE = regex(r"\n[ \t]*\n")


class Sentence(NamedTuple):
    """text[start:end], without white space at its ends.

    ``tokens`` counts the white space that follows it too. ``strength`` is that of the break before it: HEADING,
    PARAGRAPH or SENTENCE. ``mark`` is a hash of its text: among breaks of one strength the highest mark is cut at,
    wherever in the document it stands.
    """

    start: int
    end: int
    tokens: int
    strength: int
    mark: int


def _pieces(text: str, spans: Sequence[tuple[int, int]], last: int) -> list[str]:
    """Each sentence with the white space that follows it."""
    ends = [start for start, _ in spans[1:]] + [last]
    return [text[start:end] for (start, _), end in zip(spans, ends, strict=False)]


def sentences(text: str, headings: Iterable[int], most_tokens: int) -> Iterator[Sentence]:
    """The sentences of a text, in order; every character but white space is in one.

    Parameters
    ----------
    text:
        Any text.
    headings:
        Offsets at which a heading begins.
    most_tokens:
        A longer sentence comes in parts.
    """
    waiting = iter(sorted(headings))
    heading = next(waiting, None)
    end_before = 0
    for first, last in blocks(text):
        spans = spans_of_block(text, first, last)
        for (start, end), tokens in zip(spans, count_tokens(_pieces(text, spans, last)), strict=True):
            # A blank line needs two characters, and nearly all sentences have fewer between them.
            is_parted = start - end_before > 1 and _BLANK_LINE.search(text, end_before, start) is not None
            strength = PARAGRAPH if is_parted else SENTENCE
            while heading is not None and heading <= start:
                strength, heading = HEADING, next(waiting, None)
            end_before = end
            if tokens <= most_tokens:
                yield Sentence(start, end, tokens, strength, _mark(text, start, end))
            else:
                yield from _parts(text, Sentence(start, end, tokens, strength, 0), most_tokens)


def _mark(text: str, start: int, end: int) -> int:
    return zlib.crc32(text[start:end].encode("utf-8", "replace"))


def _parts(text: str, whole: Sentence, most_tokens: int) -> Iterator[Sentence]:
    """A sentence of too many tokens in parts, cut at white space where there is some."""
    begins = [whole.start + begin for begin, _ in token_spans(text[whole.start : whole.end])]
    start, strength = whole.start, whole.strength
    while True:
        first = bisect_left(begins, start)
        if len(begins) - first <= most_tokens:
            cut = whole.end
        else:
            limit = begins[first + most_tokens - 1]
            cut = max(after_space(text, (start + limit) // 2, limit), start + 1)
        for begin, end in trimmed(text, start, cut):
            tokens = min(most_tokens, count_tokens([text[begin:end]])[0])
            yield Sentence(begin, end, tokens, strength, _mark(text, begin, end))
            strength = SENTENCE
        if cut >= whole.end:
            return
        start = cut
