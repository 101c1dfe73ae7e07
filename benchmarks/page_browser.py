"""Times that a user waits for the page, measured in chromium until the paint, by the page's own clock."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))

from support.browser import CHROMIUM, Site, entered, launched, show, site

SCREEN = {"width": 1280, "height": 800}
DEBOUNCE = 200
"""Milliseconds that the page waits after a key (``PAUSE`` in search.js)."""
SECONDS = 3
"""Seconds during which frames are counted."""
CLOCK = """
// When something is first on the screen: asked after each frame that was painted.
globalThis.painted = (there) => new Promise((resolve, reject) => {
  const begun = performance.now();
  const channel = new MessageChannel();
  const again = () => requestAnimationFrame(() => channel.port2.postMessage(0));
  channel.port1.onmessage = () => {
    const now = performance.now();
    if (there()) resolve(now);
    else if (now - begun > 20000) reject(new Error(`never shown: ${there}`));
    else again();
  };
  again();
});
globalThis.isMarked = () => {
  const mark = document.querySelector(".view.document mark.cited")?.getBoundingClientRect();
  return mark && mark.top >= 0 && mark.bottom <= innerHeight;
};
globalThis.arrived = location.pathname === "/document" ? painted(isMarked) : null;
for (const name of ["input", "click"]) addEventListener(name, (event) => { globalThis[name] = event.timeStamp; }, true);
"""
LOADED = """
() => {
  const all = [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")];
  const sum = (some, name) => some.reduce((total, one) => total + one[name], 0);
  return {
    "first paint": performance.getEntriesByName("first-contentful-paint")[0].startTime,
    "transferred": sum(all, "transferSize"),
    "JavaScript": sum(all.filter((one) => one.name.endsWith(".js")), "decodedBodySize"),
    "answers": sum(all.filter((one) => one.name.includes("/api/")), "transferSize"),
  };
}
"""
AWAIT_HITS = """
() => {
  const old = document.querySelector(".results .hits");
  globalThis.shown = painted(() => ![null, old].includes(document.querySelector(".results .hits")));
  document.querySelector("#q").select();
}
"""
AWAIT_DRAWING = """
(count) => {
  globalThis.shown = painted(() => document.querySelector(".neighbours li:nth-child(" + count + ")") && document.querySelector("canvas"));
}
"""
FRAMES = """
(seconds) => new Promise((resolve) => {
  const canvas = document.querySelector("canvas");
  const { left, top, width, height } = canvas.getBoundingClientRect();
  const times = [];
  const step = (now) => {
    times.push(now);
    if (now - times[0] > 1000 * seconds) return resolve(times);
    const deltaY = times.length % 60 < 30 ? -20 : 20;
    const where = { clientX: left + width / 2, clientY: top + height / 2 };
    canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, ctrlKey: true, bubbles: true, cancelable: true, ...where }));
    return requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})
"""


@contextmanager
def browser_before(files: Sequence[Path]) -> Iterator[tuple[Site, Callable[[], Any]]]:
    """Yield a server for files, and a function that opens a tab in a new profile with only the server's cookie."""
    if CHROMIUM is None:
        raise SystemExit("no chromium is installed: apt-get install chromium")
    with site(files) as running, launched() as browser:
        key = entered(browser, running)

        def tab() -> Any:
            for last in browser.contexts:
                last.close()
            context = browser.new_context(viewport=SCREEN, base_url=running.address, storage_state=key)
            context.add_init_script(CLOCK)
            return context.new_page()

        yield running, tab


def loaded(page: Any, path: str, **parameters: str) -> dict[str, float]:
    """Load an address; return the milliseconds to its first paint, and the bytes that it transferred."""
    show(page, path, **parameters)
    page.wait_for_load_state("networkidle")
    return dict(page.evaluate(LOADED))


def typed(page: Any, question: str) -> float:
    """Return the milliseconds from the input of a question to its hits, without the page's wait after a key."""
    page.evaluate(AWAIT_HITS)
    page.keyboard.insert_text(question)
    spent = page.evaluate("shown.then((at) => at - input)") - DEBOUNCE
    page.wait_for_load_state("networkidle")  # until the source of the first hit is loaded
    page.wait_for_timeout(100)
    return float(spent)


def opened(page: Any, document: str, mark: str, file: str) -> tuple[float, float]:
    """Return the milliseconds until a document's mark is shown: by a source's link, and by the document's address."""
    show(page, "/search", file=file, q="quicksilver", **{"in": file, "source": document, "mark": mark})
    page.wait_for_selector(".beside mark.cited")
    page.wait_for_timeout(100)
    page.evaluate("globalThis.shown = painted(isMarked); null")
    page.click(".tools a:first-child")
    by_link = page.evaluate("shown.then((at) => at - click)")
    page.goto("about:blank")
    page.goto(f"/document?file={file}&id={document}&mark={mark}")
    return float(by_link), float(page.evaluate("arrived"))


def drawn(page: Any, name: str, entities: int, file: str) -> dict[str, float]:
    """Return the milliseconds from a click to the picture, and the frames per second and slowest frame of a zoom."""
    show(page, "/entity", file=file, name=name)
    page.wait_for_timeout(100)
    page.evaluate(AWAIT_DRAWING, entities)
    page.click(f".choices .chip:text-is('{entities}')")
    stands = page.evaluate("shown.then((at) => at - click)")
    times = page.evaluate(FRAMES, SECONDS)
    slowest = max(after - before for before, after in pairwise(times))
    return {"stands": stands, "frames": (len(times) - 1) * 1e3 / (times[-1] - times[0]), "slowest": slowest}
