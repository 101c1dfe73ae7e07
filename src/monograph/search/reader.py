"""``Reader``: the protocol through which a search reads one state of a file or of a shelf.

In a search of a shelf, each call of a method is one network round trip. A graph search calls ``count``, ``pool``,
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
    from monograph.vectors.stop import RankedRecall, StopCondition

EVIDENCE = np.dtype([("row", "<i8"), ("document", "<i8"), ("words", "<u8"), ("hash", "<u8")])
"""Record of a chunk in a graph search.

``row`` is the chunk's row. ``document`` is the row of its document, or NO_DOCUMENT of
:mod:`monograph.store.graph.graphs` if the chunk is not in the graph. In ``words``, bit i is 1 if the chunk contains
word i of the question, in order of hash. ``hash`` is a hash of all words of the chunk: chunks with different hashes are
not copies of each other.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Counts of a question's words, and the chunks that may contain the question's codes and quoted phrases.

    ``total`` is the number of chunks in the corpus.
    ``chunks`` has the number of chunks that contain each folded word, by word. Words that no chunk contains are left
    out. For a function word that is common, the number may be lower than the true number: counting may stop as soon as
    the word is known to be common.
    ``held`` has, by code or phrase, (row, score) of the chunks that contain the words of the code or phrase one after
    another. The score, :func:`monograph.search.words.worth`, is 0 for INV 2024 if the code is INV-2024.
    ``postings`` are the postings that were read to count the words. :meth:`Reader.pool` can rank the chunks by these
    postings without reading them again. None if no postings were kept.
    """

    total: int
    chunks: Mapping[str, int]
    held: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    postings: Postings | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WalkRequest:
    """Request of a graph search for further data about its candidates: the fields of :class:`Pool` for graph searches.

    ``names`` are the rows of the question's names; :attr:`Pool.subjects` and :attr:`Pool.named` are about these names.
    ``words`` are the hashes of the question's words, ascending, for :attr:`Pool.evidence`.
    ``clauses`` are the vectors of the question's clauses, float32 (n, dimension), for :attr:`Pool.cosines`.
    """

    names: Collection[int]
    words: Words
    clauses: Float32


@dataclass(frozen=True, slots=True, eq=False)
class PoolRequest:
    """Request for the candidates of a search.

    ``k`` is the number of chunks to return by words, and the number to return by vector. Chunks that tie with the k-th
    are returned too.
    ``filter`` allows the chunks that may be returned.
    ``words`` are the folded words to rank by; ``counts`` has their counts. Without words there is no lexical ranking.
    ``vector`` is float32 (dimension,). If it is None or zero, there is no dense ranking.
    ``window_factor`` makes the vector search stop later if it is above 1. The search stops after a number of successive
    clusters that bring no useful result. This number, the window, is multiplied by the factor.
    ``stop`` ends the vector search: a stop condition, or a ranked recall to reach; None for the index's target recall.
    ``walk`` requests the additional data about the chunks that a graph search needs; None for other searches.
    """

    k: int
    filter: CompiledFilter
    words: Sequence[str] = ()
    counts: Counts | None = None
    vector: Float32 | None = None
    window_factor: float = 1.0
    stop: StopCondition | RankedRecall | None = None
    walk: WalkRequest | None = None


class Evidence(Protocol):
    """EVIDENCE records of the chunks that one call of :meth:`Reader.pool` or :meth:`Reader.leads` found."""

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

    ``lexical`` has (row, score) of the k best chunks by FTS5's BM25 (k1 = 1.2, b = 0.75) over title and text. Chunks
    that tie with the k-th are included.
    ``dense`` has (row, cosine) of the k nearest chunks. Chunks that tie with the k-th are included.
    ``effort`` says how much the vector search read, and why it stopped; None if there was no vector search.

    The other fields serve a graph search, and are only filled if the request has a ``walk``. They cover the chunks of
    ``lexical``, ``dense`` and ``subjects``.
    ``evidence`` returns the EVIDENCE records of these chunks.
    ``subjects`` are chunks at the beginning of documents about the question's names: see
    :func:`monograph.store.graph.graphs.subject_chunks`. They are in order of their position in the document, then id.
    ``named`` has (row of the name, row of the chunk): one pair for each name of the question in each of these chunks.
    ``cosines`` is (rows of the chunks that have a vector, cosines of these vectors to the vectors of the question's
    clauses). The cosines are float32 (clauses, rows).
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
"""Chunks and names that a result shows: ({row of chunk: chunk}, {row of name: (entity id, spelling)})."""


class SearchModels(Protocol):
    """The models of an open archive that a search uses."""

    @property
    def embedder(self) -> Embedder:
        """The embedder that made the stored vectors. Raises ModelError if it cannot be loaded on this machine."""
        ...

    def embed(self, texts: Sequence[str]) -> Float32:
        """Embed queries with :attr:`embedder`, and return their vectors: float32 (n, dimension), of unit length.

        Raises ModelError if the embedder fails.
        """
        ...


class Reader(Protocol):
    """One state of a corpus, for the duration of a search. Rows that do not exist are left out of results.

    A parameter ``allowed`` is always a filter of chunks. Chunks that do not match the filter are left out of results.
    """

    @property
    def models(self) -> SearchModels:
        """The models of the archive that is searched."""
        ...

    @property
    def names(self) -> Names:
        """The names of the archive.

        Reading them takes no network round trip: a shelf has the names of all its files in one place.
        """
        ...

    # Words are folded ones, as monograph.store.words.terms.words_of returns them.

    def total(self) -> int:
        """Return the number of chunks of the corpus."""
        ...

    def newest(self) -> int | None:
        """Return the date of the newest document, in seconds since 1970; None if no document has a date.

        For a date that is a period, such as a year, the last second of the period is taken. Only dates that come from
        the documents themselves count; times of files do not.
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
        """Return the counts of folded words, and the chunks that may contain codes and quoted phrases.

        ``words`` are counted exactly. ``small`` are function words: the counting of a function word may stop as soon as
        the word is known to be common. ``held`` are the codes and phrases. For each code or phrase, at most
        :data:`monograph.search.words.CANDIDATES` ``allowed`` chunks are scored. The counts cover all chunks.
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
        """Return the rows of at most k chunks that may contain a folded text. The caller must check each chunk."""
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
        """Return {row: sort key} of chunks. The sort keys order chunks as the chunks' ids do.

        The mapping may also contain chunks that are not in ``rows``.
        """
        ...

    # The graph.

    def sample(self, k: int, allowed: CompiledFilter) -> list[int]:
        """Return the rows of the k allowed chunks whose ids come first, in order of id.

        Ids are hashes, so the sample is as good as random, but equal in all files with the same documents.
        """
        ...

    def titled_extractions(self, chunks: Collection[int]) -> dict[int, tuple[int, str]]:
        """Return (number, document's title) of each chunk, by row, so that copies of a chunk can be recognised.

        The number identifies what the extractor found in the chunk's text: it is equal for equal texts. So chunks with
        the same title and text have equal values. Chunks without an extraction are left out.
        """
        ...

    def starts(self, chunks: Sequence[int]) -> list[StartText]:
        """Return, for each chunk, in order, its text and the names whose links a walk can follow from the chunk.

        The order of a chunk's names depends only on the chunk. A name may be left out if its links lead to no other
        chunk.
        """
        ...

    def leads(self, heads: Sequence[int], words: Words, allowed: CompiledFilter) -> tuple[list[ChunkLinks], Evidence]:
        """Return (links of each entity to chunks, evidence of the linked chunks).

        ``heads`` are the rows of the entities' heads. The links are in the order of ``heads``.
        ``words`` are the hashes of the question's words. Links to chunks that ``allowed`` excludes are left out.
        """
        ...

    def mentions(self, names: Collection[int], allowed: CompiledFilter) -> dict[int, list[int]]:
        """Return {row of name: rows of the chunks that contain the name, ascending}."""
        ...

    def linked(self, chunks: Collection[int]) -> dict[int, tuple[Records, Records]]:
        """Return (names, links) of each chunk, by chunk row, in the order of ``chunks``.

        Names are records of dtype NAMED and links of dtype LINKED: see :mod:`monograph.store.graph.graphs`.
        """
        ...

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        """Return the mentions of entities of some kinds in each chunk, by chunk id.

        ``kinds`` are kinds of entities, such as ``person``: see :data:`monograph.values.ENTITY_KINDS`. ``texts`` has
        the text of each chunk by the chunk's id. Chunks that are not in the graph are left out.
        """
        ...

    def descriptions(self, chunks: Iterable[int]) -> dict[int, list[str]]:
        """Return the descriptions that a language model wrote of the entities in each chunk, by chunk row.

        The descriptions of a chunk are in the order of its stored mentions. A chunk without descriptions is left out,
        or its list is empty.
        """
        ...

    def show(self, rows: Collection[int], where: Mapping[int, int] = NOWHERE) -> Shown:
        """Load the chunks and names that a result shows: return ({row: chunk}, {row of name: (entity id, spelling)}).

        The chunks are in the order of ``rows``. ``where`` has the names: it maps the row of each name to the row of a
        chunk. The spelling of the name is that in this chunk, or in the title of the chunk's document.
        """
        ...

    # The tree of summaries.

    def nearest_summaries(
        self, vector: Float32, k: int, allowed: CompiledFilter, stop: StopCondition | RankedRecall | None = None
    ) -> tuple[list[tuple[int, float]], Effort | None]:
        """Return ((node, cosine) of the k summaries nearest to a vector, effort of the search), nearest first.

        A node is the row of a summary in the tree. Summaries with equal cosines are in order of a hash of the texts
        that they summarise. A summary is left out unless all chunks below it in the tree are allowed. For a zero
        vector, no summaries are returned, and the effort is None. Raises InputError if there is no tree.
        """
        ...

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        """Return (summary, row of a chunk) for each node of the tree, by node.

        Of all chunks below the summary in the tree, the returned chunk is the one whose vector is nearest to the
        summary's vector. Summaries that cannot be read are left out.
        """
        ...
