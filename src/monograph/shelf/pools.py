"""Merging of what the shards of a search return: their best candidates, and the links of names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from monograph.graph.evidence import Float64
from monograph.graph.text import Words
from monograph.search.reader import EVIDENCE, Pool, PoolRequest
from monograph.store.documents.filters import Allowed
from monograph.store.graph.graphs import NO_DOCUMENT, Records, SubjectChunk
from monograph.values import Effort

SHORT = np.dtype([("row", "<i8"), ("first", "S8")])
"""Record of a chunk for other searches."""


def full(clauses: int) -> np.dtype[np.void]:
    """Return the type of a chunk's record for a search along the graph.

    It has its evidence, the first 8 bytes of its id, which order nearly all chunks, whether it has a vector, and the
    cosines of that to the question's clauses.
    """
    return np.dtype([*EVIDENCE.descr, ("first", "S8"), ("vector", "?"), ("cosines", "<f4", (clauses,))])


_EVIDENCE = list(EVIDENCE.names or ())


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


def records_of(rows: Sequence[int], ids: Sequence[str], evidence: Records | None = None, clauses: int = 0) -> Records:
    """Return records of chunks of one shard: full ones with their evidence, without vectors; short ones without."""
    made = np.zeros(len(rows), dtype=SHORT if evidence is None else full(clauses))
    made["row"] = rows
    made["first"] = [one.encode() for one in ids]  # UTF-8 sorts as the texts do.
    if evidence is not None:
        made[_EVIDENCE] = evidence
    return made


@dataclass(frozen=True, slots=True, eq=False)
class SentEvidence:
    """Full records that shards sent, as :class:`monograph.search.reader.Evidence`; ``place`` is of each, by row."""

    place: Mapping[int, int]
    records: Records

    def evidence(self, rows: Sequence[int], _: Words) -> Records:
        """Return the evidence of some of the chunks; shards were asked for that of the question's words."""
        made = np.empty(len(rows), dtype=EVIDENCE)
        made[_EVIDENCE] = self.records[[self.place[row] for row in rows]][_EVIDENCE]
        return made


def evidence_of(records: Records) -> SentEvidence:
    """Return the evidence in full records."""
    return SentEvidence({row: at for at, row in enumerate(records["row"].tolist())}, records)


NO_EVIDENCE = evidence_of(np.empty(0, dtype=full(0)))


def joined(parts: Sequence[tuple[int, bytes]], kind: np.dtype[np.void], rows: Rows) -> Records:
    """Return the records of a kind that shards sent, (shard, bytes), with rows over all shards."""
    sent = np.frombuffer(b"".join(some for _, some in parts), dtype=kind)
    shards = np.repeat([shard for shard, _ in parts], [len(some) // kind.itemsize for _, some in parts])
    made: Records = sent.copy()
    made["row"] = sent["row"] * rows.shards + shards
    if kind != SHORT:
        document = sent["document"]
        made["document"] = np.where(document == NO_DOCUMENT, NO_DOCUMENT, document * rows.shards + shards)
    return made


def first_bytes(records: Records) -> list[str]:
    """Return texts that sort chunks as the first bytes of their ids do."""
    return [one.decode("latin-1") for one in records["first"].tolist()]


SCORED = np.dtype([("row", "<i8"), ("score", "<f8")])

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


class ShardPool(NamedTuple):
    """The lexical and dense candidates of a shard, documents about the question's names, and records of all chunks.

    ``naming`` are (key, row) of those chunks that have any of these names.
    """

    best: Best
    near: Best | None
    subjects: Sequence[Subject]
    naming: Sequence[tuple[str, int]]
    records: bytes


class CountRequest(NamedTuple):
    """Words that a shard counts, and codes and phrases that it looks for in the chunks that a filter allows.

    ``few`` are counted up to ``most`` only; ``halves`` are half pairs, which are counted as parts of pairs.
    """

    words: Sequence[str]
    few: Sequence[str]
    most: int
    halves: Sequence[str]
    held: Sequence[str]
    filter: Allowed


class NameLinks(NamedTuple):
    """Chunks that some names link to in a shard, and their records; ``mentions`` are the chunks with each name."""

    subjects: Sequence[Subject]
    mentions: Sequence[Sequence[int]]
    records: bytes


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


def too_few(found: Mapping[int, ShardPool], k: int, rows: Rows) -> list[int]:
    """Return the shards that may have more of the k best of all."""
    best = _short({shard: one.best for shard, one in found.items()}, k)
    near = _short({shard: one.near for shard, one in found.items() if one.near is not None}, k)
    return sorted(best | near)


def merged_pools(
    found: Mapping[int, ShardPool], asked: PoolRequest, rows: Rows, names: Mapping[str, int], records: Records
) -> Pool:
    """Merge the pools of all shards, given in order; ``names`` are the question's, by key; ``records`` are joined."""
    k, walk = asked.k, asked.walk
    near = [one.near for one in found.values() if one.near is not None]
    lexical = best_of([one.best.scored for one in found.values()], k, rows)
    dense = best_of([one.scored for one in near], k, rows)
    effort = effort_of([one.effort for one in near if one.effort is not None])
    if walk is None:
        return Pool(NO_EVIDENCE, lexical, dense, effort)
    held = records["vector"]
    return Pool(
        evidence_of(records),
        lexical,
        dense,
        effort,
        subject_chunks([(shard, some) for shard, one in found.items() for some in one.subjects], names, rows),
        [(names[key], rows.whole(shard, row)) for shard, one in found.items() for key, row in one.naming],
        (records["row"][held], np.ascontiguousarray(records["cosines"][held].T)),
    )


def renamed(records: Records, names: Mapping[int, int] | Sequence[int]) -> Records:
    """Return records of names or links in which a name is another number."""
    made = records.copy()
    made["name"] = [names[name] for name in records["name"].tolist()]
    return made


def mentioned(shards: Sequence[Sequence[Sequence[int]]], names: Sequence[int], rows: Rows) -> dict[int, list[int]]:
    """Return the chunks that have each of some names, ascending, from those that each shard has."""
    parts = (zip(names, some, strict=False) for some in shards)  # Shards tell of the first names only.
    found: dict[int, list[int]] = {}
    for shard, part in enumerate(parts):
        for name, some in part:
            found.setdefault(name, []).extend(rows.all_of(shard, some))
    return {name: sorted(some) for name, some in found.items() if some}


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


def best_of(parts: Sequence[bytes], k: int, rows: Rows) -> list[tuple[int, float]]:
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
