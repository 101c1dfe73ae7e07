"""Plain text, Markdown and JSON Lines."""

from __future__ import annotations

import codecs
import itertools
import json
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from monograph.errors import InvalidDocument
from monograph.read.detect import HEAD_BYTES, zero_width
from monograph.read.source import Address, Items, SourceFile
from monograph.read.title import title_of
from monograph.regex import regex
from monograph.values import Document, Problem, Section, content_id

SAMPLE_BYTES = 100_000
"""Number of bytes at the beginning of a text that are used to detect an unknown encoding."""

TITLE_CHARACTERS = 200
"""Longest heading, in characters. A longer one is cut, because headings are embedded with every chunk below them."""

PARSED_CHARACTERS = 2_000_000
"""Longest Markdown text that is parsed, in characters. A longer text is only scanned line by line for headings."""

_BLOCK = 1 << 20

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32-le"), (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"),
)  # fmt: skip
_SURROGATE = regex("[\ud800-\udfff]")
_FENCE = regex(r" {0,3}(`{3,}|~{3,})")
_HEADING = regex(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*$")


def read_text(opened: SourceFile) -> Items:
    """Yield a plain text as one document, with the title of :func:`monograph.read.title.title_of`."""
    text = yield from decoded(opened)
    if text:
        yield _text_document(text, opened.address, [])


def read_markdown(opened: SourceFile) -> Items:
    """Yield a Markdown text as one document, with its headings as sections."""
    text = yield from decoded(opened)
    if text:
        yield _text_document(text, opened.address, headings(text))


def read_rows(opened: SourceFile) -> Items:
    """Yield a document for each line of a JSON Lines file, or a problem for a line that is not a document."""
    text = yield from decoded(opened)
    address = opened.address
    text_counts: dict[str, int] = {}
    lines_by_id: dict[str, int] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            document = _row_document(row, address, text_counts)
            if document.id in lines_by_id:
                raise InvalidDocument(f"line {lines_by_id[document.id]} already has the id {document.id!r}")
            lines_by_id[document.id] = number
            yield document
        except (ValueError, RecursionError, InvalidDocument) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
            yield Problem(f"{address.uri}:{number}", f"the line is not a document: {reason}", "correct the line")


def _row_document(row: Any, address: Address, text_counts: dict[str, int]) -> Document:
    if not isinstance(row, dict) or not isinstance(row.get("text"), str) or not row["text"].strip():
        raise InvalidDocument('it must be an object with a "text"')
    rest = {key: value for key, value in row.items() if key not in ("id", "title", "text", "metadata", "meta")}
    own_metadata = row.get("metadata", row.get("meta")) or {}
    if not isinstance(own_metadata, dict):
        raise InvalidDocument('"metadata" must be an object')
    text = _SURROGATE.sub("\ufffd", row["text"].replace("\0", ""))
    identifier = row.get("id")
    if identifier is None:
        text_counts[text] = text_counts.get(text, 0) + 1
        identifier = content_id("row", address.uri, text, text_counts[text])
    metadata = json.loads(
        _SURROGATE.sub("\ufffd", json.dumps({"path": address.path, **rest, **own_metadata}, ensure_ascii=False))
    )
    return Document(text, str(identifier), str(row.get("title") or ""), address.uri, metadata)


def decoded(opened: SourceFile) -> Generator[Problem, None, str]:
    """Return a file's decoded text. Yield a problem if the text is empty, or if characters could not be decoded."""
    text, lost = decode(opened.data)
    uri = opened.address.uri
    if not text.strip():
        yield Problem(uri, "it is empty: nothing to index")
        return ""
    if lost:
        yield Problem(uri, f"{lost} characters could not be decoded and are shown as \ufffd", "save it as UTF-8")
    return text


def _text_document(text: str, address: Address, outline: list[Heading]) -> Document:
    title = first_title(outline) or title_of(text, address.stem)[:TITLE_CHARACTERS]
    return Document(
        text, content_id("file", address.uri), title, address.uri, {"path": address.path}, sections_of(outline)
    )


def decode(data: bytes) -> tuple[str, int]:
    """Return (text of the bytes, number of characters that could not be decoded). All line ends become line feeds.

    The first of these rules that applies gives the encoding:

    1. If there is a byte order mark, its encoding.
    2. UTF-16, if at least 30 % of the bytes at even positions are zero, and hardly any at odd positions, or vice versa.
    3. UTF-8, if all bytes are valid, or if there are ten times as many valid non-ASCII characters as invalid ones.
    4. The encoding that charset-normalizer finds, or UTF-8 if it finds none.
    """
    encoding, mark = encoding_of(data)
    text, lost = _decode_lossy(data[mark:], encoding)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATE.sub("\ufffd", text.replace("\0", "")).removeprefix("\ufeff"), lost


def encoding_of(data: bytes) -> tuple[str, int]:
    """Return (encoding, number of bytes of the byte order mark) of a text. For the rules see :func:`decode`."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    wide = zero_width(data[:HEAD_BYTES])
    if wide is not None:
        return wide, 0
    if _is_utf8(data):
        return "utf-8", 0
    # A text with a few invalid bytes, but ten times as many valid non-ASCII characters, is most likely UTF-8.
    text, lost = _decode_lossy(data, "utf-8")
    accented = sum(not character.isascii() for character in text) - lost
    if lost * 10 <= accented:
        return "utf-8", 0
    from charset_normalizer import from_bytes

    best = from_bytes(data[:SAMPLE_BYTES]).best()
    return ("utf-8" if best is None else best.encoding), 0


def _is_utf8(data: bytes) -> bool:
    decoder, view = codecs.getincrementaldecoder("utf-8")(), memoryview(data)
    try:
        # Block by block, to save memory.
        for start in range(0, len(data), _BLOCK):
            decoder.decode(view[start : start + _BLOCK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _decode_lossy(data: bytes, encoding: str) -> tuple[str, int]:
    try:
        return data.decode(encoding), 0
    except UnicodeDecodeError:
        text = data.decode(encoding, errors="replace")
        return text, text.count("\ufffd")


@dataclass(frozen=True, slots=True)
class Heading:
    """Heading of a text: the offset where its section begins, its level (1 is the highest) and its title."""

    start: int
    level: int
    title: str


def headings(text: str) -> list[Heading]:
    """Return the headings of a Markdown text, in the order of the text."""
    parsed = _parsed_headings(text) if len(text) <= PARSED_CHARACTERS else _scanned_headings(text)
    starts = list(itertools.accumulate((len(line) + 1 for line in text.split("\n")), initial=0))
    return [Heading(starts[line], level, title[:TITLE_CHARACTERS]) for line, level, title in parsed]


def first_title(outline: Sequence[Heading]) -> str:
    """Return the first heading of level 1, else the first heading, else an empty text."""
    titles = [heading.title for heading in outline if heading.level == 1] + [heading.title for heading in outline]
    return titles[0] if titles else ""


def sections_of(found: Iterable[Heading]) -> tuple[Section, ...]:
    """Return a section for each heading. The path of a section has the titles from the top heading to its own heading.

    A heading belongs under the nearest earlier heading with a smaller level number.
    """
    sections = []
    above: list[Heading] = []
    for heading in found:
        above = [*(outer for outer in above if outer.level < heading.level), heading]
        sections.append(Section(heading.start, tuple(outer.title for outer in above)))
    return tuple(sections)


def _parsed_headings(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield the (line, level, title) of each CommonMark heading, with lines counted from 0."""
    from markdown_it import MarkdownIt

    # Headings need neither inline nor link reference rules, which are the slow ones.
    tokens = MarkdownIt("commonmark").disable(["inline", "reference"]).parse(text)
    for token, content in itertools.pairwise(tokens):
        if token.type == "heading_open" and token.map is not None:
            title = content.content.strip()
            if title:
                yield token.map[0], int(token.tag[1:]), title


def _scanned_headings(text: str) -> Iterator[tuple[int, int, str]]:
    fence = ""
    for number, line in enumerate(text.split("\n")):
        fence_match = _FENCE.match(line)
        if fence_match and (not fence or fence_match.group(1).startswith(fence)):
            fence = "" if fence else fence_match.group(1)
        heading = None if fence else _HEADING.match(line)
        if heading and heading.group(2):
            yield number, len(heading.group(1)), heading.group(2)
