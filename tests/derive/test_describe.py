"""Descriptions of pictures by a model behind a socket."""

from __future__ import annotations

import hashlib
import io
import pickle
import random
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_model import describe

from monograph import Monograph
from monograph.derive.describe import PROMPT, ModelDescriber
from monograph.derive.loading import load_describer
from monograph.derive.openai_compatible import OpenAICompatible
from monograph.errors import InputError, ModelUnavailable
from monograph.models import Completion, Describer
from monograph.read.file import read_file
from monograph.read.kept import MOST_SIDE, Picture
from monograph.read.source import is_installed
from monograph.values import Document, Place, Section, cite
from monograph.write.describe import Caption, insert_captions
from support.forks import COMMANDS
from support.model_server import ModelServer
from support.reading import root_at

Pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
docx = pytest.importorskip("docx", reason="the extra documents is not installed")
pptx = pytest.importorskip("pptx", reason="the extra documents is not installed")


def png(colour: str, size: tuple[int, int] = (320, 200), form: str = "png") -> bytes:
    made = io.BytesIO()
    Pillow.new("RGB", size, colour).save(made, form)
    return made.getvalue()


RED, BLUE = png("red"), png("blue")


def fill(folder: Path) -> Path:
    """Make a letter with two pictures and an icon, slides with one of the pictures, a photograph and a text."""
    folder.mkdir()
    letter = docx.Document()
    letter.add_heading("Inventory", 1)
    letter.add_paragraph("What the first photograph shows:")
    for data in (RED, png("green", (20, 20)), BLUE, RED):
        letter.add_picture(io.BytesIO(data))
    letter.add_heading("Later", 1)
    letter.add_paragraph("Nothing more was found.")
    letter.save(str(folder / "letter.docx"))
    deck = pptx.Presentation()
    slides: list[tuple[str, bytes | None]] = [("The harbour in spring", None), ("", RED), ("The end", None)]
    for words, photo in slides:
        slide = deck.slides.add_slide(deck.slide_layouts[6])
        if words:
            slide.shapes.add_textbox(0, 0, 9_000, 9_000).text_frame.text = words
        if photo:
            slide.shapes.add_picture(io.BytesIO(photo), 0, 0)
    deck.save(str(folder / "deck.pptx"))
    (folder / "photo.jpg").write_bytes(png("yellow", form="jpeg"))
    (folder / "notes.txt").write_text("No picture stands here.")
    return folder


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    return fill(tmp_path / "papers")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def archive(server: ModelServer, tmp_path: Path) -> Iterator[Monograph]:
    """Yield a file whose describer is the server."""
    with Monograph.open(tmp_path / "a.mono", describer=describer_of(server)) as opened:
        yield opened


def describer_of(server: ModelServer) -> Describer:
    return load_describer(f"openai:{server.url}#scripted")


def texts(archive: Monograph) -> dict[str, str]:
    return {one.uri: archive.document(one.id).text for one in archive.documents()}


def chunks(archive: Monograph) -> list[tuple[str, str, str]]:
    """Return (uri, citation, text) of every chunk that is a description."""
    found = []
    for one in archive.documents():
        for chunk in archive.chunks(one.id):
            if chunk.text.startswith("Picture"):
                found.append((one.uri, cite(chunk.metadata), chunk.text))
    return found


def test_descriptions_are_inserted_at_their_pictures(papers: Path, archive: Monograph, server: ModelServer) -> None:
    plan = archive.files.plan(papers)
    assert plan.cost is not None
    assert (plan.cost.pictures, plan.cost.model_calls, server.calls) == (3, 3, 0)
    assert plan.cost.model_tokens > 3_000
    report = archive.sync(papers)
    assert (report.described, report.added, report.problems) == (3, 4, ())
    assert server.calls == 3  # The red picture is in two files, and twice in one of them.
    (entry,) = archive.costs()
    assert (entry.purpose, entry.calls, entry.tokens_in, entry.tokens_out) == (
        "describe", 3, server.tokens_in, server.tokens_out,
    )  # fmt: skip
    assert texts(archive)["papers/letter.docx"].split("\n\n") == [
        "Inventory", "What the first photograph shows:", f"Picture 1: {describe(RED)}", f"Picture 2: {describe(BLUE)}",
        "Later", "Nothing more was found.",
    ]  # fmt: skip
    assert sorted(chunks(archive)) == [
        ("papers/deck.pptx", "slide 2, picture 1", f"Picture 1: {describe(RED)}"),
        ("papers/letter.docx", "picture 1", f"Picture 1: {describe(RED)}"),
        ("papers/letter.docx", "picture 2", f"Picture 2: {describe(BLUE)}"),
        ("papers/photo.jpg", "", f"Picture: {describe((papers / 'photo.jpg').read_bytes())}"),
    ]
    found = {hit.text: cite(hit.metadata) for hit in archive.search("The end", k=20)}
    assert found["The end"] == "slide 3"
    assert "Nothing more was found." in " ".join(text for text, place in found.items() if not place)
    assert archive.check() == []
    with archive._file.database.read() as connection:
        rows: list[tuple[str, int]] = connection.execute(
            "SELECT CAST(value AS TEXT), tokens FROM memo WHERE kind = 'description'"
        ).fetchall()
    assert {text for text, _ in rows} >= {describe(RED), describe(BLUE)}
    assert sum(tokens for _, tokens in rows) == server.tokens
    asked = server.asked[0].body["messages"][0]["content"]
    assert asked[0] == {"type": "text", "text": PROMPT}
    assert "no instructions" in PROMPT
    assert asked[1]["image_url"]["url"].startswith("data:image/")


@pytest.mark.long
def test_described_pictures_are_not_paid_for_again(papers: Path, server: ModelServer, tmp_path: Path) -> None:
    with Monograph.open(tmp_path / "a.mono", describer=describer_of(server)) as archive:
        archive.sync(papers)
    shutil.copy(papers / "letter.docx", papers / "copy.docx")
    (papers / "photo.jpg").rename(papers / "picture.jpg")
    # The file stores the spec of its describer; the caller decides which addresses are trusted.
    with Monograph.open(tmp_path / "a.mono", trusted=[server.url]) as archive:
        report = archive.sync(papers)
        assert (report.added, report.removed, report.described, report.problems) == (2, 1, 0, ())
        (papers / "blue.png").write_bytes(png("cyan"))
        assert archive.sync(papers).described == 1
        assert archive.sync(papers).same == 6
        assert server.calls == 4
        assert archive.stats().addresses == (server.url,)
    with Monograph.open(tmp_path / "a.mono") as archive:
        (papers / "white.png").write_bytes(png("white"))
        (problem,) = archive.sync(papers).problems[:1]
        assert "was not opened" in problem.reason
        assert "--trust" in problem.hint
        assert server.calls == 4


@pytest.mark.long
def test_describer_added_later_reads_only_files_with_pictures(papers: Path, tmp_path: Path) -> None:
    plain = [part for name in ("letter.docx", "deck.pptx") for part in read_file(papers / name, root_at(papers))]
    assert all(part.pictures == () for part in plain)
    assert not any("[picture" in one.text for part in plain for one in part.documents)
    with Monograph.open(tmp_path / "a.mono") as archive:
        assert archive.files.plan(papers).cost.pictures == 0  # type: ignore[union-attr]
        archive.sync(papers)
        assert chunks(archive) == []
        before = texts(archive)
    with ModelServer() as server:
        # A describer that is added later reads again only files that may contain pictures.
        with Monograph.open(tmp_path / "a.mono") as archive:
            unaware = archive.files.plan(papers)
        with Monograph.open(tmp_path / "a.mono", describer=describer_of(server)) as archive:
            plan = archive.files.plan(papers)
            assert len(unaware.of("same")) == 4
            assert {one.uri for one in plan.of("same")} == {"papers/notes.txt"}
            assert plan.cost is not None
            assert plan.cost.pictures == 3
            assert archive.files.apply(unaware).described == 3
            assert len(chunks(archive)) == 4
            assert archive.sync(papers).same == 4
            after = texts(archive)
        assert after["papers/notes.txt"] == before["papers/notes.txt"]
        described = Monograph.open(tmp_path / "b.mono", describer=describer_of(server))
        with described as archive:
            archive.sync(papers)
            assert texts(archive) == after


@pytest.mark.parametrize("fault", ["nothing", "no choices", 422])
def test_unusable_description_raises(server: ModelServer, fault: int | str) -> None:
    describer = ModelDescriber(OpenAICompatible(server.url, "scripted", retries=0))
    server.fail(fault)
    with pytest.raises(ModelUnavailable) as raised:
        describer.describe(RED, "image/png")
    assert raised.value.hint
    server.fail("thinking")
    with pytest.raises(ModelUnavailable, match="wrote no description"):
        describer.describe(RED, "image/png")
    assert describer.describe(RED, "image/png").text == describe(RED)


@pytest.mark.long
def test_failing_describer_does_not_stop_a_sync(papers: Path, server: ModelServer, tmp_path: Path) -> None:
    describer = ModelDescriber(OpenAICompatible(server.url, "scripted", retries=0))
    server.fail(500, times=float("inf"))
    with Monograph.open(tmp_path / "a.mono", describer=describer) as archive:
        report = archive.sync(papers)
        told = {problem.uri: problem for problem in report.problems}
        assert report.described == 0
        assert {"papers/letter.docx", "papers/deck.pptx", "papers/photo.jpg"} <= told.keys()
        assert "not described" in told["papers/letter.docx"].reason
        assert all(problem.hint for problem in told.values() if "not described" in problem.reason)
        assert "Nothing more was found." in texts(archive)["papers/letter.docx"]
        assert not any("[picture" in text for text in texts(archive).values())
        assert archive.check() == []
        server.heal()
        healed = archive.files.retry()
        assert (healed.described, healed.problems) == (3, ())
        assert len(chunks(archive)) == 4


class Broken:
    """A custom describer that raises ZeroDivisionError."""

    key = spec = "broken"

    def describe(self, image: bytes, media_type: str) -> Completion:
        raise ZeroDivisionError("division by zero")


@pytest.mark.long
@pytest.mark.skipif(not is_installed("rapidocr"), reason="the extra ocr is not installed")
def test_ocr_replaces_a_failing_describer(folder: Path, tmp_path: Path) -> None:
    from PIL import ImageDraw, ImageFont

    shot = Pillow.new("RGB", (520, 160), "white")
    ImageDraw.Draw(shot).text((20, 40), "brass lanterns", fill="black", font=ImageFont.load_default(size=32))
    shot.save(folder / "a.png")
    with Monograph.open(tmp_path / "a.mono", describer=Broken()) as archive:
        (problem,) = archive.sync(folder).problems
        assert "ZeroDivisionError" in problem.reason
        assert list(texts(archive).values()) == ["brass lanterns"]


@pytest.mark.long
def test_describer_is_not_called_after_repeated_failures(folder: Path, tmp_path: Path) -> None:
    for n in range(7):
        (folder / f"{n}.png").write_bytes(png("red", (300 + n, 200)))
    asked: list[bytes] = []

    class Down:
        key = spec = "down"

        def describe(self, image: bytes, media_type: str) -> Completion:
            asked.append(image)
            raise ModelUnavailable("nobody answers", "start it")

    with Monograph.open(tmp_path / "a.mono", describer=Down()) as archive:
        report = archive.sync(folder)
    assert len([one for one in report.problems if "not described" in one.reason]) == 7
    assert 3 <= len(asked) <= 6


def test_large_pictures_are_resized_and_broken_ones_reported(tmp_path: Path) -> None:
    (tmp_path / "large.png").write_bytes(png("red", (5_000, 100)))
    (part,) = read_file(tmp_path / "large.png", root_at(tmp_path), describing=True)
    (picture,) = part.pictures
    with Pillow.open(io.BytesIO(picture.data)) as sent:
        assert (max(sent.size), sent.format) == (MOST_SIDE, "PNG")
    assert picture.digest == hashlib.sha256((tmp_path / "large.png").read_bytes()).digest()
    exif = Pillow.Exif()
    exif[0x0112] = 6
    Pillow.new("RGB", (300, 200)).save(tmp_path / "turned.jpg", exif=exif)
    (part,) = read_file(tmp_path / "turned.jpg", root_at(tmp_path), describing=True)
    with Pillow.open(io.BytesIO(part.pictures[0].data)) as sent:
        assert sent.size == (200, 300)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "torn.png").write_bytes(RED[:200])
    with ModelServer() as server, Monograph.open(tmp_path / "a.mono", describer=describer_of(server)) as archive:
        (problem,) = archive.sync(tmp_path / "in").problems
        assert "a broken image" in problem.reason
        assert server.calls == 0


def test_pictures_of_an_archive_are_returned_by_part(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "box.zip", "w") as box:
        for number in range(6):
            noise = Pillow.frombytes("RGB", (1_100, 1_000), random.Random(number).randbytes(3_300_000))
            written = io.BytesIO()
            noise.save(written, "png", compress_level=0)
            box.writestr(f"{number}.png", written.getvalue())
    parts = list(read_file(tmp_path / "box.zip", root_at(tmp_path), describing=True))
    assert [len(part.pictures) for part in parts] == [5, 1]
    for part in parts:
        assert [one.text for one in part.documents] == [picture.mark for picture in part.pictures]


def test_description_of_a_scanned_page_cites_the_page(archive: Monograph, folder: Path) -> None:
    pytest.importorskip("pypdfium2", reason="the extra documents is not installed")
    pages = [Pillow.new("RGB", (310, 440), colour) for colour in ("white", "red")]
    pages[0].save(folder / "scan.pdf", save_all=True, append_images=pages[1:], resolution=75)
    pages = [page.copy() for page in pages]  # Saving the PDF leaves its settings on the images.
    pages[0].save(folder / "fax.tiff", save_all=True, append_images=pages[1:])
    report = archive.sync(folder)
    assert (report.described, report.problems) == (4, ())
    assert sorted((uri, place) for uri, place, _ in chunks(archive)) == [
        (f"in/{name}", f"page {page}") for name in ("fax.tiff", "scan.pdf") for page in (1, 2)
    ]


def with_words(path: Path, pictures: list[bytes]) -> None:
    """Write a PDF with one picture on each page, and the words "Words of page N" near the bottom of page N."""
    pypdfium2 = pytest.importorskip("pypdfium2", reason="the extra documents is not installed")
    raw = pypdfium2.raw
    made = pypdfium2.PdfDocument.new()
    font = raw.FPDFText_LoadStandardFont(made, b"Helvetica")
    for number, data in enumerate(pictures, start=1):
        page = made.new_page(400, 400)
        words = raw.FPDFPageObj_CreateTextObj(made, font, 12.0)
        said = f"Words of page {number}".encode("utf-16-le") + b"\0\0"
        raw.FPDFText_SetText(words, (raw.FPDF_WCHAR * (len(said) // 2)).from_buffer_copy(said))
        raw.FPDFPageObj_Transform(words, 1, 0, 0, 1, 20, 20)
        raw.FPDFPage_InsertObject(page, words)
        with Pillow.open(io.BytesIO(data)) as seen:
            bitmap = pypdfium2.PdfBitmap.from_pil(seen)
        image = pypdfium2.PdfImage.new(made)
        image.set_bitmap(bitmap)
        image.set_matrix(
            pypdfium2.PdfMatrix().scale(bitmap.width, bitmap.height).translate(0, 0 if bitmap.height > 380 else 100)
        )
        page.insert_obj(image)
        page.gen_content()
    made.save(path)


def test_picture_in_a_pdf_with_text_is_described(archive: Monograph, folder: Path) -> None:
    with_words(folder / "a.pdf", [RED, png("green", (20, 20)), BLUE, RED, png("white", (400, 390))])
    (plain,) = read_file(folder / "a.pdf", root_at(folder))
    report = archive.sync(folder)
    assert (report.described, report.problems) == (2, ())
    assert [place for _, place, _ in chunks(archive)] == ["page 1, picture 1", "page 3, picture 2"]
    assert [text.partition(" by ")[0] for _, _, text in chunks(archive)] == [
        f"Picture {n}: A PNG picture of 320" for n in (1, 2)
    ]
    (text,) = texts(archive).values()
    assert [one for one in text.split("\n\n") if one.startswith("Words")] == plain.documents[0].text.split("\n\n")
    assert {cite(hit.metadata) for hit in archive.search("Words", k=9) if hit.text.startswith("Words")} == {
        f"page {n}" for n in (1, 2, 3, 4, 5)
    }


def test_sync_command_prices_and_describes_pictures(server: ModelServer, folder: Path, tmp_path: Path) -> None:
    (folder / "a.png").write_bytes(RED)
    asked = ("sync", "a.mono", "in", "--describer", f"openai:{server.url}#scripted")
    priced = COMMANDS.run("monograph", *asked, "--dry-run", cwd=tmp_path)
    assert "1 pictures described, 1 model calls (at most " in priced.stdout
    assert server.calls == 0
    done = COMMANDS.run("monograph", *asked, cwd=tmp_path)
    assert "images 1 described; " in done.stdout
    assert server.calls == 1


def test_forgetting_leaves_no_description(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name in ("a.png", "b.png"):
        (tmp_path / "in" / name).write_bytes(RED)
    with ModelServer() as server, Monograph.open(tmp_path / "a.mono", describer=describer_of(server)) as archive:
        server.say("A secret brass lantern.")
        archive.sync(tmp_path / "in")
        (tmp_path / "in" / "a.png").unlink()
        (tmp_path / "in" / "b.png").unlink()
        archive.sync(tmp_path / "in", prune=True, forget=True)
        assert archive.check() == []
    assert b"brass lantern" not in b"".join(path.read_bytes() for path in tmp_path.glob("a.mono*"))


MARKS = [f"[picture {n:032x}]" for n in range(4)]


@given(
    st.lists(st.one_of(st.sampled_from(MARKS), st.text("ab \n", min_size=1, max_size=9)), min_size=1, max_size=9),
    st.lists(st.one_of(st.none(), st.text("xyz", max_size=5)), min_size=4, max_size=4),
    st.data(),
)
def test_offsets_follow_inserted_descriptions(pieces: list[str], answers: list[str | None], data: Any) -> None:
    """The character at an offset outside of a mark is at its new offset, and places are in ascending order."""
    once = [one for n, one in enumerate(pieces) if one not in MARKS or pieces.index(one) == n]
    text = "\n\n".join(once)
    free = [
        at for at in range(len(text)) if not any(text.find(m) <= at < text.find(m) + len(m) for m in MARKS if m in text)
    ]
    free = [at for at in free if text[at] != "\n"]
    chosen = sorted(data.draw(st.sets(st.sampled_from(free), max_size=5))) if free else []
    document = Document(
        text,
        "id",
        sections=tuple(Section(at, ("h",)) for at in chosen),
        places=tuple(Place(at, page=at + 1) for at in chosen),
    )
    pictures = [Picture(mark, n + 1, b"", b"", "image/png", 1) for n, mark in enumerate(MARKS)]
    said = {mark: Caption(one or "", described=one is not None) for mark, one in zip(MARKS, answers, strict=True)}
    made = insert_captions(document, pictures, said)
    if made is None:
        assert not any(
            (one not in MARKS and one.strip()) or (one in MARKS and (said[one].text or said[one].described))
            for one in once
        )
        return
    assert not any(mark in made.text for mark in MARKS)
    starts = [place.start for place in made.places]
    assert starts == sorted(set(starts))
    for section, at in zip(made.sections, chosen, strict=True):
        if section.start < len(made.text):
            assert made.text[section.start] == text[at]
    for mark, picture in zip(MARKS, pictures, strict=True):
        if mark in text and said[mark].described:
            (place,) = (one for one in made.places if one.picture == picture.number)
            assert made.text.startswith(f"Picture {picture.number}: {said[mark].text}".rstrip(), place.start)
            assert place.boundary
            before = [at for at in chosen if at <= text.find(mark)]
            assert place.page == (before[-1] + 1 if before else 0)


def test_describer_can_be_removed(server: ModelServer, folder: Path, tmp_path: Path) -> None:
    (folder / "a.png").write_bytes(RED)
    spec = f"openai:{server.url}#scripted"
    with Monograph.open(tmp_path / "a.mono", describer=spec) as archive:
        assert archive.sync(folder).described == 1
    with Monograph.open(tmp_path / "a.mono", trusted=[server.url], describer="none") as archive:
        (folder / "b.png").write_bytes(BLUE)
        archive.sync(folder)
        assert len(chunks(archive)) == server.calls == 1
        with pickle.loads(pickle.dumps(archive)) as again:
            assert again._file.models.describer is None
    with Monograph.open(tmp_path / "a.mono", trusted=[server.url]) as archive:
        assert archive.stats().addresses == ()
        assert archive.sync(folder).described == 0
    with Monograph.open(tmp_path / "a.mono", describer=spec) as archive:
        assert archive.sync(folder).described == 1
        assert len(chunks(archive)) == server.calls == 2
        assert archive.check() == []
    for wrong in (7, Broken, "static"):
        with pytest.raises((InputError, ModelUnavailable)):
            Monograph.open(tmp_path / "b.mono", describer=wrong)  # type: ignore[arg-type]
