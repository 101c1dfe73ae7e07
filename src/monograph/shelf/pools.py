"""Candidates of a search: each shard sends only its best, which are merged; and where names lead, merged likewise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from monograph.graph.evidence import Bools, Float64, Int64
from monograph.graph.text import Words
from monograph.search.reader import NO_DOCUMENT, Nearest, Pooling
from monograph.store.documents.filters import Allowed
from monograph.store.graph.graphs import WORDS, Records, SubjectChunk
from monograph.values import Effort, Float32

FULL = np.dtype(
    [("row", "<i8"), ("document", "<i8"), ("first", "<u8"), ("words", "<u8"), ("alike", "<u8"), ("vector", "?")]
)
"""Record of a chunk for a search along the graph.

Its row and document, the first 8 bytes of its id, a bit for each of the question's words (at most 64) that it has, a
hash of all its words, and whether it has a vector.
"""

SHORT = np.dtype([("row", "<i8"), ("first", "<u8")])
"""Record of a chunk for other searches."""

FIRST = 8
"""Bytes of an id that are sent: these order nearly all chunks."""

NO_WORDS: Words = np.empty(0, dtype=np.uint32)

Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint64]]"


@dataclass(frozen=True, slots=True)
class Rows:
    """Row numbers over ``shards`` shards: row * shards + shard."""

    shards: int

    def whole(self, shard: int, row: int) -> int:
        """Return the number over all shards of a shard's row."""
        return row * self.shards + shard

    def all_of(self, shard: int, rows: Iterable[int]) -> list[int]:
        """Return the numbers over all shards of a shard's rows."""
        return [row * self.shards + shard for row in rows]

    def split(self, rows: Iterable[int]) -> dict[int, list[int]]:
        """Return each shard's own rows among rows over all shards, by shard, in order."""
        found: dict[int, list[int]] = {}
        for row in rows:
            local, shard = divmod(row, self.shards)
            found.setdefault(shard, []).append(local)
        return found


class ChunkFacts(NamedTuple):
    """Facts about some chunks of a shard, as it sends them.

    ``records`` are bytes of FULL or SHORT, ``cosines`` bytes of float32: those of each chunk to the question's clauses.
    Tuples and bytes are unpickled many times faster than dataclasses and arrays.
    """

    records: bytes = b""
    cosines: bytes = b""


def first_bytes(ids: Iterable[str]) -> Numbers:
    """Return the first bytes of ids as numbers in the same order; different ids may have the same number."""
    # UTF-8 sorts as the texts do.
    return np.array([one.encode()[:FIRST] for one in ids], dtype=f"S{FIRST}").view(">u8").astype(np.uint64)


def records_of(
    rows: Sequence[int], ids: Sequence[str], words: tuple[Int64, Sequence[bytes]] | None = None, asked: Words = NO_WORDS
) -> Records:
    """Return records of chunks of one shard: FULL, with ``vector`` unset, or SHORT without words.

    ``words`` are (documents (n,), packed hashes of all words) of each chunk; ``asked`` are the question's words.
    """
    made = np.zeros(len(rows), dtype=SHORT if words is None else FULL)
    made["row"] = rows
    made["first"] = first_bytes(ids)
    if words is not None:
        made["document"], packed = words
        held = np.packbits(words_held(asked, packed), axis=1, bitorder="little")
        bits = np.zeros((len(rows), 8), dtype=np.uint8)
        bits[:, : held.shape[1]] = held
        made["words"] = bits.view("<u8")[:, 0]
        made["alike"] = [int.from_bytes(blake2b(some, digest_size=8).digest(), "little") for some in packed]
    return made


def words_held(asked: Words, packed: Sequence[bytes]) -> Bools:
    """Return which of the question's words chunks have, (chunks, words); ``packed`` are their own words, ascending."""
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


class KnownChunks:
    """Facts about chunks that one search was sent, by row over all shards.

    Parameters
    ----------
    rows:
        Row numbers over all shards.
    asked:
        The question's words; None if shards send SHORT records.
    clauses:
        Vectors of the question's clauses (n, dimension), for which shards send cosines.
    """

    def __init__(self, rows: Rows, asked: Words | None = None, clauses: Float32 | None = None) -> None:
        self.asked = asked
        self.clauses = clauses
        self._rows = rows
        self._new: list[tuple[int, bytes]] = []
        self._near: list[tuple[int, ChunkFacts]] = []
        self._held: Records = np.empty(0, dtype=FULL)
        self._packed: dict[int, bytes] = {}

    def learn(self, shard: int, facts: ChunkFacts) -> None:
        """Store what a shard sent."""
        self._new.append((shard, facts.records))
        if facts.cosines:
            self._near.append((shard, facts))

    def records(self, rows: Sequence[int]) -> tuple[Records, Bools]:
        """Return (records (n,) of chunks, which of them are known (n,)); records of the others mean nothing."""
        held, wanted = self._every(), np.array(rows, dtype=np.int64)
        if not len(held):
            return np.zeros(len(wanted), dtype=FULL), np.zeros(len(wanted), dtype=bool)
        found = held[np.minimum(np.searchsorted(held["row"], wanted), len(held) - 1)]
        return found, found["row"] == wanted

    def first_bytes(self, rows: Sequence[int]) -> list[str] | None:
        """Return the first bytes of the ids of chunks, as texts in the same order; None if one is not known."""
        found, known = self.records(rows)
        if not known.all():
            return None
        every, width = found["first"].astype(">u8").tobytes().hex(), 2 * FIRST
        return [every[at : at + width] for at in range(0, len(every), width)]

    def cosines(self, rows: Sequence[int]) -> tuple[Int64, Float32] | None:
        """Return (rows of the chunks that have a vector, cosines (clauses, rows)); None if one is not known."""
        if not self._near:
            return None
        held = self._whole([(shard, one.records) for shard, one in self._near])
        cosines = np.frombuffer(b"".join(one.cosines for _, one in self._near), dtype=np.float32)
        wanted, order = np.array(rows, dtype=np.int64), np.argsort(held["row"], kind="stable")
        at = order[np.minimum(np.searchsorted(held["row"], wanted, sorter=order), len(held) - 1)]
        if not np.array_equal(held["row"][at], wanted):
            return None
        at = at[held["vector"][at]]
        return held["row"][at], np.ascontiguousarray(cosines.reshape(len(held), -1)[at].T)

    def packed(self, records: Records) -> list[bytes]:
        """Return the hashes of the question's words that each chunk has, ascending, as bytes."""
        made, bits = self._packed, records["words"].tolist()
        if missing := set(bits).difference(made):
            asked = np.empty(0, dtype=WORDS) if self.asked is None else self.asked.astype(WORDS)
            places = range(len(asked))
            made.update((one, asked[[place for place in places if one >> place & 1]].tobytes()) for one in missing)
        return list(map(made.__getitem__, bits))

    def _every(self) -> Records:
        """Return all records, ordered by row, each once."""
        if self._new:
            new, count = self._whole(self._new), len(self._held)
            every = np.empty(count + len(new), dtype=FULL)
            every[:count], every[count:] = self._held, new
            every = every[np.argsort(every["row"], kind="stable")]
            other = np.ones(len(every), dtype=bool)
            other[1:] = every["row"][1:] != every["row"][:-1]
            self._held, self._new = every[other], []
        return self._held

    def _whole(self, parts: Sequence[tuple[int, bytes]]) -> Records:
        """Return records of shards with rows over all shards."""
        kind = SHORT if self.asked is None else FULL
        sent = np.frombuffer(b"".join(some for _, some in parts), dtype=kind)
        shards = np.repeat([shard for shard, _ in parts], [len(some) // kind.itemsize for _, some in parts])
        made: Records = np.zeros(len(sent), dtype=FULL)
        made[list(kind.names or ())] = sent
        made["row"] = made["row"] * self._rows.shards + shards
        there = made["document"] != NO_DOCUMENT
        made["document"] = np.where(there, made["document"] * self._rows.shards + shards, NO_DOCUMENT)
        return made


SCORED = np.dtype([("row", "<i8"), ("score", "<f8")])

MENTIONED = np.dtype([("name", "<u4"), ("row", "<i8")])
"""A chunk that has a name, which is its place among the names asked for."""

SPREAD = 4.0
"""Standard deviations above its expected share of the best that a shard sends, as if documents were dealt by chance."""

MORE = 4
"""Chunks that it sends besides."""

Subject: TypeAlias = tuple[int, str, str, int, int, str, int]
"""(ordinal, chunk id, key, chunk, by title, qualifier, document); the chunk is 0 if none of the document is allowed."""


class Best(NamedTuple):
    """The best chunks of a shard, as bytes of SCORED; ``is_whole`` if it has no others to ask for."""

    scored: bytes
    is_whole: bool
    effort: Effort | None = None

    @property
    def records(self) -> Records:
        """The chunks as records of SCORED."""
        return np.frombuffer(self.scored, dtype=SCORED)


class Pools(NamedTuple):
    """The lexical and dense candidates of a shard, documents about the question's names, and facts about all chunks.

    ``naming`` are (key, row) of those chunks that have any of these names.
    """

    best: Best
    near: Best | None
    subjects: Sequence[Subject]
    naming: Sequence[tuple[str, int]]
    facts: ChunkFacts


class NameLinks(NamedTuple):
    """Chunks that some names link to in a shard, and facts about them; ``mentions`` are bytes of MENTIONED."""

    subjects: Sequence[Subject]
    mentions: bytes
    facts: ChunkFacts


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """Pools of all shards, with rows over all shards.

    ``names`` are the question's names, by row; ``rows`` are the chunks that may have them.
    """

    allowed: Allowed
    best: list[tuple[int, float]]
    near: Nearest | None
    subjects: list[SubjectChunk]
    naming: Sequence[tuple[int, int]]
    names: Mapping[int, str]
    rows: frozenset[int]


def share(k: int, shards: int) -> int:
    """Return how many chunks each shard sends first for the k best of all; a shard that sent too few is asked again."""
    if shards == 1:
        return k
    mean = k / shards
    return min(k, math.ceil(mean + SPREAD * math.sqrt(mean)) + MORE)


def cut(scored: Sequence[tuple[int, float]], most: int, k: int, effort: Effort | None = None) -> Best:
    """Return the ``most`` best of a shard's k best chunks, and all that tie with the last.

    Fewer than k in ``scored`` may mean that the shard searched for ``most`` only.
    """
    made = np.array(scored, dtype=SCORED)
    if most >= k or len(made) < most:
        return Best(made.tobytes(), True, effort)
    least = np.partition(made["score"], len(made) - most)[len(made) - most]
    return Best(made[made["score"] >= least].tobytes(), False, effort)


def merged(parts: Iterable[Sequence[tuple[int, float]]], k: int, rows: Rows) -> list[tuple[int, float]]:
    """Return (row, score) of the k best of all shards and all that tie with the last, highest first."""
    return _best([np.array(one, dtype=SCORED).tobytes() for one in parts], k, rows)


def too_few(found: Mapping[int, Pools], k: int, rows: Rows) -> list[int]:
    """Return the shards that may have more of the k best of all."""
    best = _short({shard: one.best for shard, one in found.items()}, k)
    near = _short({shard: one.near for shard, one in found.items() if one.near is not None}, k)
    return sorted(best | near)


def merged_pools(found: Mapping[int, Pools], asked: Pooling, rows: Rows, names: Mapping[str, int]) -> Merged:
    """Merge the pools of all shards, given in order; ``names`` are the question's, by key."""
    k = asked.k
    near = [one.near for one in found.values() if one.near is not None]
    efforts = [one.effort for one in near if one.effort is not None]
    return Merged(
        asked.allowed,
        _best([one.best.scored for one in found.values()], k, rows),
        Nearest(_best([one.scored for one in near], k, rows), effort_of(efforts)) if near else None,
        subject_chunks([(shard, some) for shard, one in found.items() for some in one.subjects], names, rows),
        [(names[key], rows.whole(shard, row)) for shard, one in found.items() for key, row in one.naming],
        {row: key for key, row in names.items()},
        _rows(found, rows) if names else frozenset(),
    )


def mentions_of(rows: Mapping[str, Sequence[int]], keys: Sequence[str]) -> bytes:
    """Return chunks by the keys of names in them as bytes of MENTIONED; ``keys`` are those asked for."""
    some = [(place, rows[key]) for place, key in enumerate(keys) if key in rows]
    made = np.empty(sum(len(one) for _, one in some), dtype=MENTIONED)
    made["name"] = np.repeat([place for place, _ in some], [len(one) for _, one in some])
    made["row"] = [row for _, one in some for row in one]
    return made.tobytes()


def mentioned(parts: Sequence[bytes], names: Sequence[int], rows: Rows) -> dict[int, list[int]]:
    """Return the chunks that have each of some names, ascending; ``parts`` are bytes of MENTIONED of each shard."""
    every = np.frombuffer(b"".join(parts), dtype=MENTIONED)
    shards = np.repeat(np.arange(len(parts)), [len(part) // MENTIONED.itemsize for part in parts])
    row = every["row"] * rows.shards + shards
    order = np.lexsort((row, every["name"]))
    places, first = np.unique(every["name"][order], return_index=True)
    found = row[order].tolist()
    between = pairwise([*first.tolist(), len(found)])
    return {names[place]: found[begin:end] for place, (begin, end) in zip(places.tolist(), between, strict=True)}


def subject_chunks(found: Sequence[tuple[int, Subject]], names: Mapping[str, int], rows: Rows) -> list[SubjectChunk]:
    """Merge (shard, subject) pairs of :func:`monograph.store.graph.graphs.subject_chunks`; ``names`` by key."""
    documents = {(key, by_title, shard, document) for shard, (_, _, key, _, by_title, _, document) in found}
    counts = Counter((key, by_title) for key, by_title, *_ in documents)
    return [
        SubjectChunk(names[key], rows.whole(shard, row), bool(by_title), qualifier, counts[key, by_title])
        for (_, _, key, row, by_title, qualifier, _), shard in sorted((one, shard) for shard, one in found)
        if row
    ]


def effort_of(some: Sequence[Effort]) -> Effort | None:
    """Return the effort of several shards' searches together; None without any."""
    if not some:
        return None
    stopped = max((one.stopped for one in some), key=_SUREST.index)
    return Effort(sum(one.loads for one in some), sum(one.compared for one in some), stopped)


_SUREST = ("exact", "all", "enough", "short")
"""Reasons why searches stop, the surest first."""


def _rows(found: Mapping[int, Pools], rows: Rows) -> frozenset[int]:
    """Return the chunks of the pools of a search along the graph."""
    each = [np.frombuffer(one.facts.records, dtype=FULL)["row"] * rows.shards + shard for shard, one in found.items()]
    return frozenset(np.concatenate(each).tolist())


def _best(parts: Sequence[bytes], k: int, rows: Rows) -> list[tuple[int, float]]:
    """Return the k best of all shards, given in order, and all that tie with the last, highest first."""
    every = np.frombuffer(b"".join(parts), dtype=SCORED)
    shards = np.repeat(np.arange(len(parts)), [len(part) // SCORED.itemsize for part in parts])
    row, score = every["row"] * rows.shards + shards, every["score"]
    if k > 0:
        kept = score >= _least(score, k)
        row, score = row[kept], score[kept]
    order = np.lexsort((row, -score))
    return list(zip(row[order].tolist(), score[order].tolist(), strict=True))


def _short(parts: Mapping[int, Best], k: int) -> set[int]:
    """Return the shards of which even the last chunk sent is better than the k-th of all."""
    scores = {shard: one.records["score"] for shard, one in parts.items()}
    least = _least(np.concatenate(list(scores.values())), k) if scores else 0.0
    return {shard for shard, some in scores.items() if not parts[shard].is_whole and some.min() > least}


def _least(scores: Float64, k: int) -> float:
    """Return the k-th highest score; minus infinity if there are fewer."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if 0 < k <= len(scores) else -math.inf
