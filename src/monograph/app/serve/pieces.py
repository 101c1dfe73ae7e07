"""Texts divided into blocks (paragraphs, headings, tables), and blocks divided into pieces.

A new piece begins wherever a marked span, or a word of the question, begins or ends. Offsets count characters, as
Python's slices do. JavaScript would count UTF-16 units, so the text is divided on the server.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import Literal, TypeAlias

from monograph.answer.reading import content_words
from monograph.graph.names import stem
from monograph.regex import regex
from monograph.store.words.terms import words_of
from monograph.values import Section

_BREAK = regex(r"\n[^\S\n]*(?:\n[^\S\n]*)+")
_LINE = regex(r"[^\n]+")
_HASHES = regex(r"[^\S\n]*#{1,6}[^\S\n]+")
_TABLE_LINE = regex(r"\s*\|.*\|\s*$")
_RULE = regex(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*$")
_CELL = regex(r"(?:\\.|[^|\\])+")
_LONGEST = 4_000
"""Maximum number of characters by which :func:`window` extends a span at each end, to a boundary of a paragraph."""

Span: TypeAlias = tuple[int, int]

_NAME = regex(r"(?:\A|; )([^:;\n]{1,80}): ")
_MIN_COUNT = 2
"""Minimum numbers for :func:`_table_of_rows`: rows, columns of a row, and columns shared with earlier rows."""

# A vowel sign, for example of Devanagari, does not match \w, but is part of its word.
_WORD = regex(r"[\w\u0300-\u036f\u0900-\u0dff]+")
_UNSPACED = regex(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]+"
)
_PAIR = 2


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, with its marks.

    Parameters
    ----------
    start, end:
        Offsets into the document's text; for a summary, into the summary.
    text:
        The characters between them.
    marks:
        Numbers, from 0, of the marked spans that contain it.
    word:
        Whether it is a word of the question.
    """

    start: int
    end: int
    text: str
    marks: tuple[int, ...] = ()
    word: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading or a table.

    Parameters
    ----------
    kind:
        ``heading``, ``text`` (a paragraph) or ``table``.
    start, end:
        Offsets into the document's text.
    level:
        Level of a heading, from 1; else 0.
    pieces:
        Its text, without the ``#`` of a heading; empty for a table.
    rows:
        Rows of a table, the header first; each row is a list of cells, each cell a list of pieces.
    """

    kind: Literal["heading", "text", "table"]
    start: int
    end: int
    level: int = 0
    pieces: tuple[Piece, ...] = ()
    rows: tuple[tuple[tuple[Piece, ...], ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Marks:
    """Parts of a text to mark.

    ``spans`` are (start, end) offsets into the text. ``words`` are the words of a question, which are marked wherever
    they occur in the text.
    """

    spans: tuple[Span, ...] = ()
    words: Words | None = None

    def cut(self, text: str, start: int, end: int) -> tuple[Piece, ...]:
        """Return ``text[start:end]`` as pieces."""
        if start >= end:
            return ()
        stretch = text[start:end]
        words = [(start + a, start + b) for a, b in self.words.spans(stretch)] if self.words is not None else []
        overlapping = [(number, a, b) for number, (a, b) in enumerate(self.spans) if a < end and b > start and a < b]
        edges = {
            start,
            end,
            *(edge for _, a, b in overlapping for edge in (a, b)),
            *(edge for word in words for edge in word),
        }
        edges_in_order = sorted(edge for edge in edges if start <= edge <= end)
        begins = [a for a, _ in words]
        pieces = []
        for a, b in pairwise(edges_in_order):
            marks = tuple(number for number, first, last in overlapping if first <= a and b <= last)
            index = bisect_right(begins, a) - 1
            pieces.append(Piece(a, b, text[a:b], marks, index >= 0 and b <= words[index][1]))
        return tuple(pieces)


def window(text: str, start: int, length: int) -> Span:
    """Return the span of ``length`` characters from ``start``, extended at both ends to whole paragraphs.

    An end stays where it is if the boundary of its paragraph is more than ``_LONGEST`` characters away.
    """
    start = min(max(start, 0), len(text))
    end = min(start + max(length, 1), len(text))
    before = text.rfind("\n\n", max(0, start - _LONGEST), start)
    after = text.find("\n\n", end, end + _LONGEST)
    first = start if start == 0 else before + 2 if before >= 0 else 0 if start <= _LONGEST else start
    last = after + 2 if after >= 0 else len(text) if len(text) - end <= _LONGEST else end
    return first, last


def blocks(text: str, start: int, end: int, sections: Sequence[Section], marks: Marks) -> list[Block]:
    """Return ``text[start:end]`` as blocks. ``sections`` are all sections of the whole text."""
    levels = [(section.start, len(section.path)) for section in sections]
    result: list[Block] = []
    paragraphs = list(_paragraphs(text, start, end))
    index = 0
    while index < len(paragraphs):
        table = _table_of_rows(text, paragraphs, index, marks)
        result += [table] if table else _paragraph_blocks(text, *paragraphs[index], levels, marks)
        index += len(table.rows) - 1 if table else 1
    return result


def _table_of_rows(text: str, paragraphs: Sequence[Span], first: int, marks: Marks) -> Block | None:
    """Return consecutive paragraphs such as "name: Ann; price: 3", from ``first`` on, as a table; None if too few."""
    names: dict[str, Span] = {}
    rows: list[dict[str, Span]] = []
    for number in range(first, len(paragraphs)):
        row = _row_of(text, *paragraphs[number])
        if len(row) < _MIN_COUNT or (rows and len(names.keys() & row.keys()) < _MIN_COUNT):
            break
        for name, (name_span, _) in row.items():
            names.setdefault(name, name_span)
        rows.append({name: value for name, (_, value) in row.items()})
    if len(rows) < _MIN_COUNT:
        return None
    header = tuple(marks.cut(text, *span) for span in names.values())
    cells = (tuple(marks.cut(text, *row[name]) if name in row else () for name in names) for row in rows)
    return Block("table", paragraphs[first][0], paragraphs[first + len(rows) - 1][1], rows=(header, *cells))


def _row_of(text: str, start: int, end: int) -> dict[str, tuple[Span, Span]]:
    """Return {column name: (span of name, span of value)} of a paragraph such as "name: Ann; price: 3", else {}."""
    paragraph = text[start:end]
    matches = list(_NAME.finditer(paragraph))
    if "\n" in paragraph or len(matches) < _MIN_COUNT or matches[0].start():
        return {}
    ends = [*(match.start() for match in matches[1:]), len(paragraph)]
    columns = {
        match[1]: ((start + match.start(1), start + match.end(1)), (start + match.end(), start + last))
        for match, last in zip(matches, ends, strict=True)
    }
    return columns if len(columns) == len(matches) else {}


def _paragraphs(text: str, start: int, end: int) -> Iterator[Span]:
    position = start
    for gap in _BREAK.finditer(text, start, end):
        if gap.start() > position:
            yield position, gap.start()
        position = gap.end()
    if position < end and text[position:end].strip():
        yield position, end


def _paragraph_blocks(text: str, start: int, end: int, levels: Sequence[Span], marks: Marks) -> Iterator[Block]:
    """Yield the headings, tables and texts of a paragraph; ``levels`` are the sorted (start, level) of all sections."""
    pending_start = start
    lines = [line.span() for line in _LINE.finditer(text, start, end)]
    number = 0
    while number < len(lines):
        first, last = lines[number]
        block, count = None, 1
        if level := _level(text, first, last, levels):
            hashes = _HASHES.match(text, first, last)
            block = Block("heading", first, last, level, marks.cut(text, hashes.end() if hashes else first, last))
        elif rows := _table_lines(text, lines, number):
            cells = [_cell_pieces(text, a, b, marks) for a, b in rows if not _RULE.match(text[a:b])]
            block, count = Block("table", first, rows[-1][1], rows=tuple(cells)), len(rows)
        if block is not None:
            yield from _text_block(text, pending_start, first, marks)
            yield block
            pending_start = min(block.end + 1, end)
        number += count
    yield from _text_block(text, pending_start, end, marks)


def _level(text: str, start: int, end: int, levels: Sequence[Span]) -> int:
    """Return the level of the heading line ``text[start:end]``, else 0; ``levels``: see :func:`_paragraph_blocks`."""
    index = bisect_left(levels, (start, 0))
    if index == len(levels) or levels[index][0] >= end:
        return 0
    # A section that starts after a letter starts inside the line: the line is no heading.
    return 0 if any(character.isalpha() for character in text[start : levels[index][0]]) else levels[index][1]


def _text_block(text: str, start: int, end: int, marks: Marks) -> Iterator[Block]:
    if text[start:end].strip():
        end = start + len(text[start:end].rstrip("\n"))
        yield Block("text", start, end, 0, marks.cut(text, start, end))


def _table_lines(text: str, lines: Sequence[Span], first: int) -> list[Span]:
    """Return the lines of the Markdown table that begins at line number ``first``; empty if there is none."""
    if not _TABLE_LINE.match(text[slice(*lines[first])]):
        return []
    if first + 1 == len(lines) or not _RULE.match(text[slice(*lines[first + 1])]):
        return []
    return list(takewhile(lambda line: _TABLE_LINE.match(text[slice(*line)]), lines[first:]))


def _cell_pieces(text: str, start: int, end: int, marks: Marks) -> tuple[tuple[Piece, ...], ...]:
    cells = []
    for cell in _CELL.finditer(text, start, end):
        content = cell.group()
        first = cell.start() + len(content) - len(content.lstrip())
        last = cell.start() + len(content.rstrip())
        if first < last or (start < cell.start() and cell.end() < end):
            cells.append(marks.cut(text, first, max(first, last)))
    return tuple(cells)


class Words:
    """The content words of a question, which match any inflected form in a text."""

    def __init__(self, question: str) -> None:
        self._word_cache: dict[str, bool] = {}
        self._stems = set(map(stem, content_words(question))) if question.strip() else set()

    def spans(self, text: str) -> list[Span]:
        """Return the (start, end) of the words of the question in a text, in order and without overlaps."""
        if not self._stems:
            return []
        spans: list[Span] = []
        for word in _WORD.finditer(text):
            if _UNSPACED.search(word.group()):
                spans += self._pairs(word.group(), word.start())
            elif self._is_content_word(word.group()):
                spans.append(word.span())
        return spans

    def _is_content_word(self, word: str) -> bool:
        if word not in self._word_cache:
            parts = words_of(word)
            self._word_cache[word] = bool(parts) and all(stem(part) in self._stems for part in parts)
        return self._word_cache[word]

    def _pairs(self, run: str, start: int) -> list[Span]:
        """Return where ``run``, a text without spaces at offset ``start``, has pairs of characters of the question."""
        pairs: list[Span] = []
        # Scripts such as Chinese have no spaces between words, so each pair of characters is looked up.
        for index in range(max(1, len(run) - 1)):
            pair = run[index : index + _PAIR]
            if not self._is_content_word(pair):
                continue
            begin, end = start + index, start + index + len(pair)
            if pairs and begin <= pairs[-1][1]:
                pairs[-1] = (pairs[-1][0], end)
            else:
                pairs.append((begin, end))
        return pairs
