"""What a search reads of the corpus: the port behind which a file stands, or many files that answer as one.

Whatever is looked up is asked for all at once, since it may have a way to go; and it is asked by rows, which are
numbers that the snapshot gives. What it reads ahead or remembers is its own affair.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

from monograph.store.documents.chunks import LoadedChunk

if TYPE_CHECKING:
    from monograph.graph.evidence import Int64
    from monograph.graph.text import Words
    from monograph.models import Embedder
    from monograph.search.frequencies import Frequencies
    from monograph.search.leads import Leads, StartText
    from monograph.store.documents.filters import Allowed
    from monograph.store.graph.graphs import Records, SubjectChunk
    from monograph.store.graph.names import NameRow
    from monograph.values import Effort, Float32, Mention, Summary

NO_DOCUMENT = -1
"""In the place of the document of a chunk that is not there."""


@dataclass(frozen=True, slots=True, eq=False)
class Nearest:
    """(row, cosine) of what lies nearest to a vector, all that ties with the last too; and what the search took."""

    scored: Sequence[tuple[int, float]]
    effort: Effort | None = None


@dataclass(frozen=True, slots=True)
class Opening:
    """What a search for a text begins with.

    It will count the words that ``counted`` gives of the text, as :meth:`Reader.frequencies` takes them, and look for
    the codes and phrases in it word for word.
    """

    text: str
    allowed: Allowed
    counted: Callable[[str], tuple[Collection[str], Collection[str]]]


@dataclass(frozen=True, slots=True, eq=False)
class Walking:
    """What a search along the graph asks of the chunks that it begins with.

    It will ask for the documents about entities, by the rows of their ``heads``; and of these and all other chunks that
    it begins with for the cosines to ``clauses`` (clauses, dimension), for which of ``words`` they have, and for which
    of the entities they name.
    """

    clauses: Float32
    heads: Collection[int]
    words: Words


@dataclass(frozen=True, slots=True, eq=False)
class Pooling:
    """What a search goes on with: the ``k`` best chunks by words, and the k nearest to ``vector`` (dimension,).

    No vector where meaning does not count; ``walking`` where it follows the graph from there.
    """

    k: int
    allowed: Allowed
    vector: Float32 | None = None
    walking: Walking | None = None


Shown: TypeAlias = tuple[dict[int, LoadedChunk], dict[int, tuple[str, str]]]
"""(chunks by row, (entity id, name as it is written) of names by row)."""


@dataclass(frozen=True, slots=True)
class NearName:
    """A name by its row, and the estimated cosine of its embedding, in [-1, 1]."""

    name: int
    cosine: float


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
    """One state of a corpus, as long as a search goes on. Rows that are not there are left out of what is given.

    ``allowed`` tells which chunks may be found, or be passed on the way.
    """

    @property
    def models(self) -> SearchModels:
        """The models of the archive."""
        ...

    def expect(self, coming: Opening | Pooling) -> None:
        """Hear what is about to be asked, so that it can be asked for together; nothing hangs on it."""
        ...

    # Words: folded ones, as monograph.store.words.terms.words_of gives them.

    def frequencies(self, words: Collection[str], small: Collection[str] = ()) -> Frequencies:
        """Of some words, and of others that name nothing, which are counted until they are common."""
        ...

    def total(self) -> int:
        """How many chunks there are."""
        ...

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        """In how many chunks each of some words, or of very many, stands; those that stand in none are left out."""
        ...

    def bm25(self, words: Sequence[str], k: int, allowed: Allowed) -> list[tuple[int, float]]:
        """(row, score) of the k best chunks that have any of some words, and of all that tie with the last.

        By FTS5's BM25 (k1 = 1.2, b = 0.75) over title and text.
        """
        ...

    def holding(self, text: str, allowed: Allowed) -> list[tuple[int, float]]:
        """(row, worth) of the chunks that hold a code or phrase: see :func:`monograph.search.words.worth`.

        Of the chunks that have its words one after the other so many are read as
        :data:`monograph.search.words.CANDIDATES` tells.
        """
        ...

    def containing(self, text: str, k: int, allowed: Allowed) -> list[int]:
        """At most k chunks that may have a folded text somewhere within."""
        ...

    # Meaning.

    def nearest(self, vector: Float32, k: int, allowed: Allowed, stretch: float = 1.0) -> Nearest:
        """The k chunks of highest cosine to a vector (dimension,) that is not zero; more where several share a vector.

        ``stretch`` is a factor on the window of the search's stop condition.
        """
        ...

    def cosines(self, chunks: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        """(rows of those of some chunks that have a vector, its cosines (n, rows) to some vectors (n, dimension))."""
        ...

    # Texts.

    def chunks(self, rows: Iterable[int]) -> dict[int, LoadedChunk]:
        """Chunks by row, in the order asked for."""
        ...

    def titled_texts(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        """(title of the document, text) of chunks in the order asked for; empty for one that cannot be read."""
        ...

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        """What puts chunks in the order of their ids, by row: these, or what tells them apart; and maybe of others."""
        ...

    def newest(self) -> int | None:
        """The last second, since 1970, that any document may be from; None where none tells when it is from."""
        ...

    # Names.

    def known(self, keys: Collection[str]) -> dict[str, NameRow]:
        """The names in use among some keys, by key."""
        ...

    def called(self, first: Collection[str]) -> list[NameRow]:
        """Persons that some first names call, where each calls one alone."""
        ...

    def subjects_among(self, names: Collection[int]) -> set[int]:
        """Those of some names that a document is about."""
        ...

    def names(self, rows: Collection[int]) -> dict[int, NameRow]:
        """Names by row."""
        ...

    def members(self, heads: Collection[int]) -> dict[int, list[NameRow]]:
        """All names in use of entities, by the row of their head, which comes first; the others in order of key."""
        ...

    def entities(self, names: Iterable[int]) -> tuple[Mapping[int, int], Mapping[int, str]]:
        """(the entity of each of some names, the key of each name and entity) by row, and maybe of others."""
        ...

    def names_like(self, vectors: Float32, k: int) -> list[list[NearName]]:
        """The names in use nearest to each of some vectors (n, dimension), at most k, nearest first, ties by key.

        A vector without a direction is near nothing, nor is a name that is not embedded.
        """
        ...

    # The graph.

    def has_graph(self) -> bool:
        """Whether there is a graph to walk along."""
        ...

    def words_in(self, chunks: Sequence[int], asked: Words) -> tuple[Int64, list[bytes], Sequence[Hashable]]:
        """What words tell of chunks.

        Returns
        -------
        (the document of each, NO_DOCUMENT where it is not there; hashes of those of its words that are asked for, and
        maybe of others, packed; what is the same for chunks of the same words, and seldom for others).
        """
        ...

    def titled_extractions(self, chunks: Collection[int]) -> dict[int, tuple[int, str]]:
        """What tells whether chunks say the same, by row: (what was extracted, as a number; the document's title)."""
        ...

    def starts(self, chunks: Sequence[int]) -> list[StartText]:
        """The texts of chunks that are there, with the names in them, in an order that hangs on the chunks alone.

        Names that nothing else names may be left out.
        """
        ...

    def leads(self, heads: Sequence[int], known: Mapping[int, NameRow], allowed: Allowed) -> list[Leads]:
        """Where each of some entities leads; ``known`` are names that were read before, by row."""
        ...

    def subject_chunks(self, names: Collection[int], allowed: Allowed) -> list[SubjectChunk]:
        """The first chunks of the documents that are about some names, by their place in the document, ties by id."""
        ...

    def naming(self, chunks: Sequence[int], names: Collection[int]) -> list[tuple[int, int]]:
        """(name, chunk) for those of some chunks that name any of some names."""
        ...

    def mentions(self, names: Collection[int], allowed: Allowed) -> dict[int, list[int]]:
        """The chunks that name each of some names, ascending."""
        ...

    def linked(self, chunks: Collection[int]) -> dict[int, tuple[Records, Records]]:
        """Return (names, links) by chunk row, in the order asked: records of NAMED and LINKED of the store's graphs."""
        ...

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        """What of some kinds was found in chunks of some texts, by their ids; without those that the graph lacks."""
        ...

    def descriptions(self, chunks: Iterable[int]) -> dict[int, list[str]]:
        """What a model wrote of what it found in chunks, by row, in the order asked; nothing of those without any."""
        ...

    def shown(
        self,
        rows: Collection[int],
        where: Mapping[int, int],
        known: Mapping[int, NameRow],
        texts: Mapping[int, tuple[str, str]],
    ) -> Shown:
        """:meth:`chunks` by row, and names as they are written, each looked for in the chunk that ``where`` gives it.

        ``known`` are names, and ``texts`` titles and texts of chunks, that were read before.
        """
        ...

    # The tree of summaries.

    def require_tree(self) -> None:
        """Raise InputError where there is none."""
        ...

    def nearest_summaries(self, vector: Float32, k: int, allowed: Allowed) -> Nearest:
        """The k summaries of highest cosine to a vector that is not zero, by node; ties by key, a hash of its sources.

        Only those are there that stand over nothing that is not allowed.
        """
        ...

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        """Summaries by node, each with the chunk under it that lies nearest to it; none that cannot be read."""
        ...
