"""Scores of rerankers, kept in memory, and in the file if it may be written."""

from __future__ import annotations

import math
import struct
import threading
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from monograph.errors import BusyFile, ModelUnavailable, ReadOnlyFile, StorageFull, calling_model
from monograph.models import Reranker
from monograph.store.file import memo
from monograph.store.file.database import Database
from monograph.store.file.errors import decoding
from monograph.values import content_hash

MOST = 16_384
"""Scores that are kept in memory: some four megabytes."""

_STORED = struct.Struct("<d")


class Scores:
    """The scores of texts for questions, by the hash of the reranker's key, the question and the text.

    What is new is kept in memory until :meth:`keep` writes it, since nothing is written while a search reads. Safe for
    use by many threads.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._held: dict[bytes, float] = {}
        self._new: dict[bytes, float] = {}
        self._lock = threading.Lock()

    def by(self, reranker: Reranker) -> Callable[[str, Sequence[str]], list[float]]:
        """Return a function that scores texts for a question, and asks the reranker only for scores that are not kept.

        Raises ModelUnavailable if it gives anything but a finite number a text.
        """

        def scores(question: str, texts: Sequence[str]) -> list[float]:
            keys = [content_hash(memo.SCORE, reranker.key, question, text) for text in texts]
            known = self._known(keys)
            left = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
            made = dict(zip(left, _asked(reranker, question, list(left.values())), strict=True))
            self._learn(known, made)
            known |= made
            return [known[key] for key in keys]

        return scores

    def keep(self) -> None:
        """Write what is new, unless the file cannot be written, or somebody else writes it: then the next call does."""
        with self._lock:
            new = dict(self._new)
        # A search within a search, as a way of one's own may make it, goes on reading.
        if not new or self._database.read_only or self._database.connection().in_transaction:
            return
        try:
            with self._database.write(aside=True) as connection:
                memo.put(connection, memo.SCORE, ((key, _STORED.pack(value), 0) for key, value in new.items()))
        except (BusyFile, ReadOnlyFile, StorageFull):
            return
        with self._lock:
            self._new = {key: value for key, value in self._new.items() if key not in new}

    def _known(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        with self._lock:
            known = {key: self._held[key] for key in keys if key in self._held}
        left = [key for key in dict.fromkeys(keys) if key not in known]
        if left:
            with self._database.read() as connection:
                rows = memo.rows(connection, memo.SCORE, left)
                values = memo.values(connection, rows.values())
                for key, row in rows.items():
                    with decoding(connection, f"row {row} of memo, a score,"):
                        (known[key],) = _STORED.unpack(values[row])
                        if not math.isfinite(known[key]):
                            raise ValueError("it is not a finite number")
        return known

    def _learn(self, known: Mapping[bytes, float], made: Mapping[bytes, float]) -> None:
        with self._lock:
            if len(self._held) > MOST:
                self._held = {}
            self._held.update(known)
            self._held.update(made)
            if not self._database.read_only and len(self._new) < MOST:
                self._new.update(made)


def _asked(reranker: Reranker, question: str, texts: list[str]) -> list[float]:
    if not texts:
        return []
    with calling_model(reranker.key):
        made = np.asarray(reranker.score(question, texts), dtype=np.float64)
    if made.shape != (len(texts),) or not np.isfinite(made).all():
        raise ModelUnavailable(
            f"the reranker {reranker.key!r} returned shape {made.shape}, or values that are not finite",
            f"it must return {len(texts)} finite numbers",
        )
    scores: list[float] = made.tolist()
    return scores
