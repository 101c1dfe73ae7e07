"""Words as they are written, each form once for all questions: what it may tell, its folded words, stems and tokens."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.derive.embed.words import word_vectors
from monograph.graph.names import stem
from monograph.store.terms import words_of

Int: TypeAlias = npt.NDArray[np.integer[Any]]
Int32: TypeAlias = npt.NDArray[np.int32]
Int64: TypeAlias = npt.NDArray[np.int64]

REMEMBERED = 65_536
"""Forms that are remembered, some 300 bytes each; then it starts afresh."""

CAPITAL, DATE, AMOUNT, POINTER = 1, 2, 4, 8

NONE = 0
"""The number of the form that is no word, of its folded word and its stem."""

_DATED = re.compile(
    r"1[0-9]\d\d|20\d\d|\d+s|century|centuries|yesterday|today|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|januar[yi]?|februar[yi]?|march|april|may|june|july|august|september|october|november|december"
)
_COUNTED = re.compile(
    r".*\d.*|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|hundreds?"
    r"|thousands?|millions?|billions?|half|third|quarter|dozen|once|twice"
)
_POINTING = frozenset(
    ("he", "she", "it", "they", "this", "these", "that", "those", "his", "her", "its", "their", "such", "there", "here")
)


class _Column:
    """An array that grows at its end; what it held stays where it was."""

    def __init__(self, dtype: type[np.generic]) -> None:
        self._held: npt.NDArray[Any] = np.zeros(1_024, dtype=dtype)
        self.size = 0

    def append(self, more: Sequence[Any] | npt.NDArray[Any]) -> None:
        size = self.size + len(more)
        if size > len(self._held):
            wider = np.zeros(max(size, 2 * len(self._held)), dtype=self._held.dtype)
            wider[: self.size] = self._held[: self.size]
            self._held = wider
        self._held[self.size : size] = more
        self.size = size

    def of(self, places: npt.NDArray[Any]) -> npt.NDArray[Any]:
        result: npt.NDArray[Any] = self._held[places]
        return result


class _Lists:
    """Lists of numbers, one after the other; none is empty."""

    def __init__(self) -> None:
        self._values, self._firsts, self._counts = _Column(np.int32), _Column(np.int64), _Column(np.int64)

    def append(self, lists: Sequence[Sequence[int]]) -> None:
        counts = list(map(len, lists))
        firsts = self._values.size + np.cumsum([0, *counts])[:-1]
        self._values.append(list(chain.from_iterable(lists)))
        self._firsts.append(firsts)
        self._counts.append(counts)

    def of(self, places: npt.NDArray[Any]) -> tuple[Int32, Int64]:
        """The lists at some places, one after the other; and where each begins."""
        counts = self._counts.of(places)
        ends = np.cumsum(counts)
        starts = ends - counts
        at = np.arange(ends[-1]) + np.repeat(self._firsts.of(places) - starts, counts)
        return self._values.of(at), starts


class Forms:
    """Forms by number, as many as were met. Grows only. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._forms: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._stems: dict[str, int] = {"": NONE}
        self._marks, self._first_words = _Column(np.uint8), _Column(np.int32)
        self._words_of, self._tokens_of = _Lists(), _Lists()
        self._stem_of, self._lengths = _Column(np.int32), _Column(np.float32)
        self.numbers([""])

    def __len__(self) -> int:
        """How many there are."""
        return len(self._forms)

    def numbers(self, written: Sequence[str]) -> list[int]:
        """The number of each form; "" is :data:`NONE`."""
        try:
            return list(map(self._forms.__getitem__, written))
        except KeyError:
            with self._lock:
                self._learn([one for one in dict.fromkeys(written) if one not in self._forms])
            return list(map(self._forms.__getitem__, written))

    def numbers_of_words(self, words: Sequence[str]) -> list[int]:
        """The number of each folded word; "" is :data:`NONE`."""
        with self._lock:
            return self._met(words)

    def stems(self, stems: Iterable[str]) -> list[int]:
        """The number of each stem; -1 for one that no word has."""
        return [self._stems.get(one, -1) for one in stems]

    def marks(self, forms: Int) -> npt.NDArray[np.uint8]:
        """What forms may tell: CAPITAL, DATE, AMOUNT, POINTER."""
        return self._marks.of(forms)

    def words(self, forms: Int) -> tuple[Int32, Int64]:
        """The folded words of forms, one after the other; and where those of each begin."""
        return self._words_of.of(forms)

    def first_words(self, forms: Int32) -> Int32:
        """The first folded word of each form."""
        return self._first_words.of(forms)

    def stems_of(self, words: Int32) -> Int32:
        """The stem of each word."""
        return self._stem_of.of(words)

    def tokens(self, words: Int32) -> tuple[Int32, Int64, npt.NDArray[np.float32]]:
        """The tokens of words, one after the other; where those of each begin; the length of their vectors' sum."""
        tokens, starts = self._tokens_of.of(words)
        return tokens, starts, self._lengths.of(words)

    def _learn(self, fresh: Sequence[str]) -> None:
        words = [words_of(one) or [""] for one in fresh]
        known = dict.fromkeys(chain.from_iterable(words))
        numbers = dict(zip(known, self._met(list(known)), strict=True))
        of_forms = [list(map(numbers.__getitem__, some)) for some in words]
        self._words_of.append(of_forms)
        self._first_words.append([some[0] for some in of_forms])
        self._marks.append(list(map(_marks, fresh)))
        # Told last: who finds a number finds all that goes with it.
        self._forms.update(zip(fresh, range(len(self._forms), len(self._forms) + len(fresh)), strict=True))

    def _met(self, words: Sequence[str]) -> list[int]:
        fresh = [word for word in dict.fromkeys(words) if word not in self._words]
        if fresh:
            stems = list(map(stem, fresh))
            for one in stems:
                self._stems.setdefault(one, len(self._stems))
            tokens = word_vectors().tokens(fresh)
            self._stem_of.append(list(map(self._stems.__getitem__, stems)))
            self._tokens_of.append([ids for ids, _ in tokens])
            self._lengths.append([length for _, length in tokens])
            self._words.update(zip(fresh, range(len(self._words), len(self._words) + len(fresh)), strict=True))
        return list(map(self._words.__getitem__, words))


def forms() -> Forms:
    """Those met so far; begun anew where they are too many."""
    if len(_begun()) > REMEMBERED:
        _begun.cache_clear()
    return _begun()


@lru_cache(maxsize=1)
def _begun() -> Forms:
    return Forms()


def _marks(written: str) -> int:
    lower = written.lower()
    return (
        CAPITAL * written[:1].isupper()
        + DATE * (_DATED.fullmatch(lower) is not None)
        + AMOUNT * (_COUNTED.fullmatch(lower) is not None)
        + POINTER * (lower in _POINTING)
    )
