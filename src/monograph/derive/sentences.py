"""Division of a text into spans of sentences.

The library sentencex, which Wikimedia wrote for the languages of Wikipedia, finds the sentences. In addition, a
line end divides a sentence, so that headings, list items, table rows, and lines of chats and code are sentences. A
line end before a lower-case letter does not divide: it is a line break inside prose.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from monograph.regex import regex

BLOCK_CHARACTERS = 200_000
"""Most characters of a block. A text is processed block by block. Blocks end at paragraphs or lines where possible."""

PARAGRAPH = "\n\n"
"""Separator of paragraphs: no sentence continues across it."""

LONGEST_CHARACTERS = 4_096
"""Most characters of a sentence. A longer sentence is divided, at white space if there is any."""

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
        Most characters of a sentence. A longer sentence is divided into several spans.
    """
    return [span for first, last in blocks(text) for span in spans_of_block(text, first, last, longest)]


def spans_of_texts(texts: Sequence[str], longest: int = LONGEST_CHARACTERS) -> list[list[tuple[int, int]]]:
    """Return a list of sentence spans for each text. Offsets count from the start of that text.

    All texts are divided in one call of sentencex if possible, because a call costs more than dividing a short text.
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
    """Yield the (start, end) of the blocks of a text, in order and without gaps: see BLOCK_CHARACTERS."""
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
    """Return the sentences of text[first:last] as (start, end) in ``text``: see :func:`sentence_spans`."""
    spans: list[tuple[int, int]] = []
    for span in _split_at_lines(text, _find_sentences(text, first, last)):
        spans.extend(cut(text, *span, longest) if span[1] - span[0] > longest else (span,))
    return tuple(spans)


def trim(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the span without the white space at its ends. Yield nothing if it contains only white space."""
    part = text[start:end]
    leading = len(part) - len(part.lstrip())
    if leading < len(part):
        yield start + leading, start + len(part.rstrip())


def _split_at_lines(text: str, sentences: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans of ``sentences``, divided at line ends. No span begins or ends with white space."""
    for begin, end in sentences:
        start = begin
        for newline in _NEWLINE.finditer(text, begin, end) if text.find("\n", begin, end) >= 0 else ():
            # Prose wrapped at a fixed width goes on in lower case: its line ends are no sentence ends.
            after = text[newline.end() : newline.end() + 1]
            if "\n" in newline.group()[1:] or not after.islower():
                yield from trim(text, start, newline.start())
                start = newline.end()
        yield from trim(text, start, end)


def _find_sentences(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of the sentences that sentencex finds in text[first:last], as offsets into ``text``."""
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
    """Return the offset after the last white space in text[first:last]; ``last`` if it contains no white space."""
    space = _SPACE_BEFORE.match(text, first, last)
    return space.end() if space else last


def cut(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """Divide a span into parts of at most ``longest`` characters, and yield the (start, end) of each part.

    Spans are divided at white space if possible. No part begins or ends with white space.
    """
    while end - start > longest:
        middle = after_space(text, start + longest // 2, start + longest)
        yield from trim(text, start, middle)
        start = middle
    yield from trim(text, start, end)


MOST_WORK = 1_024
"""Limit of the :func:`work` per character of a stretch. The worst of 24,000 real paragraphs needs 630."""

ALWAYS_TAKEN = 512
"""Most characters of a text that is passed to sentencex without an estimate of its work: see :func:`work`."""

LONG_WORD = 256

_PARAGRAPH_BREAK = regex(r"\n\r*\n")
_CLOSED_BY = {
    "``": ("''", "``"), "''": ("''",), "`": ("'", "`"), "'": ("'",), '"': ('"',), "«": ("»",), "»": ("«",),
    "‘": ("’",), "‚": ("‚",), "“": ("”",), "„": ("“",), "‛": ("‛",), "‟": ("‟",), "‹": ("›",), "《": ("》",),
    "「": ("」",),
}  # fmt: skip
# An apostrophe inside a word is no quote. A character beyond ASCII counts both as a letter and as none.
_QUOTE = regex(r"``|''|(?<![A-Za-z0-9_])[`'](?=\w|[^\x00-\x7f])|[`'](?!\w)|[\"«»‘’‚“”„‛‟‹›《》「」]")
_SYMMETRIC = regex(r"``|''|[`'\"‚‛‟]")
_STOP = regex(r"[.!?]|[^\w\s\x00-\x7f]")
_NOT_ASCII = regex(r"[^\w\s\x00-\x7f]")
_LONG_WORD = regex(rf"\S{{{LONG_WORD},}}")
_ENCLOSES = "([{<（)\n•◦▪▫■□●○⁃⁌⁍◆◇★☆➤➢➣▶▸►"
_LINE_OR_SPACE = regex(r".*\n|.*\s", re.DOTALL)


def stretches(text: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) of the stretches of a text, in order. Each stretch is passed to sentencex in one call.

    For some paragraphs, such as one with thousands of quotation marks, sentencex would be too slow: see :func:`work`.
    Such a costly paragraph is divided into several stretches. The paragraphs between two costly ones are one stretch.
    No sentence continues from one stretch to the next. Prose is not divided inside a paragraph.
    """
    start = 0
    if not _is_easy(text):
        breaks = [match.end() for match in _PARAGRAPH_BREAK.finditer(text)]
        for first, last in pairwise((0, *breaks, len(text))):
            if _times_too_much(text[first:last]) > 1:
                if start < first:
                    yield start, first
                yield from _divide(text, first, last)
                start = last
    if start < len(text):
        yield start, len(text)


def _divide(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of parts of ``text[first:last]``, none above MOST_WORK, divided at line ends if possible."""
    length = last - first
    times = _times_too_much(text[first:last])
    if times <= 1:
        yield first, last
        return
    # In a part of half the length, a character is compared with half as many others.
    size = max(length // (int(times) + 1), ALWAYS_TAKEN // 2)
    while first < last:
        end = min(last, first + size)
        if end < last:
            match = _LINE_OR_SPACE.match(text, first + size // 2, end)
            end = end if match is None else match.end()
        yield from _divide(text, first, end)
        first = end


def _times_too_much(text: str) -> float:
    """Return the work of a text as a multiple of what MOST_WORK allows. Above 1, the text must be divided."""
    return 0 if _is_easy(text) else work(text) / (MOST_WORK * len(text))


def _is_easy(text: str) -> bool:
    """Return whether a text has so few quotes, ``.!?`` and non-ASCII signs that its work need not be counted."""
    if len(text) <= ALWAYS_TAKEN:
        return True
    most = MOST_WORK // 2 - sum(map(text.count, "'\"`.!?"))
    # Each character beyond ASCII adds at least one byte: few extra bytes mean few such characters.
    return len(text.encode("utf-8", "surrogatepass")) - len(text) <= most or len(_NOT_ASCII.findall(text)) <= most


def work(text: str) -> int:
    """Return an upper bound of how many characters sentencex reads again when it divides a paragraph.

    sentencex reads a paragraph once from start to end. It reads characters again to find the other quote of a pair, to
    see if a full stop is inside quotes or brackets, and to find the start of the word before a full stop.
    """
    quotes = [(match.start(), match.group()) for match in _QUOTE.finditer(text)]
    stops = [match.start() for match in _STOP.finditer(text)]
    enclosing: int = len(quotes) // 2 + sum(map(text.count, _ENCLOSES))
    symmetric = _SYMMETRIC.findall(text)
    alternations: int = sum(left != right for left, right in pairwise(symmetric))
    # Passing a range, or counting one kind of quote, takes a fraction of the time of reading a character.
    total: int = (
        _count_end_search(text, quotes)
        + len(stops) * enclosing
        + _count_way_back(text, stops)
        + len(quotes) ** 2 // 4
        + alternations * len(text) // 4
    )
    return total


def _count_end_search(text: str, quotes: list[tuple[int, str]]) -> int:
    """Count the characters that sentencex reads from each possible opening quote in search of the closing quote."""
    total = 0
    following: dict[str, int] = {}
    for position, sign in reversed(quotes):
        opens = closes = True
        if sign in ("'", "`"):
            after = text[position + 1 : position + 2]
            closes = not (after.isalnum() or after == "_")
            opens = not closes or not (after.isascii() or after.isspace())
        if opens:
            # Each closing sign is searched up to its next occurrence, or to the end of the text.
            total += max(
                (following.get(closing, len(text)) - position for closing in _CLOSED_BY.get(sign, ())), default=0
            )
        if closes:
            following[sign] = position
            following[sign[0]] = position
    return total


def _count_way_back(text: str, stops: list[int]) -> int:
    """Count the characters that sentencex reads from each stop in a long word back to the start of the word."""
    total = 0
    for word in _LONG_WORD.finditer(text):
        within = stops[bisect_left(stops, word.start()) : bisect_left(stops, word.end())]
        total += sum(within) - len(within) * word.start()
    return total
