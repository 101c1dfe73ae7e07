"""Language and key phrases of a text in plain Python. The compiled module must return the same."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Collection, Iterator

from monograph.derive.extract.function_words import FUNCTION_WORDS, LOOKED_AT, LOOKED_AT_CHARACTERS
from monograph.derive.extract.pattern import MOST_PHRASES, WORDS_A_PHRASE

_LONGEST_PHRASE = 3
_LANGUAGES_OF = {
    word: tuple(language for language, known in FUNCTION_WORDS.items() if word in known)
    for word in frozenset().union(*FUNCTION_WORDS.values())
}


def language_of(text: str) -> str:
    """See :func:`monograph.derive.extract.function_words.language_of`."""
    words = text[:LOOKED_AT_CHARACTERS].lower().split(None, LOOKED_AT)[:LOOKED_AT]
    counts = dict.fromkeys(FUNCTION_WORDS, 0)
    for languages, count in Counter(map(_LANGUAGES_OF.get, words)).items():
        for language in languages or ():
            counts[language] += count
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] > counts["english"] else "english"


def character_class(characters: Iterator[str]) -> str:
    """Return the inside of a regular expression's [...] for characters in ascending order."""
    runs: list[list[int]] = []
    for code in map(ord, characters):
        if runs and runs[-1][1] == code - 1:
            runs[-1][1] = code
        else:
            runs.append([code, code])
    return "".join(f"{re.escape(chr(a))}-{re.escape(chr(b))}" for a, b in runs)


@functools.cache
def _candidate() -> re.Pattern[str]:
    """Return the pattern of two or more lower-case words, each of four letters or more, joined by a space or hyphen."""
    word = f"[{character_class(chr(code) for code in range(0x10000) if chr(code).islower())}]{{4,}}+"
    return re.compile(rf"(?<![\w-]){word}(?:[ -]{word})+(?!\w)")


def key_phrases(text: str, language: str) -> Iterator[tuple[int, int]]:
    """See :func:`monograph.derive.extract.pattern.key_phrases`."""
    small = FUNCTION_WORDS[language]
    candidates = [span for found in _candidate().finditer(text) for span in _parts(found.group(), found.start(), small)]
    if candidates:
        phrases = [text[start:end] for start, end in candidates]
        often = Counter(phrases)
        worth = _worth(phrases)
        room = min(MOST_PHRASES, max(1, text.count(" ") // WORDS_A_PHRASE))
        best = sorted(often, key=lambda phrase: (-often[phrase], -sum(worth[word] for word in _words(phrase)), phrase))
        chosen = frozenset(best[:room])
        yield from (span for span, phrase in zip(candidates, phrases, strict=True) if phrase in chosen)


def _words(phrase: str) -> list[str]:
    return phrase.replace("-", " ").split(" ")


def _parts(candidate: str, start: int, small: Collection[str]) -> Iterator[tuple[int, int]]:
    """Yield the runs of two or three content words in a candidate that begins at ``start``."""
    run, begin, at = 0, start, start
    for word in _words(candidate):
        if word in small:
            if 2 <= run <= _LONGEST_PHRASE:
                yield begin, at - 1
            run, begin = 0, at + len(word) + 1
        else:
            run += 1
        at += len(word) + 1
    if 2 <= run <= _LONGEST_PHRASE:
        yield begin, at - 1


def _worth(phrases: list[str]) -> dict[str, int]:
    """Return 100 times degree / frequency of each word."""
    degree: dict[str, int] = {}
    frequency: dict[str, int] = {}
    for phrase in phrases:
        words = _words(phrase)
        for word in words:
            degree[word] = degree.get(word, 0) + len(words)
            frequency[word] = frequency.get(word, 0) + 1
    return {word: 100 * degree[word] // frequency[word] for word in degree}
