"""Which words of a text a question has."""

from __future__ import annotations

import re

from monograph.answer.query_terms import telling_words
from monograph.graph.names import stem
from monograph.store.terms import words_of

# A vowel sign of Devanagari, say, is no letter to \w, and is part of its word.
_WORD = re.compile(r"[\w\u0300-\u036f\u0900-\u0dff]+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff]+"
)
_PAIR = 2


class Words:
    """The telling words of a question, in whatever form they stand in a text."""

    def __init__(self, question: str) -> None:
        self._judged: dict[str, bool] = {}
        self._stems = set(map(stem, telling_words(question))) if question.strip() else set()

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where they stand in a text: (start, end) in order, none across another."""
        if not self._stems:
            return []
        found: list[tuple[int, int]] = []
        for word in _WORD.finditer(text):
            if _UNSPACED.search(word.group()):
                found += self._pairs(word.group(), word.start())
            elif self._has(word.group()):
                found.append(word.span())
        return found

    def _has(self, word: str) -> bool:
        if word not in self._judged:
            parts = words_of(word)
            self._judged[word] = bool(parts) and all(stem(one) in self._stems for one in parts)
        return self._judged[word]

    def _pairs(self, run: str, start: int) -> list[tuple[int, int]]:
        """Pairs of characters of writing without blanks; those that touch are one."""
        found: list[tuple[int, int]] = []
        for at in range(max(1, len(run) - 1)):
            pair = run[at : at + _PAIR]
            if not self._has(pair):
                continue
            begin, end = start + at, start + at + len(pair)
            if found and begin <= found[-1][1]:
                found[-1] = (found[-1][0], end)
            else:
                found.append((begin, end))
        return found
