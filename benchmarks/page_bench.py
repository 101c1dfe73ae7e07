"""Benchmark of the page and its server: first paint, searching, a long document, a picture of names, clients, memory.

``make bench-page`` runs ``monograph serve`` and chromium on the files of 10,000 and 100,000 passages of
``make bench-search`` (build/search). It takes four minutes and writes docs/benchmarks/page.md. ``--only search``
measures one section.
"""

from __future__ import annotations

import argparse
import http.client
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np

from machine import console, in_threads, median_seconds, run_sections
from monograph import Document, Monograph
from page import NOISE, write_page
from page_browser import browser_before, drawn, loaded, opened, typed
from search import made, questions
from vector_report import table

from support.browser import TOKEN, Site, site  # isort: skip - page_browser adds it to sys.path

HERE = Path(__file__).resolve().parent
CACHE = HERE.parent / "build" / "page"
PAGE = HERE.parent / "docs" / "benchmarks" / "page.md"
VIEWS = ("search", "ask", "document", "entity")
REPEATS, SETS = 5, 3
ASKED, CLIENTS, EVERY, ROUNDS = 60, 50, 5.0, 6
ENTITIES, PLACES = 300, 12
SENTENCE = "The quicksilver barometer number {} stands in the cellar of Corvara."
Row = dict[str, Any]
Results = dict[str, Any]


def row(what: str, unit: str, value: float, *, most: float | None = None, least: float | None = None) -> Row:
    """Return a figure, with its goal if ``most`` or ``least`` is given."""
    told: Row = {"what": what, "unit": unit, "value": value}
    if most is not None:
        return {**told, "floor": f"≤ {most:,.0f}", "reached": value <= most}
    if least is not None:
        return {**told, "floor": f"≥ {least:,.0f}", "reached": value >= least}
    return told


def spread(what: str, spent: Sequence[float], *, p50: float | None = None, p95: float | None = None) -> list[Row]:
    """Return rows for the median and the 95th percentile of milliseconds."""
    ends = {"p50": (50, p50), "p95": (95, p95)}
    return [
        row(f"{what}, {name}", "ms", float(np.percentile(spent, at)), most=most) for name, (at, most) in ends.items()
    ]


@contextmanager
def program(running: Site) -> Iterator[Callable[..., float]]:
    """Yield a function that sends a question over one connection and returns the milliseconds of the answer."""
    connection = http.client.HTTPConnection(urlsplit(running.address).netloc, timeout=60)

    def ask(question: str, path: str = "search") -> float:
        begun = time.perf_counter()
        where = f"/api/v1/{path}?{urlencode({'q': question})}"
        connection.request("GET", where, headers={"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        body = answer.read()
        spent = (time.perf_counter() - begun) * 1e3
        if answer.status != 200:
            raise OSError(f"{answer.status}: {body[:200]!r}")
        return spent

    try:
        yield ask
    finally:
        connection.close()


def asked(begin: int, count: int = ASKED) -> list[str]:
    """Return questions of three sets, the same number of each, from question ``begin`` of each set on."""
    return questions(count, begin)


def warmed(running: Site) -> None:
    """Ask questions that are not measured later."""
    with program(running) as ask:
        for question in asked(0):
            ask(question)
            ask(question, "ask")


def first_paint(_: argparse.Namespace) -> list[Row]:
    """Measure each view in a fresh browser profile, and one view that was shown before."""
    with browser_before([made(10_000)]) as (running, tab):
        (document,) = running.get("/documents", limit=1)["documents"]
        (entity,) = running.get("/entities", k=1)["entities"]
        of_view = {"document": {"id": document["id"]}, "entity": {"name": entity["name"]}}
        rows = []
        for view in VIEWS:
            found = []
            for _ in range(REPEATS + 1):
                page = tab()
                found.append(loaded(page, f"/{view}", **of_view.get(view, {})))
                last = page
            rows += _paint_rows(f"/{view}", found[1:])
        again = [loaded(last, f"/{VIEWS[-1]}", **of_view[VIEWS[-1]]) for _ in range(REPEATS)]
        return [*rows, *_paint_rows(f"/{VIEWS[-1]}, shown before", again)]


def _paint_rows(view: str, found: Sequence[dict[str, float]]) -> list[Row]:
    median = {name: statistics.median(one[name] for one in found) for name in found[0]}
    return [
        row(f"`{view}`: first contentful paint", "ms", median["first paint"], most=300),
        row(f"`{view}`: transferred", "kB", median["transferred"] / 1e3, most=200),
        row(f"`{view}`: of it JavaScript", "kB", median["JavaScript"] / 1e3),
        row(f"`{view}`: of it answers of the API", "kB", median["answers"] / 1e3),
    ]


def searching(_: argparse.Namespace) -> list[Row]:
    """Measure questions that are typed into the page, and as many that a program sends."""
    with browser_before([made(10_000)]) as (running, tab):
        warmed(running)
        page = tab()
        page.goto("/search")
        page.wait_for_selector("#q")
        spent = [typed(page, question) for question in asked(20)]
        with program(running) as ask:
            alone = [ask(question) for question in asked(40)]
        return [*spread("page: keystroke to hits shown", spent, p50=30), *spread("program: the same request", alone)]


def long_document() -> tuple[Path, list[tuple[str, str]]]:
    """Return a file with a text of a megabyte, and (document id, span as in the page's address) of sentences in it."""
    chance = random.Random(7)
    words = [f"{chance.choice('bdfgklmnprst')}{chance.choice('aeiou')}{one}" for one in ("ren", "lo", "stic", "vare")]
    parts = [" ".join(chance.choices(words, k=90)) + "." for _ in range(1_900)]
    for number in range(PLACES):
        parts.insert(len(parts) * (number + 1) // (PLACES + 1), SENTENCE.format(number))
    text = "\n\n".join(parts)
    CACHE.mkdir(parents=True, exist_ok=True)
    path = CACHE / "long.mono"
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)
    with Monograph.open(path) as archive:
        archive.add([Document(text, id="long", title="A long text")])
    starts = [text.index(SENTENCE.format(number)) for number in range(PLACES)]
    return path, [("long", f"{at}-{at + len(SENTENCE.format(number))}") for number, at in enumerate(starts)]


def document(_: argparse.Namespace) -> list[Row]:
    """Measure how long it takes to open a text of a megabyte at different places."""
    path, places = long_document()
    with browser_before([path]) as (running, tab):
        characters = running.get("/document/text", id="long", length=1)["characters"]
        found = [opened(tab(), *place, path.stem) for place in places][1:]
        by_link, by_address = zip(*found, strict=True)
        return [
            row("the text", "thousand characters", characters / 1e3),
            *spread("by a link, until the mark is shown", by_link, p50=200, p95=200),
            *spread("by its address, in a new tab", by_address, p50=200, p95=200),
        ]


def neighbourhood(_: argparse.Namespace) -> list[Row]:
    """Measure drawing and zooming the graph of the first name, by number of passages, with 300 others around it."""
    with browser_before([made(10_000)]) as (running, tab):
        names = (one["name"] for one in running.get("/entities", k=100)["entities"])
        around = (running.get("/neighbourhood", name=name, limit=ENTITIES) for name in names)
        one = next((one for one in around if len(one["entities"]) >= ENTITIES), None)
        if one is None:
            raise SystemExit(f"no name has {ENTITIES} others around it")
        name = next(entity["name"] for entity in one["entities"] if entity["id"] in one["centre"])
        alone = median_seconds(lambda: running.get("/neighbourhood", name=name, limit=ENTITIES), REPEATS)
        found = [drawn(tab(), name, ENTITIES, "10000") for _ in range(3)]
        median = {what: statistics.median(one[what] for one in found) for what in found[0]}
        return [
            row("entities in the picture", "", len(one["entities"])),
            row("links between them", "", len(one["links"])),
            row("a program: the same request", "ms", alone * 1e3),
            row("page: from the click until it stands", "ms", median["stands"]),
            row("frames a second while it is zoomed", "", median["frames"], least=30),
            row("the slowest frame", "ms", median["slowest"]),
        ]


def clients(_: argparse.Namespace) -> list[Row]:
    """Measure one client, then fifty that start at random times: first searches, then answers without a model."""
    rows = []
    for path in ("search", "ask"):
        with site([made(10_000)]) as running:
            warmed(running)
            one = []
            with program(running) as ask:
                for question in asked(20):
                    one.append(ask(question, path))
                    time.sleep(0.15)
            many, errors = crowd(running, path, asked(40, CLIENTS * ROUNDS))
        rows += spread(f"`/{path}`, 1 client", one)
        rows += spread(f"`/{path}`, {CLIENTS} clients", many, p95=5 * float(np.percentile(one, 95)))
        rows.append(row(f"`/{path}`, {CLIENTS} clients: errors of {len(many) + errors:,}", "", errors, most=0))
    return rows


def crowd(running: Site, path: str, every: Sequence[str]) -> tuple[list[float], int]:
    """Return the milliseconds of each answer and the number of errors, of clients that each ask every five seconds."""
    chance = random.Random(7)
    begins = [chance.uniform(0, EVERY) for _ in range(CLIENTS)]
    spent: list[float] = []
    errors: list[OSError] = []
    started = time.perf_counter()

    def client(number: int) -> None:
        with program(running) as ask:
            for turn, question in enumerate(every[number::CLIENTS]):
                time.sleep(max(0.0, started + begins[number] + turn * EVERY - time.perf_counter()))
                try:
                    spent.append(ask(question, path))
                except (OSError, http.client.HTTPException) as error:
                    errors.append(OSError(error))

    in_threads(client, CLIENTS)
    return spent, len(errors)


def server_memory(_: argparse.Namespace) -> list[Row]:
    """Measure the memory of the server at its start, after fifty searches, and after fifty further answers."""
    rows = []
    with site([made(100_000)]) as running, program(running) as ask:
        rows += _memory_rows("before any question", running.process)
        for path, begin, said in (("search", 0, "50 searches"), ("ask", 20, "50 answers more")):
            for question in asked(begin)[:50]:
                ask(question, path)
            rows += _memory_rows(f"after {said}", running.process)
    return rows


def _memory_rows(when: str, process: int) -> list[Row]:
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
    held = {name: int(rest.split()[0]) * 1024 / 1e6 for name, rest in (line.split(":") for line in lines)}
    return [
        row(f"{when}: {what}", "MB", held[name], most=150)
        for what, name in (("RSS", "Rss"), ("anonymous", "Anonymous"))
    ]


GOALS = " Goals are in parentheses; a figure that misses its goal is bold."
Made = Callable[[list[Row]], str]


def value(one: Row) -> str:
    """Return a figure, bold if it misses its goal."""
    found = one["value"]
    text = f"{found:,.0f}" if found >= 100 or found == int(found) else f"{found:,.1f}"
    return text if one.get("reached", True) else f"**{text}**"


def with_goal(one: Row) -> str:
    return f"{value(one)} ({one['floor']})" if "floor" in one else value(one)


def listed(names: dict[str, str]) -> Made:
    """Return a function that makes a table with a row for each of these figures. ``names`` has their labels."""

    def made_of(found: list[Row]) -> str:
        rows = {one["what"]: one for one in found}
        cells = [[", ".join(filter(None, (names[what], rows[what]["unit"]))), with_goal(rows[what])] for what in names]
        return table(["measure", "measured"], cells)

    return made_of


def crossed(*columns: str) -> Made:
    """Return a function that makes a table with these columns and a row for each thing that was measured."""

    def made_of(found: list[Row]) -> str:
        cells: dict[str, dict[str, Row]] = {}
        for one in found:
            # A figure's name is its row's name, a comma or colon, and its column's name.
            end = max(one["what"].rfind(mark) for mark in (", ", ": "))
            what, column = one["what"][:end], one["what"][end + 2 :]
            if column.startswith(columns):
                cells.setdefault(what, {})[column] = one
        heads: dict[str, str] = {}
        rows = {what: [what] for what in cells}
        for column in dict.fromkeys(name for one in cells.values() for name in one):
            held = [one[column] for one in cells.values() if column in one]
            goals = {one.get("floor") for one in held}
            same = len(goals) == 1
            goal = f" ({goals.pop()})" if same and None not in goals else ""
            heads[column] = ", ".join(filter(None, (column, held[0]["unit"]))) + goal
            for what, one in cells.items():
                show = value if same else with_goal
                rows[what].append(show(one[column]) if column in one else "")
        return table(["measure", *heads.values()], list(rows.values()))

    return made_of


SECTIONS: dict[str, tuple[Callable[[argparse.Namespace], list[Row]], str, str, Made]] = {
    "first paint": (
        first_paint,
        "First paint",
        "The file has 10,000 passages. The server and the browser already run. Each figure is the median "
        f"of {REPEATS} loads of a view in a fresh browser profile. *Transferred* is all bytes until the network is "
        "quiet. *Shown before* is a view that the same profile has already loaded.",
        crossed("first contentful paint", "transferred"),
    ),
    "search": (
        searching,
        "Searching",
        f"The file has 10,000 passages. {ASKED} new questions are typed into the page. The time begins with the input "
        "event and ends with the first frame that shows the hits. It excludes the 200 ms for which the page waits after "
        "a keystroke. *program* sends the same request for other questions, without a browser.",
        crossed("p50", "p95"),
    ),
    "document": (
        document,
        "A long document",
        f"A document of about a million characters is opened at {PLACES - 1} places. The time begins with the click on "
        "a source's link, or with the navigation to the address. It ends with the first frame that shows the marked "
        "span.",
        crossed("p50", "p95"),
    ),
    "neighbourhood": (
        neighbourhood,
        "A neighbourhood",
        f"The page draws the graph around one name, with {ENTITIES} other names. Chromium draws without a graphics "
        "card, at most 60 frames a second.",
        listed(
            {
                "a program: the same request": "answer of the API to a program",
                "page: from the click until it stands": "page: from the click until the picture is drawn",
                "frames a second while it is zoomed": "frames a second while the user zooms",
            }
        ),
    ),
    "clients": (
        clients,
        "Many clients",
        "The file has 10,000 passages. Searches (`/search`) and answers without a language model (`/ask`) are measured "
        f"on separate servers. First, one client asks {ASKED} questions. Then {CLIENTS} clients start at random "
        f"moments, and each asks {ROUNDS} questions, one every {EVERY:.0f} seconds. The goal for the p95 of {CLIENTS} "
        "clients is five times the p95 of one client.",
        crossed("p50", "p95", "errors"),
    ),
    "memory": (
        server_memory,
        "Memory of the server",
        "The file has 100,000 passages. *RSS* counts a mapped page of the file once for each thread of the "
        "server. The system reclaims these pages when needed. *Anonymous* memory is private.",
        crossed("RSS", "anonymous"),
    ),
}


def told(intro: str, tabled: Made) -> Callable[[list[Row]], list[str]]:
    """Return a function that makes a section's paragraphs."""
    return lambda found: [intro, tabled(found)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", choices=SECTIONS, default=list(SECTIONS))
    options = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    jobs = {name: one[0] for name, one in SECTIONS.items()}
    results = run_sections(jobs, options, CACHE / "results.json", "")
    headings = {name: (heading, told(intro, tabled)) for name, (_, heading, intro, tabled) in SECTIONS.items()}
    for path in write_page(results, PAGE, "The page, measured", headings, remark=NOISE + GOALS):
        console.print(f"{path} written")


if __name__ == "__main__":
    main()
