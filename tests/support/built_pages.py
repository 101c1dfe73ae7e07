"""Documentation pages as mkdocs builds them, with the parts that tools/docs_reference.py generates from the code."""

from __future__ import annotations

import functools
import re
import runpy
from pathlib import Path

from support.paths import ROOT

HOOK = runpy.run_path(str(ROOT / "tools" / "docs_reference.py"))
FIGURES = runpy.run_path(str(ROOT / "tools" / "quoted_figures.py"))


def built(name: str) -> str:
    """Return a page as Markdown, with its generated parts."""
    page = (ROOT / "docs" / name).read_text()
    made: str = HOOK["on_page_markdown"](page, page=None)
    assert made != page
    return made


def sections(page: str) -> dict[str, str]:
    """Return the text under each third-level heading."""
    _, *parts = re.split(r"^(##+) (.+)\n", page, flags=re.MULTILINE)
    return {title: text for level, title, text in zip(*[iter(parts)] * 3, strict=True) if level == "###"}


@functools.cache
def anchors(path: Path) -> frozenset[str]:
    """Return the anchors of the headings of a page, also of its generated parts."""
    return frozenset(FIGURES["sections"](HOOK["on_page_markdown"](path.read_text())))
