"""Recognition of words in pictures."""

from __future__ import annotations

import io
import zipfile
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest

from monograph.read import image as images
from monograph.read import pictures
from monograph.read.limits import Limits
from monograph.read.source import needs
from monograph.read.table import ROWS_A_DOCUMENT
from monograph.values import cite
from support.reading import read

pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
Pillow = pytest.importorskip("PIL.Image", reason="the extra ocr is not installed")
pytestmark = pytest.mark.long

LINES = ("The harbour master keeps", "seventeen brass lanterns", "in the old customs house.")


def picture(*lines: str, size: tuple[int, int] = (520, 160)) -> Any:
    """A white image with lines of black words."""
    from PIL import ImageDraw, ImageFont

    made = Pillow.new("RGB", size, "white")
    ImageDraw.Draw(made).multiline_text((20, 12), "\n".join(lines), fill="black", font=ImageFont.load_default(size=32))
    return made


def png(image: Any) -> bytes:
    made = io.BytesIO()
    image.save(made, "png")
    return made.getvalue()


@pytest.mark.parametrize("quarters", [0, 1, 2, 3])
def test_rotated_image_is_recognised(tmp_path: Path, quarters: int) -> None:
    picture(*LINES).rotate(90 * quarters, expand=True).save(tmp_path / "a.png")
    (document,), problems = read(tmp_path / "a.png")
    assert document.text.split("\n") == list(LINES)
    assert problems == []


@pytest.mark.parametrize(("orientation", "degrees"), [(3, 180), (6, 90), (8, 270)])
def test_photo_is_rotated_by_its_exif_orientation(tmp_path: Path, orientation: int, degrees: int) -> None:
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    picture(*LINES).rotate(degrees, expand=True).save(tmp_path / "a.jpg", exif=exif, quality=95)
    turned = images.upright(images.unpacked_image((tmp_path / "a.jpg").read_bytes(), Limits()))
    assert turned.shape == (160, 520, 3)
    (document,), _ = read(tmp_path / "a.jpg")
    assert document.text.split("\n") == list(LINES)


def test_rotated_scanned_pages_are_recognised(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the extra documents is not installed")
    page = Pillow.new("RGB", (620, 877), "white")
    page.paste(picture(*LINES), (40, 60))
    upright, *turned = [page.rotate(90 * quarters, expand=True) for quarters in range(4)]
    upright.save(tmp_path / "scan.pdf", save_all=True, append_images=turned, resolution=75)
    (document,), problems = read(tmp_path / "scan.pdf")
    assert problems == []
    starts = [place.start for place in document.places]
    assert [place.page for place in document.places] == [1, 2, 3, 4]
    for start, end in zip(starts, [*starts[1:], len(document.text)], strict=True):
        assert document.text[start:end].strip().split("\n") == list(LINES)


def office(folder: Path) -> dict[str, str]:
    """A document of each kind with a picture of words in it, and how the words must be cited."""
    import docx
    import openpyxl
    import pptx
    from openpyxl.drawing.image import Image

    shot, icon, logo = (
        png(picture(*lines, size=size)) for lines, size in [(LINES, (520, 160)), ([], (90, 90)), ([], (300, 120))]
    )
    word = docx.Document()
    word.add_heading("Inventory", 1)
    word.add_paragraph("What the photograph shows:")
    word.add_picture(io.BytesIO(shot))
    word.add_picture(io.BytesIO(icon))
    word.add_heading("Later", 1)
    word.add_paragraph("Nothing more.")
    word.save(str(folder / "letter.docx"))
    deck = pptx.Presentation()
    for data in (logo, shot, shot):
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        slide.shapes.add_picture(io.BytesIO(data), 0, 0)
    deck.save(str(folder / "deck.pptx"))
    book = openpyxl.Workbook()
    book.active.title = "Stock"
    for row in (["Thing", "Where"], ["rope", "shed"]):
        book.active.append(row)
    book.create_sheet("Photos").add_image(Image(io.BytesIO(shot)), "B7")
    book.save(folder / "stock.xlsx")
    xml = (
        '<d xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
        ' xmlns:xlink="http://www.w3.org/1999/xlink"><text:p>Before it<draw:frame><draw:image xlink:href="Pictures/1.png"/></draw:frame>'
        "</text:p></d>"
    )
    with zipfile.ZipFile(folder / "text.odt", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", xml)
        archive.writestr("Pictures/1.png", shot)
    with zipfile.ZipFile(folder / "book.epub", "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", '<c><rootfiles><rootfile full-path="O/p.opf"/></rootfiles></c>')
        archive.writestr(
            "O/p.opf", '<p><manifest><item id="a" href="a.xhtml"/></manifest><spine><itemref idref="a"/></spine></p>'
        )
        archive.writestr(
            "O/a.xhtml", "<html><body><h1>One</h1><p>Before it <img src='../I/1.png'/> and after.</p></body></html>"
        )
        archive.writestr("I/1.png", shot)
    message = EmailMessage()
    message["From"], message["Subject"], message["MIME-Version"] = "anna@example.org", "Lanterns", "1.0"
    message.set_content("See the picture.")
    for name, data in (("photo.png", shot), ("smile.png", icon)):
        message.add_attachment(data, maintype="image", subtype="png", filename=name)
    (folder / "mail.eml").write_bytes(bytes(message))
    return {
        "letter.docx": "Inventory", "deck.pptx": "slide 2", "stock.xlsx": "sheet Photos, row 7", "text.odt": "",
        "book.epub": "One", "mail.eml": "",
    }  # fmt: skip


def test_words_of_embedded_pictures_are_recognised(tmp_path: Path) -> None:
    pytest.importorskip("docx", reason="the extra documents is not installed")
    from monograph import Settings
    from monograph.derive.chunk import cut

    for name, place in office(tmp_path).items():
        documents, problems = read(tmp_path / name)
        assert problems == [], name
        text = "\n".join(one.text for one in documents)
        assert text.count("\n".join(LINES)) == 1, name
        chunks = [chunk for one in documents for chunk in cut(one, Settings()) if LINES[1] in chunk.text]
        known = chunks[0].metadata
        assert place in f"{known.get('section')} {cite(known)}", name
        if "Before it" in text:
            assert text.index("Before it") < text.index(LINES[0])


def test_pictures_beyond_the_limit_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docx = pytest.importorskip("docx", reason="the extra documents is not installed")
    monkeypatch.setattr(pictures, "MOST", 1)
    word = docx.Document()
    for line in LINES:
        word.add_picture(io.BytesIO(png(picture(line))))
    word.save(str(tmp_path / "a.docx"))
    documents, problems = read(tmp_path / "a.docx")
    assert documents[0].text == LINES[0]
    assert "2 pictures in it were not recognised" in problems[0].reason


def test_missing_ocr_is_reported_only_for_images_without_other_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docx = pytest.importorskip("docx", reason="the extra documents is not installed")

    def absent() -> None:
        with needs("a picture of text", "ocr"):
            raise ImportError(name="rapidocr")

    monkeypatch.setattr(images, "_engine", absent)
    for name, text in (("scan.docx", ""), ("letter.docx", "A letter with a photograph.")):
        word = docx.Document()
        word.add_paragraph(text)
        word.add_picture(io.BytesIO(png(picture(*LINES))))
        word.save(str(tmp_path / name))
    documents, problems = read(tmp_path / "scan.docx")
    assert documents == []
    assert "'ocr' is not installed" in problems[0].reason
    documents, problems = read(tmp_path / "letter.docx")
    assert documents[0].text == "A letter with a photograph."
    assert problems == []


def test_sheets_after_a_document_that_pictures_filled_are_read(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra documents is not installed")
    from openpyxl.drawing.image import Image

    book = openpyxl.Workbook()
    full, after = book.active, book.create_sheet("after")
    for number in range(ROWS_A_DOCUMENT - 1):
        full.append([f"row {number}", number])
    for line in LINES[:2]:
        picture(line).save(tmp_path / f"{line}.png")
        full.add_image(Image(tmp_path / f"{line}.png"), "D2")
    after.append(["the last row", 7])
    book.save(tmp_path / "a.xlsx")
    documents, problems = read(tmp_path / "a.xlsx")
    assert problems == []
    text = "\n".join(document.text for document in documents)
    assert [line for line in (*LINES[:2], "the last row") if line not in text] == []
