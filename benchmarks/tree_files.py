"""Files with a tree that the benchmarks of the tree measure, and the models with which they are built."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from monograph import Monograph, Settings
from monograph.derive.summarize.extractive import ExtractiveSummarizer
from monograph.derive.tokens import count_tokens
from monograph.store import tree as store
from monograph.store.file import checksums
from monograph.values import Chunk, Extraction, SummaryText


class NoNames:
    """Extractor that finds nothing, because the graph is not measured here."""

    key = spec = "benchmark:nothing"

    def extract(self, chunks: Sequence[Chunk]) -> Iterator[Extraction]:
        for _ in chunks:
            yield Extraction()


class Metered:
    """Extractive summarizer that counts calls and tokens read, as for a language model."""

    spec = "extractive"

    def __init__(self) -> None:
        self._inner = ExtractiveSummarizer()
        self.key = self._inner.key
        self.calls = self.tokens = 0
        self._lock = threading.Lock()  # Summaries are made in several threads.

    def summarize(self, texts: Sequence[str], max_tokens: int) -> SummaryText:
        tokens = sum(count_tokens(list(texts)))
        with self._lock:
            self.calls += 1
            self.tokens += tokens
        return self._inner.summarize(texts, max_tokens)

    def take(self, seconds: float = 0.0) -> dict[str, float]:
        """Return the calls and tokens since the last call of ``take``, with the seconds that they took."""
        taken = {"summaries": self.calls, "tokens": self.tokens, "seconds": seconds}
        self.calls = self.tokens = 0
        return taken


@contextmanager
def file(summarizer: Any = None, settings: Settings | None = None) -> Iterator[Monograph]:
    """Open a new file without names, and delete it afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="tree-"))
    try:
        with Monograph.open(folder / "x.mono", None, NoNames(), summarizer, settings=settings, cache_bytes=0) as opened:
            yield opened
    finally:
        shutil.rmtree(folder)


def keys_and_texts(monograph: Monograph) -> list[tuple[Any, ...]]:
    """Return (layer, rank, key, parent's key, text) of all nodes of a tree, sorted. Only row numbers are left out."""
    with monograph._file.database.read() as connection:
        rows = store.load(connection, store.nodes_above(connection, -1))
        texts = dict(
            connection.execute("SELECT n.node, m.value FROM nodes AS n JOIN memo AS m ON m.memo = n.gist").fetchall()
        )
    return sorted(
        (row.layer, row.rank, row.key, rows[row.parent].key if row.parent else b"", texts.get(row.node, b""))
        for row in rows.values()
    )


def lose_tree(monograph: Monograph) -> None:
    """Delete the tree of a file and all its summaries, as if it never had a summarizer."""
    with monograph._file.database.write() as connection:
        store.clear(connection)
        connection.execute("DELETE FROM memo WHERE kind = 'summary'")
        connection.execute("DELETE FROM settings WHERE name = 'summarizer'")
        checksums.drop(connection, "settings/summarizer")
    monograph._file.models.given_summarizer = None
