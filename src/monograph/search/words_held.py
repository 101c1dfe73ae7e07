"""Which of a question's words chunks have."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from monograph.graph.evidence import Bools
from monograph.search.question import Question
from monograph.store.graphs import WORDS
from monograph.text_pass import compiled


def words_held(question: Question, packed: Sequence[bytes]) -> Bools:
    """Which of the question's words chunks have, (chunks, words); ``packed`` are their own as bytes, ascending."""
    if compiled is None or sys.byteorder != "little":
        return plain_words_held(question, packed)
    held: Bools = np.empty((len(packed), len(question.words)), dtype=bool)
    compiled.AskedWords(question.words.tolist(), question.weights.tolist()).held(list(packed), held)
    return held


def plain_words_held(question: Question, packed: Sequence[bytes]) -> Bools:
    """The same in numpy: what the compiled equals."""
    asked = question.words
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
