"""Operations that return a document's original file: its bytes, its pages, and the place of a span on them."""

from __future__ import annotations

from collections.abc import Generator
from typing import Annotated
from urllib.parse import quote

from fastapi import Query
from starlette.responses import Response, StreamingResponse

from monograph.app.serve.operations import DocumentId, FileName, FromFile, Operations, ServedFiles, at_most
from monograph.values import Boxes, Original
from monograph.values.arguments import MOST

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
"""Media types that an original may be sent as."""


_PIECE = 1 << 16

router = Operations()


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
        kind = kind_of(opened.read(_HEAD))
        opened.seek(0)
    except BaseException:
        opened.close()
        raise

    def pieces() -> Generator[bytes]:
        with opened:
            while piece := opened.read(_PIECE):
                yield piece

    return StreamingResponse(
        pieces(), media_type=kind, headers={"Content-Disposition": f"attachment; filename*=UTF-8''{name}"}
    )


def kind_of(head: bytes) -> str:
    """Return the media type of an image by its first bytes; of other files one that browsers do not show."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), OTHER)


@router.get("/document/page", response_class=Response, responses={200: {"content": {"image/png": {}}}})
def page(
    served: ServedFiles,
    identifier: DocumentId,
    page: Annotated[int, Query(description="Number of the page, from 1."), at_most(MOST)] = 1,
    width: Annotated[int, Query(ge=50, le=3_000, description="Width in pixels.")] = 1_000,
    file: FileName = "",
) -> Response:
    """Draw a page of a PDF."""
    return Response(served.pages_of(file).picture(identifier, page, width), media_type="image/png")


@router.get("/document/boxes")
def boxes(
    served: ServedFiles,
    identifier: DocumentId,
    start: Annotated[int, Query(description="Offset of the span's start in the document's text."), at_most(MOST)],
    end: Annotated[int, Query(description="Offset of the span's end in the document's text."), at_most(MOST)],
    page: Annotated[int, Query(description="Page number, from 1; 0: the span's first page."), at_most(MOST)] = 0,
    file: FileName = "",
) -> Boxes:
    """Search a page of a PDF for the words of a span of its document, and return their rectangles."""
    return served.pages_of(file).boxes(identifier, start, end, page)
