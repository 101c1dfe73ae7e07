"""PDF, read by PDFium: the text layer page by page, and text recognition for pages that are only pictures."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any

from monograph.errors import SourceDamaged, SourceError, SourceLocked, SourceTooLarge
from monograph.read.compose import Composer, clean
from monograph.read.image import refuse_size, refuse_when_late
from monograph.read.pictures import Pictures
from monograph.read.source import Items, SourceFile, needs, problem_of, text_of
from monograph.regex import regex
from monograph.values import Place, Problem

if TYPE_CHECKING:
    import pypdfium2

_RECOGNITION_SCALE = 200 / 72
"""Scale at which a page is drawn for recognition: 200 dots per inch."""

_FULL_PAGE_SHARE = 0.9
"""A picture counts as filling its page if it covers at least this share of the page's area."""

_HYPHEN = regex("(?<=\\w)\ufffe\\s*|(?<=[^\\W\\d_])\u00ad\\s*\n\\s*")
"""Matches the hyphen of a word divided at the end of a line: a soft hyphen, or U+FFFE from PDFium."""

_CREATED = regex(r"D:(\d{4})([01]\d)([0-3]\d)")
_DEFAULT_NAME = regex(r"^(?:untitled.*|unspecified|\(anonymous\)|microsoft word - .*|.*\.\w{2,4}|\W*)$", re.I)


def read_pdf(opened: SourceFile) -> Items:
    """Yield a PDF as one document, with its pages as places and its outline as headings."""
    with opened_pdf(opened.data) as file:
        opened.check_pages(len(file), "pages")
        composer, document_pictures = Composer(), Pictures(opened)
        outline = _outline(file)
        picture_pages: list[int] = []
        broken: list[int] = []
        recognition_error: SourceError | None = None
        for number in range(1, len(file) + 1):
            opened.check_time()
            try:
                text, marks = _read_page(file, number - 1, opened, document_pictures, recognition_error)
            except SourceError as error:  # Recognition cannot continue, so later pages do not try it.
                recognition_error = error
                picture_pages.append(number)
                continue
            except Exception:
                broken.append(number)
                continue
            _add_page(composer, number, text, outline.get(number, []))
            for mark in marks:
                composer.add(mark)
        information = file.get_metadata_dict(skip_empty=True)
        uri = opened.address.uri
        if broken:
            yield Problem(uri, f"{_format_pages(broken)} cannot be read", "save it again")
        if picture_pages and recognition_error is not None:
            yield problem_of(uri, recognition_error, _format_pages(picture_pages))
        names = (text_of(information.get(name)) for name in ("Title", "Author"))
        title, author = ("" if _DEFAULT_NAME.match(name) else name for name in names)
        yield from document_pictures.take()
        match = _CREATED.match(information.get("CreationDate", ""))
        created = "-".join(match.groups()) if match else ""
        metadata = opened.metadata("pdf", pages=len(file), author=author, created=created)
        document = composer.document(opened, metadata, title)
        if document is not None:
            yield document
            yield from document_pictures.problems(empty=False)
        elif not (broken or picture_pages):
            yield Problem(uri, "it has no text: nothing to index")


def opened_pdf(data: bytes) -> pypdfium2.PdfDocument:
    """Open a PDF. Raises SourceError if it is locked or broken, or if the extra ``documents`` is not installed."""
    with needs("a PDF", "documents"):
        import pypdfium2
    try:
        return pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise SourceLocked("it needs a password", "save it without one") from error
        raise SourceDamaged(f"a broken PDF: {error}", "save it again") from error


def _format_pages(numbers: list[int]) -> str:
    listed = ", ".join(map(str, numbers[:5])) + (" …" if len(numbers) > 5 else "")
    return f"page {listed}" if len(numbers) == 1 else f"{len(numbers)} pages ({listed})"


def _read_page(
    file: pypdfium2.PdfDocument,
    index: int,
    opened: SourceFile,
    pictures: Pictures,
    recognition_error: SourceError | None,
) -> tuple[str, list[str]]:
    """Return (text, picture marks) of a page. If a page has only pictures, draw it, or raise ``recognition_error``."""
    import pypdfium2

    from monograph.read.image import recognise

    with closing(file[index]) as page:
        with closing(page.get_textpage()) as layer:
            text = clean(_HYPHEN.sub("", layer.get_text_bounded())).strip()
        images = page.get_objects(filter=[pypdfium2.raw.FPDF_PAGEOBJ_IMAGE], max_depth=3)
        if text:
            return text, list(_page_marks(page, images, opened, pictures)) if opened.describing else []
        if next(iter(images), None) is None:
            return "", []
        if recognition_error is not None:
            # Recognition failed on a previous page, and would fail again.
            raise recognition_error
        refuse_when_late(opened)
        width, height = (round(side * _RECOGNITION_SCALE) for side in page.get_size())
        refuse_size(width, height, opened.limits)
        bitmap = page.render(scale=_RECOGNITION_SCALE)
        if opened.describing:
            # The mark of the whole page stands for its text until a model describes the page.
            return pictures.drawn(bitmap.to_pil(), numbered=False), []
        return recognise(bitmap.to_numpy()), []


def _page_marks(
    page: pypdfium2.PdfPage, images: Iterator[Any], opened: SourceFile, pictures: Pictures
) -> Iterator[str]:
    """Yield the mark of each picture on a page that has text; an empty text for a picture that is skipped."""
    import pypdfium2

    wide, high = page.get_size()
    for image in images:
        opened.check_time()
        mark = ""
        with suppress(pypdfium2.PdfiumError, SourceTooLarge, OSError, TypeError, ValueError):
            left, bottom, right, top = image.get_bounds()
            width, height = image.get_px_size()
            refuse_size(width, height, opened.limits)
            # A picture that fills the page is skipped: a background, or a scan whose words are text already.
            if (right - left) * (top - bottom) < _FULL_PAGE_SHARE * wide * high:
                mark = pictures.drawn(image.get_bitmap(render=True).to_pil())
        yield mark


def _add_page(composer: Composer, number: int, text: str, titles: list[tuple[int, str]]) -> None:
    if not text:
        return
    composer.place(Place(0, page=number, boundary=True))
    composer.add(text)
    start = composer.length - len(text.strip())
    offset = 0
    for level, title in titles:
        # A bookmark names only the page. Its title mostly occurs there word for word.
        match = re.compile(r"\s+".join(map(re.escape, title.split()))).search(text, offset)
        offset = match.start() if match else offset
        composer.mark(start + offset, level, title)


def _outline(file: pypdfium2.PdfDocument) -> dict[int, list[tuple[int, str]]]:
    """Return {page number: (level, title) of each bookmark to that page}. Pages and levels are counted from 1."""
    outline: dict[int, list[tuple[int, str]]] = {}
    with suppress(ValueError, ctypes.ArgumentError, RuntimeError):  # The rest of a broken outline is ignored.
        for bookmark in file.get_toc(max_depth=8):
            target: Any = bookmark.get_dest()
            index = target.get_index() if target is not None else None
            title = " ".join(bookmark.get_title().split())
            if title and index is not None:
                outline.setdefault(index + 1, []).append((bookmark.level + 1, title))
    return outline
