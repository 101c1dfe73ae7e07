"""Scripts of the page and of pictures: their size, and forbidden ways to build HTML."""

from __future__ import annotations

import re
from importlib import resources

PAGE = resources.files("monograph.app.serve").joinpath("page")
PICTURE = resources.files("monograph.app.picture")
MOST_SCRIPT = 150_000
"""Largest size of all scripts that the page can load together, in bytes, uncompressed."""
FORBIDDEN = r"innerHTML|outerHTML|insertAdjacent|document\.write|DOMParser|\beval\b|Function\("


def test_scripts_of_the_page_are_small() -> None:
    named = re.findall(r'"((?:vendor/)?[\w.-]+\.js)"', PAGE.joinpath("drawing.js").read_text("utf-8"))
    drawn = [PICTURE.joinpath(*name.split("/")) for name in named if not PAGE.joinpath(name).is_file()]
    assert len(drawn) == 8
    scripts = [file for file in PAGE.iterdir() if file.name.endswith(".js")]
    assert sum(len(script.read_bytes()) for script in [*scripts, *drawn]) <= MOST_SCRIPT


def test_scripts_do_not_build_html() -> None:
    for file in (*PAGE.iterdir(), *PICTURE.iterdir(), *PICTURE.joinpath("vendor").iterdir()):
        if file.name.endswith(".js"):
            assert re.search(FORBIDDEN, file.read_text("utf-8")) is None, file.name
