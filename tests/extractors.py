"""Extractors for tests: deterministic, small, and counting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from monograph.values import Chunk, Extraction, Mention


class CapitalExtractor:
    """Names every capitalised word. Counts the chunks it is given."""

    key = "tests/capitals"
    spec = "tests:capitals"

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        for chunk in chunks:
            self.chunks.append(chunk)
            words = re.finditer(r"\b[A-Z]\w+", chunk.text)
            yield Extraction(tuple(Mention(word[0], "name", word.start(), word.end()) for word in words))
