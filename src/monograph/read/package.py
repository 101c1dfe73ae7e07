"""ZIP and OLE containers: finds the format inside, and refuses encrypted, oversized or malicious files."""

from __future__ import annotations

import contextlib
import io
import zipfile
from typing import IO
from xml.etree import ElementTree
from xml.parsers import expat

from monograph.errors import SourceDamaged, SourceLocked, SourceTooLarge, UnknownFormat
from monograph.read.detect import Format
from monograph.read.source import SourceFile

_MOST_ENTRIES_OF_A_DOCUMENT = 100_000
_RATIO_FROM_BYTES = 1_000_000
"""Unpacked size in bytes up to which a part of an archive may have any compression ratio."""

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
"""Suffixes of parts of Office files that may have a DOCTYPE, because they are not parsed as XML."""


def format_inside(opened: SourceFile, container: Format) -> Format:
    """Return the format inside a container.

    Raises
    ------
    SourceLocked
        If the file is encrypted.
    SourceDamaged
        If the container is broken, or a part of an Office file declares XML entities.
    SourceTooLarge
        If the container would unpack to more bytes than the limits allow.
    UnknownFormat
        If no reader understands the format inside.
    """
    if container == "ole":
        # The names in the directory of an OLE file tell its format.
        if "EncryptedPackage".encode("utf-16-le") in opened.data:
            raise SourceLocked("it is encrypted", "save it without a password")
        for name, form in _OLE:
            if name.encode("utf-16-le") in opened.data:
                return form
        kinds = (kind for name, kind in _OLD.items() if name.encode("utf-16-le") in opened.data)
        kind = next(kinds, "an old Office file of an unknown kind")
        raise UnknownFormat(f"{kind}, which cannot be read", "save it in a current Office format, or as PDF")
    with unpacked(opened) as archive:
        names = set(archive.namelist())
        mime = archive.read("mimetype").strip() if "mimetype" in names else b""
        if mime in _MIME:
            _refuse_locked(archive)
            return _MIME[mime]
        for name, form in _OFFICE:
            if name in names:
                _refuse_locked(archive)
                if form != "xls":
                    _refuse_entities(archive)
                return form
    return "archive"


def unpacked(opened: SourceFile) -> zipfile.ZipFile:
    """Open a ZIP archive, and check the sizes stated in it against the limits.

    Raises
    ------
    SourceDamaged
        If the archive is broken.
    SourceTooLarge
        If the archive has too many parts, or would unpack to more bytes than the limits allow. Reading a part never
        returns more bytes than its stated size.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(opened.data))
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise SourceDamaged(f"a broken ZIP archive: {error}", "save or copy it again") from error
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
    manifest = archive.read("META-INF/manifest.xml") if "META-INF/manifest.xml" in names else b""
    locked = any(entry.flag_bits & 1 for entry in archive.infolist()) or "META-INF/encryption.xml" in names
    if locked or b"encryption-data" in manifest:
        raise SourceLocked("it is encrypted", "save it without a password")


def _refuse_entities(archive: zipfile.ZipFile) -> None:
    """Raise SourceDamaged if a part of an Office file has a DOCTYPE: only malicious files have one."""
    for entry in archive.infolist():
        # An XML part may have any name.
        if not entry.is_dir() and not entry.filename.lower().endswith(_NOT_PARSED):
            with archive.open(entry) as part:
                if _find_declaration(part):
                    raise SourceDamaged(
                        f"its part {entry.filename!r} declares XML entities, which Office files never do",
                        "do not trust it",
                    )


class _RootStarted(Exception):
    """Signal that the XML parser reached the root element. After this point, XML cannot declare entities."""


def _find_declaration(part: IO[bytes]) -> str:
    """Return "ENTITY" if an XML part declares an entity, else "DOCTYPE" if it has a DOCTYPE, else an empty text."""
    declaration = ""

    def doctype(*_: object) -> None:
        nonlocal declaration
        declaration = declaration or "DOCTYPE"

    def entity(*_: object) -> None:
        nonlocal declaration
        declaration = "ENTITY"

    def root(*_: object) -> None:
        raise _RootStarted

    # Expat, because the readers parse with it: both must understand every encoding alike.
    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.EntityDeclHandler, parser.StartElementHandler = doctype, entity, root
    with contextlib.suppress(_RootStarted, expat.ExpatError):
        while declaration != "ENTITY" and (block := part.read(1 << 16)):
            parser.Parse(block)
    return declaration


def xml_of(archive: zipfile.ZipFile, name: str) -> ElementTree.Element:
    """Parse an XML part of an archive, and return its root element.

    Raises
    ------
    SourceDamaged
        If the part is missing or cannot be unpacked, or declares entities.
    """
    try:
        data = archive.read(name)
    except (KeyError, zipfile.BadZipFile, OSError, ValueError) as error:
        raise SourceDamaged(f"its part {name!r} cannot be read: {error}", "save it again") from error
    if _find_declaration(io.BytesIO(data)) == "ENTITY":
        raise SourceDamaged(f"its part {name!r} declares XML entities", "do not trust it")
    return ElementTree.fromstring(data)  # noqa: S314 - it declares no entities
