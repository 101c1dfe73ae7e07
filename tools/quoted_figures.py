"""Figures that pages quote from the tables and texts of other pages, such as those of the benchmarks.

A quoted figure is a link whose title names its source: ``[95.9](../benchmarks/graph.md#what-is-found "hotpotqa /
graph")`` quotes row ``hotpotqa``, column ``graph``, of a table in that section; backticks and asterisks are left out. A
title with ``…`` quotes the number in that place of the section's text: ``"takes … MB"``. ``python
tools/quoted_figures.py`` writes today's figures into docs/explanation/papers.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

QUOTED = re.compile(r'\[([^]]*)\]\(([^)#\s]+)#([^)\s]+) "([^"]+)"\)')
PAGE = Path(__file__).resolve().parents[1] / "docs" / "explanation" / "papers.md"
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")


def sections(markdown: str) -> dict[str, str]:
    """Return the text under each heading, up to the next heading, by the anchor that mkdocs gives to the heading."""
    _, *parts = re.split(r"^#+ (.+)$", _FENCED.sub("", markdown), flags=re.MULTILINE)
    return {_anchor(heading): text for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def _anchor(heading: str) -> str:
    plain = re.sub(r"[^\w\s-]", "", _LINK.sub(r"\1", heading))
    return re.sub(r"[-\s]+", "-", plain.strip().lower())


def refreshed(page: Path) -> str:
    """Return the Markdown of a page with today's figures in its links. Raises LookupError if a source is missing."""

    def quote(link: re.Match[str]) -> str:
        _, target, anchor, title = link.groups()
        text = sections((page.parent / target).read_text(encoding="utf-8"))[anchor]
        return f'[{_find(text, title)}]({target}#{anchor} "{title}")'

    return QUOTED.sub(quote, page.read_text(encoding="utf-8"))


def _find(section: str, title: str) -> str:
    """Return the figure that a title names in a section."""
    if "…" in title:
        before, after = map(re.escape, title.split("…"))
        found = re.search(rf"{before}(\S+(?: %)?){after}", " ".join(section.split()))
        if found is None:
            raise LookupError(f"no text has {title!r}")
        return found[1]
    row, _, column = title.rpartition(" / ")
    for heading, rows in _tables(section):
        for cells in rows:
            if column in heading[1:] and cells[0] == row:
                return cells[heading.index(column, 1)]
    raise LookupError(f"no table has {title!r}")


def _tables(section: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    for table in re.findall(r"(?:^\|.*\|$\n?)+", section, re.MULTILINE):
        rows = [[re.sub("[*`]", "", cell).strip() for cell in line[1:-1].split("|")] for line in table.splitlines()]
        yield rows[0], rows[2:]


if __name__ == "__main__":
    PAGE.write_text(refreshed(PAGE), encoding="utf-8")
