"""What is known of chunks while a search walks along the graph."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from monograph.graph.evidence import Bools
from monograph.search.question import Question
from monograph.store import graphs, names
from monograph.store.database import Connection
from monograph.store.filters import Allowed


@dataclass(slots=True, eq=False)
class Walk:
    """One search while it goes on.

    ``own`` and ``total`` are probabilities by chunk row; ``led`` the chances by which each chunk was led to, by start,
    and ``through`` the names that led there; ``asked`` the question's name that a chunk's document is about, ``clause``
    a chunk's best score for one clause. Chunks are known by row, and gone through in the order in which they were
    found: that is the same in every file of the same documents, and with it every sum to its last bit. ``place`` is
    that of a chunk in ``has``: (chunks, words of the question), which of them each has. ``entities`` are those that the
    question names, with all their names.
    """

    connection: Connection
    question: Question
    allowed: Allowed
    own: dict[int, float] = field(default_factory=dict)
    total: dict[int, float] = field(default_factory=dict)
    led: dict[int, dict[int, float]] = field(default_factory=dict)
    through: dict[int, dict[int, int]] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)
    clause: dict[int, float] = field(default_factory=dict)
    place: dict[int, int] = field(default_factory=dict)
    has: Bools = field(init=False)
    entities: dict[int, list[names.NameRow]] = field(init=False)

    def __post_init__(self) -> None:
        self.entities = names.members(self.connection, {one.name.head for one in self.question.names})
        self.has = np.zeros((0, len(self.question.words)), dtype=bool)

    def know(self, wanted: Iterable[int]) -> None:
        """Find out which of the question's words chunks have."""
        missing = [chunk for chunk in dict.fromkeys(wanted) if chunk not in self.place]
        self.place.update(zip(missing, range(len(self.place), len(self.place) + len(missing)), strict=True))
        asked = self.question.words
        table = np.zeros((len(self.place), len(asked)), dtype=bool)
        table[: len(self.has)] = self.has
        if len(asked) and missing:
            held, lengths, words = graphs.words(self.connection, missing)
            # Of all words few are asked for, and all others but few are told by their last bits.
            may_be = np.zeros(1 << 16, dtype=bool)
            may_be[asked & 0xFFFF] = True
            some = np.flatnonzero(may_be[words & 0xFFFF])
            at = np.minimum(np.searchsorted(asked, words[some]), len(asked) - 1)
            same = asked[at] == words[some]
            places = np.array([self.place[chunk] for chunk in held], dtype=np.int64)
            table[np.repeat(places, lengths)[some[same]], at[same]] = True
        self.has = table

    def words_of(self, chunks: Iterable[int]) -> Bools:
        """Which of the question's words some chunks that are known have: (n, words)."""
        held: Bools = self.has[[self.place[chunk] for chunk in chunks]]
        return held
