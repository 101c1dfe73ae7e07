"""What a search begins with, asked at once: what shards hold, how often words stand in all, and where codes do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from monograph.search import words as word_for_word
from monograph.search.frequencies import most
from monograph.search.snapshot import Opening
from monograph.shelf.gather.asking import Asking
from monograph.shelf.gather.remembered import Memory
from monograph.shelf.shard.shard import Asked, Facts
from monograph.store import terms
from monograph.store.filters import Allowed


@dataclass(slots=True, eq=False)
class Opened:
    """What one search has asked of all shards for its words.

    Parameters
    ----------
    shards:
        What is asked.
    memory:
        What was read of this version before.
    """

    shards: Asking
    memory: Memory
    _coming: Opening | None = field(default=None, init=False)
    _held: dict[tuple[str, Allowed], list[tuple[int, float]]] = field(default_factory=dict, init=False)

    def expect(self, coming: Opening) -> None:
        """Hear what is about to be asked: it goes along with what is asked first."""
        self._coming = coming

    def facts(self) -> Sequence[Facts]:
        """What stays the same of each shard while the version does."""
        if not self.memory.facts:
            self._ask((), (), ())
        return self.memory.facts

    def total(self) -> int:
        """How many chunks there are."""
        return sum(one.chunks for one in self.facts())

    def counted(self, words: Collection[str], few: Collection[str] = ()) -> Mapping[str, int]:
        """In how many chunks words stand; ``few`` are counted until they are common."""
        known, common = self.memory.counted, self.memory.common
        if any(word not in known for word in words) or any(word not in known and word not in common for word in few):
            self._ask(words, few, ())
        above = self.above()
        return {word: known[word] for word in words} | {word: min(above, known.get(word, above)) for word in few}

    def above(self) -> int:
        """So many chunks have a word that is common."""
        return int(most(self.total())) + 1

    def having(self, words: Collection[str]) -> dict[str, int]:
        """In how many chunks words are found: half pairs in all pairs that begin with them, others where they stand."""
        halves = [word for word in words if terms.is_half(word)]
        if any(word not in self.memory.having for word in halves):
            self._ask((), (), halves)
        return dict(self.counted(words)) | {word: number for word in halves if (number := self.memory.having[word])}

    def holding(self, text: str, allowed: Allowed) -> list[tuple[int, float]]:
        """See :meth:`monograph.search.snapshot.Snapshot.holding`."""
        if (text, allowed) not in self._held:
            self._held[text, allowed] = self._first(self.shards.all("holding", text, allowed))
        return self._held[text, allowed]

    def _ask(self, words: Collection[str], few: Collection[str], halves: Collection[str]) -> None:
        """Ask for all that is not known of this, and of what is about to be asked."""
        coming, self._coming = self._coming, None
        texts: list[str] = []
        if coming is not None:
            whole, small = parts(*coming.counted(coming.text))
            words, few, halves = {*words, *whole}, {*few, *small}, {*halves, *filter(terms.is_half, whole)}
            texts = list(dict.fromkeys([*word_for_word.codes(coming.text), *word_for_word.phrases(coming.text)]))
        memory = self.memory
        missing = [word for word in words if word not in memory.counted]
        little = [word for word in few if word not in memory.counted and word not in memory.common.union(words)]
        unknown = [word for word in halves if word not in memory.having]
        new = not memory.facts  # Another thread may learn of them meanwhile.
        if new:
            # How far to count hangs on them: all are counted to the last chunk.
            missing, little = missing + little, []
        asked: list[Asked] = [("facts", ())] if new else []
        if missing or little:
            asked.append(("count", (missing, little, 0 if new else self.above())))
        if unknown:
            asked.append(("having", (unknown,)))
        asked += [("holding", (text, coming.allowed)) for text in texts if coming is not None]
        answers = iter(self.shards.each(asked) if asked else ())
        if new:
            memory.facts = next(answers)
        if missing or little:
            found, above = summed(next(answers)), self.above()
            memory.counted.update((word, found.get(word, 0)) for word in missing)
            memory.counted.update((word, found.get(word, 0)) for word in little if found.get(word, 0) < above)
            memory.common.update(word for word in little if found.get(word, 0) >= above)
        if unknown:
            found = summed(next(answers))
            memory.having.update((word, found.get(word, 0)) for word in unknown)
        if coming is not None:
            self._held.update(((text, coming.allowed), self._first(next(answers))) for text in texts)

    def _first(self, answers: Sequence[Mapping[int, tuple[str, float]]]) -> list[tuple[int, float]]:
        """Of chunks with their ids and worth those whose ids come first."""
        rows = self.shards.rows
        found = {rows.whole(shard, row): one for shard, some in enumerate(answers) for row, one in some.items()}
        self.memory.ids.update((row, name) for row, (name, _) in found.items())
        first = sorted(found, key=lambda row: found[row][0])[: word_for_word.CANDIDATES]
        return [(row, found[row][1]) for row in sorted(first)]


def parts(words: Collection[str], small: Collection[str]) -> tuple[set[str], set[str]]:
    """(words to be counted to the last chunk, those to be counted until they are common)."""
    few = {word for word in small if word not in words and word.isascii()}
    return {*words, *small} - few, few


def summed(answers: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """What shards count of words, together."""
    found: Counter[str] = Counter()
    for one in answers:
        found.update(one)
    return dict(found)
