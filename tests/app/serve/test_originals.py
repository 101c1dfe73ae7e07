"""Original files over HTTP: their bytes, rendered pages and boxed spans."""

from __future__ import annotations

import io
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

pdfium = pytest.importorskip("pypdfium2", reason="the extra documents is not installed")
Image = pytest.importorskip("PIL.Image", reason="Pillow, which comes with matplotlib, is not installed")

from monograph import Document, Monograph
from monograph.errors import InputError, NotFound, SourceDamaged, SourceMissing, SourceUnreadable
from support.api_server import Client, serving


@pytest.fixture(scope="module")
def synced(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Path:
    """Make a folder of papers, and a file with these papers and one more document. Tests copy both."""
    place = tmp_path_factory.mktemp("synced")
    folder = place / "papers"
    folder.mkdir()
    for name in ("pdf-outline.pdf", "pdf-multilang.pdf", "pdf-receipt.pdf", "pdf-borderless-table.pdf"):
        (folder / name).write_bytes((shared / "data/ingest-files" / name).read_bytes())
    (folder / "notes.txt").write_text("Plain text.")
    with Monograph.open(place / "papers.mono") as made:
        made.sync(folder)
        made.add([Document("From nowhere.", id="nowhere")])
    return place


@pytest.fixture
def folder(tmp_path: Path, synced: Path) -> Path:
    return shutil.copytree(synced / "papers", tmp_path / "papers")


@pytest.fixture
def papers(tmp_path: Path, folder: Path, synced: Path) -> Iterator[Monograph]:
    with Monograph.open(shutil.copy(synced / "papers.mono", tmp_path)) as made:
        yield made


@pytest.fixture
def client(papers: Monograph) -> Iterator[Client]:
    with serving({"papers": papers}) as made:
        yield made


def letters(text: str) -> str:
    return "".join(one for one in text if one.isalnum())


def in_box(path: Path, number: int, box: dict[str, float]) -> str:
    """Return the text that PDFium finds inside a box of a page."""
    with pdfium.PdfDocument(path) as file:
        page = file[number - 1]
        wide, high = page.get_size()
        left, right = box["left"] * wide - 1, box["right"] * wide + 1
        bottom, top = high - box["bottom"] * high - 1, high - box["top"] * high + 1
        return str(page.get_textpage().get_text_bounded(left, bottom, right, top))


def test_span_is_boxed_at_its_position(client: Client, folder: Path) -> None:
    checked = 0
    for name in ("pdf-outline.pdf", "pdf-receipt.pdf", "pdf-borderless-table.pdf", "pdf-multilang.pdf"):
        document = client.get("/document", id=f"papers/{name}").json
        for chunk in client.get("/document/chunks", id=document["id"]).json[:6]:
            words = list(re.finditer(r"\w{4,}", chunk["text"]))
            for word in words[:: max(1, len(words) // 6)]:
                start, end = chunk["start"] + word.start(), chunk["start"] + word.end()
                found = client.get("/document/boxes", id=document["id"], start=start, end=end).json
                assert found["page"] == chunk["metadata"]["page"]
                assert found["found"], (name, word.group())
                within = "".join(in_box(folder / name, found["page"], box) for box in found["boxes"])
                assert letters(word.group()) in letters(within), (name, word.group(), within)
                checked += 1
    assert checked > 40


def test_repeated_words_are_boxed_at_the_right_occurrence(client: Client) -> None:
    document = client.get("/document", id="papers/pdf-outline.pdf").json
    chunks = client.get("/document/chunks", id=document["id"]).json
    page = next(chunk for chunk in chunks if chunk["metadata"]["page"] == 2)
    starts = [at for at in range(page["start"], page["end"]) if document["text"].startswith("text", at)]
    assert len(starts) > 2
    boxes = [client.get("/document/boxes", id=document["id"], start=at, end=at + 4).json["boxes"][0] for at in starts]
    assert len({(box["top"], box["left"]) for box in boxes}) == len(starts)
    corners = [(round(box["top"], 2), box["left"]) for box in boxes]
    assert corners == sorted(corners)


def test_pdf_page_is_rendered(client: Client) -> None:
    reply = client.get("/document/page", id="papers/pdf-outline.pdf", page=2, width=300)
    assert reply.status == 200
    assert reply.headers["content-type"] == "image/png"
    picture = Image.open(io.BytesIO(reply.body), formats=["PNG"])
    assert (picture.mode, picture.size) == ("RGB", (300, 425))
    assert picture.crop((0, 0, 300, 1)).getextrema() == ((255, 255),) * 3, "the first row of the page is paper"
    outline = {"id": "papers/pdf-outline.pdf"}
    for parameters, status in (
        ({**outline, "page": 99}, 404),
        ({**outline, "page": 0}, 404),
        ({**outline, "width": 10}, 400),
        ({**outline, "width": 100_000}, 400),
        ({"id": "nowhere"}, 404),
        ({"id": "papers/notes.txt"}, 409),
    ):
        assert client.get("/document/page", **parameters).status == status, parameters


def test_original_file_is_returned_unchanged(client: Client, folder: Path) -> None:
    reply = client.get("/document/original", id="papers/pdf-receipt.pdf")
    assert reply.body == (folder / "pdf-receipt.pdf").read_bytes()
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["content-disposition"] == "attachment; filename*=UTF-8''pdf-receipt.pdf"
    source = client.get("/document/source", id="papers/pdf-receipt.pdf").json
    assert (source["state"], source["format"], source["size"]) == ("same", "pdf", len(reply.body))
    assert source["pages"] >= 1
    assert client.get("/document/source", id="nowhere").json["state"] == "none"
    assert client.get("/document/original", id="nowhere").status == 404


def test_original_reports_changed_and_missing_files(papers: Monograph, folder: Path, tmp_path: Path) -> None:
    name, path = "papers/notes.txt", folder / "notes.txt"
    assert papers.files.original(name).state == "same"
    os.utime(path, (1, 1))
    assert papers.files.original(name).state == "same", "the same bytes under another time"
    path.write_text("Other text.")
    assert papers.files.original(name).state == "changed"
    with papers.files.open_original(name) as file:
        assert file.read() == b"Other text."
    path.unlink()
    assert papers.files.original(name).state == "gone"
    with pytest.raises(SourceMissing):
        papers.files.open_original(name)
    secret = tmp_path / "secret"
    secret.write_text("Plain text.")
    path.symlink_to(secret)
    with pytest.raises(SourceUnreadable, match="leads out"):
        papers.files.open_original(name)
    path.unlink()
    os.mkfifo(path)
    assert papers.files.original(name).state == "gone"
    with pytest.raises(SourceUnreadable):
        papers.files.open_original(name)
    with pytest.raises(NotFound):
        papers.files.original("nothing")


def test_pages_of_a_damaged_pdf_are_refused(papers: Monograph, folder: Path) -> None:
    with papers.files.pages() as pages:
        assert pages.picture("papers/pdf-receipt.pdf", 1, 100)[:4] == b"\x89PNG"
        (folder / "pdf-receipt.pdf").write_bytes(b"%PDF-1.7 and nothing else")
        with pytest.raises(SourceDamaged):
            pages.picture("papers/pdf-receipt.pdf", 1, 100)
        (folder / "pdf-receipt.pdf").write_bytes((folder / "pdf-outline.pdf").read_bytes())
        document = papers.document("papers/pdf-receipt.pdf")
        assert pages.boxes(document.id, 0, 40).found is False
        with pytest.raises(InputError):
            pages.picture(document.id, 1, 1)
        assert pages.boxes("papers/notes.txt", 0, 5) == pages.boxes("papers/notes.txt", 3, 2)
    assert pages.picture("papers/pdf-outline.pdf", 1, 100)[:4] == b"\x89PNG", "closed, it begins anew"
    pages.close()
