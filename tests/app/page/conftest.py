"""A browser, and a tab of it at the served site."""

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
    """A browser without a screen."""
    if CHROMIUM is None or find_spec("playwright") is None:
        pytest.skip("no browser is installed")
    with launched() as running:
        yield running


@pytest.fixture(scope="module")
def entrance(browser: Any, served: Site) -> Any:
    """What the browser keeps once it was let in to the served site."""
    return entered(browser, served)


@pytest.fixture
def heard(served: Site) -> Heard:
    """What the browser tells beside what it shows."""
    return Heard(urlsplit(served.address).netloc)


@pytest.fixture
def page(browser: Any, served: Site, heard: Heard, entrance: Any) -> Iterator[Any]:
    """A tab of its own, let in; when it is closed, nothing has gone wrong that the browser tells of."""
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
