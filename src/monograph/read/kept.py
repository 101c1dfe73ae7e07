"""Pictures that a model will describe later. A mark in the document's text shows the position of each picture."""

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
"""Longer side, in pixels, above which a picture is scaled down."""

MOST_BYTES = 4_000_000
"""Size in bytes above which the file of a picture is encoded again."""

MOST_BYTES_PNG = 1_000_000
"""If an encoded PNG has more bytes than this, the picture is encoded as JPEG instead."""

MOST_BYTES_A_FILE = 128_000_000
"""Maximum number of bytes of all pictures of one document together."""

_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg"}
_ORIENTATION = 0x0112


@dataclass(frozen=True, slots=True)
class Picture:
    """Picture in a document.

    Parameters
    ----------
    mark:
        Text that occurs once in one of the file's documents, at the position of the picture. It is random, so that no
        document contains it by chance.
    number:
        Number of the picture in the document, from 1; 0 if the picture is the whole document, or a whole page of it.
    digest:
        SHA-256 of the picture's own file. For a picture without a file, such as a drawn page, SHA-256 of ``data``.
    data:
        The picture as the bytes of a PNG or JPEG file, at most MOST_SIDE pixels wide and high.
    media_type:
        Media type of ``data``.
    pixels:
        Number of pixels (width times height) of the picture in ``data``.
    """

    mark: str
    number: int
    digest: bytes
    data: bytes
    media_type: str
    pixels: int


class KeptPictures:
    """Pictures of one document that a model will describe, kept until :meth:`take` yields them."""

    def __init__(self) -> None:
        self._pending: list[Picture] = []
        self._total_bytes = self._count = 0

    def mark(self, image: Image, data: bytes = b"", *, numbered: bool = True) -> str:
        """Keep a picture, and return the mark to put in the text at the position of the picture.

        ``data`` has the bytes of the picture's own file; empty if there is no such file. ``numbered`` is False for a
        picture of a whole page, which gets the number 0. Raises SourceTooLarge if all pictures, with this one, have
        more than MOST_BYTES_A_FILE bytes together. Raises OSError, SyntaxError or ValueError if the picture is broken.
        """
        encoded, media_type, pixels = _encode(image, data)
        self._total_bytes += len(encoded)
        if self._total_bytes > MOST_BYTES_A_FILE:
            raise SourceTooLarge(f"its pictures have more than {MOST_BYTES_A_FILE:,} bytes together", "split it")
        self._count += numbered
        mark = f"[picture {secrets.token_hex(16)}]"
        digest = hashlib.sha256(data or encoded).digest()
        number = self._count if numbered else 0
        self._pending.append(Picture(mark, number, digest, encoded, media_type, pixels))
        return mark

    def take(self) -> Iterator[Picture]:
        """Yield the pictures kept since the last call. Yield them before the document that contains their marks."""
        pending, self._pending = self._pending, []
        yield from pending


def _encode(image: Image, data: bytes) -> tuple[bytes, str, int]:
    """Return (bytes, media type, number of pixels) of a picture as upright PNG or JPEG, encoded again if necessary."""
    from PIL import ImageOps

    fits = max(image.size) <= MOST_SIDE and 0 < len(data) <= MOST_BYTES
    if fits and image.format in _MEDIA_TYPES and image.getexif().get(_ORIENTATION, 1) == 1:
        image.load()  # Raises an error if the picture is broken.
        return data, _MEDIA_TYPES[image.format], image.size[0] * image.size[1]
    upright = ImageOps.exif_transpose(image).convert("RGB")
    upright.thumbnail((MOST_SIDE, MOST_SIDE))
    for form in ("PNG", "JPEG"):
        buffer = io.BytesIO()
        upright.save(buffer, form)
        if buffer.tell() <= MOST_BYTES_PNG:
            break
    return buffer.getvalue(), _MEDIA_TYPES[form], upright.size[0] * upright.size[1]
