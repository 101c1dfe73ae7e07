"""A text as sentences, each with its tokens and the strength of the break before it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

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
    for first, last in _blocks(text):
        spans = [part for span in _spans(text, first, last) for part in _short(text, *span)]
        if not spans:
            continue
        ends = [*(start for start, _ in spans[1:]), last]
        counts = count_tokens([text[start:stop] for (start, _), stop in zip(spans, ends, strict=True)])
        for (start, end), tokens in zip(spans, counts, strict=True):
            strength = PARAGRAPH if _BLANK_LINE.search(text, end_before, start) else SENTENCE
            while heading is not None and heading <= start:
                strength, heading = HEADING, next(waiting, None)
            end_before = end
            if tokens <= most_tokens:
                yield Sentence(start, end, tokens, strength, zlib.crc32(text[start:end].encode("utf-8", "replace")))
            else:
                yield from _parts(text, Sentence(start, end, tokens, strength, 0), most_tokens)


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
            mark = zlib.crc32(text[begin:end].encode("utf-8", "replace"))
            tokens = min(most_tokens, count_tokens([text[begin:end]])[0])
            yield Sentence(begin, end, tokens, strength, mark)
            strength = SENTENCE
        if cut >= whole.end:
            return
        start = cut
