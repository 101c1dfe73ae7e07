"""Division of a text into spans of sentences.

sentencex, Wikimedia's library for the languages of Wikipedia, finds the sentences. In addition, most line ends end a
sentence: they divide headings, lists, chats, tables and code.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from monograph.regex import regex

BLOCK_CHARACTERS = 200_000
"""Most characters of a block. A text is divided block by block, if possible at ends of paragraphs or lines."""

PARAGRAPH = "\n\n"
"""Separator of paragraphs: no sentence continues across it."""

LONGEST_CHARACTERS = 4_096
"""Most characters of a sentence; a longer one is cut at white space."""

_NEWLINE = regex(r"\n\s*")
_SPACE_BEFORE = regex(r".*\s", re.DOTALL)


def sentence_spans(text: str, longest: int = LONGEST_CHARACTERS) -> list[tuple[int, int]]:
    """Return the (start, end) of the sentences of a text, in order, without white space at their ends.

    Every character except white space is in exactly one span.

    Parameters
    ----------
    text:
        Any text.
    longest:
        Most characters of a sentence; a longer one is divided into parts.
    """
    return [span for first, last in blocks(text) for span in spans_of_block(text, first, last, longest)]


def spans_of_texts(texts: Sequence[str], longest: int = LONGEST_CHARACTERS) -> list[list[tuple[int, int]]]:
    """Return the sentence spans of each of several texts, found together in one call of sentencex.

    For a short text, a call of sentencex costs more than the division itself.
    """
    joined = PARAGRAPH.join(texts)
    if len(joined) > BLOCK_CHARACTERS or any(text != text.strip() or not text for text in texts):
        return [sentence_spans(text, longest) for text in texts]
    spans = spans_of_block(joined, 0, len(joined), longest)
    span_lists, start, index = [], 0, 0
    for text in texts:
        end, first = start + len(text), index
        while index < len(spans) and spans[index][0] < end:
            index += 1
        span_lists.append([(begin - start, stop - start) for begin, stop in spans[first:index]])
        start = end + len(PARAGRAPH)
    return span_lists


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of the blocks of a text, in order, without a gap."""
    start = 0
    while start < len(text):
        end = min(len(text), start + BLOCK_CHARACTERS)
        if end < len(text):
            paragraph = text.rfind("\n\n", start + BLOCK_CHARACTERS // 2, end)
            line = text.rfind("\n", start + BLOCK_CHARACTERS // 2, end)
            end = paragraph + 2 if paragraph >= 0 else line + 1 if line >= 0 else end
        yield start, end
        start = end


def spans_of_block(text: str, first: int, last: int, longest: int = LONGEST_CHARACTERS) -> tuple[tuple[int, int], ...]:
    """Return the (start, end) of the sentences of text[first:last]: see :func:`sentence_spans`."""
    spans: list[tuple[int, int]] = []
    for span in _split_at_lines(text, _find_sentences(text, first, last)):
        spans.extend(cut(text, *span, longest) if span[1] - span[0] > longest else (span,))
    return tuple(spans)


def trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a span without the white space at its ends; nothing if it contains only white space."""
    part = text[start:end]
    leading = len(part) - len(part.lstrip())
    if leading < len(part):
        yield start + leading, start + len(part.rstrip())


def _split_at_lines(text: str, sentences: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield sentences divided at the ends of lines that end a sentence too."""
    for begin, end in sentences:
        start = begin
        for newline in _NEWLINE.finditer(text, begin, end) if text.find("\n", begin, end) >= 0 else ():
            # Prose wrapped at a fixed width goes on in lower case: its line ends are no sentence ends.
            after = text[newline.end() : newline.end() + 1]
            if "\n" in newline.group()[1:] or not after.islower():
                yield from trimmed(text, start, newline.start())
                start = newline.end()
        yield from trimmed(text, start, end)


def _find_sentences(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences of text[first:last] as sentencex finds them, without a gap."""
    import sentencex

    block = text[first:last]
    for begin, end in stretches(block) if len(block) > ALWAYS_TAKEN else ((0, len(block)),):
        stretch = block[begin:end]
        # Ask for sentences, not for their boundaries: these take half as long again.
        lengths = list(map(len, sentencex.segment("en", stretch)))
        if sum(lengths) != len(stretch):  # Only boundaries say which characters sentencex left out.
            bounds = sentencex.get_sentence_boundaries("en", stretch)
            yield from (
                (first + begin + boundary["start_index"], first + begin + boundary["end_index"]) for boundary in bounds
            )
            continue
        yield from pairwise(accumulate(lengths, initial=first + begin))


def after_space(text: str, first: int, last: int) -> int:
    """Return the end of the last white space in text[first:last]; ``last`` if there is none."""
    space = _SPACE_BEFORE.match(text, first, last)
    return space.end() if space else last


def cut(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of a span, of at most ``longest`` characters each, cut at white space if there is any."""
    while end - start > longest:
        middle = after_space(text, start + longest // 2, start + longest)
        yield from trimmed(text, start, middle)
        start = middle
    yield from trimmed(text, start, end)


MOST_SIGNS = 3_072
"""Most quotes, stops and unusual characters of a stretch: sentencex may compare each of them with all its characters.
The longest of 24,000 real paragraphs has 2,789.
"""

ALWAYS_TAKEN = 512
"""A stretch of at most this many characters is passed to sentencex however many signs it has."""

_PARAGRAPH_BREAK = regex(r"\n\r*\n")
_NOT_ASCII = regex(r"[^\w\s\x00-\x7f]")
_SIGN = regex(r"['\"`.!?]|[^\w\s\x00-\x7f]")
_LINE_OR_SPACE = regex(r".*\n|.*\s", re.DOTALL)


def stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of the stretches that are passed to sentencex, in order, without a gap: nearly always one.

    A paragraph with more than MOST_SIGNS signs is divided, since the time of sentencex grows with their number times
    the length. No sentence continues from one stretch to the next.
    """
    start = 0
    if not _is_easy(text):
        breaks = [match.end() for match in _PARAGRAPH_BREAK.finditer(text)]
        for first, last in pairwise((0, *breaks, len(text))):
            if not _is_easy(text[first:last]):
                if start < first:
                    yield start, first
                yield from _divide(text, first, last)
                start = last
    if start < len(text):
        yield start, len(text)


def _is_easy(text: str) -> bool:
    if len(text) <= ALWAYS_TAKEN:
        return True
    most = MOST_SIGNS - sum(map(text.count, "'\"`.!?"))
    # Each sign beyond ASCII adds at least one byte: few extra bytes mean few such signs.
    return len(text.encode("utf-8", "surrogatepass")) - len(text) <= most or len(_NOT_ASCII.findall(text)) <= most


def _divide(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the parts of text[first:last], cut at line ends, else at white space, before too many signs."""
    signs = [match.start() for match in _SIGN.finditer(text, first, last)]
    while first < last:
        number = bisect_left(signs, first) + MOST_SIGNS
        end = max(signs[number], first + ALWAYS_TAKEN) if number < len(signs) else last
        if end < last:
            match = _LINE_OR_SPACE.match(text, (first + end) // 2, end)
            end = end if match is None else match.end()
        yield first, end
        first = end
