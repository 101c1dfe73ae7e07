"""Operations that read documents and passages, and the original files of documents: their bytes and pages."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote

from fastapi import Query
from starlette.responses import Response, StreamingResponse

from monograph.app.serve.operations import (
    Count,
    DocumentId,
    FromArchive,
    FromFile,
    FromPages,
    Items,
    Operations,
    at_most,
)
from monograph.app.serve.pieces import Block, Marks, Words, blocks, window
from monograph.errors import InputError, NotFound
from monograph.regex import regex
from monograph.shelf import place_of
from monograph.values import Boxes, Chunk, Document, Listed, Original, Section
from monograph.values.arguments import MOST

MOST_READ = 1_000_000
"""Maximum number of characters in one response."""
MOST_MARKS = 200

_SPAN = regex(r"(\d{1,12})-(\d{1,12})")

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)
_HEAD = 16
OTHER = "application/octet-stream"
"""Media type that browsers save instead of showing."""
KINDS = (*dict.fromkeys(kind for _, kind in _MAGIC), "image/webp", OTHER)
"""Media types with which original files are sent: image types, and ``OTHER`` for others."""

_PIECE = 1 << 16

router = Operations()


@router.get("/documents")
def documents(
    archive: FromArchive,
    like: Annotated[str, Query(description="Only documents whose title, uri or id contains this, in any case.")] = "",
    start: Annotated[Count, Query(description="Number of the first document, from 0.")] = 0,
    limit: Annotated[Items, Query(description="Number of documents, at most 1,000.")] = 100,
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
    marks = Marks(tuple(_spans_of(mark)), Words(q))
    first, last = window(stored.text, start, length)
    cut_blocks = blocks(stored.text, first, last, stored.sections, marks)
    return Reading(
        stored.id, stored.title, stored.uri, len(stored.text), first, last, tuple(stored.sections), tuple(cut_blocks)
    )


def _spans_of(written: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Yield (start, end) for each text such as ``17-22``. Raises InputError for other texts."""
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


@router.get("/document/source")
def source(file: FromFile, identifier: DocumentId) -> Original:
    """Return which file a document was read from, and whether the file has changed since."""
    return file.files.original(identifier)


@router.get(
    "/document/original",
    response_class=Response,
    responses={200: {"content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in KINDS}}},
)
def original(file: FromFile, identifier: DocumentId) -> Response:
    """Return the bytes of the file that a document was read from; browsers show images only."""
    opened = file.files.open_original(identifier)
    try:
        name = quote(file.files.original(identifier).name.encode("utf-8", "replace"), safe="")
        head = opened.read(_HEAD)
        opened.seek(0)
    except BaseException:
        opened.close()
        raise

    kind = next((kind for magic, kind in _MAGIC if head.startswith(magic)), OTHER)
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        kind = "image/webp"

    def pieces() -> Generator[bytes]:
        with opened:
            while piece := opened.read(_PIECE):
                yield piece

    return StreamingResponse(
        pieces(), media_type=kind, headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    )


@router.get("/document/page", response_class=Response, responses={200: {"content": {"image/png": {}}}})
def page(
    pages: FromPages,
    identifier: DocumentId,
    page: Annotated[int, Query(description="Number of the page, from 1."), at_most(MOST)] = 1,
    width: Annotated[int, Query(ge=50, le=3_000, description="Width in pixels.")] = 1_000,
) -> Response:
    """Draw a page of a PDF."""
    return Response(pages.picture(identifier, page, width), media_type="image/png")


@router.get("/document/boxes")
def boxes(
    pages: FromPages,
    identifier: DocumentId,
    start: Annotated[int, Query(description="Offset of the span's start in the document's text."), at_most(MOST)],
    end: Annotated[int, Query(description="Offset of the span's end in the document's text."), at_most(MOST)],
    page: Annotated[int, Query(description="Page number, from 1; 0: the span's first page."), at_most(MOST)] = 0,
) -> Boxes:
    """Search a page of a PDF for the words of a span of its document, and return their rectangles."""
    return pages.boxes(identifier, start, end, page)
