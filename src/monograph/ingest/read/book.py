"""EPUB: the chapters in the order of the spine."""

from __future__ import annotations

import posixpath
import zipfile
from urllib.parse import unquote
from xml.etree import ElementTree

from monograph.errors import SourceDamaged
from monograph.ingest.read.compose import Composer
from monograph.ingest.read.package import unpacked, xml_of
from monograph.ingest.read.source import Items, Opened
from monograph.ingest.read.web import add_page, parse
from monograph.values import Problem

_MOST_CHAPTERS = 20_000


def read_epub(opened: Opened) -> Items:
    """A book as one document, its headings those of its chapters."""
    composer = Composer()
    lost = []
    with unpacked(opened) as archive:
        package = _package(archive)
        root = ElementTree.fromstring(xml_of(archive, package))  # noqa: S314 - xml_of refuses entities
        title, author = (_said(root, name) for name in ("title", "creator"))
        hrefs = {one.get("id", ""): one.get("href", "") for one in root.iterfind("{*}manifest/{*}item")}
        chapters = [hrefs.get(one.get("idref", ""), "") for one in root.iterfind("{*}spine/{*}itemref")]
        for href in chapters[:_MOST_CHAPTERS]:
            opened.check_time()
            try:
                data = archive.read(posixpath.normpath(posixpath.join(posixpath.dirname(package), unquote(href))))
            except (KeyError, zipfile.BadZipFile):
                lost.append(href)
                continue
            add_page(composer, parse(data))
    if lost:
        yield Problem(opened.address.uri, f"{len(lost)} of its chapters are not in it ({lost[0]})", "fetch it anew")
    document = composer.document(opened, opened.metadata("epub", author=author), title)
    yield document if document is not None else Problem(opened.address.uri, "it has no text: nothing to index")


def _package(archive: zipfile.ZipFile) -> str:
    container = ElementTree.fromstring(xml_of(archive, "META-INF/container.xml"))  # noqa: S314 - no entities
    found = container.find("{*}rootfiles/{*}rootfile")
    if found is None or not found.get("full-path"):
        raise SourceDamaged("a broken EPUB: it names no contents", "fetch it anew")
    return str(found.get("full-path"))


def _said(root: ElementTree.Element, name: str) -> str:
    found = root.find(f"{{*}}metadata/{{http://purl.org/dc/elements/1.1/}}{name}")
    return "" if found is None else " ".join((found.text or "").split())
