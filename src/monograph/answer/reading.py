"""Texts as the numbers of their words, stretch by stretch."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from monograph.answer.forms import NONE, Forms, Int32, Int64
from monograph.store.terms import words_of

_WORD = re.compile(r"[\w\u0300-\u036f]+")
_FOLDED_ALONE = re.compile("[\0-\u00bb\u00bf-\u013e\u0141-\u017f\u2010-\u2027\u2030-\u205e]*")
"""Texts of which every word is one when it is folded too, and the same alone as among the others."""


_OPENING = np.array([NONE], dtype=np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Read:
    """The words of stretches of texts, one after the other; each stretch begins with the word that is none.

    Parameters
    ----------
    forms, counts:
        Numbers of the words as they are written; and how many are in each stretch.
    words, word_counts:
        Numbers of the folded words; and how many are in each.
    """

    forms: Int32
    counts: Int64
    words: Int32
    word_counts: Int64


def read(table: Forms, text: str, spans: Sequence[tuple[int, int]]) -> Read:
    """Read stretches of a text."""
    written = [_WORD.findall(text, *span) for span in spans]
    forms = np.array(table.numbers([one for some in written for one in ("", *some)]), dtype=np.int32)
    counts = np.array([len(some) + 1 for some in written], dtype=np.int64)
    if _FOLDED_ALONE.fullmatch(text):
        return Read(forms, counts, table.first_words(forms), counts)
    folded = [words_of(text[start:end]) for start, end in spans]
    words = table.numbers_of_words([one for some in folded for one in ("", *some)])
    return Read(
        forms, counts, np.array(words, dtype=np.int32), np.array([len(some) + 1 for some in folded], dtype=np.int64)
    )


def as_one(table: Forms, text: str, spans: Sequence[tuple[int, int]], parts: Read) -> Read:
    """Read a text as one stretch, by what was read of its ``spans``, which leave out nothing but white space."""
    if any(one[1] == other[0] for one, other in pairwise(spans)):
        return read(table, text, [(0, len(text))])  # Where parts touch, a word may be cut.
    if len(spans) == 1:
        return parts
    forms, words = (np.concatenate((_OPENING, some[some != NONE])) for some in (parts.forms, parts.words))
    return Read(forms, np.array([len(forms)]), words, np.array([len(words)]))


def joined(some: Sequence[Read]) -> Read:
    """The stretches of all, in order."""
    if len(some) == 1:
        return some[0]
    return Read(
        np.concatenate([one.forms for one in some]),
        np.concatenate([one.counts for one in some]),
        np.concatenate([one.words for one in some]),
        np.concatenate([one.word_counts for one in some]),
    )
