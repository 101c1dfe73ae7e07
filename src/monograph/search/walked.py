"""What is known of chunks while a search walks along the graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from monograph.graph import evidence
from monograph.search.question import Question
from monograph.search.reckoning._reckoning import Reckoning
from monograph.search.snapshot import Snapshot
from monograph.search.start_texts import StartText
from monograph.store.documents.filters import Allowed
from monograph.store.graph.names import NameRow


@dataclass(slots=True, eq=False)
class Walk:
    """One search while it goes on; chunks are told by their rows.

    ``reckoning`` holds what is reckoned of chunks. ``asked`` is the question's name that a chunk's document is about,
    by row. ``entities`` are those that the question names, with all their names; ``names`` and ``texts`` what was
    read of names, the question's among them, and of starts on the way, by row.
    """

    snapshot: Snapshot
    question: Question
    allowed: Allowed
    asked: dict[int, int] = field(default_factory=dict)
    names: dict[int, NameRow] = field(init=False)
    texts: dict[int, StartText] = field(default_factory=dict)
    reckoning: Reckoning = field(init=False)
    entities: dict[int, list[NameRow]] = field(init=False)
    _words: dict[int, Hashable] = field(default_factory=dict)
    _told: dict[int, tuple[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        heads = {one.name.head for one in self.question.names}
        self.entities = self.snapshot.members(heads)
        self.names = {one.name.row: one.name for one in self.question.names}
        models = tuple((one.bias, one.weights) for one in (evidence.FOUND, evidence.DEFINES, evidence.MENTIONS))
        words, weights = self.question.words.tolist(), self.question.weights.tolist()
        self.reckoning = Reckoning(words, weights, list(heads), models, evidence.COVERAGE)

    def know(self, wanted: Sequence[int]) -> None:
        """Find out of which documents chunks are, and which of the question's words they have."""
        self.learn(self.reckoning.unknown(wanted))

    def learn(self, missing: Sequence[int]) -> None:
        """The same of different chunks that are not known."""
        if missing:
            documents, packed, alike = self.snapshot.words_in(missing, self.question.words)
            self._words.update(zip(missing, alike, strict=True))
            self.reckoning.learn(missing, documents, packed)

    def highest(self, most: int | None = None) -> list[int]:
        """The most probable chunks, at most so many; ties by id."""
        best, chances, tied = self.reckoning.highest(most)
        if tied:
            ids = self.snapshot.ids(tied)
            ranked = sorted(zip(best, chances, strict=True), key=lambda one: (-one[1], ids.get(one[0], "")))
            best = [row for row, _ in ranked]
        return best[:most]

    def told_apart(self, best: list[int]) -> tuple[list[int], list[int]]:
        """(the first chunk of each title and text, those that say the same again), each in order."""
        # What says the same has the same words: of nearly all chunks nothing more has to be read.
        alike = Counter(map(self._words.__getitem__, best))
        missing = [chunk for chunk in best if alike[self._words[chunk]] > 1 and chunk not in self._told]
        told = self.snapshot.titled_extractions(missing) if missing else {}
        self._told.update((chunk, told.get(chunk, (-chunk, ""))) for chunk in missing)
        first: dict[tuple[int, str], int] = {}
        for chunk in best:
            first.setdefault(self._told.get(chunk, (-chunk, "")), chunk)
        kept = set(first.values())
        return [chunk for chunk in best if chunk in kept], [chunk for chunk in best if chunk not in kept]
