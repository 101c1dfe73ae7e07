"""The inner loops of vector search, compiled. Clusters and graphs are bytes: see :mod:`monograph.vectors.cluster`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from monograph.values import Float32
from monograph.vectors.kernel.compiled import KERNEL_ERRORS, SEARCHED, DamagedBytes, compiled, ours
from monograph.vectors.kernel.course import ALL, ENOUGH, PAUSED, Arena, Course, Rule
from monograph.vectors.kernel.pool import Pool

__all__ = [
    "ALL",
    "ENOUGH",
    "PAUSED",
    "Arena",
    "Course",
    "DamagedBytes",
    "Pool",
    "Rule",
    "checksum",
    "encode",
    "graph_check",
    "graph_insert",
    "graph_remove",
    "nearest_signs",
    "scan",
    "top_k",
    "walk",
]

Int64 = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint8]


class Found(NamedTuple):
    """What a scan or a walk did: ranks below k at which new results stand, ascending; vectors compared."""

    ranks: tuple[int, ...]
    compared: int


def top_k(vectors: Float32, query: Float32, k: int, allowed: Bits | None = None) -> tuple[Int64, Float32]:
    """The k rows of highest inner product with a query.

    Parameters
    ----------
    vectors:
        float32 of shape (n, d), C-contiguous.
    query:
        float32 of shape (d,), finite.
    k:
        0 or more.
    allowed:
        uint8 of shape (n,): rows whose value is 0 are left out. None leaves out none.

    Returns
    -------
    (rows, scores): int64 and float32 of at most k rows, by score, highest first, then by row.

    Raises
    ------
    InputError
        If a shape or type is wrong, k is negative, or a score is not a number.
    """
    try:
        return compiled.top_k(vectors, query, k, allowed)
    except KERNEL_ERRORS as error:
        expected = "float32 arrays of shape (n, d) and (d,), C-contiguous, a whole number k, and uint8 of (n,) or None"
        raise ours(error, "top_k", expected, vectors, query, k, allowed) from None


def checksum(data: bytes) -> int:
    """A checksum of 32 bits that runs as fast as memory: any change of one aligned word of 4 bytes changes it."""
    try:
        return compiled.checksum(data)
    except KERNEL_ERRORS as error:
        raise ours(error, "checksum", "bytes", data) from None


def nearest_signs(table: Float32, codes: Bits, k: int) -> tuple[Int64, Float32]:
    """The codes of highest score, highest first, ties by place.

    Parameters
    ----------
    table:
        What every byte of a code adds to its score, float32 (vectors, bytes, 256), C-contiguous.
    codes:
        uint8 (codes, bytes), C-contiguous.
    k:
        0 or more.

    Returns
    -------
    (places, scores): int64 and float32 of shape (vectors, min(k, codes)).

    Raises
    ------
    InputError
        If a shape or type is wrong.
    """
    try:
        shape = len(table), min(k, len(codes))
        places, scores = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.float32)
        compiled.nearest_signs(table, codes, places, scores)
    except KERNEL_ERRORS as error:
        expected = "a float32 table of shape (vectors, bytes, 256), uint8 codes of shape (codes, bytes), and a whole k"
        raise ours(error, "nearest_signs", expected, table, codes, k) from None
    return places, scores


def encode(vectors: Float32, centre: Bits, scale: float) -> tuple[Bits, Float32]:
    """Codes of two bits a value of vectors that lie near a centre: see :mod:`monograph.vectors.cluster`.

    Parameters
    ----------
    vectors:
        float32 (n, d), C-contiguous, finite.
    centre, scale:
        uint8 (d,): (centre - 128) * scale is subtracted from each vector.

    Returns
    -------
    (codes, scales): uint8 (n, 2 * groups), a half byte in each, where groups is d / 4 brought up to a multiple of
    four; float32 (n,).

    Raises
    ------
    InputError
        If a shape, type or number is wrong, or a vector is not finite.
    """
    try:
        return compiled.encode(vectors, centre, scale)
    except KERNEL_ERRORS as error:
        expected = "float32 (n, d) and uint8 (d,), C-contiguous, and a number"
        raise ours(error, "encode", expected, vectors, centre, scale) from None


def scan(
    bodies: list[bytes], query: Float32, pool: Pool, k: int, allowed: Bits | None = None, *, trusted: bool = False
) -> Found:
    """Compare a query with every vector of one cluster, and merge what is near into the pool.

    Parameters
    ----------
    bodies:
        The cluster's parts, as stored.
    query:
        float32 of shape (d,), finite. For codes of a byte it is brought to whole numbers from -127 to 127 first.
    pool:
        Results so far; changed in place. An id that comes twice is kept once.
    k:
        New results are reported below this rank.
    allowed:
        Bitmap of the ids that may be found: bit i of byte j stands for id 8j + i. None allows all.
    trusted:
        Whether the bytes were held against their checksums before, and in memory since.

    Raises
    ------
    InputError
        If a type or length is wrong, or the query is not finite.
    DamagedBytes
        If a body's checksum does not match.
    """
    try:
        held = pool._scores, pool._ids, pool.filled
        pool.filled, ranks, compared = compiled.scan(bodies, query, *held, k, allowed, trusted)
    except KERNEL_ERRORS as error:
        raise ours(error, "scan", SEARCHED, bodies, query, k, allowed) from None
    return Found(ranks, compared)


class Cluster(NamedTuple):
    """A cluster with a graph of its vectors, both as stored."""

    body: bytes
    graph: bytes


def walk(  # noqa: PLR0913 - one more than a scan has
    cluster: Cluster,
    query: Float32,
    pool: Pool,
    k: int,
    ef: int,
    allowed: Bits | None = None,
    *,
    trusted: bool = False,
) -> Found:
    """Search one cluster by its graph, and merge what is near into the pool; otherwise as :func:`scan`.

    Parameters
    ----------
    cluster:
        The cluster.
    query, pool, k, allowed, trusted:
        As for :func:`scan`.
    ef:
        Nodes kept in view, 1 or more: more finds more and takes longer.

    Raises
    ------
    InputError, DamagedBytes
        As :func:`scan`; also if a link that is met leads to its own node, to none, or to a level that is not there.
    """
    try:
        pool.filled, ranks, compared = compiled.walk(
            cluster.body, cluster.graph, query, pool._scores, pool._ids, pool.filled, k, ef, allowed, trusted
        )
    except KERNEL_ERRORS as error:
        raise ours(error, "walk", SEARCHED, cluster.body, query, k, ef, allowed) from None
    return Found(ranks, compared)


def graph_check(body: bytes, graph: bytes) -> None:
    """Hold a cluster and its graph against their checksums, and every link against the nodes that there are.

    Raises
    ------
    DamagedBytes
        If a checksum does not match, a link leads to its own node, to none, twice to one, or to a level that is not
        there, or the entry is not the first of the highest nodes.
    """
    try:
        compiled.graph_check(body, graph)
    except KERNEL_ERRORS as error:
        raise ours(error, "graph_check", "bytes", body, graph) from None


def graph_insert(body: bytes, graph: bytes | None, *, m: int, ef: int, alpha: float = 1.0) -> bytes:
    """Add to a graph the rows of a cluster that it does not hold yet, one by one (MobileRAG, Alg. 1).

    The level of a row follows from its id: at least l with probability M^-l, so that the same rows make the same graph.

    Parameters
    ----------
    body:
        The cluster, with the rows that the graph holds first.
    graph:
        The graph so far; None begins one.
    m:
        Most links of a node at the upper levels, 2 to 256; twice as many at level 0. A graph keeps its own.
    ef:
        Candidates a node's links are chosen from, 1 or more.
    alpha:
        1 or more: the larger, the more far links stay (RobustPrune).

    Raises
    ------
    InputError
        If a number is out of range.
    DamagedBytes
        As :func:`graph_check`.
    """
    try:
        return compiled.graph_insert(body, graph, m, ef, alpha)
    except KERNEL_ERRORS as error:
        raise ours(error, "graph_insert", "bytes and numbers", body, graph, m, ef, alpha) from None


def graph_remove(body: bytes, graph: bytes, rows: Sequence[int], *, ef: int, alpha: float = 1.0) -> bytes:
    """The graph without some rows, numbered as the cluster without them is (MobileRAG, Alg. 2, errata mended).

    Parameters
    ----------
    body, graph:
        The cluster with the rows still in it, and its graph.
    rows:
        Which to take out.
    ef, alpha:
        As for :func:`graph_insert`.

    Raises
    ------
    InputError
        If a number is out of range, or a row is not there.
    DamagedBytes
        As :func:`graph_check`.
    """
    try:
        return compiled.graph_remove(body, graph, list(rows), ef, alpha)
    except KERNEL_ERRORS as error:
        raise ours(error, "graph_remove", "bytes and numbers", body, graph, ef, alpha) from None
