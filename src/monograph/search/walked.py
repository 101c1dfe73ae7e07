"""What is known of chunks while a search walks along the graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from monograph.graph.evidence import Bools, Float64
from monograph.search.grown import grown
from monograph.search.links import Int64, Links
from monograph.search.question import Question
from monograph.search.ranking import highest
from monograph.search.snapshot import NO_DOCUMENT, Snapshot
from monograph.search.start_texts import StartText
from monograph.search.words_held import words_held
from monograph.store.filters import Allowed
from monograph.store.names import NameRow


@dataclass(slots=True, eq=False)
class Walk:
    """One search while it goes on.

    Chunks are told by their places, in the order in which they became known: ``rows`` has the row of each, ``place``
    the place of each row. By place are ``own`` and ``total``, probabilities of chunks that were found by themselves or
    at all, which ``found`` tells; ``clause``, a chunk's best score for one clause; ``documents``; and ``has`` (chunks,
    words of the question), which of them each has. ``asked`` is the question's name that a chunk's document is about,
    by row. ``entities`` are those that the question names, with all their names; ``names`` and ``texts`` what was
    read of names and of starts on the way, by row; ``alone`` are entities that lead nowhere.
    """

    snapshot: Snapshot
    question: Question
    allowed: Allowed
    rows: list[int] = field(default_factory=list)
    place: dict[int, int] = field(default_factory=dict)
    own: Float64 = field(default_factory=lambda: np.empty(0))
    total: Float64 = field(default_factory=lambda: np.empty(0))
    found: Bools = field(default_factory=lambda: np.empty(0, dtype=bool))
    clause: Float64 = field(default_factory=lambda: np.empty(0))
    documents: Int64 = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    links: Links = field(default_factory=Links)
    asked: dict[int, int] = field(default_factory=dict)
    names: dict[int, NameRow] = field(default_factory=dict)
    texts: dict[int, StartText] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)
    has: Bools = field(init=False)
    entities: dict[int, list[NameRow]] = field(init=False)
    _told: dict[int, tuple[int, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.entities = self.snapshot.members({one.name.head for one in self.question.names})
        self.has = np.zeros((0, len(self.question.words)), dtype=bool)

    def know(self, wanted: Iterable[int]) -> None:
        """Find out of which documents chunks are, and which of the question's words they have."""
        missing = [chunk for chunk in dict.fromkeys(wanted) if chunk not in self.place]
        if not missing:
            return
        self.place.update(zip(missing, range(len(self.rows), len(self.rows) + len(missing)), strict=True))
        self.rows += missing
        count = (len(self.rows),)
        self.own, self.total, self.clause = (grown(one, count) for one in (self.own, self.total, self.clause))
        self.found, self.documents = grown(self.found, count), grown(self.documents, count)
        self.has = grown(self.has, (len(self.rows), len(self.question.words)))
        first = count[0] - len(missing)
        documents, held = self.snapshot.words_in(missing)
        self.documents[first:] = np.maximum(documents, 0)
        self.has[first:] = words_held(self.question, held) & (documents != NO_DOCUMENT)[:, None]

    def add_up(self) -> None:
        """Make the chances of chunks anew, after links were added."""
        self.total = self.links.combined(self.own)
        self.found |= self.links.reached()

    def places(self, chunks: Iterable[int]) -> Int64:
        """The places of chunks that are known, by row."""
        return np.array(list(map(self.place.__getitem__, chunks)), dtype=np.int64)

    def words_of(self, chunks: Iterable[int]) -> Bools:
        """Which of the question's words some chunks that are known have: (n, words)."""
        held: Bools = self.has[self.places(chunks)]
        return held

    def own_chance(self, chunk: int) -> float:
        """Of a chunk by itself, by row; 0 for one that is not known."""
        place = self.place.get(chunk)
        return 0.0 if place is None else float(self.own[place])

    def chance(self, chunk: int) -> float:
        """Of a chunk, by row; 0 for one that was not found."""
        place = self.place.get(chunk)
        return 0.0 if place is None else float(self.total[place])

    def chances(self) -> dict[int, float]:
        """Probabilities of all that was found, by row."""
        found = np.flatnonzero(self.found)
        return dict(zip([self.rows[place] for place in found.tolist()], self.total[found].tolist(), strict=True))

    def highest(self, most: int | None = None) -> list[int]:
        """The most probable chunks, by row, at most so many; ties by id."""
        found = np.flatnonzero(self.found)
        if most is not None and 0 < most < len(found):
            chances = self.total[found]
            # All that tie with the last may be it.
            found = found[chances >= np.partition(chances, -most)[-most]]
        values = self.total[found].tolist()
        return highest(self.snapshot, dict(zip([self.rows[at] for at in found.tolist()], values, strict=True)), most)

    def told_apart(self, best: list[int]) -> tuple[list[int], list[int]]:
        """(the first chunk of each title and text, those that say the same again), each in order."""
        missing = [chunk for chunk in best if chunk not in self._told]
        told = self.snapshot.titled_extractions(missing) if missing else {}
        self._told.update((chunk, told.get(chunk, (-chunk, ""))) for chunk in missing)
        first: dict[tuple[int, str], int] = {}
        for chunk in best:
            first.setdefault(self._told[chunk], chunk)
        kept = set(first.values())
        return [chunk for chunk in best if chunk in kept], [chunk for chunk in best if chunk not in kept]
