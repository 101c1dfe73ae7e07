"""Notebooks of examples/notebooks, run from a copy and compared with their stored output."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.notebooks import NOTEBOOKS, as_written, code_cells, shown

NEEDS = {"library": "monograph", "llama_index": "llama_index.core", "langchain": "langchain_core"}


def test_every_notebook_is_tested() -> None:
    assert sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")) == sorted(NEEDS)


@pytest.mark.long
@pytest.mark.parametrize("name", NEEDS)
def test_notebook_output_is_reproduced(name: str, tmp_path: Path) -> None:
    pytest.importorskip(NEEDS[name], reason="the extra is not installed")
    copied = shutil.copytree(NOTEBOOKS.parent, tmp_path / "a copy", ignore=shutil.ignore_patterns("__pycache__"))
    before = {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()}
    path = copied / "notebooks" / f"{name}.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    cells = code_cells(notebook)
    assert path.read_text(encoding="utf-8") == as_written(notebook)
    assert [cell["outputs"] for cell in cells] == shown(path)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert any(cell["outputs"] for cell in cells)
    assert {path: path.read_bytes() for path in copied.rglob("*") if path.is_file()} == before
