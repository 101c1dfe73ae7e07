"""``Reader``: the protocol through which a search reads one state of a file or of a shelf.

Each method is one network round of a search of a shelf: count, pool, starts and leads for each hop, show. Chunks, names
and documents are known by rows, which are numbers of the reader's own. No answer depends on an earlier call.
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
"""Record that scores a chunk: its row, its document's (NO_DOCUMENT of the store's graphs if it is not in the graph), a
bit for each of the question's words, by their places, that it has, and a hash of all its words."""


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Counts of a question's words, and the chunks that hold its codes and phrases word for word.

    Parameters
    ----------
    total:
        Chunks in the corpus.
    chunks:
        The number of chunks that have each folded word; words in no chunk are left out. Words that name nothing are
        counted until they are common.
    held:
        (row, worth) of the chunks that hold each code or phrase: see :func:`monograph.search.words.worth`.
    postings:
        What a file read to count, by which it ranks.
    """

    total: int
    chunks: Mapping[str, int]
    held: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)
    postings: Postings | None = None


@dataclass(frozen=True, slots=True, eq=False)
class WalkRequest:
    """Request of a graph search about the chunks of its pool.

    ``names`` are rows of the question's names; ``words`` are hashes of its words; ``clauses`` are vectors of its
    clauses, float32 (n, dimension).
    """

    names: Collection[int]
    words: Words
    clauses: Float32


@dataclass(frozen=True, slots=True, eq=False)
class PoolRequest:
    """The candidates that a search asks for.

    Parameters
    ----------
    k:
        Most chunks by words, and as many by meaning; and all that tie with the last.
    filter:
        Which chunks may be found.
    words, counts:
        Folded words to rank by, and the counts that they are among. None are ranked without words.
    vector:
        float32 (dimension,); chunks are not searched by meaning without one, or if it is zero.
    stretch:
        A factor on the window of the stop condition of the search by meaning.
    walk:
        What is asked about the chunks that are found.
    """

    k: int
    filter: Allowed
    words: Sequence[str] = ()
    counts: Counts | None = None
    vector: Float32 | None = None
    stretch: float = 1.0
    walk: WalkRequest | None = None


class Evidence(Protocol):
    """Documents and words of chunks that one round of a search found."""

    def evidence(self, rows: Sequence[int], words: Words) -> Records:
        """Return records of EVIDENCE (n,) of different chunks that were found; ``words`` are the question's."""
        ...


NO_COSINES: tuple[Int64, Float32] = np.empty(0, np.int64), np.empty((0, 0), np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Candidates of a search.

    Parameters
    ----------
    evidence:
        Documents and words of all chunks of the pool; of none without a walk.
    lexical, dense:
        (row, score) of the k best chunks by FTS5's BM25 (k1 = 1.2, b = 0.75) over title and text, and by cosine; with
        all that tie with the last.
    effort:
        The effort of the search by meaning.
    subjects:
        The first chunks of the documents about the question's names, by their place in the document, ties by id.
    named:
        (name, chunk) of the chunks of the pool that have any of the question's names.
    cosines:
        (rows of those chunks that have a vector, their cosines to the clauses (clauses, rows)).
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
"""(chunks by row, (entity id, name as it is written) of names by row)."""


class SearchModels(Protocol):
    """The models of an open archive that a search uses."""

    @property
    def embedder(self) -> Embedder:
        """The model that made the vectors. Raises ModelError if it cannot be loaded here."""
        ...

    def embed(self, texts: Sequence[str]) -> Float32:
        """Return vectors of queries, float32 (n, dimension), of unit length, by that model. Raises ModelError."""
        ...


class Reader(Protocol):
    """One state of a corpus, for as long as a search goes on. Rows that are not there are left out of results.

    ``allowed`` says which chunks may be found, or be passed on the way.
    """

    @property
    def models(self) -> SearchModels:
        """The models of the archive."""
        ...

    @property
    def names(self) -> Names:
        """The names of the archive. They are not read in rounds: a shelf has those of all its files in one place."""
        ...

    # Words are folded ones, as monograph.store.words.terms.words_of returns them.

    def total(self) -> int:
        """Return the number of chunks."""
        ...

    def newest(self) -> int | None:
        """Return the last second, since 1970, that any document may be from; None if no document has a date."""
        ...

    def has_graph(self) -> bool:
        """Whether there is a graph to walk along."""
        ...

    def count(
        self, words: Collection[str], small: Collection[str] = (), held: Collection[str] = (), *, allowed: Allowed
    ) -> Counts:
        """Return the counts of some words, and the chunks that hold some codes and phrases.

        ``small`` are words that name nothing, which are counted until they are common. Of the chunks that have the
        words of a code or phrase in a row, :data:`monograph.search.words.CANDIDATES` are read.
        """
        ...

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        """Return the number of chunks that have each word, of very many; words in no chunk are left out."""
        ...

    def pool(self, request: PoolRequest) -> Pool:
        """Return the candidates of a search."""
        ...

    def containing(self, text: str, k: int, allowed: Allowed) -> list[int]:
        """Return at most k chunks that may contain a folded text."""
        ...

    def cosines(self, chunks: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        """Return (rows of the chunks that have a vector, their cosines (n, rows) to vectors (n, dimension))."""
        ...

    def titled_texts(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        """Return (title of the document, text) of chunks, in order; empty texts for one that cannot be read."""
        ...

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        """Return texts that sort chunks as their ids do, by row; maybe of other chunks too."""
        ...

    # The graph.

    def titled_extractions(self, chunks: Collection[int]) -> dict[int, tuple[int, str]]:
        """Return (extraction as a number, title) of chunks by row: equal ones say the same."""
        ...

    def starts(self, chunks: Sequence[int]) -> list[StartText]:
        """The texts of chunks that are there, with the names in them, in an order that hangs on the chunks alone.

        Names that nothing else names may be left out.
        """
        ...

    def leads(self, heads: Sequence[int], words: Words, allowed: Allowed) -> tuple[list[Leads], Evidence]:
        """Return where each of some entities leads, and the evidence of the chunks that they lead to.

        ``words`` are hashes of the question's words.
        """
        ...

    def mentions(self, names: Collection[int], allowed: Allowed) -> dict[int, list[int]]:
        """The chunks that name each of some names, ascending."""
        ...

    def linked(self, chunks: Collection[int]) -> dict[int, tuple[Records, Records]]:
        """Return (names, links) by chunk row, in the order asked: records of NAMED and LINKED of the store's graphs."""
        ...

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        """Return the mentions of some kinds in chunks of some texts, by id; without chunks that the graph lacks."""
        ...

    def descriptions(self, chunks: Iterable[int]) -> dict[int, list[str]]:
        """Return a model's descriptions in chunks, by row, in the order asked; chunks without any are left out."""
        ...

    def show(self, rows: Collection[int], where: Mapping[int, int] = NOWHERE) -> Shown:
        """Return chunks by row, in order, and names as they are written in the chunk that ``where`` gives each."""
        ...

    # The tree of summaries.

    def nearest_summaries(
        self, vector: Float32, k: int, allowed: Allowed
    ) -> tuple[list[tuple[int, float]], Effort | None]:
        """Return (node, cosine) of the k summaries nearest to a vector; ties by key, a hash of a summary's sources.

        A summary is left out unless all chunks under it are allowed. A vector that is zero has none. Raises InputError
        if there is no tree.
        """
        ...

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        """Return summaries by node, with the chunk under each that is nearest to it; none that cannot be read."""
        ...
