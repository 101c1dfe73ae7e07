"""Picture of a neighbourhood: its embedded data, and its behaviour in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path as File
from typing import Any

import pytest

from monograph.app.picture import TITLE_CHARACTERS, data, picture_of
from monograph.values import Chunk, Document, Entity, Link, Neighbourhood, Path, PathNode

ASSETS = resources.files("monograph.app.picture")
HOSTILE = (
    "</script><script>document.title = 'ran'</script>",
    "<img src=x onerror=\"document.title = 'ran'\">",
    "<!--<script>",
    "{{data}} $& ${1} \\u003c",
    "שלום العالم \u202eevil",
    "👩‍🚀🪐 Bệnh viện 南京",
    "\u2028\u2029\x00\x1b[31m\ud800",
    "n" * 10_000,
)


def entity(key: str, name: str, kind: str = "person", chunks: int = 1, *names: str) -> Entity:
    return Entity(key, name, kind, (name, *names), chunks)


TEXT = "Ines Calder found it while she was looking for the nebula; Vienna calls it Calder's comet."
NEIGHBOURHOOD = Neighbourhood(
    centre=("e1",),
    entities=(
        entity("e1", "Ines Calder", "person", 4, "Miss Calder"),
        entity("e2", "the comet", "event", 3),
        entity("e3", "Vienna", "place", 2),
    ),
    links=(
        Link("e1", "e2", 2.5, ("c1", "c9"), "She found it first.", ("discovery", "spring")),
        Link("e2", "e3", 1.0, ("c1",)),
    ),
    chunks=(
        Chunk("c1", "logbook/1963.md", TEXT, 100, 100 + len(TEXT), 0, {"section": "14 April"}),
        Chunk("c2", "letters/kodak.txt", "With Miss Calder at the eyepiece.", 7, 40, 1),
    ),
    mentions=(("e1", "c1"), ("e2", "c1"), ("e3", "c1"), ("e1", "c2")),
    cut=5,
)
QUESTION = PathNode("question", "", "Who found the comet?")
COMET, INES = PathNode("entity", "e2", "the comet"), PathNode("entity", "e1", "Ines Calder")
PATHS = (
    Path((QUESTION, COMET, INES, PathNode("chunk", "c1", "logbook/1963.md")), 0.75),
    Path((QUESTION, PathNode("entity", "far", "Okafor"), PathNode("chunk", "gone", "elsewhere")), 0.25),
)
PICTURE = picture_of(NEIGHBOURHOOD, PATHS, title="Ines Calder")


def hostile_page() -> str:
    entities = tuple(Entity(f"e{n}", text, text, (text, text + "!"), 1, (text,)) for n, text in enumerate(HOSTILE))
    chunks = tuple(Chunk(text, text, text, 0, len(text), n, {"section": text}) for n, text in enumerate(HOSTILE))
    links = tuple(Link("e0", f"e{n}", 1.0, (HOSTILE[0],), text, (text,)) for n, text in enumerate(HOSTILE) if n)
    mentions = tuple((entity.id, HOSTILE[0]) for entity in entities)
    stations = (
        PathNode("question", "", HOSTILE[0]),
        PathNode("entity", "e0", HOSTILE[0]),
        PathNode("chunk", HOSTILE[1], HOSTILE[1]),
    )
    neighbourhood = Neighbourhood(("e0",), entities, links, chunks, mentions)
    return picture_of(neighbourhood, [Path(stations, 1.0)], title=HOSTILE[0])


class Page(HTMLParser):
    """Parser of a page: its tags with attributes, and the texts of its ``script``, ``style`` and ``title`` elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.inside: list[str] | None = None
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.inside = self.texts.get(tag)
        if self.inside is not None:
            self.inside.append("")

    def handle_endtag(self, tag: str) -> None:
        self.inside = None

    def handle_data(self, data: str) -> None:
        if self.inside is not None:
            self.inside[-1] += data


def embedded(page: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(Page(page).texts["script"][0])
    return loaded


def test_picture_embeds_the_neighbourhood() -> None:
    found = embedded(PICTURE)
    assert [one["name"] for one in found["entities"]] == ["Ines Calder", "the comet", "Vienna", "Okafor"]
    assert found["entities"][0] == {
        "name": "Ines Calder",
        "kind": "person",
        "names": ["Miss Calder"],
        "count": 4,
        "documents": [],
    }
    assert found["links"][0] == {
        "source": 0,
        "target": 1,
        "weight": 2.5,
        "count": 2,
        "chunks": [0],
        "description": "She found it first.",
        "keywords": ["discovery", "spring"],
    }
    assert [(one["document"], one["start"], one["text"]) for one in found["chunks"]] == [
        ("logbook/1963.md", 100, TEXT),
        ("", 0, ""),
        ("letters/kodak.txt", 7, "With Miss Calder at the eyepiece."),
    ]
    assert found["mentions"] == [[0, 0], [1, 0], [2, 0], [0, 2]]
    assert found["paths"][0] == {"score": 0.75, "nodes": [["question", 0], ["entity", 1], ["entity", 0], ["chunk", 0]]}
    assert found["paths"][1]["nodes"] == [["question", 0], ["entity", 3], ["chunk", 1]]
    assert (found["centre"], found["cut"]["neighbour"], found["questions"]) == ([0], 5, ["Who found the comet?"])


LOGBOOK = Document(id="logbook/1963.md", title="Logbook", uri="/home/ines/logbook/1963.md")
TITLED = replace(
    NEIGHBOURHOOD,
    entities=(replace(NEIGHBOURHOOD.entities[0], documents=("logbook/1963.md", "9f" * 16)), *NEIGHBOURHOOD.entities[1:]),
    chunks=(replace(NEIGHBOURHOOD.chunks[0], metadata={"section": "Logbook > 14 April", "page": 3}), *NEIGHBOURHOOD.chunks[1:]),
    documents=(LOGBOOK, Document(id="9f" * 16, title="The comet")),
)  # fmt: skip


def test_picture_labels_chunks_by_title_and_place() -> None:
    found = embedded(picture_of(TITLED, title="x"))
    assert {name: found["chunks"][0][name] for name in ("title", "document", "section", "cited", "start", "end")} == {
        "title": "Logbook",
        "document": "/home/ines/logbook/1963.md",
        "section": "14 April",
        "cited": "page 3",
        "start": 100,
        "end": 190,
    }
    assert found["entities"][0]["documents"] == ["Logbook", "The comet"]
    assert "9f9f" not in json.dumps(found)


def test_picture_embeds_hostile_text_as_data() -> None:
    page = hostile_page()
    found = embedded(page)
    whole = [text.replace("\ud800", "\ufffd") for text in HOSTILE]  # UTF-8 has no half of a surrogate pair.
    assert [one["name"] for one in found["entities"]] == [*whole[:-1], "n" * (data.NAME_CHARACTERS - 1) + "…"]
    assert {one["text"] for one in found["chunks"]} == {text[: data.CHUNK_CHARACTERS] for text in whole}
    raw = Page(page).texts["script"][0]
    assert not re.search("[<>&\u2028\u2029\ud800-\udfff\x00-\x1f]", raw)
    assert [tag for tag, _ in Page(page).tags].count("script") == 3
    assert Page(page).texts["title"][0] == HOSTILE[0]
    page.encode()


def test_picture_fetches_nothing_and_runs_only_its_own_scripts() -> None:
    page = Page(hostile_page())
    assert not any({"src", "href", "action"} & attributes.keys() for _, attributes in page.tags)
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.tags for name in attributes)
    assert "url(" not in page.texts["style"][0] and "@import" not in page.texts["style"][0]
    forbidden = r"fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(|localStorage"
    assert not any(re.search(forbidden, script) for script in page.texts["script"][1:])
    (policy,) = (attributes["content"] for _, attributes in page.tags if attributes.get("http-equiv"))
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in (*page.texts["script"][1:], *page.texts["style"])
    ]
    assert policy == (
        f"default-src 'none'; script-src {hashes[0]} {hashes[1]}; style-src {hashes[2]}; base-uri 'none'; form-action 'none'"
    )


def test_picture_of_a_huge_neighbourhood_is_bounded() -> None:
    entities = tuple(
        Entity(f"e{n}", f"{n} " + "x" * 10_000, "k" * 10_000, ("y" * 10_000,) * 50, 1) for n in range(3000)
    )
    chunks = tuple(Chunk(f"c{n}", "d", "z" * 5000, 0, 5000, n) for n in range(1000))
    every = tuple(chunk.id for chunk in chunks)
    links = tuple(Link("e0", f"e{n}", 1.0, every, "w" * 10_000, ("v" * 500,) * 50) for n in range(1, 3000))
    page = picture_of(Neighbourhood(("e0",), entities, links, chunks, cut=1), title="t" * 10_000)
    found = embedded(page)
    assert len(found["entities"]) == data.ENTITIES
    assert found["cut"] == {"neighbour": 2601, "link": 2600, "chunk": 600, "path": 0}
    assert len(found["chunks"]) == data.CHUNKS
    assert sum(len(one["text"]) for one in found["chunks"]) == data.ALL_CHARACTERS
    assert not any(one["whole"] for one in found["chunks"])
    assert len(Page(page).texts["title"][0]) == TITLE_CHARACTERS
    assert len(page) < 4_000_000


def test_picture_is_small_and_deterministic() -> None:
    assert len(PICTURE.encode()) < 100_000
    assert picture_of(NEIGHBOURHOOD, PATHS, title="Ines Calder") == PICTURE


def test_vendored_files_match_their_table() -> None:
    table = re.findall(
        r"^\| `(\S+)` \| \S+ \| \S+ \| `(\w+)` \|$", ASSETS.joinpath("VENDOR.md").read_text(), re.MULTILINE
    )
    files = {one.name: one.read_bytes() for one in ASSETS.joinpath("vendor").iterdir() if one.name.endswith(".js")}
    assert dict(table) == {name: hashlib.sha256(text).hexdigest() for name, text in files.items()}
    assert ASSETS.joinpath("vendor", "LICENSE").read_text() in PICTURE


# The tests below run in a browser.

Open = Callable[..., Any]


@pytest.fixture
def opened(browser: Any, tmp_path: File) -> Iterator[Open]:
    """Yield a function that opens a page as a file. Afterwards, check that the browser reported no message or error."""
    told: list[str] = []
    tab = browser.new_page()
    tab.on("console", lambda one: told.append(one.text))
    tab.on("pageerror", lambda error: told.append(str(error)))

    def open_page(page: str, address: str = "") -> Any:
        file = tmp_path / "page.html"
        file.write_text(page, encoding="utf-8")
        tab.goto("about:blank")
        tab.goto(file.as_uri() + address)
        tab.wait_for_selector("#summary:not(:empty)", state="attached")
        return tab

    yield open_page
    tab.close()
    assert told == []


def row(key: str) -> str:
    return f"[data-key={key}]"


@pytest.mark.long
def test_browser_lists_entities_links_and_paths(opened: Open) -> None:
    tab = opened(PICTURE)
    assert tab.text_content("#summary") == "4 entities · 2 links · 3 chunks · 2 paths"
    assert tab.text_content(row("entity-0")) == "Ines Calder4"
    assert tab.text_content(row("path-0")) == "question→the comet→Ines Calder→logbook/1963.md1.00"
    assert tab.text_content(row("path-1")) == "question→Okafor→elsewhere0.33"
    assert tab.text_content("#legend") == "unknown1event1person1place1"
    assert "5 neighbours left out" in tab.text_content("#panel")
    assert "4 entities, 2 links, 3 chunks, 2 paths" in tab.get_attribute("#canvas", "aria-label")


@pytest.mark.long
def test_address_opens_the_named_item(opened: Open) -> None:
    for address, heading, said in (
        ("entity-0", "Ines Calder", ["Also Miss Calder", "named in 4 chunks", "She found it first.", "logbook/1963.md 100–190", TEXT]),
        ("chunk-0", "logbook/1963.md", ["14 April", TEXT, "the comet", "Vienna"]),
        ("link-0", "Ines Calder — the comet", ["weight 2.50", "from 2 chunks", "discovery", "spring", TEXT]),
        ("path-0", "Path", ["Who found the comet?", "the comet", "1.00 of the best", TEXT]),
        ("path-1", "Path", ["Okafor", "elsewhere", "not in this picture"]),
    ):  # fmt: skip
        tab = opened(PICTURE, f"#{address}")
        assert tab.text_content("#heading") == heading
        assert [one for one in said if one not in tab.text_content("#panel")] == []


@pytest.mark.long
def test_browser_shows_hostile_text_as_text(opened: Open) -> None:
    for address in ("", "#entity-0", "#chunk-0", "#link-0", "#path-0"):
        tab = opened(hostile_page(), address)
        assert (tab.locator("script").count(), tab.locator("img").count()) == (3, 0)
        assert tab.title() != "ran"
        assert HOSTILE[1 if address == "#chunk-0" else 0] in tab.text_content("#panel")
        if not address:
            assert [tab.text_content(row(f"entity-{n}"))[:-1] for n in (1, 2, 3, 4, 5)] == list(HOSTILE[1:6])
            assert tab.text_content(row("entity-7"))[:-1] == "n" * (data.NAME_CHARACTERS - 1) + "…"


@pytest.mark.long
def test_browser_shows_titles_and_places(opened: Open) -> None:
    tab = opened(picture_of(TITLED, title="x"), "#chunk-0")
    assert tab.text_content("#heading") == "Logbook"
    assert "page 3 · 100–190" in tab.text_content("#panel")
    assert "/home/ines/logbook/1963.md" in tab.text_content("#panel")
    assert opened(picture_of(TITLED, title="x")).text_content(row("chunk-0")).startswith("Logbook › 14 April")


@pytest.mark.long
def test_browser_search_filters_the_list(opened: Open) -> None:
    tab = opened(PICTURE)
    tab.fill("#search", "MISS")
    hidden = "all => all.map((one) => [one.dataset.key, one.parentElement.hidden])"
    rows = tab.eval_on_selector_all("li > button.row[data-key^=entity]", hidden)
    assert rows == [["entity-0", False], *([f"entity-{n}", True] for n in (1, 2, 3))]
    tab.press("#search", "Enter")
    assert tab.text_content("#heading") == "Ines Calder"


@pytest.mark.long
def test_browser_navigates_by_keys_and_clicks(opened: Open) -> None:
    tab = opened(PICTURE)
    tab.focus(row("entity-0"))
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("Enter")
    assert tab.text_content("#heading") == tab.text_content("#said").removesuffix(" shown") == "the comet"
    tab.keyboard.press("Escape")
    assert (tab.locator("#heading").count(), tab.locator("#paths").count()) == (0, 1)
    assert tab.text_content("#said") == "All shown"


@pytest.mark.long
def test_canvas_click_selects_the_entity(opened: Open) -> None:
    tab = opened(picture_of(Neighbourhood(("e1",), NEIGHBOURHOOD.entities[:1], ()), title="x"))
    box = tab.locator("#canvas").bounding_box()
    tab.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 - 16)
    assert tab.text_content("#heading") == "Ines Calder"


@pytest.mark.long
def test_browser_shows_and_hides_chunks_and_kinds(opened: Open) -> None:
    tab = opened(picture_of(NEIGHBOURHOOD, PATHS, title="x"))
    tab.click("#chunks")
    tab.locator("#legend button").first.click()
    assert tab.get_attribute("#chunks", "aria-pressed") == "true"
    pressed = tab.eval_on_selector_all(".chip", "all => all.map((one) => one.ariaPressed)")
    assert pressed == ["false", "true", "true", "true"]


@pytest.mark.long
def test_browser_lays_out_none_and_hundreds_of_nodes(opened: Open) -> None:
    tab = opened(picture_of(Neighbourhood((), (), ()), title=""))
    assert tab.text_content("#summary") == "0 entities · 0 links · 0 chunks"
    entities = tuple(entity(f"e{n}", f"Entity {n}", f"kind {n % 14}", n + 1) for n in range(data.ENTITIES))
    links = tuple(Link(f"e{n}", f"e{(n * 7 + 1) % data.ENTITIES}", 1.0 + n % 9, ("c",)) for n in range(data.ENTITIES))
    tab = opened(picture_of(Neighbourhood(("e0",), entities, links), title="many"))
    assert tab.text_content("#summary").startswith(f"{data.ENTITIES} entities")
