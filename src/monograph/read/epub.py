"""EPUB: reads the chapters in the order of the book's spine, and recognises the words in the chapters' pictures."""

from __future__ import annotations

import posixpath
import zipfile
from functools import partial
from urllib.parse import unquote

from monograph.errors import SourceDamaged
from monograph.read.compose import Composer
from monograph.read.package import unpacked, xml_of
from monograph.read.pictures import Pictures, part_of
from monograph.read.source import Items, SourceFile, text_of
from monograph.read.web import add_page, parse
from monograph.values import Problem

_MOST_CHAPTERS = 20_000


def read_epub(opened: SourceFile) -> Items:
    """Yield a book as one document with the headings of its chapters. Yield also a problem if chapters are missing."""
    composer, pictures = Composer(), Pictures(opened)
    lost = []
    with unpacked(opened) as archive:
        rootfile = xml_of(archive, "META-INF/container.xml").find("{*}rootfiles/{*}rootfile")
        package = "" if rootfile is None else rootfile.get("full-path", "")
        if not package:
            raise SourceDamaged("a broken EPUB: it has no list of contents", "download it again")
        root = xml_of(archive, package)
        title, author, published = (
            text_of(root.findtext(f"{{*}}metadata/{{http://purl.org/dc/elements/1.1/}}{name}"))
            for name in ("title", "creator", "date")
        )
        hrefs = {item.get("id", ""): item.get("href", "") for item in root.iterfind("{*}manifest/{*}item")}
        chapters = [hrefs.get(reference.get("idref", ""), "") for reference in root.iterfind("{*}spine/{*}itemref")]
        for href in chapters[:_MOST_CHAPTERS]:
            opened.check_time()
            name = _resolve_link(package, href)
            try:
                data = archive.read(name)
            except (KeyError, zipfile.BadZipFile):
                lost.append(href)
                continue
            add_page(composer, parse(data), partial(_picture_words, pictures, archive, name))
    if lost:
        yield Problem(opened.address.uri, f"{len(lost)} of its chapters are missing ({lost[0]})", "download it again")
    document = composer.document(opened, opened.metadata("epub", author=author, published=published), title)
    yield from pictures.after(document)


def _resolve_link(part: str, href: str) -> str:
    """Return the path in the archive that a link refers to. ``part`` is the path of the part that has the link."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(part), unquote(href)))


def _picture_words(pictures: Pictures, archive: zipfile.ZipFile, chapter: str, link: str) -> str:
    return pictures.words(part_of(archive, _resolve_link(chapter, link)))
