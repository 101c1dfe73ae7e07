"""OpenDocument texts and presentations: reads paragraphs, headings, tables and pictures."""

from __future__ import annotations

from xml.etree import ElementTree

from monograph.read.compose import Composer
from monograph.read.package import unpacked, xml_of
from monograph.read.pictures import Pictures, part_of
from monograph.read.rows import add_table
from monograph.read.source import Items, SourceFile
from monograph.values import Place

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_SHOWING = {_TEXT + "h", _TEXT + "p", _TABLE + "table", _DRAW + "image"}
"""Elements that become text or pictures. All other elements are only containers of these elements."""

_SKIPPED = {_TEXT + "tracked-changes", _OFFICE + "annotation", _TEXT + "note-citation"}


def read_odt(opened: SourceFile) -> Items:
    """Yield an OpenDocument text as one document."""
    yield from _read(opened, "odt")


def read_odp(opened: SourceFile) -> Items:
    """Yield an OpenDocument presentation as one document with a place for each slide."""
    yield from _read(opened, "odp")


def _read(opened: SourceFile, form: str) -> Items:
    composer, pictures = Composer(), Pictures(opened)
    slides = 0
    with unpacked(opened) as archive:
        stack = [xml_of(archive, "content.xml")]
        while stack:
            opened.check_time()
            element = stack.pop()
            if element.tag in _SKIPPED:
                continue
            if element.tag == _TEXT + "h":
                level = element.get(_TEXT + "outline-level", "1")
                composer.heading(int(level) if level.isdigit() else 1, _paragraph_text(element))
            elif element.tag == _TEXT + "p":
                composer.add(_paragraph_text(element))
            elif element.tag == _TABLE + "table":
                rows = (row.findall(_TABLE + "table-cell") for row in element.iter(_TABLE + "table-row"))
                add_table(
                    composer, ([" ".join(map(_paragraph_text, cell.iter(_TEXT + "p"))) for cell in row] for row in rows)
                )
            else:
                if element.tag == _DRAW + "page":
                    slides += 1
                    composer.place(Place(0, slide=slides, boundary=True))
                stack.extend(reversed(element))
            # The words of pictures follow the text of the element that contains them.
            if element.tag in _SHOWING:
                for image in element.iter(_DRAW + "image"):
                    composer.add(pictures.words(part_of(archive, image.get(_LINK, ""))))
    document = composer.document(opened, opened.metadata(form))
    yield from pictures.after(document)


def _paragraph_text(element: ElementTree.Element) -> str:
    parts: list[str] = []
    stack: list[ElementTree.Element | str] = [element]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        parts.append({_TEXT + "s": " ", _TEXT + "tab": "\t", _TEXT + "line-break": "\n"}.get(item.tag, ""))
        if item.tag not in _SKIPPED:
            parts.append(item.text or "")
            for child in reversed(item):
                stack += [child.tail or "", child]
    return "".join(parts)
