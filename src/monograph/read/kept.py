"""Pictures of a document that are kept for what describes them, each with a mark where it stands."""

from __future__ import annotations

import hashlib
import io
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph.errors import SourceTooLarge

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_SIDE = 2_048
"""Pixels of the longer side of a picture that is handed over; a larger one is made smaller."""

MOST_BYTES = 4_000_000
"""Bytes of one that is handed over as it is."""

MOST_BYTES_PNG = 1_000_000
"""Bytes of one that is written anew as PNG; above, it becomes a JPEG."""

MOST_BYTES_A_FILE = 128_000_000
"""Bytes of all of a file's together."""

_AS_THEY_ARE = {"PNG": "image/png", "JPEG": "image/jpeg"}
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that stands in a document.

    Parameters
    ----------
    mark:
        Stands once in the text of one of the file's documents, where the picture does. It is drawn by lot: no document
        has it by itself.
    number:
        From 1, in the order of the document; 0 where the picture is the document, or its page.
    digest:
        SHA-256 of the picture as it stands in the file; of one that is drawn, of its pixels.
    data, media_type:
        PNG or JPEG, at most MOST_SIDE pixels wide and high.
    pixels:
        Of that.
    """

    mark: str
    number: int
    digest: bytes
    data: bytes
    media_type: str
    pixels: int


class Kept:
    """The pictures of one document, until they are taken."""

    def __init__(self) -> None:
        self._waiting: list[Picture] = []
        self._bytes = self._count = 0

    def mark(self, image: Image, data: bytes = b"", *, numbered: bool = True) -> str:
        """Keep a picture; what stands for it in the text.

        ``data`` is its file, where it has one. Raises SourceTooLarge where there are too many bytes, and OSError,
        SyntaxError or ValueError for a broken one.
        """
        made, media_type, pixels = _handed_over(image, data)
        self._bytes += len(made)
        if self._bytes > MOST_BYTES_A_FILE:
            raise SourceTooLarge(f"its pictures have more than {MOST_BYTES_A_FILE:,} bytes together", "divide it")
        self._count += numbered
        mark = f"[picture {secrets.token_hex(16)}]"
        digest = hashlib.sha256(data or made).digest()
        number = self._count if numbered else 0
        self._waiting.append(Picture(mark, number, digest, made, media_type, pixels))
        return mark

    def take(self) -> Iterator[Picture]:
        """The pictures since the last time. They come before the document that has their marks."""
        waiting, self._waiting = self._waiting, []
        yield from waiting


def _handed_over(image: Image, data: bytes) -> tuple[bytes, str, int]:
    """(bytes, media type, pixels) of a picture as it is, if that will do, else upright, smaller, as PNG or JPEG."""
    from PIL import ImageOps

    fits = max(image.size) <= MOST_SIDE and 0 < len(data) <= MOST_BYTES
    if fits and image.format in _AS_THEY_ARE and image.getexif().get(_ORIENTATION, 1) == 1:
        image.load()  # A broken one is told of here.
        return data, _AS_THEY_ARE[image.format], image.size[0] * image.size[1]
    made = ImageOps.exif_transpose(image).convert("RGB")
    made.thumbnail((MOST_SIDE, MOST_SIDE))
    for form in ("PNG", "JPEG"):
        written = io.BytesIO()
        made.save(written, form)
        if written.tell() <= MOST_BYTES_PNG:
            break
    return written.getvalue(), _AS_THEY_ARE[form], made.size[0] * made.size[1]
