"""The page of the papers names code that exists, and quotes today's figures."""

from __future__ import annotations

import re

from support.built_pages import FIGURES
from support.paths import ROOT

PAGE = ROOT / "docs" / "explanation" / "papers.md"
STATES = ("faithful", "better", "different: ", "not done")


def test_rows_name_code_that_exists_and_link_to_a_figure() -> None:
    rows = [line[2:-2].split(" | ") for line in PAGE.read_text().splitlines() if line.count(" | ") == 4]
    rows = [cells for cells in rows if cells[0] not in ("---", "component or claim")]
    assert len(rows) > 100
    for component, _, code, state, figures in rows:
        text = ""
        for name in re.findall(r"`([^`]+)`", code):
            if re.search(r"\.\w+$", name):
                paths = [folder / name for folder in (ROOT / "src" / "monograph", ROOT) if (folder / name).exists()]
                assert paths, f"{component}: {name}"
                text = paths[0].read_text()
            else:
                assert re.search(rf"\b{name}\b", text), f"{component}: {name}"
        assert state.startswith(STATES), component
        assert "](" in figures, component


def test_figures_equal_their_source() -> None:
    assert FIGURES["refreshed"](PAGE) == PAGE.read_text(), "run python tools/quoted_figures.py"
