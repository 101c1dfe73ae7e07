"""``Reader``: the protocol through which a search reads one state of a file or of a shelf.

In a search of a shelf, each call of a method is one round over the network. A graph search calls ``count``, ``pool``,
for each hop ``starts`` and ``leads``, and at last ``show``. Chunks, names and documents are identified by rows. Rows
are numbers that are valid for one reader only. The result of a call does not depend on earlier calls.
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
    from monograph.search.names import ChunkLinks, Names, StartText
    from monograph.store.documents.filters import CompiledFilter
    from monograph.store.graph.graphs import Records, SubjectChunk
    from monograph.store.words.postings import Postings
    from monograph.values import Effort, Float32, Mention, Summary

EVIDENCE = np.dtype([("row", "<i8"), ("document", "<i8"), ("words", "<u8"), ("hash", "<u8")])
"""Record by which a chunk is scored.

``row`` is the chunk's row. ``document`` is the row of its document, or NO_DOCUMENT of
:mod:`monograph.store.graph.graphs` if the chunk is not in the graph. In ``words``, bit i is 1 if the chunk contains
word i of the question. ``hash`` is a hash of all words of the chunk.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Counts of a question's words, and the chunks that contain its codes and phrases word for word.

    ``total`` is the number of chunks in the corpus.
    ``chunks`` has the number of chunks that contain each folded word, by word. Words that no chunk contains are left
    out. The count of a function word may stop as soon as the word is known to be common.
    ``held`` has, by code or phrase, (row, worth) of the chunks that contain it: see
    :func:`monograph.search.words.worth`.
    ``postings`` are the postings that a file read to count the words, and by which it can rank; None if it read none.
    """

    total: int
    chunks: Mapping[str, int]
    held: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    postings: Postings | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WalkRequest:
    """Data that a graph search requests about the chunks of its pool.

    ``names`` are the rows of the question's names. ``words`` are the hashes of the question's words, ascending.
    ``clauses`` are the vectors of the question's clauses, float32 (n, dimension).
    """

    names: Collection[int]
    words: Words
    clauses: Float32


@dataclass(frozen=True, slots=True, eq=False)
class PoolRequest:
    """Request for the candidates of a search.

    ``k`` is the number of chunks to return by words, and the number to return by vector. Chunks that tie with the last
    are returned too.
    ``filter`` allows the chunks that may be returned.
    ``words`` are the folded words to rank by; ``counts`` has their counts. Without words there is no lexical ranking.
    ``vector`` is float32 (dimension,). If it is None or zero, there is no dense ranking.
    ``window_factor`` is a factor on the window of the stop condition of the vector search.
    ``walk`` requests the additional data about the chunks that a graph search needs; None for other searches.
    """

    k: int
    filter: CompiledFilter
    words: Sequence[str] = ()
    counts: Counts | None = None
    vector: Float32 | None = None
    window_factor: float = 1.0
    walk: WalkRequest | None = None


class Evidence(Protocol):
    """Documents and words of the chunks that one call of :meth:`Reader.pool` or :meth:`Reader.leads` found."""

    def evidence(self, rows: Sequence[int], words: Words) -> Records:
        """Return one EVIDENCE record for each chunk, as an array (n,).

        ``rows`` are the rows of the chunks: distinct, and all from the call that returned this object. ``words`` are
        the hashes of the question's words.
        """
        ...


NO_COSINES: tuple[Int64, Float32] = np.empty(0, np.int64), np.empty((0, 0), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Candidates of a search.

    ``lexical`` has (row, score) of the k best chunks by FTS5's BM25 (k1 = 1.2, b = 0.75) over title and text, and of
    the chunks that tie with the last.
    ``dense`` has (row, cosine) of the k nearest chunks, and of the chunks that tie with the last.
    ``effort`` is the effort of the vector search; None if there was no such search.

    The other fields serve a graph search, and are only filled if a walk was requested.
    ``evidence`` has the documents and words of all chunks of the pool.
    ``subjects`` are the first chunks of the documents about the question's names. They are ordered by their position in
    the document, then by id.
    ``named`` has a pair (row of the name, row of the chunk) for each name of the question that a chunk of the pool
    contains.
    ``cosines`` is (rows of the chunks of the pool that have a vector, their cosines to the question's clauses). The
    cosines are float32 (clauses, rows).
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
"""(chunks by row, (entity id, spelling) of each name by the row of the name)."""


class SearchModels(Protocol):
    """The models of an open archive that a search uses."""

    @property
    def embedder(self) -> Embedder:
        """The embedder that made the stored vectors. Raises ModelError if it cannot be loaded on this machine."""
        ...

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return the vectors of queries from :attr:`embedder`, float32 (n, dimension), of unit length.

        Raises ModelError if the embedder fails.
        """
        ...


class Reader(Protocol):
    """One state of a corpus, for the duration of a search. Rows that do not exist are left out of results.

    A parameter ``allowed`` is always a filter of chunks: only chunks that match it are found, and a walk passes only
    these.
    """

    @property
    def models(self) -> SearchModels:
        """The models of the archive that is searched."""
        ...

    @property
    def names(self) -> Names:
        """The names of the archive.

        Reading them takes no network round: a shelf has the names of all its files in one place.
        """
        ...

    # Words are folded ones, as monograph.store.words.terms.words_of returns them.

    def total(self) -> int:
        """Return the number of chunks of the corpus."""
        ...

    def newest(self) -> int | None:
        """Return the end of the latest date of a document, in seconds since 1970.

        Return None if no document has a date.
        """
        ...

    def has_graph(self) -> bool:
        """Return whether the corpus has a graph that a walk can follow."""
        ...

    def count(
        self,
        words: Collection[str],
        small: Collection[str] = (),
        held: Collection[str] = (),
        *,
        allowed: CompiledFilter,
    ) -> Counts:
        """Return the counts of folded words, and the chunks that contain the codes and phrases in ``held``.

        ``words`` are counted exactly. ``small`` are function words; the count of such a word may stop as soon as it is
        known to be common. For each code or phrase, at most :data:`monograph.search.words.CANDIDATES` chunks that
        contain its words one after the other are read.
        """
        ...

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        """Return the number of chunks that contain each word, by word; words that no chunk contains are left out.

        Unlike :meth:`count` it is meant for very many words.
        """
        ...

    def pool(self, request: PoolRequest) -> Pool:
        """Return the candidates of a search: see :class:`PoolRequest` and :class:`Pool`."""
        ...

    def containing(self, text: str, k: int, allowed: CompiledFilter) -> list[int]:
        """Return the rows of at most k chunks that may contain a folded text. The caller must check their texts."""
        ...

    def cosines(self, chunks: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        """Return (rows of the chunks that have a vector, cosines of these chunks to the given vectors).

        ``vectors`` is float32 (n, dimension). The cosines are float32 (n, rows): one line for each given vector.
        """
        ...

    def titled_texts(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        """Return (title of the document, text) of each chunk, in order.

        For a chunk that cannot be read, both texts are empty.
        """
        ...

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        """Return a sort key for each chunk, by row. The keys order chunks as their ids do.

        The mapping may also contain chunks that are not in ``rows``.
        """
        ...

    # The graph.

    def titled_extractions(self, chunks: Collection[int]) -> dict[int, tuple[int, str]]:
        """Return (number of the stored extraction, document's title) of each chunk, by row.

        Chunks that have the same title and the same text have equal values.
        """
        ...

    def starts(self, chunks: Sequence[int]) -> list[StartText]:
        """Return the start text of each chunk, in order.

        The order of the names in a start text depends only on the chunk. Names that no other chunk or relation uses may
        be left out.
        """
        ...

    def leads(self, heads: Sequence[int], words: Words, allowed: CompiledFilter) -> tuple[list[ChunkLinks], Evidence]:
        """Return (links of each entity, evidence of the chunks that the links lead to).

        ``heads`` are the rows of the entities' heads. ``words`` are the hashes of the question's words.
        """
        ...

    def mentions(self, names: Collection[int], allowed: CompiledFilter) -> dict[int, list[int]]:
        """Return the rows of the chunks that contain each name, ascending, by the row of the name."""
        ...

    def linked(self, chunks: Collection[int]) -> dict[int, tuple[Records, Records]]:
        """Return (names, links) of each chunk, by chunk row, in the order of ``chunks``.

        Names are records of dtype NAMED and links of dtype LINKED: see :mod:`monograph.store.graph.graphs`.
        """
        ...

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        """Return the mentions of the given kinds in each chunk, by chunk id.

        ``texts`` has the text of each chunk by the chunk's id. Chunks that are not in the graph are left out.
        """
        ...

    def descriptions(self, chunks: Iterable[int]) -> dict[int, list[str]]:
        """Return the descriptions of mentions that a language model wrote for each chunk, in order, by chunk row.

        A chunk without descriptions is left out, or its list is empty.
        """
        ...

    def show(self, rows: Collection[int], where: Mapping[int, int] = NOWHERE) -> Shown:
        """Return (chunks by row, (entity id, spelling) of names by row).

        The chunks are in the order of ``rows``. ``where`` maps the row of each name to the row of the chunk in which
        its spelling is looked up.
        """
        ...

    # The tree of summaries.

    def nearest_summaries(
        self, vector: Float32, k: int, allowed: CompiledFilter
    ) -> tuple[list[tuple[int, float]], Effort | None]:
        """Return (node, cosine) of the k summaries nearest to a vector, and the effort of the search.

        Ties are ordered by key, the hash of a summary's sources. A summary is left out unless all chunks under it are
        allowed. For a zero vector there are no summaries and the effort is None. Raises InputError if there is no tree.
        """
        ...

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        """Return (summary, row of the chunk under the summary that is nearest to it), by node.

        Summaries that cannot be read are left out.
        """
        ...
