"""Merging of the results that shards return in a search: their best candidates, and the links of names."""

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
"""Dtype of a chunk's short record, for a search that does not follow the graph.

Fields: the chunk's row, and the first 8 bytes of its id."""


def full(clauses: int) -> np.dtype[np.void]:
    """Return the dtype of a chunk's full record, for a graph search; ``clauses`` is the question's number of clauses.

    Fields:

    - those of :data:`monograph.search.reader.EVIDENCE`;
    - ``first``: the first 8 bytes of the chunk's id, which are enough to order nearly all chunks;
    - ``vector``: whether the chunk has a vector;
    - ``cosines``: cosines of this vector to the vectors of the clauses, float32 (clauses,).
    """
    return np.dtype([*EVIDENCE.descr, ("first", "S8"), ("vector", "?"), ("cosines", "<f4", (clauses,))])


_EVIDENCE = list(EVIDENCE.names or ())


@dataclass(frozen=True, slots=True)
class Rows:
    """Numbering of rows over all shards.

    The global number of a row is ``row * shards + shard``. ``row`` is its number in its shard, ``shard`` the number of
    that shard, and ``shards`` the number of shards.
    """

    shards: int

    def global_row(self, shard: int, row: int) -> int:
        """Return the global number of a shard's row."""
        return row * self.shards + shard

    def global_rows(self, shard: int, rows: Iterable[int]) -> list[int]:
        """Return the global numbers of a shard's rows, in the order of the rows."""
        return [row * self.shards + shard for row in rows]

    def merge(self, answers: Iterable[tuple[int, Mapping[int, T]]]) -> dict[int, T]:
        """Merge the results of shards, given as (shard, {local row: value}), into one {global row: value}."""
        return {self.global_row(shard, row): value for shard, answer in answers for row, value in answer.items()}

    def split(self, rows: Iterable[int]) -> dict[int, list[int]]:
        """Group global row numbers by shard: return {shard: local row numbers}, in the order of ``rows``."""
        by_shard: dict[int, list[int]] = {}
        for row in rows:
            local, shard = divmod(row, self.shards)
            by_shard.setdefault(shard, []).append(local)
        return by_shard


def make_records(rows: Sequence[int], ids: Sequence[str], evidence: Records | None = None, clauses: int = 0) -> Records:
    """Return, for each of n chunks, the values that a shard sends to the searching process, as a record array (n,).

    ``rows`` and ``ids`` are the chunks' rows and ids. Without ``evidence``, the dtype is SHORT. With ``evidence``, the
    chunks' EVIDENCE records (n,), it is :func:`full` of ``clauses``, the number of clauses of the question; the fields
    ``vector`` and ``cosines`` are zeros.
    """
    records = np.zeros(len(rows), dtype=SHORT if evidence is None else full(clauses))
    records["row"] = rows
    records["first"] = [chunk_id.encode() for chunk_id in ids]  # UTF-8 sorts as the texts do.
    if evidence is not None:
        records[_EVIDENCE] = evidence
    return records


class SentEvidence:
    """Evidence that shards sent in full records of chunks; implements :class:`monograph.search.reader.Evidence`."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._indexes = {row: index for index, row in enumerate(records["row"].tolist())}

    def evidence(self, rows: Sequence[int], _: Words) -> Records:
        """Return the EVIDENCE records (n,) of n chunks.

        The question's words, the second argument, are not used: the shards computed the records for these words.
        """
        records = np.empty(len(rows), dtype=EVIDENCE)
        records[_EVIDENCE] = self._records[[self._indexes[row] for row in rows]][_EVIDENCE]
        return records


NO_EVIDENCE = SentEvidence(np.empty(0, dtype=full(0)))


def join_records(parts: Sequence[tuple[int, bytes]], kind: np.dtype[np.void], rows: Rows) -> Records:
    """Join the records of several shards, and replace row numbers of chunks and documents by their global numbers.

    ``parts`` are (shard, bytes of its records). ``kind`` is the records' dtype: :data:`SHORT` or :func:`full`.
    """
    sent = np.frombuffer(b"".join(data for _, data in parts), dtype=kind)
    shards = np.repeat([shard for shard, _ in parts], [len(data) // kind.itemsize for _, data in parts])
    records: Records = sent.copy()
    records["row"] = sent["row"] * rows.shards + shards
    if kind != SHORT:
        document = sent["document"]
        records["document"] = np.where(document == NO_DOCUMENT, NO_DOCUMENT, document * rows.shards + shards)
    return records


def first_bytes(records: Records) -> list[str]:
    """Return a text for each record, in order. The texts sort like the first 8 bytes of the chunks' ids."""
    return [first.decode("latin-1") for first in records["first"].tolist()]


SCORED = np.dtype([("row", "<i8"), ("score", "<f8")])

SPREAD = 4.0
"""Safety margin, in standard deviations, for the number of chunks that a shard sends: see :func:`share`.

If documents are distributed among the shards at random, a shard has on average k / shards of the k best chunks. The
standard deviation is about the square root of this number."""

MORE = 4
"""Number of chunks that a shard sends in addition to the average number and the margin of SPREAD."""

_SUREST = ("exact", "all", "enough", "short")
"""Values of ``Effort.stopped`` (why a dense search stopped) in order of expected recall, highest first."""

Subject: TypeAlias = tuple[int, str, str, int, int, str, int]
"""A chunk at the beginning of a document that is about a name, as a tuple that a shard sends. Its items:

1. ordinal of the chunk in the document;
2. id of the chunk;
3. key of the name: the name in the form in which names are compared;
4. row of the chunk; 0 if no chunk of the document is allowed;
5. 1 if the document's title has the name; 0 if the beginning of its text has it;
6. qualifier: the part of the title in parentheses;
7. row of the document."""


class BestChunks(NamedTuple):
    """The best chunks of a shard for a query.

    ``scored`` has the chunks' rows and scores, as the bytes of records of :data:`SCORED`. ``is_complete`` is True if no
    further chunk of the shard can be among the k best chunks of all shards. ``effort`` is the effort of a dense search;
    None for a lexical search.
    """

    scored: bytes
    is_complete: bool
    effort: Effort | None = None

    @property
    def records(self) -> Records:
        """The rows and scores of the chunks, as records (n,) of :data:`SCORED`."""
        return np.frombuffer(self.scored, dtype=SCORED)


class ShardPool(NamedTuple):
    """Candidates of one shard for a search.

    ``lexical`` and ``dense`` are the best chunks by words and by vector; ``dense`` is None without a vector search.
    ``subjects`` are chunks of the documents that are about the question's names.
    ``named`` has (key of the name, row of the chunk): one pair for each name of the question in each chunk of the other
    fields. The key is the form in which names are compared.
    ``records`` are the bytes of one record for each chunk in the other fields: see :func:`make_records`.
    """

    lexical: BestChunks
    dense: BestChunks | None
    subjects: Sequence[Subject]
    named: Sequence[tuple[str, int]]
    records: bytes


def share(k: int, shards: int) -> int:
    """Return how many chunks each shard sends in the first round of a search for the k best chunks of all shards.

    A shard that may have further chunks among the k best is called a second time: see :func:`find_short_shards`.
    """
    if shards == 1:
        return k
    mean = k / shards
    return min(k, math.ceil(mean + SPREAD * math.sqrt(mean)) + MORE)


def select_best(scored: Sequence[tuple[int, float]], most: int, k: int, effort: Effort | None = None) -> BestChunks:
    """Return the ``most`` best chunks of one shard, and all chunks that tie with the last of them.

    ``scored`` has (row, score) of the chunks that the shard found. ``k`` is the number of chunks wanted from all
    shards. ``effort`` is copied to the result. If ``most`` is at least k, or fewer than ``most`` chunks were found, all
    of ``scored`` is returned, and the result is complete.
    """
    records = np.array(scored, dtype=SCORED)
    if most >= k or len(records) < most:
        return BestChunks(records.tobytes(), True, effort)
    threshold = np.partition(records["score"], len(records) - most)[len(records) - most]
    return BestChunks(records[records["score"] >= threshold].tobytes(), False, effort)


def find_short_shards(pools: Mapping[int, ShardPool], k: int) -> list[int]:
    """Return the numbers of the shards that may have further chunks among the k best of all shards, ascending.

    Such a shard has chunks that it did not send, and the worst chunk that it sent scores higher than the k-th best
    chunk of all shards. Lexical and dense candidates are compared separately.
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
    """Merge the pools of all shards into the pool that a search of one file would give.

    ``pools`` has the pools by shard, in order of shard. ``names`` is {key: row in the catalogue} of the question's
    names. ``records`` are the records of all pools: see :func:`join_records`.
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
    """Return a copy of records with a field ``name``, in which each value of this field becomes ``names[value]``."""
    copy = records.copy()
    copy["name"] = [names[name] for name in records["name"].tolist()]
    return copy


def merge_mentions(
    answers: Sequence[Sequence[Sequence[int]]], names: Sequence[int], rows: Rows
) -> dict[int, list[int]]:
    """Return {name: global rows of the chunks that mention the name, ascending}. Names without a chunk are left out.

    ``names`` are rows of names in the catalogue. ``answers`` has the result of each shard, in order of shard. Such a
    result is a list of lists: list i has the shard's own rows of the chunks that mention name i. If a result
    has fewer lists than there are names, the shard looked up only the first names.
    """
    by_name: dict[int, list[int]] = {}
    for shard, answer in enumerate(answers):
        for name, chunks in zip(names, answer, strict=False):  # Shards return lists for the first names only.
            by_name.setdefault(name, []).extend(rows.global_rows(shard, chunks))
    return {name: sorted(chunks) for name, chunks in by_name.items() if chunks}


def merge_subjects(subjects: Sequence[tuple[int, Subject]], names: Mapping[str, int], rows: Rows) -> list[SubjectChunk]:
    """Merge (shard, subject) pairs into a result like that of :func:`monograph.store.graph.graphs.subject_chunks`.

    ``names`` is {key: row in the catalogue}. If no chunk of a document is allowed, the document has no chunk in the
    result. It still counts in ``documents``, the number of documents about the name.
    """
    documents = {(key, by_title, shard, document) for shard, (_, _, key, _, by_title, _, document) in subjects}
    counts = Counter((key, by_title) for key, by_title, *_ in documents)
    return [
        SubjectChunk(names[key], rows.global_row(shard, row), bool(by_title), qualifier, counts[key, by_title])
        for (_, _, key, row, by_title, qualifier, _), shard in sorted((subject, shard) for shard, subject in subjects)
        if row
    ]


def merge_best(parts: Sequence[bytes], k: int, rows: Rows) -> list[tuple[int, float]]:
    """Return (global row, score) of the k best chunks of all shards, and of chunks that tie with the last of them.

    The highest score is first; equal scores are in order of row. ``parts`` has the bytes of SCORED records from each
    shard, in order of shard.
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
    return float(np.partition(scores, len(scores) - k)[len(scores) - k]) if 0 < k <= len(scores) else -math.inf
