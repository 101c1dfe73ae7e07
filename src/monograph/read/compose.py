"""Builds a document's text from paragraphs, and records its headings and places (pages, slides, rows, …)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monograph.errors import SourceTooLarge
from monograph.read.source import Items, SourceFile
from monograph.read.text import TITLE_CHARACTERS, Heading, first_title, sections_of
from monograph.regex import regex
from monograph.values import Document, Place, Problem, content_id

MOST_CHARACTERS = 500_000_000
_UNWANTED = regex("[\ud800-\udfff\0-\x08\x0b\x0e-\x1f\x7f\ufffe\uffff\u00ad\u200b]")
_SEPARATOR = "\n\n"


def clean(text: str) -> str:
    """Return a text with LF newlines, without surrogates, control characters, soft hyphens and zero-width spaces."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\v", "\n").replace("\f", "\n")
    return _UNWANTED.sub("", text)


class Composer:
    """Collects the paragraphs of a document, and the offsets of its headings and places (pages, slides, rows, …)."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._headings: list[Heading] = []
        self._places: list[Place] = []
        self._next_place: Place | None = None

    @property
    def length(self) -> int:
        """Number of characters of the text so far."""
        return self._length

    def add(self, text: str) -> None:
        """Add a paragraph, which may have several lines. A paragraph of white space is skipped.

        Raises
        ------
        SourceTooLarge
            If the document becomes longer than MOST_CHARACTERS.
        """
        text = clean(text).strip()
        if not text:
            return
        if self._parts:
            self._parts.append(_SEPARATOR)
            self._length += len(_SEPARATOR)
        if self._next_place is not None:
            place, self._next_place = self._next_place, None
            self._places.append(
                Place(self._length, place.page, place.slide, place.sheet, place.row, place.json, place.boundary)
            )
        self._parts.append(text)
        self._length += len(text)
        if self._length > MOST_CHARACTERS:
            raise SourceTooLarge(f"its text has more than {MOST_CHARACTERS:,} characters", "split it")

    def heading(self, level: int, title: str) -> None:
        """Add a paragraph that is a heading. ``level`` is 1 for the highest."""
        title = " ".join(clean(title).split())
        if title:
            start = self._length + (len(_SEPARATOR) if self._parts else 0)
            self._headings.append(Heading(start, level, title[:TITLE_CHARACTERS]))
            self.add(title)

    def mark(self, at: int, level: int, title: str) -> None:
        """Record a heading at offset ``at`` of the text. No text is added. Call it in the order of the offsets."""
        self._headings.append(Heading(at, level, title[:TITLE_CHARACTERS]))

    def place(self, place: Place) -> None:
        """Set the place (page, slide, rows, …) of the paragraphs added next. If none is added, the place is dropped."""
        boundary = place.boundary or (self._next_place is not None and self._next_place.boundary)
        self._next_place = Place(0, place.page, place.slide, clean(place.sheet), place.row, place.json, boundary)

    def first_heading(self) -> str:
        """Return the first heading of level 1, else the first heading, else an empty text."""
        return first_title(self._headings)

    def document(
        self, opened: SourceFile, metadata: Mapping[str, Any], title: str = "", part: str = ""
    ) -> Document | None:
        """Return the collected paragraphs as one document, or None if there are no paragraphs.

        ``part`` is part of the document's id, and distinguishes several documents of one file. If ``title`` is empty,
        the title is :meth:`first_heading`, or, without headings, the file's name without its suffix.
        """
        if not self._parts:
            return None
        cleaned = {key: _clean_value(value) for key, value in metadata.items()}
        title = " ".join(clean(title).split())[:TITLE_CHARACTERS] or self.first_heading() or opened.address.stem
        identifier = content_id("file", opened.address.uri, *([part] if part else []))
        return Document(
            "".join(self._parts), identifier, title, opened.address.uri, cleaned,
            sections_of(sorted(self._headings, key=lambda heading: heading.start)), places=tuple(self._places),
        )  # fmt: skip

    def items(self, opened: SourceFile, metadata: Mapping[str, Any], title: str = "") -> Items:
        """Yield the document that :meth:`document` returns, or a problem if there is no text."""
        document = self.document(opened, metadata, title)
        yield document if document is not None else Problem(opened.address.uri, "it has no text: nothing to index")


def _clean_value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_clean_value(item) for item in value]
    return clean(value) if isinstance(value, str) else value
