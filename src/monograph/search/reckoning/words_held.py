"""Which of a question's words chunks have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from monograph.graph.evidence import Bools
from monograph.graph.text import Words
from monograph.store.graphs import WORDS


def words_held(asked: Words, packed: Sequence[bytes]) -> Bools:
    """Which of the question's words chunks have, (chunks, words); ``packed`` are their own as bytes, ascending."""
    held = np.zeros((len(packed), len(asked)), dtype=bool)
    if not len(asked):
        return held
    words = np.frombuffer(b"".join(packed), dtype=WORDS)
    lengths = [len(some) // WORDS.itemsize for some in packed]
    # Of all words few are asked for, and all others but few are told by their last bits.
    may_be = np.zeros(1 << 16, dtype=bool)
    may_be[asked & 0xFFFF] = True
    some = np.flatnonzero(may_be[words & 0xFFFF])
    at = np.minimum(np.searchsorted(asked, words[some]), len(asked) - 1)
    same = asked[at] == words[some]
    held[np.repeat(np.arange(len(packed)), lengths)[some[same]], at[same]] = True
    return held
