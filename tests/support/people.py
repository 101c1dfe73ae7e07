"""Extractor of persons, documents for it, and files that use it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from monograph import Document, Monograph
from monograph.values import Chunk, Extraction, Mention
from support.models import HashEmbedder

NAMES = [
    Document(
        "John Paul Smith lives in Bergen. Smith was born in Oslo. On leaving, Smith wept.",
        id="1",
        title="Smith at home",
    ),
    Document("J. Smith wrote to John P. Smith about the North Atlantic Treaty Organization (NATO).", id="2"),
    Document("NATO met in Bergen. Solar panels are old, and a solar panel costs little. It rains in BERGEN.", id="3"),
    Document("Arkwright saw J. Smith in Bergen.", id="4"),
]


class People:
    """Extractor of each run of capitalised words as a person, and of solar panels as a term."""

    key = "tests/people"
    spec = "tests:people"

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        for chunk in chunks:
            names = re.finditer(r"[Ss]olar panels?|(?:[A-Z]\.|[A-Z]\w+)(?: (?:[A-Z]\.|[A-Z]\w+))*", chunk.text)
            kinds = (("term" if "olar" in one[0] else "person", one) for one in names)
            yield Extraction(tuple(Mention(one[0], kind, one.start(), one.end()) for kind, one in kinds))


def open_people(path: Path) -> Monograph:
    return Monograph.open(path, HashEmbedder(), People())
