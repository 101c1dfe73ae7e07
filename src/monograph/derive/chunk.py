"""Content-defined chunking: documents are cut at borders that depend only on the text around them.

Cutting greedily from the start would move every later border when one word is inserted, and every later chunk would
have to be embedded again. Here a chunk may end at any sentence in the second half of its token budget. It ends at the
strongest break there: a heading, else the end of a paragraph, else of a sentence. Among equal breaks, the one whose
following sentence has the highest hash is chosen. Not far behind an edited place, the old and the new text are
cut at the same break again. From there on, their chunks are identical.
"""

from __future__ import annotations

import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from monograph.derive.sentences import after_space, blocks, spans_of_block, trim
from monograph.derive.tokens import count_tokens, token_spans
from monograph.errors import InvalidDocument
from monograph.regex import regex
from monograph.settings import Settings
from monograph.values import PASSAGE_SEPARATOR, Chunk, Document, content_id

SHORTEST = 0.5
"""A chunk may end once it fills this share of its token budget."""

HEADING, PARAGRAPH, SENTENCE = 3, 2, 1

_BLANK_LINE = regex(r"\n[ \t]*\n")

_TABLE = regex(r"^[ ]{0,3}(\|[^\n]+\|)[ \t]*\n[ ]{0,3}\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*(?:\n[ ]{0,3}\|[^\n]*)*", re.M)


def cut(document: Document, settings: Settings) -> list[Chunk]:
    """Return the chunks of a document, in reading order.

    Every character except white space is in at least one chunk. For each chunk,
    ``document.text[chunk.start:chunk.end] == chunk.text``, without white space at either end. If the document has
    passages, each passage becomes one chunk, unchanged.

    Parameters
    ----------
    document:
        Document to cut. Its ``sections`` give each chunk its ``section`` metadata. No overlap crosses the start of a
        section. Its ``places`` give each chunk its page, slide, sheet, rows or JSON path. No chunk crosses the start
        of a place whose ``boundary`` is True.
    settings:
        ``chunk_tokens`` is the most tokens of a chunk. ``chunk_overlap`` is the most tokens, in whole sentences, that a
        chunk repeats from the previous one.

    Raises
    ------
    InvalidDocument
        If a passage of the document is empty.
    """
    if document.passages:
        return _cut_at_passages(document)
    seen: dict[str, int] = {}
    chunks = []
    section_starts = [section.start for section in document.sections]
    place_starts = [place.start for place in document.places]
    tables = _TABLE.finditer(document.text) if "|\n" in document.text else ()
    # End of the header, end of the table, and the header without bars.
    headers = [(table.end(1), table.end(), " ".join(table[1].replace("|", " ").split())) for table in tables]
    for ordinal, (start, own_start, end) in enumerate(_cut_spans(document, settings)):
        text = document.text[start:end]
        seen[text] = seen.get(text, 0) + 1
        metadata: dict[str, Any] = {}
        section = bisect_right(section_starts, own_start)
        if section and (path := " > ".join(document.sections[section - 1].path)):
            metadata["section"] = path
        first, last = bisect_right(place_starts, start), bisect_right(place_starts, end - 1)
        if places := document.places[max(first - 1, 0) : last]:
            metadata |= places[0].metadata()
            if places[-1].row > places[0].row and places[-1].sheet == places[0].sheet:
                metadata["last_row"] = places[-1].row
        header = bisect_right(headers, (start, 0, "")) - 1
        if header >= 0 and headers[header][0] <= start < headers[header][1]:
            metadata["columns"] = headers[header][2]
        identifier = content_id("chunk", document.id, text, seen[text])
        chunks.append(Chunk(identifier, document.id, text, start, end, ordinal, metadata))
    return chunks


def _cut_at_passages(document: Document) -> list[Chunk]:
    chunks = []
    seen: dict[str, int] = {}
    start = 0
    for ordinal, passage in enumerate(document.passages):
        if not passage.text.strip():
            raise InvalidDocument(
                f"passage {passage.id or ordinal!r} of document {document.id!r} is empty", "leave it out"
            )
        seen[passage.text] = seen.get(passage.text, 0) + 1
        identifier = passage.id or content_id("chunk", document.id, passage.text, seen[passage.text])
        start = start if passage.start is None else passage.start
        end = start + len(passage.text)
        chunks.append(Chunk(identifier, document.id, passage.text, start, end, ordinal, passage.metadata))
        start = end + len(PASSAGE_SEPARATOR)
    return chunks


def _cut_spans(document: Document, settings: Settings) -> Iterator[tuple[int, int, int]]:
    """Yield the offsets of each chunk: (start with the overlap, start without the overlap, end)."""
    headings = (section.start for section in document.sections)
    boundaries = [place.start for place in document.places if place.boundary]
    stream = sentences(document.text, headings, settings.chunk_tokens)
    buffer: list[Sentence] = []
    overlap: list[Sentence] = []
    border = token_count = 0
    for sentence in stream:
        if border < len(boundaries) and boundaries[border] <= sentence.start:
            border = bisect_right(boundaries, sentence.start)
            if buffer:
                yield (overlap or buffer)[0].start, buffer[0].start, buffer[-1].end
                buffer, overlap, token_count = [], [], 0
        buffer.append(sentence)
        token_count += sentence.tokens
        while token_count > settings.chunk_tokens and len(buffer) > 1:
            border_index = _find_border(buffer, settings.chunk_tokens - _sum_tokens(overlap))
            yield (overlap or buffer)[0].start, buffer[0].start, buffer[border_index - 1].end
            overlap = _take_overlap(buffer, border_index, settings)
            buffer = buffer[border_index:]
            token_count = _sum_tokens(overlap) + _sum_tokens(buffer)
    if buffer:
        yield (overlap or buffer)[0].start, buffer[0].start, buffer[-1].end


def _sum_tokens(buffer: Sequence[Sentence]) -> int:
    return sum(sentence.tokens for sentence in buffer)


def _find_border(buffer: Sequence[Sentence], room: int) -> int:
    """Return the index in ``buffer`` where the next chunk begins, with at most ``room`` tokens before it."""
    filled = list(accumulate(sentence.tokens for sentence in buffer))
    candidates = [
        index for index in range(1, len(buffer)) if filled[index - 1] <= room and filled[index - 1] >= SHORTEST * room
    ]
    if not candidates:
        # A long sentence leaves no border in the second half of the budget: cut after the last sentence that fits.
        return max(1, sum(tokens <= room for tokens in filled[:-1]))
    return max(candidates, key=lambda index: (buffer[index].strength, buffer[index].mark))


def _take_overlap(buffer: Sequence[Sentence], index: int, settings: Settings) -> list[Sentence]:
    """Return the sentences before ``buffer[index]`` that the next chunk, which begins there, repeats as overlap."""
    chosen: list[Sentence] = []
    # The next chunk's first own sentence must fit in addition to the overlap.
    room = min(settings.chunk_overlap, settings.chunk_tokens - buffer[index].tokens)
    while index > 1 and buffer[index].strength < HEADING and buffer[index - 1].tokens <= room:
        index -= 1
        room -= buffer[index].tokens
        chosen.insert(0, buffer[index])
    return chosen


class Sentence(NamedTuple):
    """Span of a sentence, ``text[start:end]``, without white space at its ends.

    Parameters
    ----------
    start, end:
        Offsets into the document's text.
    tokens:
        Number of tokens of the sentence and of the white space after it.
    strength:
        Strength of the break before the sentence: HEADING, PARAGRAPH or SENTENCE.
    mark:
        Hash of the sentence's text. Among breaks of equal strength, the text is cut before the sentence with the
        highest hash. So the choice does not depend on the position in the document.
    """

    start: int
    end: int
    tokens: int
    strength: int
    mark: int


def sentences(text: str, headings: Iterable[int], most_tokens: int) -> Iterator[Sentence]:
    """Yield the sentences of a text, in order; every character except white space is in one of them.

    Parameters
    ----------
    text:
        Any text.
    headings:
        Offsets at which headings begin.
    most_tokens:
        Most tokens of a sentence; a longer sentence is divided into parts.
    """
    remaining = iter(sorted(headings))
    heading = next(remaining, None)
    end_before = 0
    for first, last in blocks(text):
        spans = spans_of_block(text, first, last)
        # The white space after a sentence is counted with it.
        ends = [*(start for start, _ in spans[1:]), last]
        counts = count_tokens([text[start:end] for (start, _), end in zip(spans, ends, strict=False)])
        for (start, end), tokens in zip(spans, counts, strict=True):
            # A blank line needs two characters. Nearly all sentences have fewer between them, and need no search.
            is_parted = start - end_before > 1 and _BLANK_LINE.search(text, end_before, start) is not None
            strength = PARAGRAPH if is_parted else SENTENCE
            while heading is not None and heading <= start:
                strength, heading = HEADING, next(remaining, None)
            end_before = end
            if tokens <= most_tokens:
                yield Sentence(start, end, tokens, strength, _hash_text(text, start, end))
            else:
                yield from _divide_sentence(text, Sentence(start, end, tokens, strength, 0), most_tokens)


def _hash_text(text: str, start: int, end: int) -> int:
    return zlib.crc32(text[start:end].encode("utf-8", "replace"))


def _divide_sentence(text: str, sentence: Sentence, most_tokens: int) -> Iterator[Sentence]:
    """Yield the parts of a sentence that has more than ``most_tokens`` tokens, cut at white space if there is any."""
    begins = [sentence.start + begin for begin, _ in token_spans(text[sentence.start : sentence.end])]
    start, strength = sentence.start, sentence.strength
    while True:
        first = bisect_left(begins, start)
        if len(begins) - first <= most_tokens:
            cut = sentence.end
        else:
            limit = begins[first + most_tokens - 1]
            cut = max(after_space(text, (start + limit) // 2, limit), start + 1)
        for begin, end in trim(text, start, cut):
            tokens = min(most_tokens, count_tokens([text[begin:end]])[0])
            yield Sentence(begin, end, tokens, strength, _hash_text(text, begin, end))
            strength = SENTENCE
        if cut >= sentence.end:
            return
        start = cut
