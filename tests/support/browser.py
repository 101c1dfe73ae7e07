"""Browser (Debian's Chromium, controlled by Playwright) and server, as real processes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit
from urllib.request import Request, urlopen

TOKEN = "only-for-the-tests-of-the-page"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Records the browser's own reports of violations of the content security policy.
VIOLATIONS = """
globalThis.violations = [];
document.addEventListener("securitypolicyviolation", (event) => violations.push(event.violatedDirective));
"""


@dataclass(frozen=True)
class Site:
    """Server of files in its own process."""

    address: str
    process: int

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    @property
    def entrance(self) -> str:
        """The address with the token, as ``monograph serve`` prints it."""
        return f"{self.address}/#token={TOKEN}"

    def get(self, path: str, **parameters: Any) -> Any:
        """Return the JSON of a request to the API."""
        query = urlencode({key: value for key, value in parameters.items() if value is not None}, doseq=True)
        request = Request(f"{self.address}/api/v1{path}?{query}", headers={"Authorization": f"Bearer {TOKEN}"})
        with urlopen(request, timeout=60) as reply:
            return json.load(reply)


@contextmanager
def site(files: Sequence[Path], *options: str) -> Iterator[Site]:
    """Run ``monograph serve`` for files on a free port until the end of the block."""
    program = [sys.executable, "-c", "from monograph.app.cli import main; main()"]
    command = [*program, "serve", *map(str, files), "--token", TOKEN, "--port", "0", "--json"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen([*command, *options], stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        printed = ""
        try:
            while not printed.rstrip().endswith("}"):
                line = process.stdout.readline()
                assert line, f"the server printed {printed!r}, and ended"
                printed += line
            yield Site(json.loads(printed)["address"], process.pid)
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


@contextmanager
def launched() -> Iterator[Any]:
    """Yield a headless browser, and close it at the end of the block."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@dataclass
class Heard:
    """Errors of a page, and its requests to other hosts."""

    host: str
    errors: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)

    def listen(self, page: Any) -> None:
        """Record console errors, page errors and requests to other hosts."""
        page.on("console", lambda one: self.errors.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("request", lambda one: self._note(one.url))

    def _note(self, url: str) -> None:
        if urlsplit(url).scheme not in ("data", "blob") and urlsplit(url).netloc != self.host:
            self.strangers.append(url)


def entered(browser: Any, site: Site) -> Any:
    """Open the address with the token, and return the browser's storage state (cookies and local storage)."""
    context = browser.new_context()
    tab = context.new_page()
    tab.goto(site.entrance)
    tab.wait_for_selector("#top nav")
    state = context.storage_state()
    context.close()
    return state


def show(page: Any, path: str, **parameters: Any) -> None:
    """Open a path, and wait until the page has loaded."""
    page.goto(f"{path}?{urlencode(parameters, doseq=True)}" if parameters else path)
    page.wait_for_selector("main h1", state="attached")
    page.wait_for_selector("[aria-busy]", state="detached")


def until(page: Any, script: str, argument: Any = None) -> None:
    """Wait until a script returns true. Playwright's own wait evaluates strings, which the page's policy forbids."""
    while not page.evaluate(script, argument):
        page.wait_for_timeout(20)


def sideways(page: Any) -> bool:
    """Return whether a page is wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))
