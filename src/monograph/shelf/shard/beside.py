"""What is known of chunks that others lead to: it goes along with these, and is held until it is asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple, TypeAlias

import numpy as np

from monograph.graph.evidence import Bools, Int64
from monograph.graph.text import Words
from monograph.search.reckoning.words_held import words_held
from monograph.search.snapshot import NO_DOCUMENT
from monograph.shelf.gather.rows import Rows
from monograph.store.graphs import WORDS, Records
from monograph.values import Float32

BESIDE = np.dtype(
    [("row", "<i8"), ("document", "<i8"), ("first", "<u8"), ("words", "<u8"), ("alike", "<u8"), ("vector", "?")]
)
"""What is told of a chunk: its row and its document, the beginning of its id, which of the question's words it has (of
which there are at most 64), a hash of all its words, and whether it has a vector."""

FIRSTS = np.dtype([("row", "<i8"), ("first", "<u8")])
"""What is told of a chunk where nobody walks on from it."""

FIRST = 8
"""Bytes of an id: so many put nearly all chunks in order."""

NO_WORDS: Words = np.empty(0, dtype=np.uint32)

Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.uint64]]"


class Beside(NamedTuple):
    """``records`` are bytes of BESIDE or FIRSTS, ``cosines`` bytes of float32, those of each chunk to some clauses.

    It travels: tuples and bytes are unpickled many times faster than dataclasses and arrays.
    """

    records: bytes = b""
    cosines: bytes = b""


def firsts(ids: Iterable[str]) -> Numbers:
    """What ids begin with, as numbers that stand in their order; those of different ids may be the same."""
    # Of two texts the one that comes first comes first as UTF-8 too.
    return np.array([one.encode()[:FIRST] for one in ids], dtype=f"S{FIRST}").view(">u8").astype(np.uint64)


def told(
    rows: Sequence[int], ids: Sequence[str], words: tuple[Int64, Sequence[bytes]] | None = None, asked: Words = NO_WORDS
) -> Records:
    """Records of chunks of one shard: BESIDE, where of vectors nothing is told, or without words FIRSTS.

    ``words`` are (documents (n,), hashes of all words, packed) of each; ``asked`` those of the question.
    """
    made = np.zeros(len(rows), dtype=FIRSTS if words is None else BESIDE)
    made["row"] = rows
    made["first"] = firsts(ids)
    if words is not None:
        made["document"], packed = words
        held = np.packbits(words_held(asked, packed), axis=1, bitorder="little")
        bits = np.zeros((len(rows), 8), dtype=np.uint8)
        bits[:, : held.shape[1]] = held
        made["words"] = bits.view("<u8")[:, 0]
        made["alike"] = [int.from_bytes(blake2b(some, digest_size=8).digest(), "little") for some in packed]
    return made


class Known:
    """What one search was told of chunks, by row over all shards.

    Parameters
    ----------
    rows:
        Over all shards.
    asked:
        The question's words; None where nothing is told of words.
    clauses:
        To which there are cosines, (clauses, dimension).
    """

    def __init__(self, rows: Rows, asked: Words | None = None, clauses: Float32 | None = None) -> None:
        self.asked = asked
        self.clauses = clauses
        self._rows = rows
        self._new: list[tuple[int, bytes]] = []
        self._near: list[tuple[int, Beside]] = []
        self._held: Records = np.empty(0, dtype=BESIDE)
        self._packed: dict[int, bytes] = {}

    def learn(self, shard: int, beside: Beside) -> None:
        """Take in what a shard told."""
        self._new.append((shard, beside.records))
        if beside.cosines:
            self._near.append((shard, beside))

    def records(self, rows: Sequence[int]) -> tuple[Records, Bools]:
        """(records (n,) of chunks, which of them are known (n,)); those of others mean nothing."""
        held, wanted = self._every(), np.array(rows, dtype=np.int64)
        if not len(held):
            return np.zeros(len(wanted), dtype=BESIDE), np.zeros(len(wanted), dtype=bool)
        found = held[np.minimum(np.searchsorted(held["row"], wanted), len(held) - 1)]
        return found, found["row"] == wanted

    def firsts(self, rows: Sequence[int]) -> list[str] | None:
        """What ids of chunks begin with, as texts that stand in their order; None if one was not told."""
        found, known = self.records(rows)
        if not known.all():
            return None
        told, width = found["first"].astype(">u8").tobytes().hex(), 2 * FIRST
        return [told[at : at + width] for at in range(0, len(told), width)]

    def cosines(self, rows: Sequence[int]) -> tuple[Int64, Float32] | None:
        """(rows of those of some chunks that have a vector, cosines (clauses, rows)); None if one was not told."""
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
        """Hashes of those of the question's words that chunks have, ascending, as bytes."""
        made, bits = self._packed, records["words"].tolist()
        if missing := set(bits).difference(made):
            asked = np.empty(0, dtype=WORDS) if self.asked is None else self.asked.astype(WORDS)
            places = range(len(asked))
            made.update((one, asked[[place for place in places if one >> place & 1]].tobytes()) for one in missing)
        return list(map(made.__getitem__, bits))

    def _every(self) -> Records:
        """All records, by row, each once."""
        if self._new:
            new, count = self._whole(self._new), len(self._held)
            every = np.empty(count + len(new), dtype=BESIDE)
            every[:count], every[count:] = self._held, new
            every = every[np.argsort(every["row"], kind="stable")]
            other = np.ones(len(every), dtype=bool)
            other[1:] = every["row"][1:] != every["row"][:-1]
            self._held, self._new = every[other], []
        return self._held

    def _whole(self, parts: Sequence[tuple[int, bytes]]) -> Records:
        """Records of shards, rows over all."""
        kind = FIRSTS if self.asked is None else BESIDE
        told = np.frombuffer(b"".join(some for _, some in parts), dtype=kind)
        shards = np.repeat([shard for shard, _ in parts], [len(some) // kind.itemsize for _, some in parts])
        made: Records = np.zeros(len(told), dtype=BESIDE)
        made[list(kind.names or ())] = told
        made["row"] = made["row"] * self._rows.shards + shards
        there = made["document"] != NO_DOCUMENT
        made["document"] = np.where(there, made["document"] * self._rows.shards + shards, NO_DOCUMENT)
        return made
