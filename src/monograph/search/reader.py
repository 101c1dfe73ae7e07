"""``Reader``: the protocol through which a search reads one state of a file or of a shelf.

In a search of a shelf each method is one network round: count, pool, then starts and leads for each hop, and show.
Chunks, names and documents are identified by rows, which are numbers that only this reader uses. No answer depends on
an earlier call.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from monograph.store.documents.chunks import LoadedChunk

if TYPE_CHECKING:
    from monograph.graph.evidence import Int64
    from monograph.graph.text import Words
    from monograph.models import Embedder
    from monograph.search.names import Leads, Names, StartText
    from monograph.store.documents.filters import Allowed
    from monograph.store.graph.graphs import Records, SubjectChunk
    from monograph.store.words.postings import Postings
    from monograph.values import Effort, Float32, Mention, Summary

EVIDENCE = np.dtype([("row", "<i8"), ("document", "<i8"), ("words", "<u8"), ("hash", "<u8")])
"""Record that is used to score a chunk: its row, its document's row (NO_DOCUMENT of :mod:`monograph.store.graph.graphs`
if the chunk is not in the graph), a bit for each of the question's words that it contains (bit i for word i), and a
hash of all its words."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Counts of a question's words, and the chunks that contain its codes and phrases word for word.

    ``total`` is the number of chunks in the corpus, ``chunks`` that of those that have each folded word; words that no
    chunk has are left out, and function words are counted only until they are common. ``held`` has (row, worth) of the
    chunks that contain each code or phrase: see :func:`monograph.search.words.worth`. ``postings`` are those that a
    file read to count, and ranks by; None if it did not read any.
    """

    total: int
    chunks: Mapping[str, int]
    held: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    postings: Postings | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WalkRequest:
    """Data that a graph search requests about the chunks of its pool.

    ``names`` are rows of the question's names, ``words`` hashes of its words, ascending, and ``clauses`` vectors of its
    clauses, float32 (n, dimension).
    """

    names: Collection[int]
    words: Words
    clauses: Float32


@dataclass(frozen=True, slots=True, eq=False)
class PoolRequest:
    """Request for the candidates of a search.

    ``k`` is the most chunks by words, and the most by vector; chunks that tie with the last are returned as well.
    ``words`` are folded words to rank by, included in ``counts``. Without any there is no lexical ranking, and without
    a ``vector``, float32 (dimension,), that is not zero no dense one. ``stretch`` is a factor on the window of the stop
    condition of the vector search. ``walk`` requests additional data about the chunks, for a graph search.
    """

    k: int
    filter: Allowed
    words: Sequence[str] = ()
    counts: Counts | None = None
    vector: Float32 | None = None
    stretch: float = 1.0
    walk: WalkRequest | None = None


class Evidence(Protocol):
    """Documents and words of the chunks that one round of a search found."""

    def evidence(self, rows: Sequence[int], words: Words) -> Records:
        """Return EVIDENCE records (n,) of ``rows``, which must be different chunks of this round.

        ``words`` are hashes of the question's words.
        """
        ...


NO_COSINES: tuple[Int64, Float32] = np.empty(0, np.int64), np.empty((0, 0), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Candidates of a search.

    ``evidence`` has the documents and words of all chunks of the pool; of none if no walk was requested. ``lexical``
    has (row, score) of the k best chunks by FTS5's BM25 (k1 = 1.2, b = 0.75) over title and text, ``dense`` (row,
    cosine) of the k nearest; both also of all that tie with the last. ``effort`` is that of the vector search, if there
    was one.

    ``subjects`` are the first chunks of the documents about the question's names, in order of their place in the
    document, then of id. ``named`` has (name, chunk) pairs, by row, for the chunks of the pool that have a name of the
    question. ``cosines`` has (rows of the chunks of the pool that have a vector, their cosines to the clauses, float32
    (clauses, rows)).
    """

    evidence: Evidence
    lexical: Sequence[tuple[int, float]] = ()
    dense: Sequence[tuple[int, float]] = ()
    effort: Effort | None = None
    subjects: Sequence[SubjectChunk] = ()
    named: Sequence[tuple[int, int]] = ()
    cosines: tuple[Int64, Float32] = NO_COSINES


NOWHERE: Mapping[int, int] = MappingProxyType({})

Shown: TypeAlias = tuple[dict[int, LoadedChunk], dict[int, tuple[str, str]]]
"""(chunks by row, (entity id, written form) of names by row)."""


class SearchModels(Protocol):
    """The models of an open archive that a search uses."""

    @property
    def embedder(self) -> Embedder:
        """The embedder of the stored vectors. Raises ModelError if it cannot be loaded here."""
        ...

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return vectors of queries, float32 (n, dimension), of unit length, from that embedder. Raises ModelError."""
        ...


class Reader(Protocol):
    """One state of a corpus, for the duration of a search. Rows that do not exist are left out of results.

    ``allowed`` is the filter of the chunks that may be found, and that a walk may pass.
    """

    @property
    def models(self) -> SearchModels:
        """The models of the archive."""
        ...

    @property
    def names(self) -> Names:
        """Names of the archive. They take no network round: a shelf has the names of all its files in one place."""
        ...

    # Words are folded ones, as monograph.store.words.terms.words_of returns them.

    def total(self) -> int:
        """Return the number of chunks."""
        ...

    def newest(self) -> int | None:
        """Return the end of the latest document date, in seconds since 1970; None if no document has a date."""
        ...

    def has_graph(self) -> bool:
        """Return whether there is a graph that a walk can follow."""
        ...

    def count(
        self, words: Collection[str], small: Collection[str] = (), held: Collection[str] = (), *, allowed: Allowed
    ) -> Counts:
        """Return the counts of folded words, and the chunks that contain the codes and phrases in ``held``.

        ``small`` are function words, which are counted only until they are common. For each code or phrase, at most
        :data:`monograph.search.words.CANDIDATES` chunks that contain its words one after the other are read.
        """
        ...

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        """Return the number of chunks that have each of very many words; words that no chunk has are left out."""
        ...

    def pool(self, request: PoolRequest) -> Pool:
        """Return the candidates of a search."""
        ...

    def containing(self, text: str, k: int, allowed: Allowed) -> list[int]:
        """Return at most k chunks that may contain a folded text; the caller must check them."""
        ...

    def cosines(self, chunks: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        """Return (rows of the chunks that have a vector, their cosines to the vectors).

        ``vectors`` is float32 (n, dimension); the cosines are float32 (n, rows).
        """
        ...

    def titled_texts(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        """Return (title of the document, text) of chunks, in order; empty texts for a chunk that cannot be read."""
        ...

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        """Return sort keys by row, which order chunks as their ids do. The result may have other chunks too."""
        ...

    # The graph.

    def titled_extractions(self, chunks: Collection[int]) -> dict[int, tuple[int, str]]:
        """Return (number of the extraction, title) by chunk row: the same for chunks of the same title and text."""
        ...

    def starts(self, chunks: Sequence[int]) -> list[StartText]:
        """Return the start texts of chunks, with their names in an order that depends on the chunks alone.

        Names that no other chunk or relation uses may be left out.
        """
        ...

    def leads(self, heads: Sequence[int], words: Words, allowed: Allowed) -> tuple[list[Leads], Evidence]:
        """Return the links of each entity, and the evidence of the chunks that they lead to.

        ``heads`` are rows of the entities' heads; ``words`` are hashes of the question's words.
        """
        ...

    def mentions(self, names: Collection[int], allowed: Allowed) -> dict[int, list[int]]:
        """Return the chunks that have each name, ascending, by the row of the name."""
        ...

    def linked(self, chunks: Collection[int]) -> dict[int, tuple[Records, Records]]:
        """Return (names, links) by chunk row, in the order of ``chunks``.

        They are records of NAMED and LINKED of :mod:`monograph.store.graph.graphs`.
        """
        ...

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        """Return the mentions of the given kinds in chunks, by chunk id; chunks that the graph lacks are left out.

        ``texts`` has the text of each chunk by its id.
        """
        ...

    def descriptions(self, chunks: Iterable[int]) -> dict[int, list[str]]:
        """Return a model's descriptions in chunks, by row, in order; chunks without any are left out."""
        ...

    def show(self, rows: Collection[int], where: Mapping[int, int] = NOWHERE) -> Shown:
        """Return chunks by row, in order, and the written forms of names.

        ``where`` gives, by the row of a name, the chunk in which it is looked up.
        """
        ...

    # The tree of summaries.

    def nearest_summaries(
        self, vector: Float32, k: int, allowed: Allowed
    ) -> tuple[list[tuple[int, float]], Effort | None]:
        """Return (node, cosine) of the k summaries nearest to a vector, and the effort.

        Ties are ordered by key, the hash of a summary's sources. A summary is left out unless all chunks under it are
        allowed. A zero vector has no near summaries. Raises InputError if there is no tree.
        """
        ...

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        """Return (summary, row of the chunk under it that is nearest to it) by node.

        Summaries that cannot be read are left out.
        """
        ...
