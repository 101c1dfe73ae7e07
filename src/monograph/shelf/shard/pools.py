"""What a search begins with: of each shard only the best that may be among the best of all, and those laid together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from monograph.graph.evidence import Float64
from monograph.search.snapshot import Nearest, Pooling
from monograph.shelf.gather.rows import Rows
from monograph.shelf.shard.beside import BESIDE, Beside
from monograph.shelf.shard.led import Subject, subject_chunks
from monograph.store.filters import Allowed
from monograph.store.graphs import Records, SubjectChunk
from monograph.values import Effort

SCORED = np.dtype([("row", "<i8"), ("score", "<f8")])

SPREAD = 4.0
"""Standard deviations above its share that a shard gives of the best, where chunks are dealt out by chance."""

MORE = 4
"""And so many more."""


class Best(NamedTuple):
    """The best chunks of a shard, as bytes of SCORED; ``is_whole`` where it has no others that could be asked for."""

    scored: bytes
    is_whole: bool
    effort: Effort | None = None

    @property
    def records(self) -> Records:
        """Of SCORED."""
        return np.frombuffer(self.scored, dtype=SCORED)


class Pools(NamedTuple):
    """The best of a shard by words and by meaning, what is about the question's names, and what is known of all these.

    ``naming`` are (key, row) of those of them that name any of these names.
    """

    best: Best
    near: Best | None
    subjects: Sequence[Subject]
    naming: Sequence[tuple[str, int]]
    beside: Beside


@dataclass(frozen=True, slots=True, eq=False)
class Merged:
    """The same of all shards, rows over all; all chunks are ``allowed``.

    ``names`` are the question's, by row, ``rows`` those of the chunks that may name them.
    """

    allowed: Allowed
    best: list[tuple[int, float]]
    near: Nearest | None
    subjects: list[SubjectChunk]
    naming: Sequence[tuple[int, int]]
    names: Mapping[int, str]
    rows: frozenset[int]


def share(k: int, shards: int) -> int:
    """How many chunks each shard gives where the k best of all are wanted; who gave too few is asked again."""
    if shards == 1:
        return k
    mean = k / shards
    return min(k, math.ceil(mean + SPREAD * math.sqrt(mean)) + MORE)


def cut(scored: Sequence[tuple[int, float]], most: int, k: int, effort: Effort | None = None) -> Best:
    """Of chunks with their scores so many as are best, with all that tie with the last; they are the k best of a shard.

    Where ``scored`` are fewer than k they may have been looked for no further than ``most``.
    """
    made = np.array(scored, dtype=SCORED)
    if most >= k or len(made) < most:
        return Best(made.tobytes(), True, effort)
    least = np.partition(made["score"], len(made) - most)[len(made) - most]
    return Best(made[made["score"] >= least].tobytes(), False, effort)


def merged(parts: Iterable[Sequence[tuple[int, float]]], k: int, rows: Rows) -> list[tuple[int, float]]:
    """(row, score) of the k best of all shards, with all that tie with the last, highest first; rows over all."""
    return _best([np.array(one, dtype=SCORED).tobytes() for one in parts], k, rows)


def lacking(found: Mapping[int, Pools], k: int, rows: Rows) -> list[int]:
    """The shards that may have others of the k best of all."""
    best = _short({shard: one.best for shard, one in found.items()}, k)
    near = _short({shard: one.near for shard, one in found.items() if one.near is not None}, k)
    return sorted(best | near)


def laid_together(found: Mapping[int, Pools], asked: Pooling, rows: Rows, names: Mapping[str, int]) -> Merged:
    """The pools of all shards, in order of these; ``names`` are the question's, by key."""
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


def _rows(found: Mapping[int, Pools], rows: Rows) -> frozenset[int]:
    """The chunks of a walk's pools."""
    each = [
        np.frombuffer(one.beside.records, dtype=BESIDE)["row"] * rows.shards + shard for shard, one in found.items()
    ]
    return frozenset(np.concatenate(each).tolist())


def _best(parts: Sequence[bytes], k: int, rows: Rows) -> list[tuple[int, float]]:
    """The k best of all, by shard, with all that tie with the last, highest first."""
    every = np.frombuffer(b"".join(parts), dtype=SCORED)
    shards = np.repeat(np.arange(len(parts)), [len(part) // SCORED.itemsize for part in parts])
    row, score = every["row"] * rows.shards + shards, every["score"]
    if k > 0:
        kept = score >= _least(score, k)
        row, score = row[kept], score[kept]
    order = np.lexsort((row, -score))
    return list(zip(row[order].tolist(), score[order].tolist(), strict=True))


def _short(parts: Mapping[int, Best], k: int) -> set[int]:
    """The shards that may have others of the k best: all that they gave are better than the last of these."""
    scores = {shard: one.records["score"] for shard, one in parts.items()}
    least = _least(np.concatenate(list(scores.values())), k) if scores else 0.0
    return {shard for shard, some in scores.items() if not parts[shard].is_whole and some.min() > least}


def _least(scores: Float64, k: int) -> float:
    """The score of the k-th of all; of fewer none is too low."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if 0 < k <= len(scores) else -math.inf


_SUREST = ("exact", "all", "enough", "short")
"""Why searches end, the surest first."""


def effort_of(some: Sequence[Effort]) -> Effort | None:
    """What searches of several shards took together; None without any."""
    if not some:
        return None
    stopped = max((one.stopped for one in some), key=_SUREST.index)
    return Effort(sum(one.loads for one in some), sum(one.compared for one in some), stopped)
