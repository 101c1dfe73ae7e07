"""Page in a real browser: search, answers, citations and addresses."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from monograph import Document, Monograph
from support.browser import Site, show, sideways, site, until
from support.model_server import ModelServer
from support.paths import EXAMPLES

pytestmark = pytest.mark.long

TEXTS = EXAMPLES / "texts"
# Before the cited text: characters of two UTF-16 units, of several code points, and written from right to left.
SIGNS = "👩‍🚀🪐 𝒜𝓃 हिन्दी में लिखा हुआ, שלום العالم. "
NEEDLE = "The zephyrometer of Altamura was broken by a goat in 1871."
HOSTILE = (
    "<img src=x onerror=\"document.title = 'ran'\">",
    "</p><script>document.title = 'ran'</script>",
    "<svg onload=document.title='ran'><iframe src=javascript:document.title='ran'>",
    "\u202eright to left\u202c javascript:document.title='ran'",
    "w" * 3_000,
)


def _archive(place: Path) -> None:
    """Make the files: example texts and hostile texts with a tree of summaries, a text of a megabyte, and a letter."""
    folder = place / "texts"
    shutil.copytree(TEXTS, folder)
    (folder / "signs.txt").write_text(f"{SIGNS}\n\n{SIGNS}{NEEDLE} {SIGNS}", encoding="utf-8")
    (place / "long").mkdir()
    ledger = "a weary clerk copies the ledger again. " * 12
    long = "\n\n".join(f"Paragraph {number}: {ledger}" for number in range(2_000))
    middle = long.index("Paragraph 1000:")
    sentence = "The quicksilver barometer stands in the cellar of Corvara.\n\n"
    (place / "long" / "long.txt").write_text(long[:middle] + sentence + long[middle:], encoding="utf-8")
    with Monograph.open(place / "archive.mono") as made:
        made.sync(folder)
        made.add(
            Document(
                f"{text}\n\nMarigold said: {text}",
                id=f"hostile/{number} <b>&",
                title=f"Marigold {text}"[:400],
                uri=f"mail:{text}"[:400],
                metadata={"author": text[:60], "year": 1900 + number},
            )
            for number, text in enumerate(HOSTILE)
        )
        made.tree.rebuild()
    with Monograph.open(place / "long.mono") as made:
        made.sync(place / "long")
    with Monograph.open(place / "letters.mono") as made:
        made.add([Document("Marigold wrote a letter about the comet to nobody.", id="letter", title="A letter")])


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, model: ModelServer) -> Iterator[Site]:
    place = tmp_path_factory.mktemp("page")
    _archive(place)
    files = [place / f"{name}.mono" for name in ("archive", "letters", "long")]
    with site(files, "--model", f"openai:{model.url}#scripted") as running:
        yield running


def marked(page: Any) -> list[tuple[int, int, str]]:
    """Return (start, end, shown text) of each span that the page marks as cited."""
    page.wait_for_selector("mark.cited")
    found = page.eval_on_selector_all(
        "mark.cited", "marks => marks.map((one) => [one.dataset.start, one.dataset.end, one.textContent])"
    )
    return [(int(start), int(end), text) for start, end, text in found]


OPEN_IS_ASKED_FOR = """
() => {
  const wanted = new URLSearchParams(location.search);
  const open = new URLSearchParams(document.querySelector(".beside-head a")?.search);
  return open.get("id") === wanted.get("source") && String(open.getAll("mark")) === String(wanted.getAll("mark"));
}
"""


def are_cited(page: Any, text: str, spans: list[tuple[int, int]]) -> None:
    """Check that the marks cover exactly these spans, except white space and ``#`` between paragraphs."""
    found = marked(page)
    for start, end, shown in found:
        assert shown == text[start:end]
    covered = {at for start, end, _ in found for at in range(start, end)}
    wanted = {at for start, end in spans for at in range(start, end)}
    assert covered <= wanted
    assert re.fullmatch(r"[\s#]*", "".join(text[at] for at in sorted(wanted - covered)))


def query_of(page: Any) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def spans_of(page: Any) -> list[tuple[int, int]]:
    return [(int(start), int(end)) for start, end in (one.split("-") for one in query_of(page)["mark"])]


def text_of(served: Site, page: Any) -> str:
    query = query_of(page)
    identifier = query["source" if "source" in query else "id"][0]
    return str(served.get("/document", id=identifier, file=query["in"][0] if "in" in query else None)["text"])


def test_token_is_removed_from_the_address(page: Any, served: Site) -> None:
    page.goto(served.entrance)
    page.wait_for_url("**/search")
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""


def test_without_the_token_nothing_is_shown(browser: Any, served: Site) -> None:
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(f"{served.address}/#token=another-token-of-enough-signs")
    assert "token" in tab.text_content(".trouble")
    assert "token" not in tab.url
    context.close()


def test_a_search_shows_the_source_at_exactly_the_hit(page: Any, served: Site) -> None:
    show(page, "/search", file="archive")
    page.fill("#q", "the zephyrometer of Altamura")
    page.press("#q", "Enter")
    page.wait_for_selector(".hit a[aria-current]")
    words = page.locator(".hit:first-child .excerpt .word").all_text_contents()
    assert [word.casefold() for word in words] == ["zephyrometer", "altamura"]
    hits = served.get("/search", q="the zephyrometer of Altamura", file="archive")["files"][0]["hits"]
    first = hits[0]["hit"]["chunk"]
    text = served.get("/document", id=first["document_id"], file="archive")["text"]
    assert NEEDLE in text[first["start"] : first["end"]]
    are_cited(page, text, [(first["start"], first["end"])])


def test_marked_span_is_exact(page: Any, served: Site) -> None:
    (document,) = served.get("/documents", like="signs.txt", file="archive")["documents"]
    text = served.get("/document", id=document["id"], file="archive")["text"]
    start = text.index(NEEDLE)
    for shift in (0, 1):
        mark = f"{start + shift}-{start + shift + len(NEEDLE)}"
        show(page, "/document", id=document["id"], file="archive", mark=mark)
        # A mark shifted by one character shows another text.
        assert ("".join(shown for _, _, shown in marked(page)) == NEEDLE) is (shift == 0)
        are_cited(page, text, spans_of(page))


def test_a_citation_opens_its_source_at_exactly_its_spans(page: Any, served: Site, model: ModelServer) -> None:
    show(page, "/ask", file="archive")
    page.fill("#question", "What was broken by a goat in 1871?")
    page.press("#question", "Enter")
    page.click(".answer .cite")
    page.wait_for_url("**source=**")
    answer = served.get("/ask", q="What was broken by a goat in 1871?", file="archive")
    assert "zephyrometer" in page.text_content(".turn .answer")
    spans = [(one["start"], one["end"]) for one in answer["citations"][0]["spans"]]
    assert spans_of(page) == spans
    are_cited(page, text_of(served, page), spans)
    box = page.locator("mark.cited").first.bounding_box()
    assert 0 <= box["y"] <= 800
    # The page shows the context that the model got, word for word.
    page.click(".given summary")
    assert page.text_content(".given pre") == answer["context"]["text"]


def test_every_citation_of_an_answer_is_exact(page: Any, served: Site) -> None:
    show(page, "/ask", file="letters", q="Who wrote about the comet to nobody?")
    show(page, "/ask", file="archive", q="Who discovered the comet, and what did lightning damage?")
    page.wait_for_selector(".citations a")
    answer = served.get("/ask", q="Who discovered the comet, and what did lightning damage?", file="archive")
    wanted = [[(one["start"], one["end"]) for one in citation["spans"]] for citation in answer["citations"]]
    assert page.locator(".citations a").count() == len(wanted)
    for number in range(page.locator(".citations a").count()):
        page.locator(".citations a").nth(number).click()
        page.wait_for_selector("mark.cited")
        until(page, OPEN_IS_ASKED_FOR)
        assert spans_of(page) == wanted[number]
        are_cited(page, text_of(served, page), spans_of(page))


def test_an_answer_streams_and_a_conversation_goes_on(page: Any, model: ModelServer) -> None:
    show(page, "/ask", file="archive", q="Who carved a small comet above the door?")
    page.wait_for_selector(".turn .cite")
    page.fill("#question", "And why was plate 4417 lost?")
    page.press("#question", "Enter")
    until(page, "document.querySelectorAll('.turn .cite').length > 1")
    asked = model.calls
    before = page.inner_text(".turns")
    page.reload()
    page.wait_for_selector(".turn:nth-child(2) .cite")
    assert page.inner_text(".turns") == before
    assert model.calls == asked  # The tab stores the turns, so the model is not called again.
    page.click(".anew")
    page.wait_for_selector(".turn", state="detached")
    page.go_back()
    page.wait_for_selector(".turn:nth-child(2) .cite")
    other = page.context.new_page()
    other.goto("/ask?file=archive")
    other.wait_for_selector("#question")
    assert other.evaluate("sessionStorage.length") == 0  # Another tab has no turns.
    other.close()


def test_broken_answer_is_shown_and_can_be_retried(page: Any, model: ModelServer) -> None:
    model.fail("cut half", containing="Bregenz lentils")
    show(page, "/ask", file="archive", q="What of Bregenz lentils and the grandmother’s cake?")
    page.wait_for_selector(".turn .trouble")
    page.click(".turn .trouble button")
    page.wait_for_selector(".turn .cite, .turn .abstained")
    assert page.locator(".turn").count() == 1


def test_page_shows_that_it_abstains(page: Any, model: ModelServer) -> None:
    model.say("I don't know.", containing="Uranus")
    show(page, "/ask", file="archive", q="How many moons of Uranus are made of cheese?")
    page.wait_for_selector(".abstained")
    model.heal()


def test_page_groups_hits_by_file(page: Any) -> None:
    show(page, "/search", q="comet")
    assert page.locator(".of-file > h2").all_text_contents() == ["archive", "letters", "long"]
    page.select_option("#file", "letters")
    until(page, "document.querySelectorAll('.of-file > h2').length === 0")
    assert query_of(page)["file"] == ["letters"]
    assert page.locator(".hit").count() == 1


def test_page_filters_hits_and_explains_them(page: Any) -> None:
    show(page, "/search", q="comet", file="archive")
    page.click(".options summary")
    page.fill("#where", "year >= 1963")
    page.press("#where", "Enter")
    until(page, "document.querySelectorAll('.chips li').length === 1")
    page.wait_for_selector(".hit")
    assert query_of(page)["where"] == ["year >= 1963"]
    page.click(".hit:first-child .why summary")
    assert page.locator(".hit:first-child .origins td").count() >= 4
    page.click(".chips button")
    until(page, "!location.search.includes('where')")


def test_page_draws_and_describes_graph_paths(page: Any, served: Site) -> None:
    question = "What did Calder send to Vienna about the comet"
    show(page, "/search", q=question, file="archive", how="graph", k="10")
    hits = served.get("/search", q=question, file="archive", how="graph", k=10)["files"][0]["hits"]
    ways = [one["way"] for one in hits if one["way"]]
    assert ways
    assert page.locator(".path title").all_text_contents() == ways
    first = next(one["hit"]["path"]["nodes"] for one in hits if one["way"])
    assert page.locator(".path").first.locator("text").count() == len(first)


def test_back_forward_and_reload_restore_the_view(page: Any) -> None:
    show(page, "/search", q="comet", file="archive")
    page.locator(".hit a[data-stop]").nth(1).click()
    until(page, OPEN_IS_ASKED_FOR)
    second = page.url
    words = marked(page)
    page.reload()
    until(page, OPEN_IS_ASKED_FOR)
    assert (page.url, marked(page)) == (second, words)
    page.click(".tools a:first-child")
    page.wait_for_url("**/document?**")
    page.wait_for_selector("mark.cited")
    page.go_back()
    page.wait_for_url("**/search?**")
    assert page.url == second
    page.wait_for_selector(".hit a[aria-current]")
    page.go_forward()
    page.wait_for_url("**/document?**")
    page.go_back()
    page.go_back()
    until(page, "!location.search.includes('source')")
    assert page.input_value("#q") == "comet"
    show(page, "/document", file="archive")
    page.wait_for_selector(".rows li:nth-child(20)")
    page.evaluate("window.scrollTo(0, 500)")
    until(page, "Object.entries(sessionStorage).some(([key, at]) => key.startsWith('scroll:') && at === '500')")
    page.locator(".rows a").nth(18).click()
    page.wait_for_selector(".tabs")
    page.go_back()
    page.wait_for_selector(".rows li:nth-child(20)")
    until(page, "window.scrollY === 500")


def test_hostile_texts_are_shown_as_texts(page: Any, served: Site) -> None:
    show(page, "/search", q="Marigold", k="10", file="archive")
    page.wait_for_selector("mark.cited")
    assert page.locator("main img, main iframe, main script, main .hit svg[onload]").count() == 0
    for document in served.get("/documents", like="hostile/", file="archive")["documents"]:
        at = {"id": document["id"], "file": "archive"}
        show(page, "/document", **at, view="chunks")
        assert page.text_content(".passages .prose") == served.get("/document/chunks", **at)[0]["text"]
        show(page, "/document", **at)
        text = served.get("/document", **at)["text"]
        assert page.locator(".text > *").all_text_contents() == text.split("\n\n")
        assert page.text_content("h1") == document["title"]
        assert page.locator("main img, main iframe, main script").count() == 0
        assert not sideways(page)
        assert page.title().startswith("Marigold")
    for view in ("names", "summaries"):
        show(page, "/document", id="hostile/0 <b>&", file="archive", view=view)
        assert page.locator(".tabs [aria-current]").count() == 1


def test_a_megabyte_opens_at_its_span(page: Any, served: Site) -> None:
    (hit,) = served.get("/search", q="quicksilver barometer cellar Corvara", k=1, file="long")["files"][0]["hits"]
    chunk = hit["hit"]["chunk"]
    mark = f"{chunk['start']}-{chunk['end']}"
    show(page, "/document", id=chunk["document_id"], file="long", mark=mark)
    text = served.get("/document", id=chunk["document_id"], file="long")["text"]
    assert len(text) > 900_000
    are_cited(page, text, [(chunk["start"], chunk["end"])])
    until(page, "document.querySelector('mark.cited').getBoundingClientRect().top < innerHeight")
    assert page.evaluate("document.querySelector('.text').textContent.length") < 100_000
    # A click and scrolling load the paragraphs before and after, and none twice.
    first = page.text_content(".text > :first-child")
    page.click(".more >> nth=0")
    until(page, "(first) => document.querySelector('.text > :first-child').textContent !== first", first)
    last = page.text_content(".text > :last-child")
    page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")
    until(page, "(last) => document.querySelector('.text > :last-child').textContent !== last", last)
    shown = page.eval_on_selector_all(".text > *", "all => all.map(one => [+one.dataset.at, one.textContent])")
    assert [at for at, _ in shown] == sorted({at for at, _ in shown})
    assert all(text[at : at + len(one)] == one for at, one in shown)


def press(page: Any, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def test_page_is_usable_by_keyboard_alone(page: Any) -> None:
    show(page, "/state", file="archive")
    press(page, "g", "s")
    page.wait_for_selector("#q")
    until(page, "document.activeElement.id === 'q'")
    page.keyboard.type("lightning")
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit a[aria-current]")
    press(page, "ArrowDown", "j")
    assert page.evaluate("document.activeElement === document.querySelectorAll('[data-stop]')[1]")
    page.keyboard.press("Enter")
    page.wait_for_url("**source=**")
    page.keyboard.press("Escape")
    until(page, "!location.search.includes('source')")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "q"
    page.keyboard.press("Tab")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    press(page, "g", "a")
    until(page, "document.activeElement.id === 'question'")
    page.keyboard.type("Who carved a small comet?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".turn .cite")
    page.keyboard.press("Shift+Tab")
    for _ in range(6):
        if page.evaluate("document.activeElement.classList.contains('cite')"):
            break
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector("mark.cited")
    page.keyboard.press("Escape")
    page.wait_for_selector(".source-open", state="detached")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("?")
    page.wait_for_selector("dialog[open]")
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")


def test_neighbourhood_opens_by_mouse_and_keyboard(page: Any, served: Site) -> None:
    show(page, "/entity", name="Vienna", file="archive")
    found = served.get("/neighbourhood", name="Vienna", limit=60, file="archive")
    names = {one["name"] for one in found["entities"] if one["id"] not in found["centre"]}
    assert set(page.locator(".neighbours .name").all_text_contents()) == names
    page.focus("canvas")
    press(page, "ArrowRight", "ArrowLeft")
    said = page.text_content("#said").rpartition(", ")[0]
    assert said in names | {"Vienna"}
    press(page, "ArrowDown", "ArrowUp")
    chosen = page.text_content("#said").rpartition(", ")[0]
    page.keyboard.press("Enter")
    until(page, "(name) => document.querySelector('h1')?.textContent === name", chosen)
    neighbour = next(one["name"] for one in found["entities"] if one["id"] == found["links"][0]["source"])
    show(page, "/entity", name="Vienna", other=neighbour, file="archive")
    page.wait_for_selector(".routes li")
    page.locator(".neighbours .rows a").first.click()
    until(page, "new URLSearchParams(location.search).get('name') !== 'Vienna'")


def test_outline_expands_level_by_level(page: Any, served: Site) -> None:
    show(page, "/outline", file="archive")
    page.locator(".node > summary").first.click()
    page.wait_for_selector(".inner .where-it-stands a")
    page.locator(".inner .where-it-stands a").first.click()
    page.wait_for_url("**/document?**")
    are_cited(page, text_of(served, page), spans_of(page))
