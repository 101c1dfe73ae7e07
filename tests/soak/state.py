"""What a file is to hold, what it holds, and what a fresh build of the same would hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields
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
    joined,
    name_of,
    opened,
    passages,
    text_of,
)
from support.trees import tree_of

QUESTIONS = ("who took lamps to Harwich on the Grey Heron?", "where did A. Lindholm sleep badly?")
HOWS = ("lexical", "tfidf", "dense", "hybrid", "graph", "tree")
MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class State:
    """What a file is to hold: drafts of texts by the names of files and documents, parts, names set apart, models.

    ``summarizer`` is empty where the file has no tree.
    """

    files: dict[str, int] = field(default_factory=dict)
    own: dict[str, int] = field(default_factory=dict)
    parts: dict[str, tuple[int, ...]] = field(default_factory=dict)
    apart: frozenset[tuple[str, str]] = frozenset()
    embedder: str = USUAL.key
    extractor: str = PATTERNS.key
    summarizer: str = ""

    def texts(self) -> dict[str, str]:
        """Texts by the name of their file, or by id."""
        drafts = {key: text_of(key, draft) for key, draft in (self.files | self.own).items()}
        return {"all": everybody().text} | drafts | {key: joined(key, parts) for key, parts in self.parts.items()}

    def documents(self) -> list[Document]:
        """What does not come from files."""
        listed = [document(key, draft) for key, draft in self.own.items()]
        return [everybody(), *listed, *(passages(key, parts) for key, parts in self.parts.items())]


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a file holds and answers, without row numbers and without what hangs on its history."""

    documents: list[Any]
    chunks: list[Any]
    vectors: list[Any]
    entities: list[Any]
    tree: list[Any]
    hits: list[Any]


def contents(monograph: Monograph) -> Contents:
    """What a file holds and answers."""
    documents = [monograph.document(one.id) for one in monograph.documents()]
    stored = sorted(monograph.fetch(vectors=True), key=lambda one: one.chunk.id)
    return Contents(
        sorted((name_of(one), one.id, one.title, repr(dict(one.metadata)), one.text) for one in documents),
        [(one.chunk.id, one.chunk.document_id, one.chunk.start, one.chunk.end, one.chunk.text) for one in stored],
        [(one.chunk.id, b"" if one.vector is None else one.vector.tobytes()) for one in stored],
        [*sorted(map(repr, monograph.graph.entities(10_000))), *sorted(map(repr, monograph.graph.merges()))],
        tree_of(monograph),
        [
            (how, question, [(hit.chunk.id, hit.score) for hit in monograph.search(question, 5, how)])
            for how in (HOWS if monograph.stats().tree is not None else HOWS[:-1])
            for question in QUESTIONS
        ],
    )


def planes_and_pairs(monograph: Monograph) -> tuple[bytes | None, set[tuple[str, str]]]:
    """What is no function of the documents: by what the tree puts texts together, and which names were set apart."""
    with monograph._file.database.read() as connection:
        return store.planes(connection), names.cannot_link(connection)


def built(
    path: Path, state: State, folders: Sequence[Path], planes: bytes | None, pairs: Iterable[tuple[str, str]]
) -> Contents:
    """What a new file holds that is made of the same at once."""
    with Monograph.open(path, EMBEDDERS[state.embedder], EXTRACTORS[state.extractor], settings=SETTINGS) as monograph:
        with write(monograph._file.database, monograph._file.indexes) as connection:
            names.add_cannot_link(connection, pairs)
        monograph.add(state.documents())
        if folders:
            monograph.sync(*folders)
        if planes is not None and state.summarizer:
            with write(monograph._file.database, monograph._file.indexes) as connection:
                store.begin(connection, planes)
            monograph.tree.rebuild(SUMMARIZERS[state.summarizer])
        return contents(monograph)


def unlike_a_fresh_build(path: Path, state: State, folders: Sequence[Path]) -> list[str]:
    """In what a file differs from a fresh build of what it is to hold."""
    with opened(path) as monograph:
        planes, pairs = planes_and_pairs(monograph)
        stored = contents(monograph)
    if (planes is not None) != bool(state.summarizer):
        return [f"it has {'a' if planes else 'no'} tree, and is to have {state.summarizer or 'none'}"]
    fresh = path.with_name("fresh.mono")
    try:
        return differences(stored, built(fresh, state, folders, planes, pairs))
    finally:
        for one in fresh.parent.glob(f"{fresh.name}*"):
            one.unlink()


def differences(stored: Contents, fresh: Contents) -> list[str]:
    """Where two contents differ."""
    found = []
    for one in fields(Contents):
        here, there = getattr(stored, one.name), getattr(fresh, one.name)
        if here != there:
            more, less = ([row for row in rows if row not in other] for rows, other in ((here, there), (there, here)))
            shown = f"{more[:MOST_SHOWN]!r:.600} in place of {less[:MOST_SHOWN]!r:.600}"
            found.append(f"{one.name} are not those of a fresh build: {len(more)} more, {len(less)} fewer: {shown}")
    return found
