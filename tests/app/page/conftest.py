"""Fixtures: a browser, and a tab that is logged in to the served site."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.browser import CHROMIUM, VIOLATIONS, Heard, Site, entered, launched

if not all(map(find_spec, ("fastapi", "uvicorn", "playwright"))):
    collect_ignore = ["test_axe.py", "test_page.py", "test_writing.py"]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Yield a headless browser."""
    if CHROMIUM is None or find_spec("playwright") is None:
        pytest.skip("no browser is installed")
    with launched() as running:
        yield running


@pytest.fixture(scope="module")
def entrance(browser: Any, served: Site) -> Any:
    """Return what the browser stores after a login to the served site."""
    return entered(browser, served)


@pytest.fixture
def heard(served: Site) -> Heard:
    """Return a recorder of errors and of requests to other hosts."""
    return Heard(urlsplit(served.address).netloc)


@pytest.fixture
def page(browser: Any, served: Site, heard: Heard, entrance: Any) -> Iterator[Any]:
    """Yield a new tab, logged in. Afterwards, check for errors, requests to other hosts and policy violations."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 800}, base_url=served.address, storage_state=entrance, accept_downloads=True
    )
    context.add_init_script(VIOLATIONS)
    context.set_default_timeout(60_000)
    tab = context.new_page()
    heard.listen(tab)
    yield tab
    violations = tab.evaluate("globalThis.violations")
    context.close()
    assert (heard.errors, heard.strangers, violations) == ([], [], [])
