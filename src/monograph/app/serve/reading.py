"""Operations that read documents and passages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from monograph.app.serve.operations import Count, DocumentId, FromArchive, Operations, at_most
from monograph.app.serve.pieces import Block, Marks, Words, blocks, window
from monograph.errors import InputError, NotFound
from monograph.regex import regex
from monograph.shelf import place_of
from monograph.values import Chunk, Document, Listed, Section
from monograph.values.arguments import MOST

MOST_LISTED = 1_000
"""Maximum number of documents in one response."""
MOST_READ = 1_000_000
"""Maximum number of characters in one response."""
MOST_MARKS = 200

_SPAN = regex(r"(\d{1,12})-(\d{1,12})")

router = Operations()


@router.get("/documents")
def documents(
    archive: FromArchive,
    like: Annotated[str, Query(description="Only documents whose title, uri or id contains this, in any case.")] = "",
    start: Annotated[Count, Query(description="Number of the first document, from 0.")] = 0,
    limit: Annotated[int, Query(ge=0, description="Number of documents, at most 1,000."), at_most(MOST_LISTED)] = 100,
) -> Listed:
    """List documents, in order of uri."""
    return archive.listed(like, start, limit)


@router.get("/document")
def document(archive: FromArchive, identifier: DocumentId) -> Document:
    """Return a document with its text, as `monograph show --json` prints it."""
    return archive.document(identifier)


@router.get("/document/chunks")
def chunks(archive: FromArchive, identifier: DocumentId) -> list[Chunk]:
    """List the passages of a document, in reading order."""
    return archive.chunks(identifier)


@dataclass(frozen=True, slots=True)
class Reading:
    """A part of a document's text, ready to be shown.

    Parameters
    ----------
    id, title, uri:
        Id, title and uri of the document.
    characters:
        Number of characters of its whole text.
    start, end:
        Offsets of this part; the next part begins at ``end``.
    sections:
        All headings of the document, by offset.
    blocks:
        Paragraphs, headings and tables of this part.
    """

    id: str
    title: str
    uri: str
    characters: int
    start: int
    end: int
    sections: tuple[Section, ...]
    blocks: tuple[Block, ...]


@router.get("/document/text")
def text(
    archive: FromArchive,
    identifier: DocumentId,
    start: Annotated[int, Query(description="Offset to start at; paragraphs are returned whole."), at_most(MOST)] = 0,
    length: Annotated[int, Query(description="Number of characters, at most 1,000,000."), at_most(MOST_READ)] = 20_000,
    mark: Annotated[tuple[str, ...], Query(description="Spans to mark: `17-22`.")] = (),
    q: Annotated[str, Query(description="A question whose words to mark.")] = "",
) -> Reading:
    """Return a part of a document's text, in pieces that mark spans and words."""
    stored = archive.document(identifier)
    marks = Marks(tuple(_spans_of(mark)), Words(q) if q.strip() else None)
    first, last = window(stored.text, start, length)
    cut_blocks = blocks(stored.text, first, last, stored.sections, marks)
    return Reading(
        stored.id, stored.title, stored.uri, len(stored.text), first, last, tuple(stored.sections), tuple(cut_blocks)
    )


def _spans_of(written: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Yield the spans of texts such as ``17-22``."""
    if len(written) > MOST_MARKS:
        raise InputError(f"there are {len(written):,} marks", f"give at most {MOST_MARKS:,}")
    for part in written:
        match = _SPAN.fullmatch(part)
        if match is None:
            raise InputError(f"mark is {part[:50]!r}", "give two offsets: 17-22")
        yield int(match[1]), int(match[2])


@router.get("/chunk")
def chunk(
    archive: FromArchive,
    identifier: Annotated[str, Query(alias="id", description="Id of the passage.")],
    around: Annotated[int, Query(description="Number of passages to add before it and after it."), at_most(MOST)] = 1,
) -> list[Chunk]:
    """Return a passage and the passages around it, as `monograph show --json` prints them."""
    stored = archive.fetch([identifier])
    if not stored:
        raise NotFound(f"{place_of(archive)} contains no chunk {identifier!r}", "GET /search returns ids of chunks")
    passage, count = stored[0].chunk, max(0, around)
    return archive.chunks(passage.document_id)[max(0, passage.ordinal - count) : passage.ordinal + count + 1]
