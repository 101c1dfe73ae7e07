"""Routes that read documents and passages."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.app.serve.pieces import Block, Marks, Words, blocks, window
from monograph.app.serve.served import Served
from monograph.errors import InputError, NotFound
from monograph.regex import regex
from monograph.shelf import place_of
from monograph.values import Chunk, Document, Listed, Section

MOST_LISTED = 1_000
"""Documents of one answer."""
MOST_READ = 1_000_000
"""Characters of one answer."""
MOST_MARKS = 200

_SPAN = regex(r"(\d{1,12})-(\d{1,12})")


@dataclass(frozen=True, slots=True)
class Listing:
    """Which documents are listed.

    Parameters
    ----------
    like:
        Only those whose title, uri or id contains this, whatever its case.
    start, limit:
        The first one, from 0, and how many, at most 1,000.
    file:
        The file's name.
    """

    like: str = ""
    start: int = 0
    limit: int = 100
    file: str = ""


def documents(served: Served, asked: Listing) -> Listed:
    """List documents, in order of uri."""
    return served.archive(asked.file).listed(asked.like, asked.start, min(asked.limit, MOST_LISTED))


@dataclass(frozen=True, slots=True)
class OneDocument:
    """A document, by its id or uri.

    Parameters
    ----------
    id:
        Its id or uri.
    file:
        The file's name.
    """

    id: str
    file: str = ""


def document(served: Served, asked: OneDocument) -> Document:
    """A document with its text, as ``monograph show --json`` prints it."""
    return served.archive(asked.file).document(asked.id)


def chunks(served: Served, asked: OneDocument) -> list[Chunk]:
    """The passages of a document, in reading order."""
    return served.archive(asked.file).chunks(asked.id)


@dataclass(frozen=True, slots=True)
class Stretch:
    """What of a document is read.

    Parameters
    ----------
    id:
        Its id or uri.
    start, length:
        About which characters: paragraphs are given whole. At most 1,000,000.
    mark:
        Spans to be marked: ``17-22``.
    q:
        A question whose words are marked.
    file:
        The file's name.
    """

    id: str
    start: int = 0
    length: int = 20_000
    mark: tuple[str, ...] = ()
    q: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A part of a document's text, to be shown.

    Parameters
    ----------
    id, title, uri:
        Of the document.
    characters:
        Of its whole text.
    start, end:
        What of it is here; the next part begins at ``end``.
    sections:
        All headings of the document, by offset.
    blocks:
        Paragraphs, headings and tables.
    """

    id: str
    title: str
    uri: str
    characters: int
    start: int
    end: int
    sections: tuple[Section, ...]
    blocks: tuple[Block, ...]


def text(served: Served, asked: Stretch) -> Reading:
    """A part of a document, cut into pieces where it is marked."""
    found = served.archive(asked.file).document(asked.id)
    marks = Marks(spans_of(asked.mark), Words(asked.q) if asked.q.strip() else None)
    start, end = window(found.text, asked.start, min(asked.length, MOST_READ))
    made = blocks(found.text, start, end, found.sections, marks)
    return Reading(found.id, found.title, found.uri, len(found.text), start, end, tuple(found.sections), tuple(made))


def spans_of(written: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    """Spans as they are written: ``17-22``.

    Raises
    ------
    InputError
        If one is no span, or there are too many.
    """
    if len(written) > MOST_MARKS:
        raise InputError(f"there are {len(written):,} marks", f"give at most {MOST_MARKS:,}")
    found = [_SPAN.fullmatch(one) for one in written]
    for one, match in zip(written, found, strict=True):
        if match is None:
            raise InputError(f"mark is {one[:50]!r}", "give two offsets: 17-22")
    return tuple((int(match[1]), int(match[2])) for match in found if match is not None)


@dataclass(frozen=True, slots=True)
class OneChunk:
    """A passage.

    Parameters
    ----------
    id:
        Its id.
    around:
        How many on both sides come with it.
    file:
        The file's name.
    """

    id: str
    around: int = 1
    file: str = ""


def chunk(served: Served, asked: OneChunk) -> list[Chunk]:
    """A passage among those around it, as ``monograph show --json`` prints it."""
    file = served.archive(asked.file)
    found = file.fetch([asked.id])
    if not found:
        raise NotFound(f"{place_of(file)} holds no chunk {asked.id!r}", "search finds what there is")
    one, around = found[0].chunk, max(0, asked.around)
    return file.chunks(one.document_id)[max(0, one.ordinal - around) : one.ordinal + around + 1]
