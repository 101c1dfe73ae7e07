"""What a search returns, and how it came to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monograph.dates.span import Dated
from monograph.values.content import Chunk, Document, Metadata, Valid
from monograph.values.graph import Path
from monograph.values.tree import Summary

if TYPE_CHECKING:
    from monograph.values.arrays import Float32
else:
    Float32 = Any  # The types of fields are found without numpy.


@dataclass(frozen=True, slots=True)
class Effort:
    """What a search of the vector index took.

    Parameters
    ----------
    loads:
        Clusters that were read.
    compared:
        Vectors that the query was compared with.
    stopped:
        Why it ended: ``"enough"`` (by its stop condition), ``"short"`` (by the widest that was measured, which falls
        short of the recall that is aimed at), ``"all"`` (no cluster was left) or ``"exact"`` (few vectors were
        allowed, and all of those were compared).
    """

    loads: int
    compared: int
    stopped: str


@dataclass(frozen=True, slots=True)
class Origin:
    """How one retriever found a hit: its rank there (from 0) and its absolute score there.

    Scores by retriever: ``dense`` is the cosine in [-1, 1]; ``lexical`` is BM25, above 0; ``exact`` and ``phrase``
    are the share, in (0, 1], of the query's codes and quoted phrases that stand in the chunk word for word; ``tfidf``
    is RAGdb's hybrid score; ``graph`` is the probability, in [0, 1], that the chunk is evidence; ``feedback`` the
    cosine with the question read together with what was found first; ``minirag`` the cosine by which MiniRAG's formulas
    rank what their paths lead to; ``rerank`` what the reranker gave, of whatever kind; ``time`` is 1 for a hit
    that is lifted for the time it is from, at the rank that it was lifted from. ``effort`` says what the search took,
    for ``dense``.
    """

    retriever: str
    rank: int
    score: float
    effort: Effort | None = None


@dataclass(frozen=True, slots=True, eq=False)
class StoredChunk:
    """A chunk as the file holds it, with its document's title and uri.

    ``metadata`` is the document's with the chunk's own laid over it. ``vector`` is float32 (dimension,) of unit length,
    where vectors were asked for and it has one.
    """

    chunk: Chunk
    title: str
    uri: str
    metadata: Metadata
    vector: Float32 | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """A part of a list: ``count`` documents there are; these, from ``start`` on, come without their texts."""

    count: int
    start: int
    documents: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk or a summary that was found, and how.

    ``score`` is what the hits are ordered by, highest first. In the modes ``lexical`` and ``dense`` it is that
    retriever's own absolute score; in ``hybrid`` it is the fused score (see :mod:`monograph.search.fusion`), and
    ``origins`` has the absolute ones. ``relevance`` lies in [0, 1] and never rises from a hit to the next: see
    :mod:`monograph.search.fusion` for what it means. ``metadata`` is the document's with the chunk's own laid over
    it. Where a ``summary`` was found, ``chunk`` is the one under it that is nearest to it. ``note`` says what of the
    file the search had to do without. ``date`` is when its document is from, where that is known; ``valid`` when it
    stood so in a file that keeps former versions. Where a reranker put hits in order, ``score`` and ``relevance`` are
    those of the place, and what it gave stands in ``origins`` (see :mod:`monograph.search.rerank`).
    """

    chunk: Chunk
    score: float
    rank: int
    title: str
    uri: str
    metadata: Metadata
    origins: tuple[Origin, ...]
    path: Path | None = None
    summary: Summary | None = None
    relevance: float = 0.0
    note: str = ""
    date: Dated | None = None
    valid: Valid | None = None

    @property
    def text(self) -> str:
        """What was found: the summary's text, or the chunk's."""
        return self.chunk.text if self.summary is None else self.summary.text

    def explain(self) -> str:
        """One line: which retriever found it, at which rank, with what score."""
        found = ", ".join(f"{o.retriever} #{o.rank + 1} ({o.score:.3f})" for o in self.origins)
        way = "" if self.path is None else f" · {self.path}"
        note = f" · {self.note}" if self.note else ""
        return f"{self.score:.3f} = {found}{way}{note}"
