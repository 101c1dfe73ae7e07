"""Scores of rerankers, stored in the file if it is writable, else kept in memory."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence

import numpy as np

from monograph.errors import BusyFile, ModelUnavailable, ReadOnlyFile, StorageFull, calling_model
from monograph.models import Reranker
from monograph.store.file import memo
from monograph.store.file.database import Database
from monograph.store.file.errors import decoding
from monograph.values import content_hash

MOST = 16_384
"""Limit of scores kept in memory, about 4 MB. If there would be more, all old scores are dropped."""

_STORED = struct.Struct("<d")


class Scores:
    """Scores that rerankers gave to texts for questions. Safe for use by many threads.

    A score is stored under the hash of (key of the reranker, question, text). New scores are kept in memory until
    :meth:`keep` stores them, because nothing is written while a search reads.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._new: dict[bytes, float] = {}

    def by(self, reranker: Reranker) -> Callable[[str, Sequence[str]], list[float]]:
        """Return a function that takes a question and texts, and returns the score of each text.

        The function calls the reranker only for texts whose scores are not known yet. It raises ModelUnavailable if the
        reranker does not return a finite number for each text.
        """

        def scores(question: str, texts: Sequence[str]) -> list[float]:
            keys = [content_hash(memo.SCORE, reranker.key, question, text) for text in texts]
            new = self._new
            known_scores = {key: score for key in keys if (score := new.get(key)) is not None}
            known_scores |= self._load_stored([key for key in keys if key not in known_scores])
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known_scores}
            if missing:
                with calling_model(reranker.key):
                    values = np.asarray(reranker.score(question, list(missing.values())), dtype=np.float64)
                if values.shape != (len(missing),) or not np.isfinite(values).all():
                    raise ModelUnavailable(
                        f"the reranker {reranker.key!r} returned shape {values.shape}, or values that are not finite",
                        f"it must return {len(missing)} finite numbers",
                    )
                if len(new) + len(missing) > MOST:
                    # Replace the dict instead of clearing it: another thread may be reading it.
                    self._new = new = {}
                scored = dict(zip(missing, values.tolist(), strict=True))
                new.update(scored)
                known_scores |= scored
            return [known_scores[key] for key in keys]

        return scores

    def keep(self) -> None:
        """Store the new scores in the file.

        If the file cannot be written now, the scores stay in memory, and a later call stores them.
        """
        new = dict(self._new)
        # A caller's search mode may search within a search, and the outer search is still reading.
        if not new or self._database.read_only or self._database.connection().in_transaction:
            return
        try:
            with self._database.write(aside=True) as connection:
                memo.put(connection, memo.SCORE, [(key, _STORED.pack(score), 0) for key, score in new.items()])
        except (BusyFile, ReadOnlyFile, StorageFull):
            return
        for key in new:
            self._new.pop(key, None)

    def _load_stored(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Return the stored scores of these keys, by key. Raises DamagedFile if a score cannot be decoded."""
        if not keys:
            return {}
        scores: dict[bytes, float] = {}
        with self._database.read() as connection:
            rows = memo.rows(connection, memo.SCORE, list(dict.fromkeys(keys)))
            values = memo.values(connection, rows.values())
            for key, row in rows.items():
                with decoding(connection, f"row {row} of memo, a score,"):
                    (scores[key],) = _STORED.unpack(values[row])
                    if not math.isfinite(scores[key]):
                        raise ValueError("it is not a finite number")
        return scores
