"""Documents and their chunks, and the hashes that name them.

Offsets count Unicode code points of the document's text, as Python's slices do. Wherever a value has ``start`` and
``end``, ``document.text[start:end]`` is its text, always.
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
    Float32 = Any  # The types of fields are found without numpy.

Metadata: TypeAlias = Mapping[str, Any]
"""A JSON object: its values are str, int, float, bool, None, or lists and objects of these."""


_CANONICAL = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def content_hash(*parts: object) -> bytes:
    """Return the SHA-256 of JSON-like parts, the root of every id and memo key.

    Parts are written as canonical JSON (sorted keys, no spaces), so that ``("ab", "c")`` and
    ``("a", "bc")`` differ and the same parts give the same hash on every machine.

    Returns
    -------
    32 bytes.
    """
    # Part by part, which takes a third of the time: nearly all parts are texts and whole numbers.
    written = ",".join([str(part) if type(part) is int else _CANONICAL(part) for part in parts])
    return hashlib.sha256(f"[{written}]".encode("utf-8", "surrogatepass")).digest()


def content_id(*parts: object) -> str:
    """Return the first 128 bits of :func:`content_hash` as 32 hexadecimal digits."""
    return content_hash(*parts)[:16].hex()


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of a document that begins at ``start`` and lies under the headings of ``path``."""

    start: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Place in its source of a stretch of a document: from ``start`` to the next place, or to the end.

    ``page``, ``slide``, ``row`` and ``picture`` count from 1 as people do, 0 where there is none; ``sheet`` names a
    sheet, ``json`` is a JSON path; what stands at a ``picture`` describes it. No chunk goes across the start of a place
    that stands ``boundary``: pages, slides and pictures do not blend.
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
        """Return the known fields of the place, by name."""
        known = {
            "page": self.page, "slide": self.slide, "sheet": self.sheet, "row": self.row, "json": self.json,
            "picture": self.picture,
        }  # fmt: skip
        return {name: value for name, value in known.items() if value}


def cite(metadata: Metadata) -> str:
    """Return a chunk's place as people name it, ``page 3`` or ``sheet Sales, rows 4-9``; empty where it has none."""
    said = [f"{name} {metadata[name]}" for name in ("page", "slide", "sheet", "json") if name in metadata]
    if "row" in metadata:
        last = metadata.get("last_row", metadata["row"])
        said.append(f"row {last}" if last == metadata["row"] else f"rows {metadata['row']}-{last}")
    if isinstance(metadata.get("picture"), int):  # A document's own metadata may say something else by that name.
        said.append(f"picture {metadata['picture']}")
    return ", ".join(said)


@dataclass(frozen=True, slots=True, eq=False)
class Passage:
    """A piece of a document that comes ready-made, as frameworks hand it over.

    Parameters
    ----------
    text:
        Not empty.
    id:
        Kept as given; made from the content when empty.
    metadata:
        Laid over the document's own for filters and hits.
    vector:
        float32 of shape (dimension,), or None to have it embedded.
    start:
        Where it stands in its document's text, which is then given as well; the same is told of all its passages.
    """

    text: str
    id: str = ""
    metadata: Metadata = field(default_factory=dict)
    vector: Float32 | None = None
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """A source's text.

    Parameters
    ----------
    text:
        The whole text. Left empty when ``passages`` are given that do not say where they stand: it is then these,
        joined by blank lines.
    id:
        Opaque; kept as given, made from uri and content when empty.
    title:
        Searched and embedded together with each chunk.
    uri:
        Where it came from: a path, a URL, or nothing.
    metadata:
        A JSON object.
    sections:
        Headings by offset, ascending.
    places:
        Pages, slides, rows and the like by offset, ascending. They become metadata of the chunks; a document that is
        read back from a file has none.
    passages:
        Ready-made chunks; when given, the text is not cut anew.
    date:
        When it is from, of a document that is read back from a file. It follows from what a document has: its metadata,
        its text, its file; it is not given.
    valid:
        When it stood so in the file, of one that is read back from a file that keeps former versions.

    Raises
    ------
    InvalidDocument
        If metadata is not a JSON object, a text holds half a surrogate pair, an id, title, uri or metadata hold U+0000,
        both a text and passages are given, or a passage does not stand in the text where it says.
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
        named = f"document {shown(self.id or self.uri or self.title or self.text)}"
        _check(arguments.text, self.text, named)
        for value, field_name in ((self.id, "id"), (self.title, "title"), (self.uri, "uri")):
            _check(arguments.label, value, f"the {field_name} of {named}")
        if self.passages:
            for passage in self.passages:
                _check_passage(passage, named)
            object.__setattr__(self, "text", _joined(self, named))
        _check_places(self, named)
        check_json(self.metadata, named)
        if not self.id:
            object.__setattr__(self, "id", content_id("document", self.uri, self.title, self.text))


PASSAGE_SEPARATOR = "\n\n"
"""What stands between two ready-made passages in the text of their document."""


def _check(check: Callable[[Any, str], object], value: object, owner: str) -> None:
    """Raise InvalidDocument where a value is none that can be stored."""
    try:
        check(value, owner)
    except InputError as error:
        raise InvalidDocument(error.message, error.hint) from None


def _joined(document: Document, named: str) -> str:
    """Return the text of a document with passages: its own where they say where they stand, else theirs."""
    if any(passage.start is not None for passage in document.passages):
        for passage in document.passages:
            start = -1 if passage.start is None else passage.start
            _check(arguments.whole_number, start, f"the start of a passage of {named}")
            if start < 0 or document.text[start : start + len(passage.text)] != passage.text:
                said = shown(passage.id or passage.text)
                raise InvalidDocument(
                    f"passage {said} of {named} does not stand in its text at {passage.start}",
                    "give where each passage stands, of all of them or of none",
                )
        return document.text
    joined = PASSAGE_SEPARATOR.join(passage.text for passage in document.passages)
    if document.text not in ("", joined):
        raise InvalidDocument(
            f"{named} has a text and passages of another text", "give either, or say where each passage stands"
        )
    return joined


def _check_places(document: Document, named: str) -> None:
    for section in document.sections:
        _check(arguments.whole_number, section.start, f"the start of a section of {named}")
        for heading in section.path:
            _check(arguments.label, heading, f"a heading of {named}")
    for place in document.places:
        for number in (place.start, place.page, place.slide, place.row):
            _check(arguments.whole_number, number, f"a place of {named}")
        for text in (place.sheet, place.json):
            _check(arguments.label, text, f"a place of {named}")


def _check_passage(passage: Passage, document: str) -> None:
    _check(arguments.text, passage.text, f"a passage of {document}")
    _check(arguments.label, passage.id, f"the id of a passage of {document}")
    owner = f"passage {shown(passage.id or passage.text)}"
    check_json(passage.metadata, owner)
    if passage.vector is not None:
        _check(arguments.vector, passage.vector, f"the vector of {owner}")


MOST_NESTED = 500
"""Objects and lists within each other in metadata: SQLite takes no more than twice as many for JSON."""


def _is_deeper(value: object, most: int) -> bool:
    level = [value]
    for _ in range(most + 1):
        level = [
            one
            for each in level
            for one in (each.values() if isinstance(each, Mapping) else each if isinstance(each, list | tuple) else ())
        ]
        if not level:
            return False
    return True


_NUL = regex(r"(?<!\\)(?:\\\\)*\\u0000")
"""U+0000 as JSON writes it: the backslash of its escape is not itself escaped."""


def check_json(metadata: Metadata, owner: str) -> None:
    """Raise InvalidDocument unless metadata is a JSON object with text keys, finite numbers and no U+0000."""
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
            f"the metadata of {owner} holds U+0000: {shown(metadata)}", "remove that character from its keys and values"
        )
    if too_deep:
        raise InvalidDocument(f"the metadata of {owner} is nested more than {MOST_NESTED} deep", "make it flatter")
    if not text_keys:
        raise InvalidDocument(f"the metadata of {owner} has a key that is not text", "name every key by a text")


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document: ``document.text[start:end] == text``.

    ``id`` is hash(document id, text, occurrence), so that a shift inside the document does not change it; a
    ready-made passage keeps the id it came with. ``ordinal`` counts from 0 in reading order. ``metadata`` is the
    chunk's own (its ``section``, say), without the document's.
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
    """When a document stood in the file as it is here, in seconds since 1970 (UTC).

    Parameters
    ----------
    since:
        The second in which the file learnt of it.
    until:
        The second in which it was replaced or removed, which is not among those in which it stood; None while it
        stands.
    """

    since: int
    until: int | None = None

    def at(self, second: int) -> bool:
        """Return whether it stood so at the end of a second."""
        return self.since <= second and (self.until is None or second < self.until)

    def __str__(self) -> str:
        """Return ``since 2026-03-01T09:30:00Z``, or ``2026-03-01T09:30:00Z to 2026-04-02T08:00:00Z``."""
        first = TimeSpan(self.since, self.since)
        return f"since {first}" if self.until is None else f"{first} to {TimeSpan(self.until, self.until)}"


@dataclass(frozen=True, slots=True)
class Version:
    """A state of a document, without its text; ``characters`` is the length of that."""

    id: str
    title: str
    uri: str
    characters: int
    valid: Valid
