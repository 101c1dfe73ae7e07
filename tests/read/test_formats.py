"""Readers of every format: expected texts and places, and bad input."""

from __future__ import annotations

import io
import json
import os
import re
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph import Limits, Monograph, Settings
from monograph.derive.chunk import cut
from monograph.errors import SourceDamaged, SourceError, SourceLocked, SourceTooLarge, SourceTooSlow
from monograph.read.compose import Composer
from monograph.read.detect import detect
from monograph.read.file import ReadTask
from monograph.read.pool import ReaderPool
from monograph.read.rows import Row, format_row, header_among
from monograph.read.sheets import number
from monograph.read.source import Address, Clock, SourceFile
from monograph.values import Place, cite
from support.models import HashEmbedder
from support.properties import examples
from support.reading import KilledTask, read, root_at

RECOGNISED = {"pdf-scan-no-text-layer.pdf", "png-paper-page.png", "jpg-picture-with-text.jpg"}


def write(path: Path, data: bytes | str) -> Path:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def zipped(path: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


# The samples


def expected(shared: Path) -> list[tuple[Path, list[str]]]:
    folder = shared / "data/ingest-files"
    return [
        (folder / one["file"], one["expected_strings"]) for one in json.loads((folder / "manifest.json").read_text())
    ]


@pytest.mark.long
def test_samples_contain_their_expected_strings(shared: Path) -> None:
    seen = 0
    for path, strings in expected(shared):
        if path.name in RECOGNISED or path.name == "pdf-password.pdf":
            continue
        documents, _ = read(path)
        text = "\n".join(one.text for one in documents)
        assert [string for string in strings if string not in text] == [], path.name
        assert all(one.text[: one.places[0].start].strip() == "" or one.sections for one in documents if one.places)
        seen += 1
    assert seen >= 19


SAMPLES_REPORT = """\
samples.mono: documents 23 added, 0 changed, 0 removed; files 0 unchanged; chunks 124 added, 0 removed; \
vectors 124 embedded, 0 reused; names extracted from 124 chunks;
1 not stored:
  ingest-files/pdf-password.pdf: it needs a password  (save it without one)
"""


@pytest.mark.long
def test_sync_of_all_samples_reports_and_stores_their_strings(shared: Path, tmp_path: Path) -> None:
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    (tmp_path / "shared").symlink_to(shared)
    (tmp_path / "here").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "monograph.app.cli", "sync", "samples.mono", "../shared/data/ingest-files"],
        cwd=tmp_path / "here", capture_output=True, text=True, check=False,
    )  # fmt: skip
    printed = (done.stdout + done.stderr).replace(str(tmp_path), "..")
    printed = re.sub(r"^sync: .*\n", "", printed, flags=re.MULTILINE)  # A line of progress, every ten seconds.
    assert done.returncode == 3, printed
    assert re.sub(r" \d+\.\d+ s", "", printed) == SAMPLES_REPORT
    with Monograph.open(tmp_path / "here/samples.mono") as monograph:
        for path, strings in expected(shared):
            held = "".join(
                monograph.document(one.id).text for one in monograph.documents() if one.uri.endswith(path.name)
            )
            assert path.name not in RECOGNISED or [string for string in strings if string not in held] == []


def test_encrypted_pdf_raises_source_locked(shared: Path) -> None:
    with pytest.raises(SourceLocked, match="password"):
        read(shared / "data/ingest-files/pdf-password.pdf")


@pytest.mark.long
def test_image_of_rotated_text_is_recognised(shared: Path, tmp_path: Path) -> None:
    pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    from PIL import Image

    upright = Image.open(shared / "data/ingest-files/jpg-picture-with-text.jpg")
    exif = Image.Exif()
    exif[0x0112] = 6  # Turned: to be shown a quarter clockwise.
    upright.rotate(90, expand=True).save(tmp_path / "turned.jpg", exif=exif, quality=95)
    documents, _ = read(tmp_path / "turned.jpg")
    assert "5bda1dd6" in documents[0].text


def test_citations_name_the_page_or_row_of_a_hit(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/ingest-files"
    wanted = [
        ("pdf-outline.pdf", "9 Baz 4", "page 1"),
        ("pdf-borderless-table.pdf", "SKU-8847", "page 1"),
        ("xlsx-two-sheets.xlsx", "TOR; Stanley Cups: 0", "sheet Stanley Cups Since 67, rows"),
        ("pptx-complex.pptx", "lead the market", "slide 1"),
        ("csv-semicolon.csv", "Sheryl", "row 2"),
        ("json-elements.json", "These are a few", "json $[0]"),
    ]
    with Monograph.open(tmp_path / "x.mono", HashEmbedder()) as monograph:
        monograph.sync(*(folder / name for name, _, _ in wanted))
        for name, string, place in wanted:
            chunks = [one for one in monograph.chunks(str(folder / name)) if string in one.text]
            assert chunks, name
            assert place in cite(chunks[0].metadata), name


def test_pdf_chunks_carry_their_page_number(shared: Path) -> None:
    (document,), _ = read(shared / "data/ingest-files/pdf-scan-with-text-layer.pdf")
    assert [one.page for one in document.places] == [1, 2, 3, 4, 5, 6]
    for chunk in cut(document, Settings()):
        inside = [one.page for one in document.places if chunk.start <= one.start < chunk.end]
        assert inside in ([], [chunk.metadata["page"]])


# Formats made here


def test_text_formats_are_detected_from_their_first_lines() -> None:
    assert detect(b"<!-- x -->\n<!DOCTYPE html><p>", "page.txt") == "html"
    assert detect(b"Received: from x\r\nSubject: y\r\nFrom: z\r\n\r\nbody", "noname") == "email"
    assert detect(b"From: Mr Prose\nSubject: no mail\n\nonly a text", "a.txt") == "text"
    assert detect(b"#!/bin/sh\necho", "run") == "code"
    assert detect(b"junk\n%PDF-1.7\n", "a.bin") == "pdf"
    assert detect(b"the head %PDF-1.7 is in a line", "a.txt") == "text"


def test_number_formats_of_spreadsheets_are_applied() -> None:
    cases = [
        (0.925, "0.0%", "92.5%"), (0.92, "0%", "92%"), (1234567.5, "#,##0.00", "1,234,567.50"), (800, '"$"#,##0', "$800"),
        (12, "General", "12"), (0.1 + 0.2, "General", "0.3"), (-5, "0.00", "-5.00"), (1200.0, "General", "1200"),
        (3.5, '0.0" kg"', "3.5 kg"), (1500, "[$€-407] #,##0", "€1,500"),
    ]  # fmt: skip
    assert [number(value, code) for value, code, _ in cases] == [shown for *_, shown in cases]


def test_workbook_dates_and_percentages_are_formatted(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="the extra documents is not installed")
    import datetime

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "Sales"
    sheet.append(["Month", "Share", "Sum"])
    sheet.append([datetime.date(2024, 2, 29), 0.25, 1234.5])
    sheet["B2"].number_format, sheet["C2"].number_format = "0%", "#,##0.00"
    book.create_sheet("Empty")
    book.save(tmp_path / "a.xlsx")
    (document,), _ = read(tmp_path / "a.xlsx")
    assert document.text == "Sales\n\nMonth: 2024-02-29; Share: 25%; Sum: 1,234.50"
    assert document.places == (Place(0, sheet="Sales", row=1, boundary=True), Place(7, sheet="Sales", row=2))


def test_long_table_becomes_documents_with_the_header(tmp_path: Path) -> None:
    lines = ["name,city", *(f"person {n},town {n}" for n in range(1, 25_001))]
    documents, _ = read(write(tmp_path / "long.csv", "\n".join(lines)))
    assert len(documents) == 3
    assert len({one.id for one in documents}) == 3
    assert documents[2].text.endswith("name: person 25000; city: town 25000")
    assert documents[2].places[-1].row == 25_001
    for chunk in cut(documents[0], Settings(chunk_tokens=64, chunk_overlap=0)):
        assert chunk.text.startswith("name: person")


@settings(max_examples=examples(100))
@given(
    rows=st.lists(
        st.lists(
            st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Z"]), min_size=1, max_size=8),
            min_size=3,
            max_size=3,
        ),
        min_size=3,
        max_size=8,
    )
)
def test_table_text_contains_every_cell(rows: list[list[str]]) -> None:
    found = [Row(number, tuple(row)) for number, row in enumerate(rows, start=1)]
    header = header_among(found)
    for row in found:
        line = format_row(row, header)
        assert all(cell in line for cell in row.cells)
        if header is not None and row.number > header.number:
            assert all(f"{name}: {cell}" in line for name, cell in zip(header.cells, row.cells, strict=True))


def test_mail_and_its_attachments_become_documents(tmp_path: Path, shared: Path) -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Anna <anna@example.org>", "ben@example.org", "Grüße aus Köln"
    message["MIME-Version"] = "1.0"
    message.set_content("The invoice is attached.")
    message.add_alternative("<p>not this one</p>", subtype="html")
    data = (shared / "data/ingest-files/pdf-receipt.pdf").read_bytes()
    message.add_attachment(data, maintype="application", subtype="pdf", filename="receipt.pdf")
    documents, problems = read(write(tmp_path / "mail.eml", bytes(message)))
    assert problems == []
    assert [one.title for one in documents] == ["Grüße aus Köln", "receipt"]
    assert "The invoice is attached." in documents[0].text
    assert "not this one" not in documents[0].text
    assert documents[0].metadata["from"] == "Anna <anna@example.org>"
    assert documents[1].uri.endswith("mail.eml!/receipt.pdf")
    assert "TECHMART" in documents[1].text


def test_broken_attachment_does_not_hide_others(tmp_path: Path) -> None:
    message = EmailMessage()
    message["From"], message["Subject"], message["MIME-Version"] = "anna@example.org", "Three files", "1.0"
    message.set_content("See below.")
    for name, data in (
        ("a.pdf", b"%PDF-1.4 broken"),
        ("b.bin", b"\x00\x01" * 50),
        ("c.csv", b"k,v\na,b\n"),
        ("d.docx", b"PK\x03\x04 cut"),
    ):
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    documents, problems = read(write(tmp_path / "mail.eml", bytes(message)))
    assert [one.title for one in documents] == ["Three files", "c"]
    assert [problem.uri.rpartition("!/")[2] for problem in problems] == ["a.pdf", "b.bin", "d.docx"]


def test_nul_characters_in_names_and_cells_are_dropped(tmp_path: Path) -> None:
    mail = (
        b"Subject: A =?utf-8?Q?co=00met?=\nMIME-Version: 1.0\nContent-Type: text/plain\n"
        b"Content-Disposition: attachment; filename*=utf-8''no%00te.txt\n\nIt was seen in Riga.\n"
    )
    for path in (
        write(tmp_path / "mail.eml", mail),
        write(tmp_path / "keys.json", '{"own\\u0000er": {"na\\u0000me": {"a": {"b": "Ann\\u0000"}}}}'),
        write(tmp_path / "page.html", "<title>A&#0;B</title><a href='http://x/&#0;y'>z</a><p>The comet.</p>"),
    ):
        documents, problems = read(path)
        assert documents
        assert problems == []
        assert r"\x00" not in repr(documents)


def test_files_in_an_archive_become_documents(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", {"x.txt": b"deep"}).read_bytes()
    path = zipped(
        tmp_path / "a.zip",
        {"one.txt": b"first text", "b/two.csv": b"h,k\nv,w\n", "../out.txt": b"evil", "/abs.txt": b"evil", ".hid": b"h",
         "inner.zip": inner, "bad.pdf": b"%PDF-1.4 broken"},
    )  # fmt: skip
    documents, problems = read(path)
    assert {one.metadata["path"] for one in documents} == {"a.zip!/one.txt", "a.zip!/b/two.csv"}
    assert len(problems) == 4
    assert not (tmp_path.parent / "out.txt").exists()


def test_html_is_read_without_its_menus(tmp_path: Path) -> None:
    menu = "<ul>" + "".join(f"<li><a href=/{n}>Menu entry {n}</a></li>" for n in range(20)) + "</ul>"
    page = (
        f"<html><head><title>Site - Boiler</title></head><body><nav>{menu}</nav><h1>The boiler</h1><p>It is <b>old</b>.</p>"
        f"<h2>Service</h2><table><tr><th>Year</th><th>Who</th></tr><tr><td>1963</td><td>Grubb</td></tr></table>"
        f"<div>{menu}</div><script>var x</script><footer>Imprint</footer></body></html>"
    )
    (document,), _ = read(write(tmp_path / "p.html", page))
    assert document.text == "The boiler\n\nIt is old.\n\nService\n\nYear: 1963; Who: Grubb"
    assert [one.path for one in document.sections] == [("The boiler",), ("The boiler", "Service")]


def test_epub_and_odt_are_read(tmp_path: Path) -> None:
    book = {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": b'<container xmlns="urn:x"><rootfiles><rootfile full-path="O/p.opf"/></rootfiles></container>',
        "O/p.opf": b'<package xmlns="urn:y" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>A Book</dc:title></metadata>'
        b'<manifest><item id="b" href="b.xhtml"/><item id="a" href="a%20a.xhtml"/></manifest><spine><itemref idref="a"/><itemref idref="b"/>'
        b"</spine></package>",
        "O/a a.xhtml": b"<html><body><h1>One</h1><p>first</p></body></html>",
        "O/b.xhtml": b"<html><body><h1>Two</h1><p>second</p></body></html>",
    }
    (document,), problems = read(zipped(tmp_path / "b.epub", book))
    assert (document.title, document.text, problems) == ("A Book", "One\n\nfirst\n\nTwo\n\nsecond", [])
    text = (
        b'<d xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0">'
        b'<text:h text:outline-level="1">Head</text:h><text:p>A<text:s/>word<text:tab/>more</text:p><table:table>'
        b"<table:table-row><table:table-cell><text:p>k</text:p></table:table-cell><table:table-cell><text:p>l</text:p></table:table-cell></table:table-row>"
        b"<table:table-row><table:table-cell><text:p>v</text:p></table:table-cell><table:table-cell><text:p>w</text:p></table:table-cell></table:table-row>"
        b"</table:table></d>"
    )
    odt = {"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": text}
    (document,), _ = read(zipped(tmp_path / "o.odt", odt))
    assert document.text == "Head\n\nA word\tmore\n\nk: v; l: w"


def test_rtf_and_yaml_are_read(tmp_path: Path) -> None:
    (document,), _ = read(write(tmp_path / "a.rtf", rb"{\rtf1\ansi A caf\'e9 in town.\par Second.}"))
    assert document.text == "A café in town.\n\nSecond."
    (document,), _ = read(
        write(tmp_path / "a.yaml", "server:\n  host: a\n  ports: [1, 2]\nusers:\n- name: x\n- name: y\n")
    )
    assert document.text == "server.host: a\nserver.ports: 1, 2\n\nname: x\n\nname: y"
    assert [one.json for one in document.places] == ["$", "$.users[0]", "$.users[1]"]
    with pytest.raises(SourceError, match="not YAML"):
        read(write(tmp_path / "o.yaml", "x: !!python/object/apply:os.system ['touch /tmp/evil']\n"))


CODE = """import os

# Reads things.
@decorated
class Reader:
    def open(self):
        return os.name

    async def close(self): ...

def main() -> None:
    if True:
        print("class struggle")
"""


def test_code_definitions_become_sections(tmp_path: Path) -> None:
    (document,), _ = read(write(tmp_path / "a.py", CODE))
    assert document.text == CODE
    found = [(document.text[one.start :].split("\n", 1)[0], one.path) for one in document.sections]
    assert found == [
        ("# Reads things.", ("Reader",)),
        ("    def open(self):", ("Reader", "open")),
        ("    async def close(self): ...", ("Reader", "close")),
        ("def main() -> None:", ("main",)),
    ]
    other = "export function add(a) {}\npub fn sub(x: i32) {}\nfunc (s *T) Mul(a int) int {\nint div(int a) {\nCREATE TABLE t (x);\n"
    (document,), _ = read(write(tmp_path / "b.js", other))
    assert [one.path[-1] for one in document.sections] == ["add", "sub", "Mul", "div", "t"]


# Chunks for structure


@settings(max_examples=examples(60))
@given(
    pages=st.lists(
        st.lists(
            st.sampled_from(["A short one.", "Some words on the page, and more of them.", "word"]),
            min_size=1,
            max_size=40,
        ),
        min_size=1,
        max_size=8,
    )
)
def test_chunks_do_not_cross_pages(pages: list[list[str]]) -> None:
    composer = Composer()
    for page, sentences in enumerate(pages, start=1):
        composer.place(Place(0, page=page, boundary=True))
        composer.add(" ".join(sentences))
    document = composer.document(SourceFile(b"", Address("d.pdf", "d.pdf")), {})
    assert document is not None
    chunks = cut(document, Settings(chunk_tokens=32, chunk_overlap=8))
    starts = [one.start for one in document.places]
    assert len(starts) == len(pages)
    for chunk in chunks:
        assert document.text[chunk.start : chunk.end] == chunk.text
        assert not any(chunk.start < start < chunk.end for start in starts)
        assert chunk.metadata["page"] == sum(start <= chunk.start for start in starts)
    covered = {at for chunk in chunks for at in range(chunk.start, chunk.end)}
    assert all(document.text[at].isspace() for at in range(len(document.text)) if at not in covered)


def test_markdown_table_chunks_carry_column_names(tmp_path: Path) -> None:
    rows = "\n".join(f"| person {n} | town {n} |" for n in range(60))
    path = write(tmp_path / "t.md", f"# List\n\n| Name | Place |\n|---|---|\n{rows}\n\nAfter the table.\n")
    (document,), _ = read(path)
    chunks = cut(document, Settings(chunk_tokens=64, chunk_overlap=0))
    within = [one for one in chunks if one.text.startswith("| person")]
    assert len(within) > 3
    assert {one.metadata["columns"] for one in within} == {"Name Place"}


def test_chunks_do_not_cross_slides_or_sheets(tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx", reason="the extra documents is not installed")
    openpyxl = pytest.importorskip("openpyxl", reason="the extra documents is not installed")
    deck, book = pptx.Presentation(), openpyxl.Workbook()
    for at in range(1, 7):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = f"Slide {at}"
        slide.placeholders[1].text = f"A few words of number {at}."
        sheet = book.create_sheet(f"Sheet {at}")
        for row in (["Ship", "Men"], [f"Alma {at}", at]):
            sheet.append(row)
    deck.save(str(tmp_path / "a.pptx"))
    book.save(tmp_path / "a.xlsx")
    for name, place in (("a.pptx", "slide"), ("a.xlsx", "sheet")):
        (document,), _ = read(tmp_path / name)
        chunks = cut(document, Settings())
        assert len(chunks) == 6
        for at, chunk in enumerate(chunks, start=1):
            assert str(at) in str(chunk.metadata[place])
            assert {one for one in chunk.text if one.isdigit()} == {str(at)}
            assert chunk.metadata["section"] == f"{place.capitalize()} {at}"


def test_table_rows_in_documents_repeat_the_header(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx", reason="the extra documents is not installed")
    word = docx.Document()
    table = word.add_table(rows=0, cols=2)
    for cells in [("Ship", "Port"), *((f"boat {n}", f"harbour {n}") for n in range(120))]:
        for cell, text in zip(table.add_row().cells, cells, strict=True):
            cell.text = text
    word.save(str(tmp_path / "a.docx"))
    rows = "".join(f"<tr><td>boat {n}</td><td>harbour {n}</td></tr>" for n in range(120))
    write(tmp_path / "a.html", f"<table><tr><th>Ship</th><th>Port</th></tr>{rows}</table>")
    for name in ("a.docx", "a.html"):
        (document,), _ = read(tmp_path / name)
        chunks = cut(document, Settings(chunk_tokens=64, chunk_overlap=0))
        assert len(chunks) > 10
        assert all(
            line.startswith("Ship: boat") and "; Port: harbour" in line
            for one in chunks
            for line in one.text.split("\n\n")
        )


def test_code_chunks_begin_at_definitions(tmp_path: Path) -> None:
    code = "\n\n".join(f"def step_{n}(a, b):\n    # Adds {n} to both.\n    return a + {n}, b + {n}" for n in range(60))
    (document,), _ = read(write(tmp_path / "steps.py", code))
    chunks = cut(document, Settings(chunk_tokens=128, chunk_overlap=0))
    assert len(chunks) > 10
    assert all(chunk.text.startswith("def step_") for chunk in chunks)
    assert all(chunk.metadata["section"] == chunk.text[4 : chunk.text.index("(")] for chunk in chunks)


# Bad input


def png(width: int, height: int) -> bytes:
    def block(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    row = b"\0" + b"\xff" * ((width + 7) // 8)
    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n" + block(b"IHDR", head) + block(b"IDAT", zlib.compress(row * height)) + block(b"IEND", b"")
    )


def empty_pdf(pages: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % (number + 3) for number in range(pages))
    objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, kids)]
    objects += [b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]>>"] * pages
    made = io.BytesIO(b"%PDF-1.4\n")
    made.seek(0, os.SEEK_END)
    places = []
    for at, body in enumerate(objects, start=1):
        places.append(made.tell())
        made.write(b"%d 0 obj\n%s\nendobj\n" % (at, body))
    table = made.tell()
    made.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
    made.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    made.write(b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(places) + 1, table))
    return made.getvalue()


def bad_files(folder: Path, shared: Path) -> dict[str, str]:
    """Files that mean harm or are broken, and what their line in the report must have."""
    samples = shared / "data/ingest-files"
    zipped(folder / "bomb.zip", {"big.txt": b"0" * 30_000_000})
    write(folder / "pages.pdf", empty_pdf(10_000))
    write(folder / "huge.png", png(20_000, 20_000))
    docx = parts_of(samples / "docx-headings.docx")
    entity = b'?><!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    zipped(folder / "entity.docx", {**docx, "word/document.xml": docx["word/document.xml"].replace(b"?>", entity, 1)})
    xlsx = parts_of(samples / "xlsx-two-sheets.xlsx")
    far = xlsx["xl/worksheets/sheet1.xml"].replace(b'r="A2"', b'r="XXXXA2"')
    zipped(folder / "columns.xlsx", {**xlsx, "xl/worksheets/sheet1.xml": far})
    write(
        folder / "aliases.yaml",
        "a: &a [x,x,x,x,x,x,x,x,x]\n"
        + "".join(f"{c}: &{c} [{','.join(['*' + b] * 9)}]\n" for b, c in zip("abcdefg", "bcdefgh", strict=True)),
    )
    write(folder / "deep.json", "[" * 100_000 + "]" * 100_000)
    write(folder / "deep.html", "<div>" * 50_000 + "x")
    write(folder / "cut.docx", (samples / "docx-tables.docx").read_bytes()[:7000])
    write(folder / "cut.pdf", (samples / "pdf-outline.pdf").read_bytes()[:20_000])
    write(folder / "cut.jpg", (samples / "jpg-picture-with-text.jpg").read_bytes()[:50_000])
    write(folder / "locked.pdf", (samples / "pdf-password.pdf").read_bytes())
    with (folder / "giant.csv").open("wb") as file:
        file.truncate(1_000_000_000)
    return {
        "bomb.zip": "unpacks to", "pages.pdf": "no text", "huge.png": "pixels", "entity.docx": "XML entities",
        "columns.xlsx": "not a valid column", "aliases.yaml": "values", "deep.json": "nested", "deep.html": "unclosed",
        "cut.docx": "broken ZIP", "cut.pdf": "broken PDF", "cut.jpg": "broken image", "locked.pdf": "password",
        "giant.csv": "1,000,000,000 bytes",
    }  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "iso-8859-1"])
@pytest.mark.parametrize("name", ["word/document.xml", "word/other.bin", "word/rels"])
def test_entities_in_office_parts_are_refused(tmp_path: Path, shared: Path, encoding: str, name: str) -> None:
    docx = parts_of(shared / "data/ingest-files/docx-headings.docx")
    declared = re.sub(r"-(?:sig|le|be)$", "", encoding)
    mark = "\ufeff" if encoding.endswith(("-le", "-be")) else ""
    # The declaration stands beyond the first block.
    part = f'{mark}<?xml version="1.0" encoding="{declared}"?><!--{" " * 70_000}--><!DOCTYPE a [<!ENTITY x "lol">]><a>&x;</a>'
    with pytest.raises(SourceDamaged, match=f"'{name}' declares XML entities"):
        read(zipped(tmp_path / "entity.docx", {**docx, name: part.encode(encoding)}))


def test_pictures_in_office_files_may_have_a_document_type(tmp_path: Path, shared: Path) -> None:
    docx = parts_of(shared / "data/ingest-files/docx-headings.docx")
    picture = b'<!DOCTYPE svg [<!ENTITY ns "http://www.w3.org/2000/svg">]><svg xmlns="&ns;"/>'
    documents, problems = read(zipped(tmp_path / "picture.docx", {**docx, "word/media/image1.svg": picture}))
    assert documents
    assert problems == []


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_entities_in_opendocument_and_epub_are_refused(tmp_path: Path, encoding: str) -> None:
    bomb = f'<?xml version="1.0" encoding="{encoding}"?><!DOCTYPE a [<!ENTITY x "lol">]><a>&x;</a>'.encode(encoding)
    odt = {"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": bomb}
    epub = {"mimetype": b"application/epub+zip", "META-INF/container.xml": bomb}
    for name, parts in (("a.odt", odt), ("a.epub", epub)):
        with pytest.raises(SourceDamaged, match="XML entities"):
            read(zipped(tmp_path / name, parts))


@pytest.mark.long
@pytest.mark.timeout(120)
def test_every_bad_file_is_one_problem_in_the_report(tmp_path: Path, folder: Path, shared: Path) -> None:
    pytest.importorskip("PIL", reason="the extra ocr is not installed")
    lines = bad_files(folder, shared)
    write(folder / "good.txt", "A good text among them.")
    with Monograph.open(tmp_path / "x.mono", HashEmbedder()) as monograph:
        report = monograph.sync(folder)
        assert report.added == 1
        said = {Path(problem.uri).name: problem.reason for problem in report.problems}
        assert {name: reason for name, reason in said.items() if lines[name] not in reason} == {}
        assert set(said) == set(lines)
        assert monograph.check() == []
        # What failed is remembered, with its reason; once it is mended, a retry takes it in.
        (source,) = monograph.files.sources()
        assert {Path(one.uri).name for one in source.failures} == set(lines)
        write(folder / "cut.pdf", (shared / "data/ingest-files/pdf-outline.pdf").read_bytes())
        assert monograph.files.retry().added == 1
        assert "cut.pdf" not in {Path(one.uri).name for one in monograph.files.sources()[0].failures}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["png", "rtf"])
def test_slow_reader_is_killed_at_its_time_limit(shared: Path, tmp_path: Path, kind: str) -> None:
    samples = shared / "data/ingest-files"
    slow = samples / "png-paper-page.png"
    if kind == "png":
        pytest.importorskip("rapidocr", reason="the extra ocr is not installed")
    else:
        slow = write(tmp_path / "long.rtf", rb"{\rtf1\ansi " + rb"A caf\'e9.\par " * 3_000_000 + b"}")
    limits = Limits(max_seconds=0.05)
    tasks = [
        ReadTask(slow, root_at(slow.parent), limits),
        ReadTask(samples / "csv-emoji.csv", root_at(samples), Limits()),
    ]
    with ReaderPool(1) as crew:
        parts = list(crew.read(tasks))
    assert isinstance(parts[0][1].error, SourceTooSlow)
    assert [one.title for one in parts[1][1].documents] == ["csv-emoji"]


def test_killed_reader_is_reported_for_its_file(shared: Path) -> None:
    samples = shared / "data/ingest-files"
    task = ReadTask(samples / "docx-tables.docx", root_at(samples), Limits())
    with ReaderPool(1) as crew:
        parts = list(crew.read([task, task, KilledTask(task.path, task.root, task.limits), task]))
    assert [index for index, _ in parts] == [0, 1, 2, 3]
    failed = [(index, part.error.message) for index, part in parts if part.error is not None]
    assert failed == [(2, "the process that read it was killed: it may have taken all memory")]


def test_time_limit_pauses_while_parts_wait() -> None:
    begun, clock = time.monotonic(), Clock(60)
    with clock.stopped():
        waiting = time.monotonic()
        time.sleep(0.05)
        waited = time.monotonic() - waiting
    left = clock.left()
    assert 60 - (time.monotonic() - begun - waited) <= left <= 60
    time.sleep(0.05)
    assert clock.left() <= left - 0.05
    assert Clock(0).left() <= 0


def test_memory_limit_of_a_reader_is_reported(shared: Path) -> None:
    samples = shared / "data/ingest-files"
    with ReaderPool(1) as crew:
        (pair,) = crew.read([ReadTask(samples / "docx-tables.docx", root_at(samples), Limits(max_memory=60_000_000))])
    assert pair[1].error is not None


def test_expanded_size_limit_is_enforced(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", {"a.txt": b"x" * 100_000, "b.txt": b"fine"})
    with pytest.raises(SourceTooLarge, match="unpacks"):
        read(path, Limits(max_expanded=50_000))


def test_reader_pool_returns_files_in_order(shared: Path, tmp_path: Path) -> None:
    samples = shared / "data/ingest-files"
    names = [
        "pdf-scan-with-text-layer.pdf",
        "csv-emoji.csv",
        "txt-utf16le.txt",
        "docx-tables.docx",
        "json-small.json",
    ] * 12
    tasks = [ReadTask(samples / name, root_at(samples), Limits()) for name in names]
    with ReaderPool(2) as crew:
        found = [(at, part.documents[0].uri) for at, part in crew.read(tasks)]
    assert found == [(at, f"ingest-files/{name}") for at, name in enumerate(names)]


@pytest.mark.long
def test_large_table_is_stored_in_several_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from monograph.write import batch

    monkeypatch.setattr(batch, "BATCH_CHARACTERS", 100_000)
    path = write(tmp_path / "t.csv", "k,v\n" + "\n".join(f"a{n},b" for n in range(20_100)))
    with Monograph.open(tmp_path / "x.mono", HashEmbedder(), settings=Settings(chunk_tokens=2048)) as monograph:
        assert monograph.sync(path).added == 3
        assert monograph.sync(path).same == 1
        write(path, "k,v\n" + "\n".join(f"a{n},b" for n in range(10_100)))
        report = monograph.sync(path)
        assert (report.removed, report.changed, report.same) == (1, 1, 1)
        assert monograph.check() == []
