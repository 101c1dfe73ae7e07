"""``Reader`` of one file. It caches loaded data, and asks the system to read pages before SQLite needs the pages."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np

from monograph import telemetry
from monograph.graph import GRAPH
from monograph.search import words as word_for_word
from monograph.search.reader import EVIDENCE, NOWHERE, Counts, Pool, PoolRequest
from monograph.search.scoring import _scoring
from monograph.store import tree as stored_tree
from monograph.store.documents import chunks as stored_chunks
from monograph.store.documents import documents
from monograph.store.documents.filters import EVERYTHING
from monograph.store.file import settings
from monograph.store.graph import extractions, graphs
from monograph.store.vectors import vectors as stored_vectors
from monograph.store.words import postings, terms
from monograph.store.words.postings import WordCountCache
from monograph.store.words.prefetch import Prefetcher
from monograph.values import Effort
from monograph.vectors.search import VectorQuery

if TYPE_CHECKING:
    from monograph.graph.evidence import Int64
    from monograph.graph.text import Words
    from monograph.search.names import ChunkLinks, NamedText, Names, Signs, StartText
    from monograph.search.reader import Evidence, SearchModels, Shown
    from monograph.store.documents.filters import CompiledFilter
    from monograph.store.file.database import Connection
    from monograph.store.graph.graphs import Records
    from monograph.values import Float32, Mention, Summary
    from monograph.vectors.index import EcoVectorIndex
    from monograph.vectors.search import Bits
    from monograph.vectors.stop import RankedRecall, StopCondition


_Value = TypeVar("_Value")

MOST_CHUNKS = 16_384
"""Number of chunks whose words are cached. If each chunk is a paragraph, the cache takes about 7 MB. Without the cache,
a graph search of 4 ms takes 0.5 ms longer."""

MOST_STARTS = 2_048
"""Number of cached start texts: see :class:`monograph.search.names.StartText`. The cache saves 1.1 ms if the same
question is asked again, and 0.2 ms for another question."""

MOST_ENTITIES = 8_192
"""Number of entities with cached links. The cache saves 0.5 ms if the same question is asked again, and 0.2 ms for
another question."""


_ReadVectors: TypeAlias = "tuple[Mapping[int, int], Float32 | None]"
"""({row of a chunk: index of its vector}, vectors). The vectors are float32 (n, dimension), or None if not kept."""

_NONE_READ: _ReadVectors = ({}, None)


class RowCache(Generic[_Value]):
    """Cache of values by row. If it would have more than ``most`` values, all old values are dropped first."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._cached: dict[int, _Value] = {}

    def get(self, rows: Sequence[int], read: Callable[[list[int]], Mapping[int, _Value]]) -> list[_Value]:
        """Return the values of the given rows, in order. Rows without a value are left out.

        The rows must be distinct. ``read`` reads the values that are not in the cache, and returns them by row.
        """
        cached = self._cached
        try:
            return [cached[row] for row in rows]
        except KeyError:
            values = {row: cached[row] for row in rows if row in cached}
        new = read([row for row in rows if row not in values])
        if len(cached) + len(new) > self._most:
            # Replace the dict instead of clearing it: another thread may be reading it.
            self._cached = cached = {}
        cached.update(new)
        values.update(new)
        return [values[row] for row in rows if row in values]


class SearchCache:
    """Cache of data that searches have read from one state of a file. Safe for use by many threads.

    ``generation`` is the number of the file's state; -1 if nothing was read yet. ``ahead`` asks the system to read
    pages before SQLite needs the pages. The caches of later states get the same ``ahead``.
    """

    def __init__(self, generation: int = -1, ahead: Prefetcher | None = None) -> None:
        self.generation = generation
        self.ahead = ahead or Prefetcher()
        self.counted = WordCountCache(self.ahead)
        self.words = RowCache[tuple[int, bytes]](MOST_CHUNKS)
        self.starts: RowCache[StartText] = RowCache(MOST_STARTS)
        self.leads: RowCache[ChunkLinks] = RowCache(MOST_ENTITIES)
        self.signs: Signs = {}

    def at(self, generation: int) -> SearchCache:
        """Return this cache if it belongs to the given state of the file, else an empty cache for that state."""
        return self if self.generation == generation else SearchCache(generation, self.ahead)


@dataclass(frozen=True, slots=True, eq=False)
class FileReader:
    """``Reader`` of one file during one read transaction: see :class:`monograph.search.reader.Reader`.

    ``connection`` is in the read transaction. ``view`` is the name of the view that the connection shows; empty if the
    connection shows the whole file. The connection's tables have only the rows of the view. The indexes of words and
    vectors cover the whole file, so each search in an index gets the view as a filter.
    """

    connection: Connection
    cache: SearchCache
    chunk_index: EcoVectorIndex
    summary_index: EcoVectorIndex
    models: SearchModels
    view: str = ""

    @property
    def names(self) -> Names:
        from monograph.search.names import Names

        return Names(self.connection, self.cache.ahead, self.cache.signs)

    def total(self) -> int:
        return terms.count(self.connection)

    def newest(self) -> int | None:
        return documents.newest(self.connection)

    def has_graph(self) -> bool:
        stored = settings.load_model(self.connection, "extractor")
        return stored is not None and stored.graph == GRAPH

    def count(
        self,
        words: Collection[str],
        small: Collection[str] = (),
        held: Collection[str] = (),
        *,
        allowed: CompiledFilter,
    ) -> Counts:
        """Return the counts and matches that :meth:`monograph.search.reader.Reader.count` describes.

        The postings of the words are read directly from FTS5's own pages. :meth:`pool` ranks chunks by these postings.
        If the pages cannot be read, FTS5 is queried for the counts.
        """
        total = terms.count(self.connection)
        function_words = {word for word in small if word not in words and word.isascii()}
        exact = {*words, *small} - function_words
        loaded = postings.read(
            self.connection, exact, function_words, int(word_for_word.common_word_limit(total)) + 1, self.cache.counted
        )
        chunks = terms.document_frequency(self.connection, exact | function_words) if loaded is None else loaded.chunks
        with telemetry.span("monograph.search.word_for_word"):
            return Counts(total, chunks, {text: self.holding(text, allowed) for text in held}, loaded)

    def holding(self, text: str, allowed: CompiledFilter) -> list[tuple[int, float]]:
        """Return (row, worth) of the chunks that contain the words of a code or phrase one after the other.

        See :func:`monograph.search.words.worth`. At most :data:`monograph.search.words.CANDIDATES` chunks are read.
        """
        rows = terms.phrase(self.connection, text, word_for_word.CANDIDATES, allowed.within(self.view))
        texts = map("\n".join, self.titled_texts(rows))
        return [(row, word_for_word.worth(text, titled_text)) for row, titled_text in zip(rows, texts, strict=True)]

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        counted = self.cache.counted.exact
        if all(word in counted for word in words):
            return {word: counted[word] for word in words if counted[word]}
        return terms.document_frequency(self.connection, words)

    def pool(self, request: PoolRequest) -> Pool:
        lexical: list[tuple[int, float]] = []
        dense: list[tuple[int, float]] = []
        effort, read_vectors = None, _NONE_READ
        if request.words:
            allowed, scored = request.filter.within(self.view), None
            loaded = None if request.counts is None else request.counts.postings
            with telemetry.span("monograph.search.words"):
                if loaded is not None and loaded.can_rank(request.words):
                    scored = loaded.bm25(self.connection, request.words, request.k, allowed)
                if scored is None:
                    scored = terms.bm25(self.connection, request.words, request.k, allowed)
            lexical = scored
        if request.vector is not None and request.vector.any():
            with telemetry.span("monograph.search.vectors"):
                dense, effort, read_vectors = self.nearest(request)
        walk = request.walk
        if walk is None:
            return Pool(self, lexical, dense, effort)
        subjects = graphs.subject_chunks(self.connection, walk.names, request.filter)
        rows = list(dict.fromkeys([*dict(lexical), *dict(dense), *[subject.chunk for subject in subjects]]))
        named = graphs.chunks_that_name(self.connection, rows, walk.names)
        return Pool(self, lexical, dense, effort, subjects, named, self.cosines(rows, walk.clauses, read_vectors))

    def nearest(self, request: PoolRequest) -> tuple[list[tuple[int, float]], Effort, _ReadVectors]:
        """Return ((row, cosine) of the k chunks nearest to a vector, effort of the search, vectors read by the search).

        The request's vector must not be zero. There may be more than k chunks, because chunks of equal text share a
        vector.
        """
        assert request.vector is not None  # noqa: S101 - the callers check it
        allowed = request.filter
        bits = self._allowed_bits(self.chunk_index, allowed)
        query = VectorQuery(request.k, bits, request.stop, request.window_factor, ties=True)
        result = self.chunk_index.search(self.connection, request.vector, query)
        chunks = stored_vectors.chunks_of(self.connection, result.items)
        if bits is not None and any(len(shared) > 1 for shared in chunks.values()):
            # A vector is allowed if any of its chunks is, so filter the chunks of shared vectors.
            chunks = stored_vectors.chunks_of(self.connection, result.items, allowed)
        pairs = zip(result.items, result.scores, strict=True)
        scored = [(chunk, score) for memo, score in pairs for chunk in chunks[memo]]
        effort, read_vectors = Effort(result.loads, result.compared, result.stopped), _NONE_READ
        if result.read is not None:
            memos, values = result.read
            places = enumerate(memos.tolist())
            read_vectors = {chunk: index for index, memo in places for chunk in chunks.get(memo, ())}, values
        return scored, effort, read_vectors

    def cosines(
        self, chunks: Sequence[int], vectors: Float32, read: _ReadVectors = _NONE_READ
    ) -> tuple[Int64, Float32]:
        """Return the cosines that :meth:`monograph.search.reader.Reader.cosines` describes.

        Vectors in ``read`` are not read again.
        """
        positions, read_values = read
        missing = [chunk for chunk in chunks if chunk not in positions]
        self.cache.ahead.vectors(self.connection, missing)
        rows, values = stored_vectors.of_chunks(self.connection, missing, vectors.shape[1])
        if read_values is not None:
            already_read = [chunk for chunk in chunks if chunk in positions]
            rows = np.concatenate((np.array(already_read, dtype=np.int64), rows))
            values = np.concatenate((read_values[[positions[chunk] for chunk in already_read]], values))
        cosines = [np.vecdot(values, vector) for vector in vectors]
        return rows, np.array(cosines, dtype=np.float32).reshape(len(vectors), len(rows))

    def evidence(self, rows: Sequence[int], words: Words) -> Records:
        """Return an EVIDENCE record for each chunk: see :class:`monograph.search.reader.Evidence`."""
        self.cache.ahead.graphs(self.connection, rows)
        chunk_words = self.cache.words.get(rows, lambda missing: graphs.words(self.connection, missing))
        return _scoring.evidence(words, rows, chunk_words).view(EVIDENCE)[:, 0]

    def containing(self, text: str, k: int, allowed: CompiledFilter) -> list[int]:
        return terms.containing(self.connection, text, k, allowed.within(self.view))

    def titled_texts(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        return stored_chunks.titled_texts(self.connection, rows)

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        return stored_chunks.ids(self.connection, rows)

    def sample(self, k: int, allowed: CompiledFilter) -> list[int]:
        return [row for _, row in stored_chunks.first_by_id(self.connection, k, allowed)]

    def titled_extractions(self, chunks: Collection[int]) -> dict[int, tuple[int, str]]:
        self.cache.ahead.titles(self.connection, chunks)
        return stored_chunks.titled_extractions(self.connection, chunks)

    def starts(self, chunks: Sequence[int]) -> list[StartText]:
        def read(rows: Sequence[int]) -> dict[int, StartText]:
            self.cache.ahead.starts(self.connection, rows)
            return dict(zip(rows, self.names.starts(self.named_texts(rows)), strict=True))

        return self.cache.starts.get(chunks, read)

    def named_texts(self, rows: Sequence[int]) -> list[NamedText]:
        """Return each chunk with its names and relations, in the order of ``rows``."""
        named_texts: list[NamedText] = []
        for row, (title, text, packed, own, value) in zip(
            rows, stored_chunks.named_texts(self.connection, rows), strict=True
        ):
            with extractions.decoding_of(self.connection, row):
                named_texts.append((title, text, packed, own, extractions.relations(value) if value else ()))
        return named_texts

    def leads(self, heads: Sequence[int], words: Words, allowed: CompiledFilter) -> tuple[list[ChunkLinks], Evidence]:
        def read(missing: Sequence[int]) -> dict[int, ChunkLinks]:
            self.cache.ahead.leads(self.connection, missing)
            request = self.names.links(missing)
            subjects = graphs.subject_chunks(self.connection, request.names, allowed)
            return request.leads(subjects, graphs.mentions(self.connection, request.rare, allowed))

        return self.cache.leads.get(heads, read) if allowed == EVERYTHING else list(read(heads).values()), self

    def mentions(self, names: Collection[int], allowed: CompiledFilter) -> dict[int, list[int]]:
        return graphs.mentions(self.connection, names, allowed)

    def linked(self, chunks: Collection[int]) -> dict[int, tuple[Records, Records]]:
        return graphs.linked(self.connection, chunks)

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        ids = {row: identifier for identifier, row in stored_chunks.rows_of(self.connection, texts).items()}
        values = graphs.extraction_values(self.connection, ids)
        mentions = {}
        for row, value in values.items():
            with extractions.decoding_of(self.connection, row):
                extraction = extractions.unpack(value, texts[ids[row]])
                mentions[ids[row]] = [mention for mention in extraction.mentions if mention.kind in kinds]
        return mentions

    def descriptions(self, chunks: Iterable[int]) -> dict[int, list[str]]:
        descriptions = {}
        for row, value in graphs.extraction_values(self.connection, chunks).items():
            with extractions.decoding_of(self.connection, row):
                descriptions[row] = extractions.descriptions(value)
        return descriptions

    def show(self, rows: Collection[int], where: Mapping[int, int] = NOWHERE) -> Shown:
        written = self.names.written(where) if where else {}
        chunk_rows = list(rows)
        self.cache.ahead.texts(self.connection, chunk_rows)
        return {chunk.row: chunk for chunk in stored_chunks.load(self.connection, chunk_rows)}, written

    def nearest_summaries(
        self, vector: Float32, k: int, allowed: CompiledFilter, stop: StopCondition | RankedRecall | None = None
    ) -> tuple[list[tuple[int, float]], Effort | None]:
        from monograph.search.one_file import summaries

        summaries.need_tree(self.connection)
        if not vector.any():
            return [], None
        bits = self._allowed_bits(self.summary_index, allowed)
        disallowed = set() if allowed == EVERYTHING else stored_tree.disallowed_summaries(self.connection, allowed)
        result = self.summary_index.search(self.connection, vector, VectorQuery(k, bits, stop, ties=True))
        nodes = stored_tree.of_vectors(self.connection, result.items, disallowed)
        pairs = zip(result.items, result.scores, strict=True)
        scored = [(score, *node) for memo, score in pairs for node in nodes[memo]]
        best = sorted(scored, key=lambda entry: (-entry[0], entry[2]))[:k]
        return [(node, score) for score, node, _ in best], Effort(result.loads, result.compared, result.stopped)

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        from monograph.search.one_file import summaries

        rows = stored_tree.load(self.connection, nodes)
        loaded = summaries.load(self.connection, nodes)
        return {node: (summary, rows[node].nearest or 0) for node, summary in loaded.items()}

    def _allowed_bits(self, index: EcoVectorIndex, allowed: CompiledFilter) -> Bits | None:
        allowed = allowed.within(self.view)
        return None if allowed == EVERYTHING else index.allowed(self.connection, allowed)
