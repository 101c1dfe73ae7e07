"""The commands of the tree, as people type them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from forks import COMMAND_LINE, Forks
from model_server import ModelServer
from test_tree import text_of

COMMANDS = Forks(COMMAND_LINE, "main()")


def monograph(*arguments: object, status: int = 0) -> str:
    done = COMMANDS.run("monograph", *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def synced(tmp_path: Path, folder: Path) -> Path:
    """A file of eighty notes, without a tree."""
    for number in range(80):
        (folder / f"{number}.txt").write_text(text_of(number))
    monograph("sync", tmp_path / "x.mono", folder)
    return tmp_path / "x.mono"


def test_a_tree_is_priced_made_shown_and_searched(synced: Path, folder: Path) -> None:
    assert "no tree of summaries" in monograph("outline", synced, status=1)
    assert "monograph resummarize" in monograph("search", synced, "boat", "--how", "tree", status=1)
    assert "at most" in monograph("resummarize", synced, "--dry-run")
    made = json.loads(monograph("resummarize", synced, "--json"))
    stats = json.loads(monograph("stats", synced, "--json"))
    assert sum(stats["tree"]["layers"]) == made["summarized"] == stats["tree"]["ever_made"]
    assert stats["summarizer_spec"] == "extractive"
    assert "segments by size" in monograph("stats", synced)
    (top,) = json.loads(monograph("outline", synced, "--json"))
    assert top["count"] == 80
    shown = monograph("outline", synced, top["children"][0]["id"][:8], "--layers", 2)
    assert f"{top['children'][0]['count']} passages" in shown
    hits = json.loads(monograph("search", synced, "boat", "--how", "tree:detail=0.5,budget=400", "--json"))
    assert {hit["summary"] is None for hit in hits} == {True, False}
    assert "summary of" in monograph("search", synced, "boat", "--how", "tree:detail=0")
    (folder / "new.txt").write_text(text_of(200))
    assert "summaries" in monograph("sync", synced, folder, "--dry-run")
    assert "summarized" in monograph("sync", synced, folder)
    assert "all is well" in monograph("check", synced)


def test_a_model_that_fails_is_a_problem_of_the_sync(tmp_path: Path, folder: Path) -> None:
    for number in range(20):
        (folder / f"{number}.txt").write_text(text_of(number))
    path = tmp_path / "x.mono"
    with ModelServer() as server:
        spec = f"llm:openai:{server.url}#scripted"
        server.fail(400, times=float("inf"))
        said = monograph("sync", path, folder, "--summarizer", spec, status=3)
        assert "20 added" in said
        assert "the tree of summaries is as it was" in said
        server.heal()
        assert "summarized" in monograph("sync", path, folder, "--trust")
        assert "at most" in monograph("resummarize", path, "extractive", "--dry-run")
        assert "resummarize" in monograph("sync", path, folder, "--summarizer", "extractive", status=1)
