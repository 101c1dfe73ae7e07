"""Candidates of a search: each shard sends only its best, which are merged; and where names lead, merged likewise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from monograph.graph.evidence import Float64
from monograph.search.snapshot import Nearest, Pooling
from monograph.shelf.chunk_facts import FULL, ChunkFacts, Rows
from monograph.store.filters import Allowed
from monograph.store.graphs import Records, SubjectChunk
from monograph.values import Effort

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
    """Where some names lead in a shard, and facts about the chunks; ``mentions`` are bytes of MENTIONED."""

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
    """Merge (shard, subject), as :func:`monograph.store.graphs.subject_chunks` has it of a file; ``names`` by key."""
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
