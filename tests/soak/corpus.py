"""What is written: texts with names and a word of their own, and the models that a file is made with."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from monograph import Document, Monograph, Passage, Settings
from monograph.derive.extract.pattern import PatternExtractor
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.models import TextKind
from monograph.store.file import encryption
from monograph.values import Float32, SummaryText
from support.models import CapitalExtractor

SETTINGS = Settings(chunk_tokens=64, chunk_overlap=8, segment_least=3, segment_most=6)
CAPTAINS = ("Astrid Lindholm", "Tom Renk", "Maria Eleven Ferreira", "Ole Bruun", "Ida Marsh", "Jonas Quill")
SHIPS = ("Grey Heron", "Anna Maria", "Old Sovereign", "Bergen Star", "Kittiwake", "North Wind")
PLACES = ("Port Ellery", "Harwich", "Lindesnes", "Cape Wrath", "Skagen", "Old Harry")
THINGS = ("salt", "pepper", "lamps", "rope", "tea", "herring", "timber", "clocks", "glass", "wool")


class WordEmbedder:
    """Vectors made of hashes of words, each made once; ``turned`` ones are others of the same length."""

    def __init__(self, dimension: int, turned: int = 0) -> None:
        self.dimension = dimension
        self.key = self.spec = f"soak:words/{dimension}/{turned}"
        self._turned = turned
        self._known: dict[str, Float32] = {}

    def embed(self, texts: Sequence[str], kind: TextKind = "document") -> Float32:
        result = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for place, text in enumerate(texts):
            for word in text.lower().split():
                result[place] += self._of(word)
        lengths = np.linalg.norm(result, axis=1, keepdims=True)
        np.divide(result, lengths, out=result, where=lengths > 0)
        return result

    def _of(self, word: str) -> Float32:
        known = self._known.get(word)
        if known is None:
            seed = int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big") + self._turned
            known = np.random.default_rng(seed).standard_normal(self.dimension).astype(np.float32)
            self._known[word] = known
        return known


class FirstWords:
    """Summaries of the first words of what is summed up."""

    key = spec = "soak:first-words"

    def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
        return SummaryText(" ".join(" ".join(text.split()[:6]) for text in texts)[:300], (), 5, 5)


USUAL = WordEmbedder(32)
EMBEDDERS = {one.key: one for one in (USUAL, WordEmbedder(48), WordEmbedder(32, turned=1))}
PATTERNS = PatternExtractor()
EXTRACTORS = {one.key: one for one in (PATTERNS, CapitalExtractor())}
SUMMARIZERS = {one.key: one for one in (ExtractiveSummarizer(), FirstWords())}


def initials(captain: str) -> str:
    """A shorter form of a captain's name, which the graph takes for the same."""
    return f"{captain[0]}. {captain.rsplit(maxsplit=1)[-1]}"


def marker(key: str, draft: int) -> str:
    """A word that stands in this draft of this text and nowhere else."""
    return "zq" + hashlib.sha256(f"{key}/{draft}".encode()).hexdigest()[:12]


def text_of(key: str, draft: int = 0) -> str:
    """The same text for the same key and draft: of one to twelve sentences, now and then of sixty."""
    chosen = random.Random(f"{key}/{draft}")
    count = chosen.choice((1, 2, 3, 5, 8, 12)) if chosen.random() < 0.97 else 60
    lines = [f"The note {marker(key, draft)} is about {chosen.choice(SHIPS)}."]
    for _ in range(count):
        captain = chosen.choice(CAPTAINS)
        lines.append(
            f"{captain} took {chosen.randrange(2, 90)} crates of {chosen.choice(THINGS)} from {chosen.choice(PLACES)}"
            f" to {chosen.choice(PLACES)} on the {chosen.choice(SHIPS)}, and {initials(captain)} slept badly."
        )
    return " ".join(lines)


def document(key: str, draft: int = 0) -> Document:
    """A text as a document of its own."""
    return Document(text_of(key, draft), id=key, metadata={"draft": draft})


def passages(key: str, parts: Sequence[int]) -> Document:
    """A document of ready-made passages."""
    return Document(id=key, passages=tuple(Passage(text_of(f"{key}.{part}"), id=f"{key}.{part}") for part in parts))


def joined(key: str, parts: Sequence[int]) -> str:
    """The text that passages make together."""
    return "\n\n".join(text_of(f"{key}.{part}") for part in parts)


KEY = "only for the soak"
"""Of files that are encrypted."""


def opened(path: Path) -> Monograph:
    """The file with the models that it was made with; a new one with the first of each, and without a tree."""
    key = KEY if path.exists() and encryption.may_be_encrypted(path) else None
    monograph = Monograph.open(path, settings=SETTINGS, key=key)
    stats = monograph.stats()
    monograph._file.models.plug_in(
        EMBEDDERS[stats.embedder or USUAL.key],
        EXTRACTORS[stats.extractor or PATTERNS.key],
        SUMMARIZERS[stats.summarizer] if stats.summarizer else None,
    )
    return monograph


def held(monograph: Monograph) -> dict[str, str]:
    """The texts of all documents, by the name of their file or by id."""
    return {name_of(one): monograph.document(one.id).text for one in monograph.documents()}


def name_of(one: Document) -> str:
    """The name of a document's file, or else its id."""
    return Path(one.uri).name if one.uri else one.id


def everybody() -> Document:
    """A document that names all whom others name, in each of their forms, so that nobody is unknown."""
    lines = [f"{one} sailed to {PLACES[0]}, and {initials(one)} slept badly." for one in CAPTAINS]
    return Document(" ".join([*lines, *(f"The {one} came to {PLACES[1]}." for one in SHIPS)]), id="all")
