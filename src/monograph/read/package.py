"""ZIP and OLE containers: what they are, and whether they may be opened."""

from __future__ import annotations

import contextlib
import io
import zipfile
from typing import IO
from xml.etree import ElementTree
from xml.parsers import expat

from monograph.errors import SourceDamaged, SourceLocked, SourceTooLarge, UnknownFormat
from monograph.read.detect import Format
from monograph.read.source import Opened

_MOST_ENTRIES_OF_A_DOCUMENT = 100_000
_RATIO_FROM_BYTES = 1_000_000
"""Small parts may be packed as tightly as they like."""

_MIME: dict[bytes, Format] = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.spreadsheet": "ods",
    b"application/vnd.oasis.opendocument.presentation": "odp",
}
_OFFICE: tuple[tuple[str, Format], ...] = (
    ("word/document.xml", "docx"), ("ppt/presentation.xml", "pptx"), ("xl/workbook.xml", "xlsx"),
    ("xl/workbook.bin", "xls"),
)  # fmt: skip
_OLE: tuple[tuple[str, Format], ...] = (("Workbook", "xls"), ("Book", "xls"), ("__properties_version1.0", "msg"))
_OLD = {"WordDocument": "an old Word document", "PowerPoint Document": "an old PowerPoint file"}
_NOT_PARSED = (".svg", ".html", ".htm", ".xhtml")
"""Names of parts of Office files that are kept as they are: pictures and pages, which may have a document type."""


def look_inside(opened: Opened, container: Format) -> Format:
    """Return the format inside a container.

    Raises
    ------
    SourceLocked, SourceDamaged, SourceTooLarge, UnknownFormat
        If it may not or cannot be opened.
    """
    return _in_ole(opened.data) if container == "ole" else _in_zip(opened)


def _in_ole(data: bytes) -> Format:
    """Return the format inside an OLE file, by the names in its directory."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise SourceLocked("it is encrypted", "save it without a password")
    for name, form in _OLE:
        if name.encode("utf-16-le") in data:
            return form
    named = (kind for name, kind in _OLD.items() if name.encode("utf-16-le") in data)
    kind = next(named, "an old Office file of an unknown kind")
    raise UnknownFormat(f"{kind}, which cannot be read", "save it in the Office format of today, or as PDF")


def _in_zip(opened: Opened) -> Format:
    with unpacked(opened) as archive:
        names = set(archive.namelist())
        if "mimetype" in names:
            kind = archive.read("mimetype").strip()
            if kind in _MIME:
                _refuse_locked(archive)
                return _MIME[kind]
        for name, form in _OFFICE:
            if name in names:
                _refuse_locked(archive)
                if form != "xls":
                    _refuse_entities(archive)
                return form
    return "archive"


def unpacked(opened: Opened) -> zipfile.ZipFile:
    """A ZIP archive, its directory held against the limits.

    Raises
    ------
    SourceDamaged
        If it is no whole archive.
    SourceTooLarge
        If it would unpack to more than may be: what archives say is believed here, and held to when they are read.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(opened.data))
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise SourceDamaged(f"a broken ZIP archive: {error}", "save or copy it anew") from error
    entries = archive.infolist()
    if len(entries) > _MOST_ENTRIES_OF_A_DOCUMENT:
        raise SourceTooLarge(f"it has {len(entries):,} parts, more than {_MOST_ENTRIES_OF_A_DOCUMENT:,}")
    total = sum(entry.file_size for entry in entries)
    if total > opened.limits.max_expanded:
        raise SourceTooLarge(f"it unpacks to {total:,} bytes, more than the limit of {opened.limits.max_expanded:,}")
    for entry in entries:
        if entry.file_size > max(_RATIO_FROM_BYTES, opened.limits.max_ratio * entry.compress_size):
            raise SourceTooLarge(
                f"its part {entry.filename!r} unpacks to {entry.file_size:,} bytes from {entry.compress_size:,}",
                "unpack it yourself if you trust it",
            )
    return archive


def _refuse_locked(archive: zipfile.ZipFile) -> None:
    names = archive.namelist()
    listed = archive.read("META-INF/manifest.xml") if "META-INF/manifest.xml" in names else b""
    locked = any(entry.flag_bits & 1 for entry in archive.infolist()) or "META-INF/encryption.xml" in names
    if locked or b"encryption-data" in listed:
        raise SourceLocked("it is encrypted", "save it without a password")


def _refuse_entities(archive: zipfile.ZipFile) -> None:
    """Raise SourceDamaged if a part has a document type: no Office file has one that is not made to do harm.

    A part may have any name: the file itself says which of them are XML.
    """
    for entry in archive.infolist():
        if not entry.is_dir() and not entry.filename.lower().endswith(_NOT_PARSED):
            with archive.open(entry) as part:
                if _declared(part):
                    raise SourceDamaged(
                        f"its part {entry.filename!r} declares XML entities, which Office files never do",
                        "do not trust it",
                    )


class _RootBegun(Exception):
    """The root element begins: nothing can be declared any more."""


def _declared(part: IO[bytes]) -> str:
    """Return what stands above the root element of XML of any encoding: a DOCTYPE, an ENTITY, or nothing.

    Expat reads it, as the parsers do. What is no XML declares nothing.
    """
    found = ""

    def doctype(*_: object) -> None:
        nonlocal found
        found = found or "DOCTYPE"

    def entity(*_: object) -> None:
        nonlocal found
        found = "ENTITY"

    def root(*_: object) -> None:
        raise _RootBegun

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.EntityDeclHandler, parser.StartElementHandler = doctype, entity, root
    with contextlib.suppress(_RootBegun, expat.ExpatError):
        while found != "ENTITY" and (block := part.read(1 << 16)):
            parser.Parse(block)
    return found


def xml_of(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """Parse a part that is XML without entities.

    Raises
    ------
    SourceDamaged
        If it is not there, or declares entities.
    """
    try:
        data = archive.read(name)
    except (KeyError, zipfile.BadZipFile, OSError, ValueError) as error:
        raise SourceDamaged(f"its part {name!r} cannot be read: {error}", "save it anew") from error
    if _declared(io.BytesIO(data)) == "ENTITY":
        raise SourceDamaged(f"its part {name!r} declares XML entities", "do not trust it")
    return ElementTree.fromstring(data)  # noqa: S314 - it declares no entities
