"""The scripts of the page: their size, and forbidden ways to build HTML."""

from __future__ import annotations

import re
from importlib import resources

MOST_SCRIPT = 150_000
"""Bytes of all scripts that the page can load, as they are written."""


def test_scripts_of_the_page_are_small() -> None:
    ours = resources.files("monograph.app.serve").joinpath("page")
    picture = resources.files("monograph.app.picture")
    named = re.findall(r'"((?:vendor/)?[\w.-]+\.js)"', ours.joinpath("drawing.js").read_text("utf-8"))
    drawn = [picture.joinpath(*name.split("/")) for name in named if not ours.joinpath(name).is_file()]
    assert len(drawn) == 8
    scripts = [one for one in ours.iterdir() if one.name.endswith(".js")]
    assert sum(len(one.read_bytes()) for one in [*scripts, *drawn]) <= MOST_SCRIPT


def test_scripts_of_the_page_do_not_build_html() -> None:
    for one in resources.files("monograph.app.serve").joinpath("page").iterdir():
        if one.name.endswith(".js"):
            found = re.search(
                r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", one.read_text("utf-8")
            )
            assert found is None, (one.name, found)
