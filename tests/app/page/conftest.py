"""A browser, and its connection to the served page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.browser import Site, entered, launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a screen."""
    with launched() as running:
        yield running


@pytest.fixture(scope="module")
def entrance(browser: Any, served: Site) -> Any:
    """What the browser keeps once it was let in to the served site."""
    return entered(browser, served)
