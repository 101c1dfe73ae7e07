"""Draws pages of PDFs, and finds the places of words on them, in a child process."""

from __future__ import annotations

import struct
import unicodedata
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph.errors import NotFound, SourceDamaged, SourceLocked
from monograph.read.child import Child
from monograph.read.file import whole
from monograph.read.limits import DEFAULT_LIMITS, Limits
from monograph.read.source import missing
from monograph.values import Box, Boxes, Root

if TYPE_CHECKING:
    import numpy.typing as npt
    import pypdfium2

SECONDS = 20.0
"""Most seconds for one page, because a user waits for it."""

_PNG_LEVEL = 4

_DEVICE = 1_000_000
"""Width and height of a page, in units, while positions on it are converted to shares."""


@dataclass(frozen=True, slots=True)
class PaintTask:
    """Task for a page of a PDF, counted from 1: draw it ``width`` pixels wide, or, if ``width`` is 0, find ``words``.

    ``before`` is about how many letters and digits precede ``words`` in the page's text.
    """

    path: Path
    root: Root
    limits: Limits
    page: int
    width: int = 0
    words: str = ""
    before: int = 0

    def parts(self) -> Iterator[bytes | Boxes]:
        """Yield the page as a PNG file, or the places of the words on it."""
        file = _open_pdf(self)
        if not 1 <= self.page <= len(file):
            raise NotFound(f"there is no page {self.page}", f"give 1 to {len(file)}")
        page = file[self.page - 1]
        try:
            yield _draw_page(page, self) if self.width else _find_words(page, self)
        finally:
            page.close()


class Painter:
    """Draws pages in a child process, which the first page starts. Safe to use from several threads."""

    def __init__(self, limits: Limits = DEFAULT_LIMITS) -> None:
        self._limits = replace(limits, max_seconds=min(limits.max_seconds, SECONDS))
        self._child = Child()

    def picture(self, path: Path, root: Root, page: int, width: int) -> bytes:
        """Return a page of a PDF, counted from 1, as a PNG file that is ``width`` pixels wide.

        Raises
        ------
        NotFound
            If the PDF has no such page.
        SourceError
            If the PDF cannot be read or drawn.
        """
        picture: bytes = self._child.call(PaintTask(path, root, self._limits, page, width=width))
        return picture

    def boxes(self, path: Path, root: Root, page: int, words: str, before: int) -> Boxes:
        """Return the places of words on a page: see :class:`PaintTask`. Raises like :meth:`picture`."""
        result: Boxes = self._child.call(PaintTask(path, root, self._limits, page, words=words, before=before))
        return result

    def close(self) -> None:
        """End the child process. A later call starts another one."""
        self._child.close()


def letters(text: str) -> str:
    """Return the letters and digits of a text for comparison, without case, accents, spaces and punctuation."""
    return "".join(character for character in unicodedata.normalize("NFKD", text).casefold() if character.isalnum())


_open_pdfs: dict[tuple[str, int, int], pypdfium2.PdfDocument] = {}
"""Cache in the child process: the last PDF, kept open for its next page, by (path, bytes, nanoseconds of change)."""


def _open_pdf(task: PaintTask) -> pypdfium2.PdfDocument:
    """Return the PDF of a task, open: from the cache if the file is unchanged."""
    try:
        import pypdfium2
    except ImportError as error:
        raise missing("a PDF", "documents", error) from error
    try:
        state = task.path.stat()
        key = (str(task.path), state.st_size, state.st_mtime_ns)
    except OSError:
        key = (str(task.path), -1, -1)
    if key in _open_pdfs:
        return _open_pdfs[key]
    data, _ = whole(task.path, task.root, task.limits.max_bytes)
    for pdf in _open_pdfs.values():
        pdf.close()
    _open_pdfs.clear()
    try:
        _open_pdfs[key] = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise SourceLocked("it needs a password", "save it without one") from error
        raise SourceDamaged(f"a broken PDF: {error}", "save it again") from error
    return _open_pdfs[key]


def _draw_page(page: pypdfium2.PdfPage, task: PaintTask) -> bytes:
    from monograph.read.image import refuse_size

    wide, high = (max(1.0, side) for side in page.get_size())
    scale = task.width / wide
    refuse_size(task.width, round(high * scale), task.limits)
    bitmap = page.render(scale=scale, rev_byteorder=True)
    try:
        return png(bitmap.to_numpy()[..., :3])
    finally:
        bitmap.close()


def _find_words(page: pypdfium2.PdfPage, task: PaintTask) -> Boxes:
    text = page.get_textpage()
    try:
        stretch = _find_stretch(text, letters(task.words), task.before)
        if stretch is None:
            return Boxes(task.page, found=False)
        boxes = [_box(page, text.get_rect(number)) for number in range(text.count_rects(*stretch))]
        return Boxes(task.page, bool(boxes), tuple(boxes))
    finally:
        text.close()


def _find_stretch(text: pypdfium2.PdfTextPage, words: str, before: int) -> tuple[int, int] | None:
    """Return (first character, count) of words on a page: of several matches, the nearest to ``before``."""
    from pypdfium2 import raw

    flat, indices = [], []
    for number in range(text.count_chars()):
        code = raw.FPDFText_GetUnicode(text, number)
        folded = letters(chr(code)) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""
        flat.append(folded)
        indices += [number] * len(folded)
    page_text = "".join(flat)
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
    """Return a rectangle of a PDF page in shares (0 to 1) of the displayed page's width and height.

    ``corners`` are its (left, bottom, right, top) in PDF coordinates. The rotation of the page is applied.
    """
    left, bottom, right, top = corners
    points = [_device_share(page, x, y) for x, y in ((left, top), (right, bottom))]
    across, down = (sorted(min(max(point[axis], 0.0), 1.0) for point in points) for axis in (0, 1))
    return Box(across[0], down[0], across[1], down[1])


def _device_share(page: pypdfium2.PdfPage, x: float, y: float) -> tuple[float, float]:
    from ctypes import byref, c_int

    from pypdfium2 import raw

    across, down = c_int(), c_int()
    raw.FPDF_PageToDevice(page, 0, 0, _DEVICE, _DEVICE, 0, x, y, byref(across), byref(down))
    return across.value / _DEVICE, down.value / _DEVICE


def png(pixels: npt.NDArray[Any]) -> bytes:
    """Return pixels as a PNG file: uint8 (height, width, 3) of red, green, blue, or (height, width, 1) of grey."""
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
