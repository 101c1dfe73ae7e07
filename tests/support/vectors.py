"""Random vectors that resemble embeddings, and vector indexes that contain them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from monograph import Document, Passage
from monograph.store.file import memo
from monograph.store.file.database import Database
from monograph.store.vectors import vectors
from monograph.vectors import kernel
from monograph.vectors.cluster import mark_deleted
from monograph.vectors.design import Design
from monograph.vectors.index import EcoVectorIndex
from monograph.vectors.search import Neighbours

Vectors = np.ndarray[Any, np.dtype[np.float32]]
DIMENSION = 24
UNIT_DIMENSION = 32
clusters_that_overlap = given(
    seed=st.integers(0, 1000),
    parts=st.lists(st.lists(st.integers(0, 60), unique=True), max_size=4),
    k=st.integers(0, 9),
)


def clumps(n: int, seed: int = 0, dimension: int = DIMENSION) -> Vectors:
    """Return random vectors in clusters, as embeddings are."""
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(99).standard_normal((40, dimension))
    return (centres[random.integers(0, 40, n)] + 0.6 * random.standard_normal((n, dimension))).astype(np.float32)


def remember(database: Database, made: Vectors) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Store vectors in the memo, and return their consecutive rows."""
    with database.write() as connection:
        (first,) = connection.execute("SELECT 1 + coalesce(max(memo), 0) FROM memo").fetchone()
        memo.put(connection, memo.VECTOR, ((b"%d" % (first + i), vectors.pack(one), 0) for i, one in enumerate(made)))
    return np.arange(first, first + len(made), dtype=np.int64)


def scores_of(made: Vectors, query: Vectors) -> Vectors:
    return made @ query / np.linalg.norm(made, axis=1) / np.linalg.norm(query)  # type: ignore[no-any-return]


def recall(found: Iterable[Neighbours], rows: Any, made: Vectors, queries: Vectors, k: int = 10) -> float:
    """Return the mean recall@k: the share of the k nearest vectors, by memo row, that each search found."""
    truth = [set(rows[np.argsort(-scores_of(made, query))[:k]].tolist()) for query in queries]
    return float(
        np.mean([len(best.intersection(one.items)) / len(best) for one, best in zip(found, truth, strict=True)])
    )


def struck_from(body: bytes, ids: np.ndarray[Any, np.dtype[np.int64]]) -> bytes:
    """Return the stored bytes of a cluster with the entries of ``ids`` marked as deleted."""
    stream = io.BytesIO(body)
    mark_deleted(stream, ids)
    return stream.getvalue()


def bitmap(rows: Any, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    flags = np.zeros(size, dtype=np.uint8)
    flags[list(rows)] = 1
    return np.packbits(flags, bitorder="little")


def filled(database: Database, design: Design, n: int = 3_000) -> tuple[EcoVectorIndex, Vectors]:
    made = clumps(n)
    rows = remember(database, made)
    index = EcoVectorIndex(design=design)
    with database.write() as connection:
        index.insert(connection, rows, made)
    return index, made


@contextmanager
def using(level: str) -> Iterator[None]:
    """Make the kernel use an instruction set within the block."""
    kernel.use_level(level)
    try:
        yield
    finally:
        kernel.use_level(kernel.levels()[0])


def scanned(
    bodies: list[bytes], query: Any, k: int, allowed: Any = None, pool: int = 10
) -> tuple[Any, list[float], list[int]]:
    """Return the result of a scan, and the scores and ids in its pool."""
    found = kernel.Pool(pool)
    result = kernel.scan(bodies, query, found, k, allowed)
    return result, found.scores.tolist(), found.ids.tolist()


def unit_vectors(n: int, dimension: int, seed: int = 0) -> np.ndarray[Any, np.dtype[np.float32]]:
    made = np.random.default_rng(seed).standard_normal((n, dimension)).astype(np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made


def unit_clumps(n: int, seed: int = 0) -> Vectors:
    """Return random vectors in clusters, of unit length."""
    made = clumps(n, seed, UNIT_DIMENSION)
    unit: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return unit


def vector_document(name: int, vectors: Vectors) -> Document:
    """Return a document with one passage for each vector."""
    passages = [
        Passage(f"Passage {name} {place}.", f"p{name}-{place}", vector=one) for place, one in enumerate(vectors)
    ]
    return Document(id=f"d{name}", passages=tuple(passages), metadata={"odd": name % 2, "name": name})
