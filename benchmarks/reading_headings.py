"""Recall with and without headings in embedded chunks: SQuAD's paragraphs, eight articles in each Markdown file."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from monograph import Monograph
from monograph.values import Metadata
from monograph.write import batch

ARTICLES = 8
FOUND = 5


def headings(squad: Path, place: Path) -> dict[str, dict[str, float]]:
    """Return recall@5 by mode, with and without headings.

    A hit is right if it contains an answer, and 40 characters from its middle are in the question's paragraph.
    """
    corpus = list(_lines(squad / "corpus.jsonl.gz"))
    texts = {row["id"]: row["text"] for row in corpus}
    asked = [row for row in _lines(squad / "queries.jsonl.gz") if row["type"] == "answerable" and row["evidence_ids"]]
    _write(corpus, place / "volumes")
    real, found = batch.embedded_text, {}
    for name, embedded in (("without", _plain), ("with", real)):
        batch.embedded_text = embedded
        with Monograph.open(place / f"{name}.mono") as monograph:
            monograph.sync(place / "volumes")
            found[name] = {mode: _recall(monograph, asked, texts, mode) for mode in ("dense", "hybrid")}
    batch.embedded_text = real
    return found


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _plain(title: str, metadata: Metadata, text: str) -> str:
    return f"{title}\n{text}" if title else text


def _write(corpus: list[dict[str, Any]], folder: Path) -> None:
    folder.mkdir()
    articles = defaultdict(list)
    for row in corpus:
        articles[row["title"]].append(row["text"])
    titles = sorted(articles)
    for number, first in enumerate(range(0, len(titles), ARTICLES), start=1):
        bodies = ["\n\n".join([f"## {title}", *articles[title]]) for title in titles[first : first + ARTICLES]]
        (folder / f"volume {number}.md").write_text("\n\n".join([f"# Volume {number}", *bodies]))


def _recall(monograph: Monograph, asked: list[dict[str, Any]], texts: dict[str, str], mode: Any) -> float:
    found = []
    for question in asked:
        paragraph = texts[question["evidence_ids"][0]]
        hits = (hit.chunk.text for hit in monograph.search(question["question"], FOUND, how=mode))
        found.append(
            any(
                any(answer in text for answer in question["answers"])
                and text[len(text) // 2 : len(text) // 2 + 40] in paragraph
                for text in hits
            )
        )
    return sum(found) / len(found)
