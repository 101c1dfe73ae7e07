"""One query through the retrievers that its mode names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from monograph.models import Float32
from monograph.retrieve import dense, fuse, lexical, tfidf
from monograph.retrieve.ranking import Ranking
from monograph.store import chunks
from monograph.store.database import Connection
from monograph.store.filters import EVERYTHING, Allowed
from monograph.values import Hit, Mode
from monograph.vectors.index import EcoVectorIndex

MODES: tuple[Mode, ...] = get_args(Mode)

POOL = 100
"""Candidates each retriever gives to a fusion, at least; four times k when that is more."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked: ``vector`` is the embedded query, None in the modes without one. ``auto`` is ``hybrid`` today."""

    query: str
    k: int
    mode: Mode
    vector: Float32 | None = None
    allowed: Allowed = EVERYTHING


FUSION: fuse.Method = "z_score"
"""How rankings are fused; benchmarks/fusion.py holds it against the other."""


def needs_vector(mode: Mode) -> bool:
    """Whether a mode needs the query's vector."""
    return mode in ("auto", "dense", "hybrid")


def search(connection: Connection, index: EcoVectorIndex | None, request: Request) -> list[Hit]:
    """The k best hits, best first; fewer where fewer chunks match or are allowed."""
    if request.k <= 0:
        return []
    pool = max(POOL, 4 * request.k)
    query, allowed = request.query, request.allowed
    rankings: list[Ranking] = []
    lifts: list[Ranking] = []
    if request.mode == "tfidf":
        rankings.append(tfidf.search(connection, query, request.k, allowed))
    if request.mode in ("lexical", "hybrid", "auto"):
        rankings.append(lexical.bm25(connection, query, pool, allowed))
        lifts.append(lexical.word_for_word(connection, "exact", lexical.codes(query), pool, allowed))
        lifts.append(lexical.word_for_word(connection, "phrase", lexical.phrases(query), pool, allowed))
    if index is not None and request.vector is not None:
        rankings.append(dense.search(connection, index, request.vector, pool, allowed))
    fused = fuse.alone(rankings[0], lifts) if len(rankings) == 1 else fuse.fuse(rankings, lifts, FUSION)
    return _hits(connection, fused[: request.k])


def _hits(connection: Connection, fused: list[fuse.Fused]) -> list[Hit]:
    found = chunks.load(connection, (one.row for one in fused))
    return [
        Hit(one.chunk, scored.score, rank, one.title, one.uri, one.metadata, scored.origins)
        for rank, (one, scored) in enumerate(zip(found, fused, strict=True))
    ]
