"""Word documents and RTF files. Of an RTF file, only the plain text is read.

Of a Word document, paragraphs, tables and the words in pictures are read, in the order of the document. A paragraph is
a heading if its style is *Heading 1*, *Heading 2* and so on.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from monograph.read.compose import Composer
from monograph.read.pictures import Pictures, of_element
from monograph.read.rows import add_table
from monograph.read.source import Items, SourceFile, day_of, needs, text_of
from monograph.regex import regex

_HEADING = regex(r"heading (\d)$", re.I)


def read_docx(opened: SourceFile) -> Items:
    """Yield a Word file as one document. Tracked insertions are included, tracked deletions and macros are left out."""
    with needs("a Word document", "documents"):
        import docx
        from docx.text.paragraph import Paragraph
    file = docx.Document(io.BytesIO(opened.data))
    composer, pictures = Composer(), Pictures(opened)
    title = ""
    for item in file.iter_inner_content():
        opened.check_time()
        if isinstance(item, Paragraph):
            text = _paragraph_text(item._p)
            style = (item.style.name or "") if item.style is not None else ""
            heading = _HEADING.match(style)
            if heading:
                composer.heading(int(heading.group(1)), text)
            else:
                title = title or (text if style == "Title" else "")
                composer.add(f"- {text}" if style.startswith("List") and text.strip() else text)
        else:
            add_table(composer, _table_rows(item))
        for data in of_element(item._element, file.part):
            composer.add(pictures.words(data))
    core = file.core_properties
    metadata = opened.metadata("docx", author=text_of(core.author), created=day_of(core.created))
    document = composer.document(opened, metadata, title or text_of(core.title))
    yield from pictures.after(document)


def _paragraph_text(paragraph: Any) -> str:
    """Return the text of a paragraph, including the text of its links, tracked insertions and text boxes."""
    from docx.oxml.ns import qn

    word, tab, stop, fallback = qn("w:t"), qn("w:tab"), (qn("w:br"), qn("w:cr")), "Fallback"
    parts = []
    skipped: set[Any] = set()
    for element in paragraph.iter():
        if not isinstance(element.tag, str):
            continue
        if element.getparent() in skipped or element.tag.endswith(f"}}{fallback}"):
            skipped.add(element)  # A fallback repeats the text for older programs.
        elif element.tag == word:
            parts.append(element.text or "")
        elif element.tag == tab and element.getparent().tag == qn("w:r"):
            parts.append("\t")
        elif element.tag in stop:
            parts.append("\n")
    return "".join(parts)


def _table_rows(table: Any) -> Iterator[list[str]]:
    """Yield the texts of the cells in each row of a table. A cell includes the text of tables inside it."""
    from docx.oxml.ns import qn

    for row in table._tbl.iterchildren(qn("w:tr")):
        cells: list[str] = []
        for cell in row.iterchildren(qn("w:tc")):
            span = cell.find(f"{qn('w:tcPr')}/{qn('w:gridSpan')}")
            width = int(span.get(qn("w:val"), "1")) if span is not None else 1
            cells.append(" ".join(_paragraph_text(paragraph) for paragraph in cell.iter(qn("w:p"))))
            # Empty cells for the other columns of the cell keep later cells in their columns.
            cells += [""] * min(width - 1, 63)
        yield cells


def read_rtf(opened: SourceFile) -> Items:
    """Yield the text of an RTF file as one document."""
    with needs("an RTF file", "documents"):
        from striprtf.striprtf import rtf_to_text
    composer = Composer()
    # RTF is ASCII. It writes all other characters as escapes.
    text: str = rtf_to_text(opened.data.decode("cp1252", "replace"), errors="replace")  # type: ignore[no-untyped-call]
    for paragraph in text.split("\n"):
        composer.add(paragraph)
    yield from composer.items(opened, opened.metadata("rtf"))
