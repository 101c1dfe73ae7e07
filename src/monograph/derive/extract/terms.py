"""Key phrases: two or three words in lower case that belong together, as RAKE finds them; in Chinese, short runs.

RAKE: Rose et al., Automatic keyword extraction from individual documents, 2010. Function words and punctuation part
candidates; a word's worth is how many words it stands beside, over how often it stands at all.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator

from monograph.derive.extract.function_words import FUNCTION_WORDS

WORDS_A_PHRASE = 40
"""One key phrase is kept for this many words of a text."""

MOST_PHRASES = 64
_CANDIDATE = re.compile(r"[^\W\d_]{2,}(?:[ -][^\W\d_]{2,}){1,12}")
_SHORTEST_WORD = 4
_LONGEST_PHRASE = 3
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]{2,}")
_HAN_PARTICLES = re.compile("[的了是在和与或及对于把被从到向为以并也都就不有这那其之所等中上下个们我你他她它吗呢吧啊]")
_LONGEST_HAN = 8


def key_phrases(text: str, language: str) -> Iterator[tuple[int, int]]:
    """Spans of the phrases that tell most about a text of a language, in order; few, and none with a capital."""
    small = FUNCTION_WORDS[language]
    candidates = [span for found in _CANDIDATE.finditer(text) for span in _parts(text, *found.span(), small)]
    if candidates:
        worth = _worth(text, candidates)
        often = Counter(text[start:end] for start, end in candidates)
        room = min(MOST_PHRASES, max(1, text.count(" ") // WORDS_A_PHRASE))
        best = sorted(often, key=lambda phrase: (-often[phrase], -sum(worth[word] for word in _words(phrase)), phrase))[
            :room
        ]
        chosen = set(best)
        yield from (span for span in candidates if text[slice(*span)] in chosen)
    yield from _han_runs(text)


def _words(phrase: str) -> list[str]:
    return phrase.replace("-", " ").split()


def _parts(text: str, start: int, end: int, small: Collection[str]) -> Iterator[tuple[int, int]]:
    """Runs of two or three content words within a candidate."""
    run: list[tuple[int, int]] = []
    for found in re.finditer(r"[^\s-]+", text[start:end]):
        word = found.group()
        if word.islower() and len(word) >= _SHORTEST_WORD and word not in small:
            run.append((start + found.start(), start + found.end()))
            continue
        if 2 <= len(run) <= _LONGEST_PHRASE:
            yield run[0][0], run[-1][1]
        run = []
    if 2 <= len(run) <= _LONGEST_PHRASE:
        yield run[0][0], run[-1][1]


def _worth(text: str, candidates: list[tuple[int, int]]) -> Counter[str]:
    """Degree over frequency of every word, in hundredths."""
    degree: Counter[str] = Counter()
    frequency: Counter[str] = Counter()
    for start, end in candidates:
        words = _words(text[start:end])
        for word in words:
            degree[word] += len(words)
            frequency[word] += 1
    return Counter({word: 100 * degree[word] // frequency[word] for word in degree})


def _han_runs(text: str) -> Iterator[tuple[int, int]]:
    """Runs of two to eight Chinese characters between particles that stand in a text more than once."""
    if _HAN.search(text) is None:
        return
    runs: list[tuple[int, int]] = []
    for found in _HAN.finditer(text):
        at = found.start()
        for mark in (*_HAN_PARTICLES.finditer(text, *found.span()), None):
            stop = found.end() if mark is None else mark.start()
            if 2 <= stop - at <= _LONGEST_HAN:
                runs.append((at, stop))
            at = stop + 1
    often = Counter(text[start:end] for start, end in runs)
    short = {run for run in often if len(run) <= 4 and sum(run in other for other in often) > 1}
    yield from ((start, end) for start, end in runs if often[text[start:end]] > 1 or text[start:end] in short)
