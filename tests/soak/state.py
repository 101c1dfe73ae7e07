"""Expected state of a file, its actual contents, and the comparison with a fresh build of the same documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from monograph import Document, Monograph
from monograph.store import tree as store
from monograph.store.graph import names
from monograph.write.pipeline import write
from soak.corpus import (
    EMBEDDERS,
    EXTRACTORS,
    PATTERNS,
    SETTINGS,
    SUMMARIZERS,
    USUAL,
    document,
    everybody,
    name_of,
    open_file,
    passages,
    text_of,
)
from support.trees import tree_of

QUESTIONS = ("who took lamps to Harwich on the Grey Heron?", "where did A. Lindholm sleep badly?")
SEARCH_MODES = ("lexical", "tfidf", "dense", "hybrid", "graph")
"""Search modes that every file has."""
MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class State:
    """Expected state of a file: drafts by file name and by document id, passages, names kept apart, and keys of models.

    ``summarizer`` is empty if the file has no tree.
    """

    files: dict[str, int] = field(default_factory=dict)
    own: dict[str, int] = field(default_factory=dict)
    parts: dict[str, tuple[int, ...]] = field(default_factory=dict)
    apart: frozenset[tuple[str, str]] = frozenset()
    embedder: str = USUAL.key
    extractor: str = PATTERNS.key
    summarizer: str = ""

    def texts(self) -> dict[str, str]:
        """Return texts by file name or document id."""
        texts = {key: text_of(key, draft) for key, draft in (self.files | self.own).items()}
        for key, parts in self.parts.items():
            texts[key] = "\n\n".join(text_of(f"{key}.{part}") for part in parts)
        return {"all": everybody().text} | texts

    def documents(self) -> list[Document]:
        """Return the documents that do not come from files."""
        listed = [document(key, draft) for key, draft in self.own.items()]
        return [everybody(), *listed, *(passages(key, parts) for key, parts in self.parts.items())]


def search_modes(monograph: Monograph) -> tuple[str, ...]:
    """Return the search modes of a file; ``tree`` only if it has one."""
    return SEARCH_MODES if monograph.stats().tree is None else (*SEARCH_MODES, "tree")


def contents(monograph: Monograph) -> dict[str, list[Any]]:
    """Return the contents and hits of a file, without row numbers and other values that depend on its history."""
    documents = [monograph.document(listed.id) for listed in monograph.documents()]
    hits = sorted(monograph.fetch(vectors=True), key=lambda hit: hit.chunk.id)
    chunks = [hit.chunk for hit in hits]
    return {
        "documents": sorted((name_of(one), one.id, one.title, repr(dict(one.metadata)), one.text) for one in documents),
        "chunks": [(chunk.id, chunk.document_id, chunk.start, chunk.end, chunk.text) for chunk in chunks],
        "vectors": [(hit.chunk.id, b"" if hit.vector is None else hit.vector.tobytes()) for hit in hits],
        "entities": [
            *sorted(map(repr, monograph.graph.entities(10_000))),
            *sorted(map(repr, monograph.graph.merges())),
        ],
        "tree": tree_of(monograph),
        "hits": [
            (how, question, [(hit.chunk.id, hit.score) for hit in monograph.search(question, 5, how)])
            for how in search_modes(monograph)
            for question in QUESTIONS
        ],
    }


def unlike_fresh_build(path: Path, state: State, folders: Sequence[Path]) -> list[str]:
    """Return the differences between a file and a fresh build of its state.

    The names kept apart do not depend on the documents, and are copied.
    """
    with open_file(path) as monograph:
        with monograph._file.database.read() as connection:
            has_tree, pairs = store.exists(connection), names.cannot_link(connection)
        stored = contents(monograph)
    if has_tree != bool(state.summarizer):
        return [f"it has {'a' if has_tree else 'no'} tree, and should have {state.summarizer or 'none'}"]
    fresh = path.with_name("fresh.mono")
    models = EMBEDDERS[state.embedder], EXTRACTORS[state.extractor]
    try:
        with Monograph.open(fresh, *models, settings=SETTINGS) as monograph:
            with write(monograph._file.database, monograph._file.indexes) as connection:
                names.add_cannot_link(connection, pairs)
            monograph.add(state.documents())
            if folders:
                monograph.sync(*folders)
            if has_tree:
                monograph.tree.rebuild(SUMMARIZERS[state.summarizer])
            return differences(stored, contents(monograph))
    finally:
        for file in fresh.parent.glob(f"{fresh.name}*"):
            file.unlink()


def differences(stored: dict[str, list[Any]], fresh: dict[str, list[Any]]) -> list[str]:
    found = []
    for name, here in stored.items():
        there = fresh[name]
        if here != there:
            more, less = [row for row in here if row not in there], [row for row in there if row not in here]
            shown = f"{more[:MOST_SHOWN]!r:.600} in place of {less[:MOST_SHOWN]!r:.600}"
            found.append(f"{name} are not those of a fresh build: {len(more)} more, {len(less)} fewer: {shown}")
    return found
