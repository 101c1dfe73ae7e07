"""The vectors of the questions that were asked last, which need not be asked for again."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from monograph.values import Float32

MOST = 512
"""Questions that are kept: of 1,024 values each, two megabytes."""


class AskedBefore:
    """Vectors by text, at most so many: those that were asked for longest ago are let go. Safe for many threads."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._held: dict[str, Float32] = {}
        self._lock = threading.Lock()

    def among(self, texts: Iterable[str]) -> dict[str, Float32]:
        """The vectors that are known of some texts."""
        with self._lock:
            found = {text: self._held.pop(text) for text in dict.fromkeys(texts) if text in self._held}
            self._held.update(found)  # They go to the end, as asked for last.
            return found

    def keep(self, made: Mapping[str, Float32]) -> None:
        """Remember the vectors of some texts."""
        with self._lock:
            self._held.update(made)
            for text in list(self._held)[: max(0, len(self._held) - self._most)]:
                del self._held[text]
