"""Merging of what the shards of a search return: their best candidates, and the links of names."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from monograph.graph.evidence import Float64
from monograph.graph.text import Words
from monograph.search.reader import EVIDENCE, Pool, PoolRequest
from monograph.store.graph.graphs import NO_DOCUMENT, Records, SubjectChunk
from monograph.values import Effort

T = TypeVar("T")
SHORT = np.dtype([("row", "<i8"), ("first", "S8")])
"""Short record of a chunk, for a search that does not follow the graph: its row, and the first 8 bytes of its id."""


def full(clauses: int) -> np.dtype[np.void]:
    """Return the dtype of a chunk's full record, for a graph search.

    Fields: the chunk's evidence, the first 8 bytes of its id (enough to order nearly all chunks), whether it has a
    vector, and the cosines of the vector to the question's clauses, float32 (clauses,).
    """
    return np.dtype([*EVIDENCE.descr, ("first", "S8"), ("vector", "?"), ("cosines", "<f4", (clauses,))])


_EVIDENCE = list(EVIDENCE.names or ())


@dataclass(frozen=True, slots=True)
class Rows:
    """Numbering of rows over all shards: ``row * shards + shard``."""

    shards: int

    def global_row(self, shard: int, row: int) -> int:
        """Return the number over all shards of a row of a shard."""
        return row * self.shards + shard

    def global_rows(self, shard: int, rows: Iterable[int]) -> list[int]:
        """Return the numbers over all shards of rows of a shard."""
        return [row * self.shards + shard for row in rows]

    def merge(self, answers: Iterable[tuple[int, Mapping[int, T]]]) -> dict[int, T]:
        """Merge (shard, {row: value}) of shards into {row over all shards: value}."""
        return {self.global_row(shard, row): value for shard, answer in answers for row, value in answer.items()}

    def split(self, rows: Iterable[int]) -> dict[int, list[int]]:
        """Return {shard: its own row numbers} of rows over all shards, in the order of the rows."""
        by_shard: dict[int, list[int]] = {}
        for row in rows:
            local, shard = divmod(row, self.shards)
            by_shard.setdefault(shard, []).append(local)
        return by_shard


def make_records(rows: Sequence[int], ids: Sequence[str], evidence: Records | None = None, clauses: int = 0) -> Records:
    """Return records (n,) of chunks of one shard: full ones if ``evidence`` is given, else short ones.

    The fields for vectors and cosines of full records are zero.
    """
    records = np.zeros(len(rows), dtype=SHORT if evidence is None else full(clauses))
    records["row"] = rows
    records["first"] = [chunk_id.encode() for chunk_id in ids]  # UTF-8 sorts as the texts do.
    if evidence is not None:
        records[_EVIDENCE] = evidence
    return records


class SentEvidence:
    """Full records of chunks, as :class:`monograph.search.reader.Evidence`."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._indexes = {row: index for index, row in enumerate(records["row"].tolist())}

    def evidence(self, rows: Sequence[int], _: Words) -> Records:
        """Return records of EVIDENCE of these chunks. Shards already computed them for the question's words."""
        records = np.empty(len(rows), dtype=EVIDENCE)
        records[_EVIDENCE] = self._records[[self._indexes[row] for row in rows]][_EVIDENCE]
        return records


NO_EVIDENCE = SentEvidence(np.empty(0, dtype=full(0)))


def join_records(parts: Sequence[tuple[int, bytes]], kind: np.dtype[np.void], rows: Rows) -> Records:
    """Join the records of (shard, bytes) pairs, of dtype ``kind``, and renumber rows and documents over all shards."""
    sent = np.frombuffer(b"".join(data for _, data in parts), dtype=kind)
    shards = np.repeat([shard for shard, _ in parts], [len(data) // kind.itemsize for _, data in parts])
    records: Records = sent.copy()
    records["row"] = sent["row"] * rows.shards + shards
    if kind != SHORT:
        document = sent["document"]
        records["document"] = np.where(document == NO_DOCUMENT, NO_DOCUMENT, document * rows.shards + shards)
    return records


def first_bytes(records: Records) -> list[str]:
    """Return for each record a text that sorts like the first 8 bytes of the chunk's id."""
    return [first.decode("latin-1") for first in records["first"].tolist()]


SCORED = np.dtype([("row", "<i8"), ("score", "<f8")])

SPREAD = 4.0
"""Standard deviations that a shard sends above its expected share of the best chunks.

The share is that of documents that are distributed at random."""

MORE = 4
"""Chunks that a shard sends in addition."""

_SUREST = ("exact", "all", "enough", "short")
"""Reasons why a dense search stops, the surest first. The merged search gives the least sure of the shards' reasons."""

Subject: TypeAlias = tuple[int, str, str, int, int, str, int]
"""A document about a name: (ordinal, chunk id, key, chunk, by title, qualifier, document).

The chunk is 0 if no chunk of the document is allowed."""


class Best(NamedTuple):
    """Best chunks of a shard for a query. ``scored`` has their rows and scores, as the bytes of SCORED records.

    ``is_complete`` is True if no other chunk of the shard can be among the k best of all shards. ``effort`` is that of
    a dense search, None for a lexical one.
    """

    scored: bytes
    is_complete: bool
    effort: Effort | None = None

    @property
    def records(self) -> Records:
        """The chunks as records of SCORED."""
        return np.frombuffer(self.scored, dtype=SCORED)


class ShardPool(NamedTuple):
    """Candidates of one shard.

    ``subjects`` are documents about the question's names, ``named`` are (key, row) of candidates that have any of these
    names, and ``records`` are the records of all chunks.
    """

    lexical: Best
    dense: Best | None
    subjects: Sequence[Subject]
    named: Sequence[tuple[str, int]]
    records: bytes


def share(k: int, shards: int) -> int:
    """Return how many chunks each shard sends in the first round, if k are needed.

    A shard that sent too few is called again (:func:`find_short_shards`).
    """
    if shards == 1:
        return k
    mean = k / shards
    return min(k, math.ceil(mean + SPREAD * math.sqrt(mean)) + MORE)


def select_best(scored: Sequence[tuple[int, float]], most: int, k: int, effort: Effort | None = None) -> Best:
    """Return the ``most`` best chunks of (row, score) pairs of a shard, and all that tie with the last.

    ``scored`` may have fewer than k pairs because the shard searched for ``most`` only.
    """
    records = np.array(scored, dtype=SCORED)
    if most >= k or len(records) < most:
        return Best(records.tobytes(), True, effort)
    threshold = np.partition(records["score"], len(records) - most)[len(records) - most]
    return Best(records[records["score"] >= threshold].tobytes(), False, effort)


def find_short_shards(pools: Mapping[int, ShardPool], k: int) -> list[int]:
    """Return the shards that may have further chunks among the k best of all shards, ascending.

    They are the shards with further candidates whose worst sent chunk is better than the k-th best of all.
    """
    short: set[int] = set()
    for part in (
        {shard: pool.lexical for shard, pool in pools.items()},
        {shard: pool.dense for shard, pool in pools.items() if pool.dense is not None},
    ):
        scores = {shard: best.records["score"] for shard, best in part.items()}
        threshold = _kth_highest(np.concatenate(list(scores.values())), k) if scores else 0.0
        short |= {shard for shard, best in part.items() if not best.is_complete and scores[shard].min() > threshold}
    return sorted(short)


def merge_pools(
    pools: Mapping[int, ShardPool], request: PoolRequest, rows: Rows, names: Mapping[str, int], records: Records
) -> Pool:
    """Merge the pools of all shards, in order of shard.

    ``names`` are rows of the question's names by key; ``records`` are the joined records of all pools.
    """
    nearest = [pool.dense for pool in pools.values() if pool.dense is not None]
    lexical = merge_best([pool.lexical.scored for pool in pools.values()], request.k, rows)
    dense = merge_best([best.scored for best in nearest], request.k, rows)
    efforts, effort = [best.effort for best in nearest if best.effort is not None], None
    if efforts:
        stopped = max((each.stopped for each in efforts), key=_SUREST.index)
        effort = Effort(sum(each.loads for each in efforts), sum(each.compared for each in efforts), stopped)
    if request.walk is None:
        return Pool(NO_EVIDENCE, lexical, dense, effort)
    has_vector = records["vector"]
    return Pool(
        SentEvidence(records),
        lexical,
        dense,
        effort,
        merge_subjects([(shard, subject) for shard, pool in pools.items() for subject in pool.subjects], names, rows),
        [(names[key], rows.global_row(shard, row)) for shard, pool in pools.items() for key, row in pool.named],
        (records["row"][has_vector], np.ascontiguousarray(records["cosines"][has_vector].T)),
    )


def replace_names(records: Records, names: Mapping[int, int] | Sequence[int]) -> Records:
    """Return a copy of records of names or links, with each name replaced by ``names[name]``."""
    copy = records.copy()
    copy["name"] = [names[name] for name in records["name"].tolist()]
    return copy


def merge_mentions(
    answers: Sequence[Sequence[Sequence[int]]], names: Sequence[int], rows: Rows
) -> dict[int, list[int]]:
    """Return {name: chunks that have it, ascending} over all shards; ``answers`` has a list by name from each."""
    by_name: dict[int, list[int]] = {}
    for shard, answer in enumerate(answers):
        for name, chunks in zip(names, answer, strict=False):  # Shards return lists for the first names only.
            by_name.setdefault(name, []).extend(rows.global_rows(shard, chunks))
    return {name: sorted(chunks) for name, chunks in by_name.items() if chunks}


def merge_subjects(subjects: Sequence[tuple[int, Subject]], names: Mapping[str, int], rows: Rows) -> list[SubjectChunk]:
    """Merge (shard, subject) pairs into the rows of :func:`monograph.store.graph.graphs.subject_chunks`.

    ``names`` are rows of names by key.
    """
    documents = {(key, by_title, shard, document) for shard, (_, _, key, _, by_title, _, document) in subjects}
    counts = Counter((key, by_title) for key, by_title, *_ in documents)
    return [
        SubjectChunk(names[key], rows.global_row(shard, row), bool(by_title), qualifier, counts[key, by_title])
        for (_, _, key, row, by_title, qualifier, _), shard in sorted((subject, shard) for shard, subject in subjects)
        if row
    ]


def merge_best(parts: Sequence[bytes], k: int, rows: Rows) -> list[tuple[int, float]]:
    """Return (row, score) of the k best chunks of all shards, and ties with the last, highest first.

    ``parts`` are bytes of SCORED, in order of shard.
    """
    records = np.frombuffer(b"".join(parts), dtype=SCORED)
    shards = np.repeat(np.arange(len(parts)), [len(part) // SCORED.itemsize for part in parts])
    row, score = records["row"] * rows.shards + shards, records["score"]
    if k > 0:
        kept = score >= _kth_highest(score, k)
        row, score = row[kept], score[kept]
    order = np.lexsort((row, -score))
    return list(zip(row[order].tolist(), score[order].tolist(), strict=True))


def _kth_highest(scores: Float64, k: int) -> float:
    """Return the k-th highest score, or minus infinity if there are fewer than k."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if 0 < k <= len(scores) else -math.inf
