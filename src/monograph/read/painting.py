"""Tasks for a child process: draw a page of a PDF, and find the positions of words on the page."""

from __future__ import annotations

import struct
import unicodedata
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph.errors import NotFound
from monograph.read.file import whole
from monograph.read.limits import Limits
from monograph.read.pdf import opened_pdf
from monograph.values import Box, Boxes, Root

if TYPE_CHECKING:
    import numpy.typing as npt
    import pypdfium2

SECONDS = 20.0
"""Time limit in seconds for drawing or searching one page. It is short, because a user waits for the result."""

_PNG_LEVEL = 4

_DEVICE = 1_000_000
"""Width and height in pixels passed to PDFium for a page. Positions divided by _DEVICE are between 0 and 1."""


PAINT_LIMITS = Limits(max_seconds=SECONDS)


@dataclass(frozen=True, slots=True)
class _PageTask:
    """Task for a page of a PDF, counted from 1.

    Raises
    ------
    NotFound
        If the PDF has no such page.
    SourceError
        If the PDF cannot be read or drawn.
    """

    path: Path
    root: Root
    page: int
    limits: Limits = field(default=PAINT_LIMITS, kw_only=True)

    @contextmanager
    def opened_page(self) -> Iterator[pypdfium2.PdfPage]:
        """Open the page for the body of a ``with`` statement, and close it afterwards. A context manager."""
        file = _open_pdf(self.path, self.root, self.limits)
        if not 1 <= self.page <= len(file):
            raise NotFound(f"there is no page {self.page}", f"give 1 to {len(file)}")
        with closing(file[self.page - 1]) as page:
            yield page


@dataclass(frozen=True, slots=True)
class DrawTask(_PageTask):
    """Task of drawing a page of a PDF as a PNG file that is ``width`` pixels wide."""

    width: int

    def parts(self) -> Iterator[bytes]:
        """Yield the PNG file."""
        from monograph.read.image import refuse_size

        with self.opened_page() as page:
            wide, high = (max(1.0, side) for side in page.get_size())
            scale = self.width / wide
            refuse_size(self.width, round(high * scale), self.limits)
            with closing(page.render(scale=scale, rev_byteorder=True)) as bitmap:
                yield png(bitmap.to_numpy()[..., :3])


@dataclass(frozen=True, slots=True)
class FindTask(_PageTask):
    """Task of finding the rectangles of ``words`` on a page of a PDF.

    ``before`` is the approximate number of letters and digits before the words in the page's text. If the words occur
    several times, the occurrence nearest to this position is used.
    """

    words: str
    before: int

    def parts(self) -> Iterator[Boxes]:
        """Yield one :class:`~monograph.values.Boxes` with all rectangles; with none if the words do not occur."""
        with self.opened_page() as page, closing(page.get_textpage()) as text:
            stretch = _find_stretch(text, letters(self.words), self.before)
            count = 0 if stretch is None else text.count_rects(*stretch)
            yield Boxes(self.page, count > 0, tuple(_box(page, text.get_rect(number)) for number in range(count)))


def letters(text: str) -> str:
    """Return the letters and digits of a text for comparison, without case, accents, spaces and punctuation."""
    return "".join(character for character in unicodedata.normalize("NFKD", text).casefold() if character.isalnum())


_open_pdfs: dict[tuple[str, int, int], pypdfium2.PdfDocument] = {}
"""Cache of the child process: only the last PDF, by (path, size in bytes, modification time in nanoseconds)."""


def _open_pdf(path: Path, root: Root, limits: Limits) -> pypdfium2.PdfDocument:
    try:
        state = path.stat()
        key = (str(path), state.st_size, state.st_mtime_ns)
    except OSError:
        key = (str(path), -1, -1)
    if key not in _open_pdfs:
        data, _ = whole(path, root, limits.max_bytes)
        for pdf in _open_pdfs.values():
            pdf.close()
        _open_pdfs.clear()
        _open_pdfs[key] = opened_pdf(data)
    return _open_pdfs[key]


def _find_stretch(text: pypdfium2.PdfTextPage, words: str, before: int) -> tuple[int, int] | None:
    """Find ``words`` nearest to ``before`` on a page. Return (index of the first character, length), or None."""
    from pypdfium2 import raw

    flat, indices = [], []
    for number in range(text.count_chars()):
        code = raw.FPDFText_GetUnicode(text, number)
        folded = letters(chr(code)) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
        flat.append(folded)
        indices += [number] * len(folded)
    page_text = "".join(flat)
    # ``words`` is a result of letters(), as ``page_text`` is.
    starts, position = [], page_text.find(words) if words else -1
    while position >= 0:
        starts.append(position)
        position = page_text.find(words, position + 1)
    if not starts:
        return None
    best = min(starts, key=lambda start: abs(start - before))
    first, last = indices[best], indices[best + len(words) - 1]
    return first, last - first + 1


def _box(page: pypdfium2.PdfPage, corners: tuple[float, float, float, float]) -> Box:
    """Convert (left, bottom, right, top) in a PDF to shares (0 to 1) of the displayed page's width and height."""
    from ctypes import byref, c_int

    from pypdfium2 import raw

    left, bottom, right, top = corners
    points = []
    for x, y in ((left, top), (right, bottom)):
        across, down = c_int(), c_int()
        raw.FPDF_PageToDevice(page, 0, 0, _DEVICE, _DEVICE, 0, x, y, byref(across), byref(down))
        points.append([min(max(position.value / _DEVICE, 0.0), 1.0) for position in (across, down)])
    (left, right), (top, bottom) = (sorted(sides) for sides in zip(*points, strict=True))
    return Box(left, top, right, bottom)


def png(pixels: npt.NDArray[Any]) -> bytes:
    """Return the bytes of a PNG file with the given pixels.

    ``pixels`` is uint8 of shape (height, width, 3) in the order red, green, blue, or (height, width, 1) for grey.
    """
    import numpy as np

    height, width, channels = pixels.shape
    rows = np.ascontiguousarray(pixels, dtype=np.uint8).reshape(height, width * channels)
    filtered = np.empty((height, 1 + width * channels), dtype=np.uint8)
    filtered[:, 0] = 2  # PNG's filter "Up": each row as its difference from the row above.
    filtered[0, 1:] = rows[0]
    np.subtract(rows[1:], rows[:-1], out=filtered[1:, 1:])
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(filtered.tobytes(), _PNG_LEVEL)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
