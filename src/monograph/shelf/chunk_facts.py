"""What shards send about chunks with each answer, kept until a search asks for it; and row numbers over all shards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np

from monograph.graph.evidence import Bools, Int64
from monograph.graph.text import Words
from monograph.search.snapshot import NO_DOCUMENT
from monograph.store.graphs import WORDS, Records
from monograph.values import Float32

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
