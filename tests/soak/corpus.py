"""Texts that the soak writes, each with a unique word and names of people and ships, and models of its files."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from pathlib import Path

from monograph import Document, Monograph, Passage, Settings
from monograph.derive.extract.pattern import PatternExtractor
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.store.file import encryption
from support.models import CapitalExtractor, CountingSummarizer, HashEmbedder, OtherEmbedder

SETTINGS = Settings(chunk_tokens=64, chunk_overlap=8, segment_least=3, segment_most=6)
CAPTAINS = ("Astrid Lindholm", "Tom Renk", "Maria Eleven Ferreira", "Ole Bruun", "Ida Marsh", "Jonas Quill")
SHIPS = ("Grey Heron", "Anna Maria", "Old Sovereign", "Bergen Star", "Kittiwake", "North Wind")
PLACES = ("Port Ellery", "Harwich", "Lindesnes", "Cape Wrath", "Skagen", "Old Harry")
THINGS = ("salt", "pepper", "lamps", "rope", "tea", "herring", "timber", "clocks", "glass", "wool")

USUAL = HashEmbedder(32)
EMBEDDERS = {model.key: model for model in (USUAL, HashEmbedder(48), OtherEmbedder(32))}
PATTERNS = PatternExtractor()
EXTRACTORS = {model.key: model for model in (PATTERNS, CapitalExtractor())}
SUMMARIZERS = {model.key: model for model in (ExtractiveSummarizer(), CountingSummarizer())}
KEY = "only for the soak"
"""The key of encrypted files."""


def initials(captain: str) -> str:
    """Return a shorter form of a captain's name, which the graph merges with the full name."""
    return f"{captain[0]}. {captain.rsplit(maxsplit=1)[-1]}"


def text_of(key: str, draft: int = 0) -> str:
    """Return the text of a key and draft, with a unique word; it has one to twelve more sentences, rarely sixty."""
    chosen = random.Random(f"{key}/{draft}")
    count = chosen.choice((1, 2, 3, 5, 8, 12)) if chosen.random() < 0.97 else 60
    word = "zq" + hashlib.sha256(f"{key}/{draft}".encode()).hexdigest()[:12]
    lines = [f"The note {word} is about {chosen.choice(SHIPS)}."]
    for _ in range(count):
        captain = chosen.choice(CAPTAINS)
        lines.append(
            f"{captain} took {chosen.randrange(2, 90)} crates of {chosen.choice(THINGS)} from {chosen.choice(PLACES)}"
            f" to {chosen.choice(PLACES)} on the {chosen.choice(SHIPS)}, and {initials(captain)} slept badly."
        )
    return " ".join(lines)


def everybody() -> Document:
    """Return a document with every name in each of its forms, so that the graph knows all of them."""
    lines = [f"{captain} sailed to {PLACES[0]}, and {initials(captain)} slept badly." for captain in CAPTAINS]
    return Document(" ".join([*lines, *(f"The {ship} came to {PLACES[1]}." for ship in SHIPS)]), id="all")


def document(key: str, draft: int = 0) -> Document:
    return Document(text_of(key, draft), id=key, metadata={"draft": draft})


def passages(key: str, parts: Sequence[int]) -> Document:
    """Return a document of ready-made passages."""
    return Document(id=key, passages=tuple(Passage(text_of(f"{key}.{part}"), id=f"{key}.{part}") for part in parts))


def open_file(path: Path) -> Monograph:
    """Open a file with the models that it was built with; a new file has the first of each, and no tree."""
    key = KEY if path.exists() and encryption.may_be_encrypted(path) else None
    monograph = Monograph.open(path, settings=SETTINGS, key=key)
    stats = monograph.stats()
    monograph._file.models.use_models(
        EMBEDDERS[stats.embedder or USUAL.key],
        EXTRACTORS[stats.extractor or PATTERNS.key],
        SUMMARIZERS[stats.summarizer] if stats.summarizer else None,
    )
    return monograph


def name_of(document: Document) -> str:
    """Return the name of a document's file, or else its id."""
    return Path(document.uri).name if document.uri else document.id


def stored_texts(monograph: Monograph, prefix: str = "") -> dict[str, str]:
    """Return the texts of the documents whose :func:`name_of` begins with ``prefix``, by that name."""
    listed = {name_of(document): document.id for document in monograph.documents()}
    return {name: monograph.document(key).text for name, key in listed.items() if name.startswith(prefix)}
