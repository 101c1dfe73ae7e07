"""A text as spans of sentences.

By sentencex, which Wikimedia keeps for the languages of Wikipedia, and by line ends, which end most of what is no
prose: headings, lists, chats, tables, code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

from monograph.derive.stretches import ALWAYS_TAKEN, stretches
from monograph.regex import regex

BLOCK_CHARACTERS = 200_000
"""A text is worked through in blocks of about this size, cut where a paragraph ends."""

PARAGRAPH = "\n\n"
"""What no sentence goes on beyond."""

LONGEST_CHARACTERS = 4_096
"""A longer sentence is cut at white space."""

_NEWLINE = regex(r"\n\s*")
_SPACE_BEFORE = regex(r".*\s", re.DOTALL)


def sentence_spans(text: str, longest: int = LONGEST_CHARACTERS) -> list[tuple[int, int]]:
    """Where the sentences of a text stand, in order, without white space at their ends.

    Every character but white space is in exactly one.

    Parameters
    ----------
    text:
        Any text.
    longest:
        Most characters of a sentence; a longer one comes in parts.
    """
    return [span for first, last in blocks(text) for span in spans_of_block(text, first, last, longest)]


def spans_of_texts(texts: Sequence[str], longest: int = LONGEST_CHARACTERS) -> list[list[tuple[int, int]]]:
    """The spans of several texts, told together: sentencex takes longer to be asked than to answer for a short one."""
    joined = PARAGRAPH.join(texts)
    if len(joined) > BLOCK_CHARACTERS or any(text != text.strip() or not text for text in texts):
        return [sentence_spans(text, longest) for text in texts]
    spans = spans_of_block(joined, 0, len(joined), longest)
    told, start, at = [], 0, 0
    for text in texts:
        end, first = start + len(text), at
        while at < len(spans) and spans[at][0] < end:
            at += 1
        told.append([(one - start, other - start) for one, other in spans[first:at]])
        start = end + len(PARAGRAPH)
    return told


def blocks(text: str) -> Iterator[tuple[int, int]]:
    """The blocks of a text, in order."""
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
    """Where the sentences of text[first:last] stand: see :func:`sentence_spans`."""
    spans: list[tuple[int, int]] = []
    for span in _lines(text, _found(text, first, last)):
        spans.extend(cut(text, *span, longest) if span[1] - span[0] > longest else (span,))
    return tuple(spans)


def trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A span without white space at its ends; nothing where it holds nothing else."""
    part = text[start:end]
    left = len(part) - len(part.lstrip())
    if left < len(part):
        yield start + left, start + len(part.rstrip())


def _lines(text: str, found: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield sentences divided at the ends of lines that end a sentence too."""
    for begin, end in found:
        start = begin
        for newline in _NEWLINE.finditer(text, begin, end) if text.find("\n", begin, end) >= 0 else ():
            # Prose wrapped at a fixed width goes on in lower case: its line ends are no sentence ends.
            after = text[newline.end() : newline.end() + 1]
            if "\n" in newline.group()[1:] or not after.islower():
                yield from trimmed(text, start, newline.start())
                start = newline.end()
        yield from trimmed(text, start, end)


def _found(text: str, first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yield the sentences of text[first:last] as sentencex finds them, without a gap."""
    import sentencex

    block = text[first:last]
    for begin, end in stretches(block) if len(block) > ALWAYS_TAKEN else ((0, len(block)),):
        stretch = block[begin:end]
        # Its sentences are asked for, not their boundaries, which it takes half as long again to tell.
        lengths = list(map(len, sentencex.segment("en", stretch)))
        if sum(lengths) != len(stretch):  # Where it left something out, only boundaries say what.
            bounds = sentencex.get_sentence_boundaries("en", stretch)
            yield from ((first + begin + one["start_index"], first + begin + one["end_index"]) for one in bounds)
            continue
        yield from pairwise(accumulate(lengths, initial=first + begin))


def after_space(text: str, first: int, last: int) -> int:
    """Where the last white space of text[first:last] ends; ``last`` where there is none."""
    space = _SPACE_BEFORE.match(text, first, last)
    return space.end() if space else last


def cut(text: str, start: int, end: int, longest: int) -> Iterator[tuple[int, int]]:
    """A span in parts of at most ``longest`` characters, cut at white space where there is some."""
    while end - start > longest:
        middle = after_space(text, start + longest // 2, start + longest)
        yield from trimmed(text, start, middle)
        start = middle
    yield from trimmed(text, start, end)
