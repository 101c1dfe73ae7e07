"""PowerPoint files: reads the shapes of each slide from top to bottom, with tables, words in pictures, and notes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from monograph.read.compose import Composer
from monograph.read.pictures import Pictures, of_element
from monograph.read.rows import add_table
from monograph.read.source import Items, SourceFile, day_of, needs, text_of
from monograph.values import Place

_DEEPEST_GROUP = 20


def read_pptx(opened: SourceFile) -> Items:
    """Yield a presentation as one document, with a :class:`monograph.values.Place` for each slide.

    The title of a slide becomes a heading. The notes of a slide come last.
    """
    with needs("a PowerPoint file", "documents"):
        import pptx
    file = pptx.Presentation(io.BytesIO(opened.data))
    composer, pictures = Composer(), Pictures(opened)
    opened.check_pages(len(file.slides), "slides")
    for number, slide in enumerate(file.slides, start=1):
        opened.check_time()
        composer.place(Place(0, slide=number, boundary=True))
        title = slide.shapes.title
        has_title = title is not None and title.has_text_frame
        if has_title:
            composer.heading(1, title.text_frame.text)
        for shape in _sorted_shapes(slide.shapes):
            if has_title and shape.shape_id == title.shape_id:
                pass  # Its text is the heading already.
            elif shape.has_text_frame:
                composer.add("\n".join(paragraph.text for paragraph in shape.text_frame.paragraphs))
            elif getattr(shape, "has_table", False):
                add_table(composer, ([cell.text for cell in row.cells] for row in shape.table.rows))
            for data in of_element(shape._element, shape.part):
                composer.add(pictures.words(data))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            composer.add(slide.notes_slide.notes_text_frame.text)
    core = file.core_properties
    stored_title = text_of(core.title)
    metadata = opened.metadata(
        "pptx", slides=len(file.slides), author=text_of(core.author), created=day_of(core.created)
    )
    document = composer.document(opened, metadata, "" if stored_title == "PowerPoint Presentation" else stored_title)
    yield from pictures.after(document)


def _sorted_shapes(shapes: Any, depth: int = 0) -> Iterator[Any]:
    """Yield shapes from top to bottom, groups as their shapes. ``depth`` is the number of groups around ``shapes``."""
    for shape in sorted(shapes, key=lambda item: (item.top or 0, item.left or 0)):
        if hasattr(shape, "shapes") and depth < _DEEPEST_GROUP:
            yield from _sorted_shapes(shape.shapes, depth + 1)
        else:
            yield shape
