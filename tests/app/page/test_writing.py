"""Page with write access in a real browser: folders, failures, uploads, forgetting and pages of PDFs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.paths import EXAMPLES

pytest.importorskip("pypdfium2", reason="the extra documents is not installed")

from monograph import Monograph
from support.browser import Site, show, site, until

pytestmark = pytest.mark.long

TEXTS = EXAMPLES / "texts"
LINES = ("The ferry to Skellig leaves at dawn.", "Captain Nolan keeps the brass key.", "No dogs are taken aboard.")
SCRIPT = "<img src=x onerror=alert(1)>.txt"


def pdf(lines: tuple[str, ...]) -> bytes:
    """Return a PDF of one page without a cross-reference table. Its first line is at 700 points, the next at 600."""
    content = "\n".join(f"BT /F 18 Tf 72 {700 - 100 * at} Td ({line}) Tj ET" for at, line in enumerate(lines))
    objects = (
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    )
    body = "".join(f"{number} 0 obj\n{text}\nendobj\n" for number, text in enumerate(objects, 1))
    return f"%PDF-1.4\n{body}trailer << /Root 1 0 R >>\n%%EOF\n".encode()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("writing")
    notes = made / "notes"
    notes.mkdir()
    (notes / "ferry.pdf").write_bytes(pdf(LINES))
    (notes / "plain.md").write_text("# Plain\n\nThe plain note names Captain Nolan, and a walrus.\n")
    with Monograph.open(made / "notes.mono") as file:
        file.sync(notes)
    return made


@pytest.fixture(scope="module")
def served(place: Path) -> Iterator[Site]:
    with site([place / "notes.mono"], "--write") as running:
        yield running


def document_of(served: Site, uri: str) -> Any:
    (found,) = served.get("/documents", like=uri)["documents"]
    return served.get("/document", id=found["id"])


def test_a_pdf_is_shown_as_its_page_with_the_passage_boxed(page: Any, served: Site) -> None:
    document = document_of(served, "ferry.pdf")
    for at, line in enumerate(LINES):
        start = document["text"].index(line)
        show(page, "/document", id=document["id"], view="page", mark=f"{start}-{start + len(line)}")
        page.wait_for_selector(".boxes .box", state="attached")
        until(page, "document.querySelector('.leaf img')?.complete")
        picture = page.locator(".leaf img").bounding_box()
        box = page.locator(".boxes .box").first.bounding_box()
        middle = (box["y"] + box["height"] / 2 - picture["y"]) / picture["height"]
        assert middle == pytest.approx(1 - (700 - 100 * at + 6) / 792, abs=0.015)
        assert (box["x"] - picture["x"]) / picture["width"] == pytest.approx(72 / 612, abs=0.02)


def test_page_downloads_the_original(page: Any, served: Site, place: Path) -> None:
    show(page, "/document", id=document_of(served, "ferry.pdf")["id"])
    with page.expect_download() as download:
        page.click(".original a")
    assert Path(download.value.path()).read_bytes() == (place / "notes" / "ferry.pdf").read_bytes()
    assert download.value.suggested_filename == "ferry.pdf"


def test_page_prices_adds_and_retries_a_folder(page: Any, served: Site, place: Path) -> None:
    more = place / "more"
    more.mkdir()
    (more / "good.txt").write_text("A letter about a lighthouse.")
    (more / "bad.pdf").write_bytes(b"%PDF-1.7\nbroken")
    show(page, "/sources")
    page.fill("#path", str(more))
    page.press("#path", "Enter")
    page.wait_for_selector(".job .state.done")
    assert "new" in page.text_content(".job .changes")
    assert not served.get("/documents", like="good.txt")["documents"]
    page.click(".line button.main")
    page.wait_for_selector(".problems li")
    assert "bad.pdf" in page.text_content("#failures ~ .problems .what")
    assert page.locator(".folder").count() == 2
    (more / "bad.pdf").write_bytes(pdf(("It can be read now.",)))
    page.click("#failures ~ button")
    page.wait_for_selector("#failures ~ .problems", state="detached")
    assert "read now" in document_of(served, "bad.pdf")["text"]


def test_progress_is_shown_after_a_reload(page: Any, served: Site, place: Path) -> None:
    many = place / "many"
    many.mkdir()
    for number in range(150):
        (many / f"{number}.txt").write_text(f"A sentence of note {number} about the harbour. " * 60)
    show(page, "/sources")
    page.fill("#path", str(many))
    page.click(".line button.main")
    page.wait_for_selector(".job progress")
    page.reload()
    page.wait_for_selector(".job progress, .job:first-child .state.done")
    page.wait_for_selector(".job:first-child .state.done", timeout=60_000)
    until(page, "document.querySelector('.job')?.textContent.includes('150 added')")


def test_dropped_files_are_stored_in_the_chosen_folder(page: Any, served: Site, place: Path) -> None:
    (place / "notes" / "dropped").mkdir()
    show(page, "/sources")
    page.select_option("#drop-root", "notes")
    page.fill("#drop-below", "dropped")
    text = b"A dropped file tells of an albatross."
    page.set_input_files("#drop-files", [{"name": SCRIPT, "mimeType": "text/plain", "buffer": text}])
    page.wait_for_selector(".dropping li")
    assert page.text_content(".dropping li") == f"{SCRIPT} is in {place / 'notes' / 'dropped' / SCRIPT}"
    assert (place / "notes" / "dropped" / SCRIPT).read_bytes() == text
    until(page, "document.querySelector('.job')?.textContent.includes('1 added')")
    show(page, "/search", q="albatross")
    page.wait_for_selector("mark.cited")
    assert page.locator("main img").count() == 0


def test_other_tab_is_notified_of_changes(page: Any, served: Site, place: Path) -> None:
    with page.expect_response(lambda reply: "/changes" in reply.url):
        show(page, "/sources")
    other = page.context.new_page()
    show(other, "/sources")
    (place / "notes" / "late.txt").write_text("A late note.")
    other.locator(".folder button").first.click()
    page.wait_for_selector(".news button")
    page.click(".news button")
    page.wait_for_selector(".news button", state="detached")
    other.close()


def test_page_confirms_forgetting_and_leaves_no_trace(page: Any, served: Site, place: Path) -> None:
    document = document_of(served, "plain.md")
    show(page, "/document", id=document["id"])
    page.click(".forget summary")
    page.click(".forget .buttons button:not(.bad)")
    assert not page.is_visible(".forget .bad")
    page.click(".forget summary")
    page.click(".forget .bad")
    page.wait_for_selector("main input[type=search]")
    assert not served.get("/documents", like="plain.md")["documents"]
    assert not re.search(rb"walrus", (place / "notes.mono").read_bytes())


def test_page_splits_and_merges_names(tmp_path: Path, browser: Any) -> None:
    with Monograph.open(tmp_path / "names.mono") as file:
        file.sync(TEXTS)
        merges = file.graph.merges()
    assert merges
    with site([tmp_path / "names.mono"], "--write") as running:
        tab = browser.new_page(base_url=running.address)
        tab.goto(running.entrance)
        tab.wait_for_selector("#top nav")
        show(tab, "/entity", name=merges[0].name)
        before = tab.locator(".merges .tag").count()
        tab.locator(".merges button").first.click()
        until(tab, "(before) => document.querySelectorAll('.merges .tag').length === before + 1", before)
        tab.locator(".merges li:has(.tag) button").first.click()
        until(tab, "(before) => document.querySelectorAll('.merges .tag').length === before", before)
        tab.close()
