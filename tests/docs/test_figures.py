"""Figures on pages equal the results of the benchmarks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from monograph.values import DEFAULT_CUT
from support.paths import ROOT

README = (ROOT / "README.md").read_text()


def measured(name: str) -> Any:
    """Return the stored results of a benchmark."""
    return json.loads((ROOT / "docs" / "benchmarks" / f"{name}.json").read_text())


def row(beginning: str) -> str:
    """Return the table row of the README whose first cell begins with ``beginning``."""
    (found,) = [line for line in README.splitlines() if line.startswith(f"| {beginning}")]
    return found


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("HotpotQA", "hotpotqa"),
        ("2WikiMultihopQA", "2wikimultihopqa"),
        ("MuSiQue", "musique"),
        ("LiHuaWorld", "lihuaworld"),
    ],
)
def test_recall_in_the_readme_is_measured(name: str, key: str) -> None:
    modes = measured("graph")["recall"]["found"][key]
    graph, hybrid = (100 * modes[mode]["recall@5"] for mode in ("graph", "hybrid"))
    assert f"| {graph:.1f} % | BM25 and vectors: {hybrid:.1f} % |" in row(f"recall@5, {name}")
    if name == "HotpotQA":
        assert f"finds {graph:.0f} of 100" in README
        assert f"BM25 with vectors finds {hybrid:.0f}." in README


@pytest.mark.parametrize(("name", "key"), [("LangChain", "langchain"), ("LlamaIndex", "llama-index")])
def test_latency_in_the_readme_is_measured(name: str, key: str) -> None:
    rows = {one["store"]: one for one in measured("frameworks")["rows"]}
    ours, chroma = (
        f"{one['query_ms']:.2f} ms at recall {one['recall']:.3f}"
        for one in (rows[f"{key} monograph"], rows[f"{key} chroma"])
    )
    assert f"| {ours} | Chroma: {chroma} |" in row(f"ten nearest of 10,000 nodes in {name}")
    assert f"FAISS in memory answers in {rows['llama-index faiss']['query_ms']:.2f} ms" in README


def test_reduction_in_the_docs_is_measured() -> None:
    found = measured("reduce")["curves"]["found"]["squad"]
    sentences, windows = next(one for one in found["ours"] if one["asked"] == DEFAULT_CUT), found["windows"][0]
    text = " ".join((ROOT / "docs" / "how-to" / "answering.md").read_text().split())
    cut, kept = (f"{100 * sentences[key]:.{digits}f} %" for key, digits in (("cut", 0), ("kept", 1)))
    assert f"sentences cut {cut} of the tokens and keep {kept} of the answers." in text
    cut, kept = (f"{100 * windows[key]:.{digits}f} %" for key, digits in (("cut", 0), ("kept", 1)))
    assert f"Windows cut {cut} and keep {kept} (" in text


def test_tokens_of_an_edit_are_measured() -> None:
    systems = measured("graph")["model"]["found"]["systems"]
    ours, theirs = (systems[name]["edit one"]["tokens"] for name in ("Monograph", "LightRAG"))
    assert f"{ours:,} tokens instead of {theirs:,}" in (ROOT / "docs" / "why.md").read_text()
