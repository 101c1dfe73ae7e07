"""A text as sentences, each with its tokens and the strength of the break before it."""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from monograph.derive.sentences import BLOCK_CHARACTERS, after_space, blocks, spans_of_block, trimmed
from monograph.derive.tokens import count_tokens, tokenizer
from monograph.text_pass import compiled

HEADING, PARAGRAPH, SENTENCE = 3, 2, 1

_BLANK_LINE = re.compile(r"\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class Sentence:
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


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a text: its sentences' spans, without white space at their ends, and their tokens."""

    spans: tuple[tuple[int, int], ...]
    tokens: tuple[int, ...]


def count_blocks(texts: Sequence[str]) -> list[list[Block] | None]:
    """The blocks of many texts, their tokens counted together, which is faster than one text after the other.

    Returns
    -------
    One entry a text, in order; None for a text of several blocks, which is counted as it is worked through.
    """
    spans = [spans_of_block(text, 0, len(text)) if len(text) <= BLOCK_CHARACTERS else None for text in texts]
    pieces = [_pieces(text, some, len(text)) for text, some in zip(texts, spans, strict=True) if some is not None]
    counts = iter(count_tokens([piece for one in pieces for piece in one]))
    return [None if some is None else [Block(some, tuple(islice(counts, len(some))))] for some in spans]


def _counted(text: str) -> Iterator[Block]:
    for first, last in blocks(text):
        spans = spans_of_block(text, first, last)
        yield Block(spans, tuple(count_tokens(_pieces(text, spans, last))))


def _pieces(text: str, spans: Sequence[tuple[int, int]], last: int) -> list[str]:
    """Each sentence with the white space that follows it."""
    ends = [start for start, _ in spans[1:]] + [last]
    return [text[start:end] for (start, _), end in zip(spans, ends, strict=False)]


def sentences(
    text: str, headings: Iterable[int], most_tokens: int, counted: Iterable[Block] | None = None
) -> Iterator[Sentence]:
    """The sentences of a text, in order; every character but white space is in one.

    Parameters
    ----------
    text:
        Any text.
    headings:
        Offsets at which a heading begins.
    most_tokens:
        A longer sentence comes in parts.
    counted:
        The blocks of the text, where :func:`count_blocks` has them.
    """
    waiting = iter(sorted(headings))
    heading = next(waiting, None)
    end_before = 0
    for block in counted if counted is not None else _counted(text):
        found = _breaks(text, block.spans, end_before)
        for (start, end), tokens, (paragraph, mark) in zip(block.spans, block.tokens, found, strict=True):
            strength = PARAGRAPH if paragraph else SENTENCE
            while heading is not None and heading <= start:
                strength, heading = HEADING, next(waiting, None)
            end_before = end
            if tokens <= most_tokens:
                yield Sentence(start, end, tokens, strength, mark)
            else:
                yield from _parts(text, Sentence(start, end, tokens, strength, 0), most_tokens)


def _breaks(text: str, spans: Sequence[tuple[int, int]], before: int) -> Iterable[tuple[bool, int]]:
    """Whether a blank line stands before each sentence, and its mark."""
    return plain_breaks(text, spans, before) if compiled is None else compiled.breaks(text, spans, before)


def plain_breaks(text: str, spans: Sequence[tuple[int, int]], before: int) -> Iterator[tuple[bool, int]]:
    """The same in Python: what the compiled equals."""
    for start, end in spans:
        yield _BLANK_LINE.search(text, before, start) is not None, _mark(text, start, end)
        before = end


def _mark(text: str, start: int, end: int) -> int:
    return zlib.crc32(text[start:end].encode("utf-8", "replace"))


def _parts(text: str, whole: Sentence, most_tokens: int) -> Iterator[Sentence]:
    """A sentence of too many tokens in parts, cut at white space where there is some."""
    encoding = tokenizer().encode(text[whole.start : whole.end], add_special_tokens=False)
    begins = [whole.start + begin for begin, _ in encoding.offsets]
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
