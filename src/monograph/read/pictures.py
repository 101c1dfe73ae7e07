"""Pictures in documents: recognises the words of each picture that is no icon, once per document."""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import zipfile
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from monograph.errors import SourceDamaged, SourceError, UnknownFormat
from monograph.read.image import is_icon, recognise, refuse_when_late, unpacked_image, upright
from monograph.read.kept import KeptPictures
from monograph.read.package import xml_of
from monograph.read.source import Items, SourceFile, problem_of
from monograph.values import Document, Problem

if TYPE_CHECKING:
    from PIL.Image import Image

MOST = 200
"""Maximum number of pictures of one document that are recognised or kept."""

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_LINK = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_ANCHOR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"


class Pictures:
    """Pictures of one document. A picture that occurs several times is processed once."""

    def __init__(self, opened: SourceFile) -> None:
        self._opened = opened
        self._seen: set[bytes] = set()
        self._kept = KeptPictures()
        self._recognised = self._unread = 0
        self._error: SourceError | None = None

    def words(self, data: bytes) -> str:
        """Return the words recognised in a picture, which is given as the bytes of its file.

        If a model will describe the pictures, return the mark that stands for the picture in the text until then.

        Return an empty text if the picture occurred before, is an icon, is broken or in an unknown format, or cannot
        be recognised.
        """
        digest = hashlib.sha256(data).digest()
        if digest in self._seen:
            return ""
        self._seen.add(digest)
        if isinstance(self._error, UnknownFormat) or self._recognised >= MOST:
            self._unread += 1
            return ""
        try:
            image = unpacked_image(data, self._opened.limits)
            if is_icon(image):
                return ""
            if not self._opened.describing:
                refuse_when_late(self._opened)
            self._recognised += 1
            return self._kept.mark(image, data) if self._opened.describing else recognise(upright(image))
        except (SourceDamaged, OSError, SyntaxError, ValueError):
            return ""  # Mostly drawings in formats of other systems: the document is read without them.
        except SourceError as error:
            self._unread, self._error = self._unread + 1, error
            return ""

    def drawn(self, image: Image, *, numbered: bool = True) -> str:
        """Keep a picture that has no file of its own, and return its mark.

        Return an empty text if the picture occurred before, is an icon, or exceeds a limit: MOST pictures, or
        MOST_BYTES_A_FILE bytes of all pictures.

        If ``numbered`` is False, the picture is a whole page. A whole page is always kept, and does not count towards
        MOST. Raises SourceTooLarge if the bytes of all pictures exceed MOST_BYTES_A_FILE.
        """
        if not numbered:
            return self._kept.mark(image, numbered=False)
        digest = hashlib.sha256(image.tobytes()).digest()
        if digest in self._seen or is_icon(image):
            return ""
        self._seen.add(digest)
        try:
            if self._recognised < MOST:
                self._recognised += 1
                return self._kept.mark(image)
        except SourceError as error:
            self._error = error
        self._unread += 1
        return ""

    def after(self, document: Document | None) -> Items:
        """Yield the kept pictures, then ``document``, then the problem of :meth:`problems` if there is one.

        ``document`` is None if the file has no text. Then no picture is yielded, only the problem.
        """
        if document is not None:
            yield from self.take()
            yield document
        yield from self.problems(empty=document is None)

    def take(self) -> Items:
        """Yield the pictures kept since the last call. Yield them before the document that contains their marks."""
        yield from self._kept.take()

    def problems(self, *, empty: bool) -> Items:
        """Yield a problem if the document is empty, or if pictures in it were not recognised.

        If text recognition is not installed, pictures that were not recognised are a problem only if the document is
        empty. So a document with text and a logo has no problem.
        """
        uri = self._opened.address.uri
        if self._unread and (empty or not isinstance(self._error, UnknownFormat)):
            count = f"{self._unread} pictures in it" if self._unread > 1 else "a picture in it"
            if self._error is None:
                yield Problem(uri, f"{count} were not recognised: it has more than {MOST}", "split it")
            else:
                yield problem_of(uri, self._error, count)
        elif empty:
            yield Problem(uri, "it has no text: nothing to index")


def of_element(element: Any, part: Any) -> Iterator[bytes]:
    """Yield the bytes of the pictures in an XML element of ``part``, a part of an Office file. Skip linked pictures."""
    for reference in element.iter(_DRAWING + "blip", "{urn:schemas-microsoft-com:vml}imagedata"):
        relation = part.rels.get(reference.get(_LINK + "embed") or reference.get(_LINK + "id") or "")
        if relation is not None and not relation.is_external:
            yield relation.target_part.blob


def of_sheet(archive: zipfile.ZipFile, sheet: str) -> Iterator[tuple[int, bytes]]:
    """Yield the pictures on a sheet of a workbook as (row of the upper edge, bytes), rows counted from 1.

    Drawings that cannot be read are skipped.
    """
    with contextlib.suppress(SourceDamaged, ElementTree.ParseError):
        for drawing in _targets(archive, sheet).values():
            if not ("/drawings/" in drawing and drawing.endswith(".xml")):
                continue
            files = _targets(archive, drawing)
            for anchor in xml_of(archive, drawing):
                row = anchor.findtext(f"{_ANCHOR}from/{_ANCHOR}row", "0")
                for reference in anchor.iter(_DRAWING + "blip"):
                    data = part_of(archive, files.get(reference.get(_LINK + "embed", ""), ""))
                    if data:
                        yield (int(row) + 1 if row.isdigit() else 1), data


def part_of(archive: zipfile.ZipFile, name: str) -> bytes:
    """Return the bytes of a part of an archive; empty if the part is missing or broken."""
    try:
        return archive.read(name)
    except (KeyError, zipfile.BadZipFile, OSError, ValueError):
        return b""


def _targets(archive: zipfile.ZipFile, part: str) -> dict[str, str]:
    """Return {relation id: name of a part} for the parts of an Office file to which ``part`` refers."""
    folder, name = posixpath.split(part)
    relations = posixpath.join(folder, "_rels", f"{name}.rels")
    if relations not in archive.namelist():
        return {}
    return {
        relation.get("Id", ""): posixpath.normpath(posixpath.join(folder, relation.get("Target", ""))).lstrip("/")
        for relation in xml_of(archive, relations)
        if relation.get("TargetMode") != "External"
    }
