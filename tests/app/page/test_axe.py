"""Accessibility of every view of the page, checked by axe-core. Every view also opens without errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from support.paths import EXAMPLES

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")

from monograph import Monograph
from support.browser import Heard, Site, show, sideways, site

pytestmark = pytest.mark.long

TEXTS = EXAMPLES / "texts"
GRAVE = {"serious", "critical"}
QUESTION = "What did Calder send to Vienna about the comet?"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve the example texts, with a tree of summaries, a PDF that cannot be read, and write access."""
    place = tmp_path_factory.mktemp("axe")
    shutil.copytree(TEXTS, place / "texts")
    (place / "texts" / "torn.pdf").write_bytes(b"%PDF-1.7\ntorn")
    with Monograph.open(place / "archive.mono") as made:
        made.sync(place / "texts")
        made.tree.rebuild()
    with Monograph.open(place / "other.mono") as made:
        made.sync(place / "texts" / "letters")
    with site([place / "archive.mono", place / "other.mono"], "--write") as running:
        yield running


def grave(page: Any) -> list[str]:
    """Return the serious and critical violations that axe finds, each with its elements and reason."""
    found = axe.Axe().run(page).response["violations"]
    return [
        f"{one['id']} ({one['impact']}): {node['target']} {node['failureSummary']}"
        for one in found
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]


def assert_good(page: Any) -> None:
    """Check a page in light (1280 pixels) and dark (360 pixels): no grave violation and no horizontal scrolling."""
    for scheme, width in (("light", 1280), ("dark", 360)):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": width, "height": 740})
        assert grave(page) == [], (scheme, width)
        assert not sideways(page), width
    ids = page.eval_on_selector_all("[id]", "all => all.map(one => one.id)")
    assert len(set(ids)) == len(ids)
    assert page.locator("h1").count() == 1


# Every view, with and without contents. The test replaces empty values by a hit's, or by an entity linked to Vienna.
TOUR: dict[str, tuple[str, dict[str, Any]]] = {
    "search": ("/search", {}),
    "hits of several files": ("/search", {"q": "comet"}),
    "hits along the graph": ("/search", {"q": QUESTION, "how": "graph", "k": 10, "file": "archive"}),
    "hits with a filter": ("/search", {"q": "comet", "where": "year >= 1950", "file": "archive"}),
    "no hits": ("/search", {"q": "comet", "where": "year >= 2950"}),
    "a source beside": ("/search", {"q": "comet", "in": "archive", "source": "", "mark": ""}),
    "ask": ("/ask", {"file": "archive"}),
    "an answer": ("/ask", {"q": "Who discovered the comet?", "file": "archive"}),
    "documents": ("/document", {"file": "archive"}),
    "a document": ("/document", {"id": "", "mark": "", "file": "archive"}),
    "its passages": ("/document", {"id": "", "view": "chunks", "file": "archive"}),
    "its names": ("/document", {"id": "", "view": "names", "file": "archive"}),
    "its summaries": ("/document", {"id": "", "view": "summaries", "file": "archive"}),
    "names": ("/entity", {"file": "archive"}),
    "a name": ("/entity", {"name": "Vienna", "other": "", "file": "archive"}),
    "outline": ("/outline", {"file": "archive"}),
    "sources": ("/sources", {"file": "archive"}),
    "state": ("/state", {"file": "archive"}),
    "trouble": ("/search", {"q": "comet", "how": "by smell", "file": "archive"}),
}
SHOWN = {
    "hits of several files": ".of-file .hit",
    "hits along the graph": ".hit .path",
    "a source beside": ".beside mark.cited",
    "an answer": ".turn .citations a",
    "a document": "mark.cited",
    "a name": ".routes li",
    "outline": ".inner .where-it-stands a",
    "sources": ".problems li",
    "trouble": ".trouble .what",
}
"""Selectors of the elements that a view must contain before axe checks it."""


@pytest.mark.parametrize("view", TOUR)
def test_axe_finds_nothing_serious(page: Any, heard: Heard, served: Site, view: str) -> None:
    path, parameters = TOUR[view]
    (hit,) = served.get("/search", q="comet", k=1, file="archive")["files"][0]["hits"]
    chunk = hit["hit"]["chunk"]
    around = served.get("/neighbourhood", name="Vienna", file="archive")
    found = {
        "id": chunk["document_id"],
        "source": chunk["document_id"],
        "mark": f"{chunk['start']}-{chunk['end']}",
        "other": next(one["name"] for one in around["entities"] if one["id"] == around["links"][0]["source"]),
    }
    show(page, path, **{name: value or found[name] for name, value in parameters.items()})
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.wait_for_selector(SHOWN.get(view, "main h1"), state="attached")
    assert_good(page)
    if view == "trouble":
        assert ["400" in error for error in heard.errors] == [True]
        heard.errors.clear()


def test_axe_finds_nothing_serious_in_the_list_of_keys(page: Any) -> None:
    show(page, "/state", file="archive")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    assert_good(page)
    page.keyboard.press("Escape")


def test_axe_reports_planted_faults(page: Any) -> None:
    """Axe finds text with too little contrast, and an input without a label."""
    show(page, "/search", file="archive")
    page.evaluate(
        """() => {
          const pale = document.createElement("p");
          pale.textContent = "hardly to be read";
          pale.style.color = "#ccc";
          pale.style.background = "#fff";
          document.querySelector("main").append(pale, document.createElement("input"));
        }"""
    )
    said = " ".join(grave(page))
    assert "color-contrast" in said
    assert "label" in said
