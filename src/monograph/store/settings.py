"""Rows of ``settings``: the numbers a file was built with, and the models that it was made with."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from monograph.settings import Settings
from monograph.store.database import Connection


@dataclass(frozen=True, slots=True)
class StoredEmbedder:
    """The embedder whose vectors a file holds: see :class:`monograph.models.Embedder`."""

    key: str
    spec: str
    dimension: int


def load(connection: Connection) -> Settings | None:
    """The settings a file was built with, or None when it was never given any."""
    text = _get(connection, "build")
    return None if text is None else Settings(**json.loads(text))


def save(connection: Connection, settings: Settings) -> None:
    """Store the settings a file is built with."""
    _put(connection, "build", json.dumps(asdict(settings)))


def load_embedder(connection: Connection) -> StoredEmbedder | None:
    """The embedder whose vectors the file holds, or None when it holds none yet."""
    text = _get(connection, "embedder")
    return None if text is None else StoredEmbedder(**json.loads(text))


def save_embedder(connection: Connection, embedder: StoredEmbedder) -> None:
    """Store which embedder the file's vectors come from."""
    _put(connection, "embedder", json.dumps(asdict(embedder)))


@dataclass(frozen=True, slots=True)
class StoredExtractor:
    """The extractor that a file's graph was made with, and how its parts were made (see graph.build.GRAPH)."""

    key: str
    spec: str
    graph: int


def load_extractor(connection: Connection) -> StoredExtractor | None:
    """The extractor whose extractions the graph is made of, or None when there is none yet."""
    text = _get(connection, "extractor")
    return None if text is None else StoredExtractor(**json.loads(text))


def save_extractor(connection: Connection, extractor: StoredExtractor) -> None:
    """Store which extractor the graph is made with."""
    _put(connection, "extractor", json.dumps(asdict(extractor)))


@dataclass(frozen=True, slots=True)
class StoredSummarizer:
    """The summarizer that a file's tree is made with."""

    key: str
    spec: str


def load_summarizer(connection: Connection) -> StoredSummarizer | None:
    """The summarizer that the tree is made with, or None where the file has no tree."""
    text = _get(connection, "summarizer")
    return None if text is None else StoredSummarizer(**json.loads(text))


def save_summarizer(connection: Connection, summarizer: StoredSummarizer) -> None:
    """Store which summarizer the tree is made with."""
    _put(connection, "summarizer", json.dumps(asdict(summarizer)))


@dataclass(frozen=True, slots=True)
class SummaryCounts:
    """Summaries made and tokens spent on them: by the last change of the tree, and ever."""

    last_made: int = 0
    last_tokens: int = 0
    ever_made: int = 0
    ever_tokens: int = 0


def load_summary_counts(connection: Connection) -> SummaryCounts:
    """What summaries have taken so far."""
    text = _get(connection, "summaries")
    return SummaryCounts() if text is None else SummaryCounts(**json.loads(text))


def count_summaries(connection: Connection, made: int, tokens: int) -> None:
    """Note what a change of the tree took."""
    before = load_summary_counts(connection)
    after = SummaryCounts(made, tokens, before.ever_made + made, before.ever_tokens + tokens)
    _put(connection, "summaries", json.dumps(asdict(after)))


def _get(connection: Connection, name: str) -> str | None:
    row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
    return None if row is None else str(row[0])


def _put(connection: Connection, name: str, value: str) -> None:
    connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))


def generation(connection: Connection) -> int:
    """A number that every commit raises: what was cached under it is still true while it stands."""
    return int(_get(connection, "generation") or 0)
