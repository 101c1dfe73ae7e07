"""A text as sentences, each with its tokens and the strength of the break before it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from monograph.derive.tokens import count_tokens, tokenizer

BLOCK_CHARACTERS = 200_000
"""A text is worked through in blocks of about this size, cut where a paragraph ends."""

LONGEST_CHARACTERS = 4_096
"""A longer sentence is cut at white space before its tokens are counted."""

HEADING, PARAGRAPH, SENTENCE = 3, 2, 1

_NEWLINE = re.compile(r"\n\s*")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_SPACE_BEFORE = re.compile(r".*\s", re.DOTALL)


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


def count_ahead(texts: Sequence[str]) -> list[list[Block] | None]:
    """The blocks of many texts, their tokens counted together, which is faster than one text after the other.

    Returns
    -------
    One entry a text, in order; None for a text of several blocks, which is counted as it is worked through.
    """
    spans = [_spans_of_block(text, 0, len(text)) if len(text) <= BLOCK_CHARACTERS else None for text in texts]
    pieces = [_pieces(text, some, len(text)) for text, some in zip(texts, spans, strict=True) if some is not None]
    counts = iter(count_tokens([piece for one in pieces for piece in one]))
    return [None if some is None else [Block(some, tuple(islice(counts, len(some))))] for some in spans]


def _counted(text: str) -> Iterator[Block]:
    for first, last in _blocks(text):
        spans = _spans_of_block(text, first, last)
        yield Block(spans, tuple(count_tokens(_pieces(text, spans, last))))


def _spans_of_block(text: str, first: int, last: int) -> tuple[tuple[int, int], ...]:
    return tuple(part for span in _spans(text, first, last) for part in _short(text, *span))


def _pieces(text: str, spans: Sequence[tuple[int, int]], last: int) -> list[str]:
    """Each sentence with the white space that follows it."""
    ends = [start for start, _ in spans[1:]] + [last]
    return [text[start:end] for (start, _), end in zip(spans, ends, strict=False)]


def sentences(
    text: str, headings: Iterable[int], most_tokens: int, ahead: Iterable[Block] | None = None
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
    ahead:
        The blocks of the text, where :func:`count_ahead` has them.
    """
    waiting = iter(sorted(headings))
    heading = next(waiting, None)
    end_before = 0
    for block in ahead if ahead is not None else _counted(text):
        for (start, end), tokens in zip(block.spans, block.tokens, strict=True):
            strength = PARAGRAPH if _BLANK_LINE.search(text, end_before, start) else SENTENCE
            while heading is not None and heading <= start:
                strength, heading = HEADING, next(waiting, None)
            end_before = end
            if tokens <= most_tokens:
                yield Sentence(start, end, tokens, strength, _mark(text, start, end))
            else:
                yield from _parts(text, Sentence(start, end, tokens, strength, 0), most_tokens)


def _mark(text: str, start: int, end: int) -> int:
    return zlib.crc32(text[start:end].encode("utf-8", "replace"))


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(text):
        end = min(len(text), start + BLOCK_CHARACTERS)
        if end < len(text):
            paragraph = text.rfind("\n\n", start + BLOCK_CHARACTERS // 2, end)
            line = text.rfind("\n", start + BLOCK_CHARACTERS // 2, end)
            end = paragraph + 2 if paragraph >= 0 else line + 1 if line >= 0 else end
        yield start, end
        start = end


def _spans(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Sentence spans without white space at their ends."""
    import sentencex

    for found in sentencex.get_sentence_boundaries("en", text[first:last]):
        start, end = first + found["start_index"], first + found["end_index"]
        for newline in _NEWLINE.finditer(text, start, end):
            # Prose wrapped at a fixed width goes on in lower case: its line ends are no sentence ends.
            after = text[newline.end() : newline.end() + 1]
            if "\n" in newline.group()[1:] or not after.islower():
                yield from _trimmed(text, start, newline.start())
                start = newline.end()
        yield from _trimmed(text, start, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    if left < len(part):
        yield start + left, start + len(part.rstrip())


def _short(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST_CHARACTERS:
        space = _SPACE_BEFORE.match(text, start + LONGEST_CHARACTERS // 2, start + LONGEST_CHARACTERS)
        cut = space.end() if space else start + LONGEST_CHARACTERS
        yield from _trimmed(text, start, cut)
        start = cut
    yield from _trimmed(text, start, end)


def _parts(text: str, whole: Sentence, most_tokens: int) -> Iterator[Sentence]:
    """A sentence of too many tokens in parts, cut at white space where there is some."""
    encoding = tokenizer().encode(text[whole.start : whole.end], add_special_tokens=False)
    start, strength = whole.start, whole.strength
    while True:
        first = next(
            (at for at, (begin, _) in enumerate(encoding.offsets) if begin + whole.start >= start),
            len(encoding.offsets),
        )
        if len(encoding.offsets) - first <= most_tokens:
            cut = whole.end
        else:
            limit = whole.start + encoding.offsets[first + most_tokens - 1][0]
            space = _SPACE_BEFORE.match(text, (start + limit) // 2, limit)
            cut = max(space.end() if space else limit, start + 1)
        for begin, end in _trimmed(text, start, cut):
            tokens = min(most_tokens, count_tokens([text[begin:end]])[0])
            yield Sentence(begin, end, tokens, strength, _mark(text, begin, end))
            strength = SENTENCE
        if cut >= whole.end:
            return
        start = cut
