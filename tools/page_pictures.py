"""Draw the pictures of docs/how-to/page.md from examples/texts, in chromium.

    PYTHONPATH=tests python tools/page_pictures.py

It needs the extra ``test``, chromium, and Pillow, which reduces the size of the files.
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image

from monograph import Monograph
from monograph.app.cli import app
from support.browser import Site, entered, launched, show, site
from support.model_server import ModelServer

ROOT = Path(__file__).resolve().parents[1]

COLOURS = 64
WIDE, NARROW = {"width": 1240, "height": 740}, {"width": 360, "height": 740}
QUESTION = "What did Calder send to Vienna about the comet?"


def main() -> None:
    """Draw all pictures."""
    with tempfile.TemporaryDirectory(prefix="observatory-") as folder, ModelServer() as model:
        file, texts = Path(folder) / "archive.mono", Path(folder) / "texts"
        shutil.copytree(ROOT / "examples" / "texts", texts)
        (texts / "minutes" / "1975-torn.pdf").write_bytes(b"%PDF-1.7\ntorn")
        with Monograph.open(file) as made:
            made.sync(texts)
            made.tree.rebuild()
        (drawn := Path(folder) / "drawn").mkdir()
        _draw(drawn, file)
        answers = ("--model", f"openai:{model.url}#scripted", "--write")
        with site([file], *answers) as running, launched() as browser:
            context = browser.new_context(base_url=running.address, storage_state=entered(browser, running))
            _search(context.new_page(), running)
            _ask(context.new_page())
            _names(context.new_page())
            (texts / "letters" / "calder-to-vienna-1964.txt").write_text(
                "Dear colleagues, the tail is two degrees long."
            )
            _sources(context.new_page())
            for page in sorted(drawn.iterdir()):
                _drawn(context.new_page(), page)


def _draw(folder: Path, file: Path) -> None:
    """Write the pages that ``--html`` makes for a name and for a question."""
    app(["graph", str(file), "Obermatt", "--html", str(folder / "picture-graph.html")], standalone_mode=False)
    asked = ["search", str(file), QUESTION, "--how", "graph", "--html", str(folder / "picture-ways.html")]
    app(asked, standalone_mode=False)


def _drawn(page: Any, path: Path) -> None:
    page.set_viewport_size({"width": 1100, "height": 640})
    page.goto(path.as_uri())
    page.wait_for_timeout(1500)
    _save(page, path.stem)


def _search(page: Any, running: Site) -> None:
    page.set_viewport_size(WIDE)
    found = running.get("/search", q=QUESTION, how="graph", k=5)["files"][0]["hits"]
    hit = next(one["hit"]["chunk"] for one in found if one["way"])
    source = {"in": "archive", "source": hit["document_id"], "mark": f"{hit['start']}-{hit['end']}"}
    show(page, "/search", q=QUESTION, how="graph", **source)
    page.wait_for_selector("mark.cited")
    page.evaluate("document.querySelector('.options').open = false")
    _save(page, "page-search")
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="dark")
    page.goto(f"/search?{urlencode({'q': QUESTION})}")
    page.wait_for_selector(".hit")
    _save(page, "page-phone")


def _ask(page: Any) -> None:
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="dark")
    show(page, "/ask", q="Why was plate 4417 lost?")
    page.wait_for_selector(".cite")
    page.fill("#question", "And who discovered the comet?")
    page.press("#question", "Enter")
    page.wait_for_selector(".turn:nth-child(2) .cite")
    page.click(".turn:nth-child(2) .cite")
    page.wait_for_selector("mark.cited")
    page.evaluate("window.scrollTo(0, 0)")
    _save(page, "page-ask")


def _names(page: Any) -> None:
    page.set_viewport_size(WIDE)
    show(page, "/entity", name="Obermatt", hops=2)
    page.wait_for_timeout(300)
    _save(page, "page-names")


def _sources(page: Any) -> None:
    page.set_viewport_size({"width": 1240, "height": 900})
    show(page, "/sources")
    page.click("text=What would a sync do?")
    page.wait_for_selector(".job .state.done")
    page.evaluate("window.scrollTo(0, 0)")
    _save(page, "page-sources")


def _save(page: Any, name: str) -> None:
    page.wait_for_timeout(150)
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        small = picture.convert("RGB").quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
        small.save(ROOT / "docs" / f"{name}.png", optimize=True)


if __name__ == "__main__":
    main()
