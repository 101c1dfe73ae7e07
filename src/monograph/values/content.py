"""Documents and their chunks, and the hashes that their ids are made from.

Offsets count Unicode code points of the document's text, as Python's slices do. The text of an object with ``start``
and ``end`` is always ``document.text[start:end]``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from monograph.dates.span import Dated, TimeSpan
from monograph.errors import InputError, InvalidDocument
from monograph.regex import regex
from monograph.values import arguments
from monograph.values.arguments import shown

if TYPE_CHECKING:
    from monograph.values.arrays import Float32
else:
    Float32 = Any  # Resolving the types of fields must not import numpy.

Metadata: TypeAlias = Mapping[str, Any]
"""JSON object: its values are str, int, float, bool, None, or lists and objects of these."""


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def content_hash(*parts: object) -> bytes:
    """Return the SHA-256 of JSON-like parts, 32 bytes. Every id and memo key is derived from such a hash.

    Parts are encoded as canonical JSON (sorted keys, no spaces). So ``("ab", "c")`` and ``("a", "bc")`` have different
    hashes, and the same parts have the same hash on every machine.
    """
    # Encoding each part by itself takes a third of the time: nearly all parts are texts and whole numbers.
    written = ",".join([str(part) if type(part) is int else _CANONICAL(part) for part in parts])
    return hashlib.sha256(f"[{written}]".encode("utf-8", "surrogatepass")).digest()


def content_id(*parts: object) -> str:
    """Return the first 128 bits of :func:`content_hash` as 32 hexadecimal digits."""
    return content_hash(*parts)[:16].hex()


@dataclass(frozen=True, slots=True)
class Section:
    """Section of a document.

    ``start`` is the offset at which the section begins. ``path`` has the headings of the section: its own heading last,
    and before it the headings of the enclosing sections, outermost first.
    """

    start: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Page, slide, row or similar place in the source of a document.

    It extends from offset ``start`` to the start of the next place, or to the end of the document. ``page``, ``slide``,
    ``row`` and ``picture`` count from 1; 0 means that the place has none. ``sheet`` is the name of a sheet, ``json`` a
    JSON path. The text at a ``picture`` is its description. If ``boundary`` is True, no chunk crosses the start of the
    place, so that no chunk mixes pages, slides or pictures.
    """

    start: int
    page: int = 0
    slide: int = 0
    sheet: str = ""
    row: int = 0
    json: str = ""
    boundary: bool = False
    picture: int = 0

    def metadata(self) -> dict[str, Any]:
        """Return the fields of the place that are set, by name, without ``start`` and ``boundary``."""
        values = {
            "page": self.page, "slide": self.slide, "sheet": self.sheet, "row": self.row, "json": self.json,
            "picture": self.picture,
        }  # fmt: skip
        return {name: value for name, value in values.items() if value}


def cite(metadata: Metadata) -> str:
    """Return the place of a chunk for display, such as ``page 3`` or ``sheet Sales, rows 4-9``, from its metadata.

    The text is empty if the metadata contains no place.
    """
    parts = [f"{name} {metadata[name]}" for name in ("page", "slide", "sheet", "json") if name in metadata]
    if "row" in metadata:
        last = metadata.get("last_row", metadata["row"])
        parts.append(f"row {last}" if last == metadata["row"] else f"rows {metadata['row']}-{last}")
    if isinstance(metadata.get("picture"), int):  # The document's own metadata may use this key for something else.
        parts.append(f"picture {metadata['picture']}")
    return ", ".join(parts)


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """Chunk of a document, cut by the caller instead of Monograph.

    Parameters
    ----------
    text:
        The text; not empty.
    id:
        Id of the chunk, kept unchanged. If empty, it is derived from the content.
    metadata:
        Metadata of the chunk. In filters and hits, it is merged with the document's metadata. If both have the same
        key, the value of the chunk is used.
    vector:
        float32 of shape (dimension,), or None to have the text embedded.
    start:
        Offset of the passage in the document's text. Give it for all passages of a document or for none. If it is
        given, the document must have a text.
    """

    text: str
    id: str = ""
    metadata: Metadata = field(default_factory=dict)
    vector: Float32 | None = None
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """Text with its id, title, uri and metadata.

    Parameters
    ----------
    text:
        The whole text. Leave it empty if ``passages`` without ``start`` are given: the text is then the passages,
        joined by blank lines.
    id:
        Any text, kept unchanged. If empty, it is derived from uri, title and text.
    title:
        Title. It is searched and embedded together with each chunk.
    uri:
        Where the document comes from: a path, a URL, or empty.
    metadata:
        A JSON object.
    sections:
        Headings, ordered by offset.
    places:
        Pages, slides, rows and similar places, ordered by offset. They become metadata of the chunks. A document that
        is read back from a file has none.
    passages:
        Ready-made chunks. If they are given, the text is not cut into chunks.
    date:
        Date of a document that is read back from a file. It is derived from the metadata, the text and the source file.
        Do not give it.
    valid:
        Period in which this version of the document was current, if it is read back from a file that keeps history.

    Raises
    ------
    InvalidDocument
        In these cases:

        - The metadata is not a JSON object.
        - A text contains half a surrogate pair.
        - An id, a title, a uri, a heading or the metadata contain U+0000.
        - The passages have no ``start``, and a text was given that differs from the joined passages.
        - A passage has a ``start``, but the document's text at this offset differs from the passage.
    """

    text: str = ""
    id: str = ""
    title: str = ""
    uri: str = ""
    metadata: Metadata = field(default_factory=dict)
    sections: tuple[Section, ...] = ()
    passages: tuple[Passage, ...] = ()
    places: tuple[Place, ...] = ()
    date: Dated | None = field(default=None, compare=False)
    valid: Valid | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        owner = f"document {shown(self.id or self.uri or self.title or self.text)}"
        _check(arguments.text, self.text, owner)
        for value, field_name in ((self.id, "id"), (self.title, "title"), (self.uri, "uri")):
            _check(arguments.label, value, f"the {field_name} of {owner}")
        if self.passages:
            self._check_passages(owner)
            object.__setattr__(self, "text", self._text_of_passages(owner))
        for section in self.sections:
            _check(arguments.whole_number, section.start, f"the start of a section of {owner}")
            for heading in section.path:
                _check(arguments.label, heading, f"a heading of {owner}")
        for place in self.places:
            for number in (place.start, place.page, place.slide, place.row):
                _check(arguments.whole_number, number, f"a place of {owner}")
            for text in (place.sheet, place.json):
                _check(arguments.label, text, f"a place of {owner}")
        check_json(self.metadata, owner)
        if not self.id:
            object.__setattr__(self, "id", content_id("document", self.uri, self.title, self.text))

    def _check_passages(self, owner: str) -> None:
        for passage in self.passages:
            _check(arguments.text, passage.text, f"a passage of {owner}")
            _check(arguments.label, passage.id, f"the id of a passage of {owner}")
            name = f"passage {shown(passage.id or passage.text)}"
            check_json(passage.metadata, name)
            if passage.vector is not None:
                _check(arguments.vector, passage.vector, f"the vector of {name}")

    def _text_of_passages(self, owner: str) -> str:
        """Return the document's text: as given if the passages have a ``start``, else the joined passages."""
        if any(passage.start is not None for passage in self.passages):
            for passage in self.passages:
                start = -1 if passage.start is None else passage.start
                _check(arguments.whole_number, start, f"the start of a passage of {owner}")
                if start < 0 or self.text[start : start + len(passage.text)] != passage.text:
                    raise InvalidDocument(
                        f"passage {shown(passage.id or passage.text)} of {owner} is not in its text at {passage.start}",
                        "give every passage its start in the text, or give none a start",
                    )
            return self.text
        joined = PASSAGE_SEPARATOR.join(passage.text for passage in self.passages)
        if self.text not in ("", joined):
            raise InvalidDocument(
                f"the text of {owner} differs from its passages", "give one of the two, or the start of each passage"
            )
        return joined


PASSAGE_SEPARATOR = "\n\n"
"""Separator between ready-made passages when they are joined to the text of their document."""


def _check(check: Callable[[Any, str], object], value: object, owner: str) -> None:
    """Check a value; raise InvalidDocument if ``check`` raises InputError."""
    try:
        check(value, owner)
    except InputError as error:
        raise InvalidDocument(error.message, error.hint) from None


MOST_NESTED = 500
"""Maximum number of levels of nested objects and lists in metadata.

SQLite's JSON functions accept at most twice as many levels.
"""


def _is_deeper(value: object, most: int) -> bool:
    level = [value]
    for _ in range(most + 1):
        level = [
            child
            for parent in level
            for child in (
                parent.values() if isinstance(parent, Mapping) else parent if isinstance(parent, list | tuple) else ()
            )
        ]
        if not level:
            return False
    return True


_NUL = regex(r"(?<!\\)(?:\\\\)*\\u0000")
"""Matches the JSON escape of U+0000, unless its backslash is itself escaped."""


def check_json(metadata: Metadata, owner: str) -> None:
    """Check that metadata can be stored. ``owner`` describes the object with the metadata in the error's message.

    Raises InvalidDocument unless the metadata is a JSON object with text keys, finite numbers, no U+0000 and at most
    MOST_NESTED levels.
    """
    if not isinstance(metadata, Mapping):
        raise InvalidDocument(f"the metadata of {owner} is {shown(metadata)}", "give an object")
    try:
        written = json.dumps(metadata, allow_nan=False, ensure_ascii=False)
        written.encode("utf-8")
        text_keys = all(isinstance(key, str) for key in metadata)
        too_deep = _is_deeper(metadata, MOST_NESTED)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidDocument(
            f"the metadata of {owner} is not JSON: {error}",
            "use text, finite numbers, true, false, null, lists and objects",
        ) from error
    if _NUL.search(written):
        raise InvalidDocument(
            f"the metadata of {owner} contains U+0000: {shown(metadata)}",
            "remove that character from its keys and values",
        )
    if too_deep:
        raise InvalidDocument(f"the metadata of {owner} is nested more than {MOST_NESTED} deep", "nest it less deeply")
    if not text_keys:
        raise InvalidDocument(f"the metadata of {owner} has a key that is not text", "use text for every key")


@dataclass(frozen=True, slots=True)
class Chunk:
    """Part of a document: ``document.text[start:end] == text``.

    ``id`` is a hash of the document's id, the chunk's text, and a number: 1 for the first chunk of the document with
    this text, 2 for the second, and so on. So the id does not change if the chunk moves within the document. A
    ready-made passage keeps the id that it was given.
    ``ordinal`` is the number of the chunk in reading order, from 0.
    ``metadata`` has the chunk's own metadata, such as its ``section``. It does not include the document's metadata.
    """

    id: str
    document_id: str
    text: str
    start: int
    end: int
    ordinal: int
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True, order=True)
class Valid:
    """Period in which a version of a document was current in the file, in seconds since 1970 (UTC).

    Parameters
    ----------
    since:
        Second in which the version was stored.
    until:
        Second in which the version was replaced or removed; not part of the period. None while the version is current.
    """

    since: int
    until: int | None = None

    def at(self, second: int) -> bool:
        """Return whether this version of the document was current at the end of ``second``, in seconds since 1970."""
        return self.since <= second and (self.until is None or second < self.until)

    def __str__(self) -> str:
        """Return ``since 2026-03-01T09:30:00Z``, or ``2026-03-01T09:30:00Z to 2026-04-02T08:00:00Z``."""
        first = TimeSpan(self.since, self.since)
        return f"since {first}" if self.until is None else f"{first} to {TimeSpan(self.until, self.until)}"


@dataclass(frozen=True, slots=True)
class Version:
    """Version of a document, without its text. ``characters`` is the length of that text."""

    id: str
    title: str
    uri: str
    characters: int
    valid: Valid
