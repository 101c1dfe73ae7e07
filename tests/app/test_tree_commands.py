"""Commands of the tree of summaries."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from support.forks import run
from support.model_server import ModelServer
from support.trees import text_of


@pytest.fixture
def synced(tmp_path: Path, folder: Path) -> Path:
    """Make a file of 80 notes, without a tree."""
    for number in range(80):
        (folder / f"{number}.txt").write_text(text_of(number))
    run("sync", tmp_path / "x.mono", folder)
    return tmp_path / "x.mono"


@pytest.mark.long
def test_tree_commands_price_build_show_and_search(synced: Path, folder: Path) -> None:
    assert "no tree of summaries" in run("outline", synced, code=2)
    assert "monograph resummarize" in run("search", synced, "boat", "--how", "tree", code=2)
    assert "at most" in run("resummarize", synced, "--dry-run")
    made = json.loads(run("resummarize", synced, "--json"))
    stats = json.loads(run("stats", synced, "--json"))
    assert sum(stats["tree"]["layers"]) == made["summarized"] == stats["tree"]["ever_made"]
    assert stats["summarizer_spec"] == "extractive"
    assert "segments by size" in run("stats", synced)
    (top,) = json.loads(run("outline", synced, "--json"))
    assert top["count"] == 80
    shown = run("outline", synced, top["children"][0]["id"][:8], "--layers", 2)
    assert f"{top['children'][0]['count']} passages" in shown
    hits = json.loads(run("search", synced, "boat", "--how", "tree:detail=0.5,budget=400", "--json"))
    assert {hit["summary"] is None for hit in hits} == {True, False}
    assert "summary of" in run("search", synced, "boat", "--how", "tree:detail=0")
    (folder / "new.txt").write_text(text_of(200))
    assert "summaries" in run("sync", synced, folder, "--dry-run")
    assert re.search(r"summaries \d+ made", run("sync", synced, folder))
    assert "all is well" in run("check", synced)


def test_failing_summarizer_is_a_problem_of_the_sync(tmp_path: Path, folder: Path) -> None:
    for number in range(20):
        (folder / f"{number}.txt").write_text(text_of(number))
    path = tmp_path / "x.mono"
    with ModelServer() as server:
        spec = f"llm:openai:{server.url}#scripted"
        server.fail(400, times=float("inf"))
        said = run("sync", path, folder, "--summarizer", spec, code=3)
        assert "20 added" in said
        assert "the tree of summaries was not updated" in said
        server.heal()
        assert re.search(r"summaries \d+ made", run("sync", path, folder, "--trust"))
        assert "at most" in run("resummarize", path, "extractive", "--dry-run")
        assert "resummarize" in run("sync", path, folder, "--summarizer", "extractive", code=1)
