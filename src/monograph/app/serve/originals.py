"""Routes that show the file a document was read from: its bytes, its pages, and where a span stands on them."""

from __future__ import annotations

from dataclasses import dataclass

from monograph.app.serve.reading import OneDocument
from monograph.app.serve.route import Bytes, Streamed
from monograph.app.serve.served import Served
from monograph.values import Boxes, Original

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
)
_HEAD = 16
OTHER = "application/octet-stream"
"""What no browser tries to show."""
KINDS = (*dict.fromkeys(kind for _, kind in _MAGIC), "image/webp", OTHER)
"""What an original may be sent as."""


@dataclass(frozen=True, slots=True)
class OnePage:
    """A page of a PDF.

    Parameters
    ----------
    id:
        The document's id or uri.
    page:
        From 1.
    width:
        Pixels, 50 to 3,000.
    file:
        The file's name.
    """

    id: str
    page: int = 1
    width: int = 1_000
    file: str = ""


@dataclass(frozen=True, slots=True)
class OnPage:
    """A span of a document.

    Parameters
    ----------
    id:
        The document's id or uri.
    start, end:
        Offsets into its text.
    page:
        One of the pages that it goes over; 0 for the first.
    file:
        The file's name.
    """

    id: str
    start: int
    end: int
    page: int = 0
    file: str = ""


def source(served: Served, asked: OneDocument) -> Original:
    """The file that a document was read from, and whether it is as it was."""
    return served.file(asked.file).files.original(asked.id)


def original(served: Served, asked: OneDocument) -> Streamed:
    """The bytes of the file that a document was read from; images are shown, all else is saved."""
    files = served.file(asked.file).files
    file = files.open_original(asked.id)
    try:
        name = files.original(asked.id).name
        head = file.read(_HEAD)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return Streamed(file, kind_of(head), name)


def kind_of(head: bytes) -> str:
    """The media type of an image by its first bytes; of all else one that no browser shows."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), OTHER)


def page(served: Served, asked: OnePage) -> Bytes:
    """A page of a PDF, drawn."""
    name, _ = served.file_named(asked.file)
    return Bytes(served.pages[name].picture(asked.id, asked.page, asked.width), "image/png")


def boxes(served: Served, asked: OnPage) -> Boxes:
    """Where a span stands on a page, looked for by its words."""
    name, _ = served.file_named(asked.file)
    return served.pages[name].boxes(asked.id, asked.start, asked.end, asked.page)
