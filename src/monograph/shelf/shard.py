"""Reader of one shard, and calls of its methods from other processes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, TypeVar, TypeVarTuple, cast

import numpy as np

from monograph.explore import lookup
from monograph.explore.graph_state import GraphState
from monograph.graph.evidence import Int64
from monograph.graph.text import Words
from monograph.library import copies
from monograph.library.opened import WholeFile
from monograph.search.names import NamedText, written
from monograph.search.one_file.file_reader import FileReader
from monograph.search.reader import PoolRequest
from monograph.shelf import pools
from monograph.shelf.pools import ShardPool, Subject, make_records, replace_names
from monograph.store import catalogue
from monograph.store.documents import chunks, documents, sources
from monograph.store.documents.chunks import LoadedChunk
from monograph.store.documents.documents import DocumentRow
from monograph.store.documents.filters import CompiledFilter
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection
from monograph.store.graph import graphs, names
from monograph.store.graph.graphs import Records
from monograph.store.words import postings, terms
from monograph.values import Chunk, Document, Finding, Float32, Listed, Mention, StoredChunk

Arguments = TypeVarTuple("Arguments")
R = TypeVar("R")


class Call(NamedTuple):
    """A method of :class:`ShardReader` and its arguments. The process that has the shard open calls it.

    Pickle stores the method by its name, so that a call can be sent to another process.
    """

    method: Callable[..., Any]
    arguments: tuple[Any, ...]

    def answer(self, file: WholeFile) -> Any:
        """Return the result of the call on a shard, in one read transaction."""
        with file.reading() as snapshot:
            reader = cast(FileReader, snapshot)
            return self.method(ShardReader(reader.connection, reader, file), *self.arguments)


@dataclass(frozen=True, slots=True, eq=False)
class ShardReader(GraphState):
    """Reader of one shard in one read transaction.

    Rows in arguments and results are row numbers of this shard. Names are identified by their keys (the form in which
    names are compared), because each shard has its own row numbers of names.
    """

    snapshot: FileReader
    file: WholeFile

    @property
    def connection(self) -> Connection:
        """The connection with the read transaction."""
        return self.snapshot.connection

    def share(self) -> catalogue.Share:
        """Return the names and counts of this shard, which the shelf's catalogue merges."""
        return catalogue.load_share(self.connection)

    def findings(self) -> list[Finding]:
        """Return every fault in this shard: see :meth:`monograph.Monograph.check`."""
        return copies.findings(self.file, repair=False)

    # Documents. A name is an id, uri or path.

    def _resolve(self, name: str) -> list[DocumentRow]:
        return sources.resolve(self.connection, [name])[0]

    def documents_called(self, name: str) -> list[Document]:
        """Return the documents whose id, uri or path is ``name``, with their texts."""
        return [documents.load(self.connection, document) for document in self._resolve(name)]

    def rows_of(self, name: str) -> list[list[int]]:
        """Return a list of chunk rows, in reading order, for each document whose id, uri or path is ``name``."""
        return [chunks.rows_of_document(self.connection, document.row) for document in self._resolve(name)]

    def listed(self, like: str, most: int) -> Listed:
        """Return the first ``most`` documents that match ``like``: see :meth:`monograph.Monograph.listed`."""
        return lookup.listed(self.connection, like, 0, most)

    def read_chunks(self, name: str) -> list[list[Chunk]]:
        """Return a list of chunks, in reading order, for each document whose id, uri or path is ``name``."""
        return [
            [loaded.chunk for loaded in chunks.of_document(self.connection, document.row, strict=True)]
            for document in self._resolve(name)
        ]

    def fetch(self, ids: Sequence[str] | None, allowed: CompiledFilter, vectors: bool) -> list[StoredChunk]:
        """Return the chunks with these ids, or all chunks if ``ids`` is None; chunks that are not allowed are left out.

        Unknown ids are skipped. ``vectors`` is whether to return the chunks' vectors as well.
        """
        stored = settings.load_model(self.connection, "embedder") if vectors else None
        return lookup.fetch(self.connection, ids, allowed, None if stored is None else stored.dimension)

    # Words.

    def count(
        self,
        words: Sequence[str],
        small: Sequence[str],
        most: int,
        halves: Sequence[str],
        texts: Sequence[str],
        allowed: CompiledFilter,
    ) -> tuple[dict[str, int], dict[str, int], list[dict[int, tuple[str, float]]]]:
        """Count words in the chunks of this shard, and find the chunks that contain codes and phrases.

        Returns three values:

        - {word: number of chunks that contain the word};
        - {item of ``halves``: number of chunks with a pair that begins with this character};
        - for each item of ``texts``, in order, {row: (id, score)} of chunks that contain the text. For the score,
          see :func:`monograph.search.words.worth`.

        Parameters
        ----------
        words:
            Words to count exactly.
        small:
            Function words. Counting may stop as soon as ``most`` chunks are known to contain the word.
        halves:
            Single characters of writing without spaces, such as Chinese. The index contains such a character only in
            pairs of characters.
        texts:
            Codes (such as INV-2024) and quoted phrases to find. Only allowed chunks are searched.
        """
        connection = self.connection
        loaded = postings.read(connection, words, small, most, self.snapshot.cache.counted)
        counts = terms.document_frequency(connection, {*words, *small}) if loaded is None else loaded.chunks
        matches = [dict(self.snapshot.holding(text, allowed)) for text in texts]
        named = [{row: (name, scores[row]) for row, name in self.ids(list(scores)).items()} for scores in matches]
        return dict(counts), terms.count_chunks(connection, halves), named

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        """Return the number of chunks that have each word."""
        return terms.document_frequency(self.connection, words)

    def _bm25(
        self, words: Sequence[str], k: int, of_all: terms.CorpusCounts, allowed: CompiledFilter
    ) -> list[tuple[int, float]]:
        """Return (row, BM25 score) of the k best chunks and of ties with the k-th. ``of_all``: counts of all shards."""
        connection = self.connection
        loaded = postings.read(connection, words, (), of_all.chunks + 1, self.snapshot.cache.counted)
        if loaded is not None:
            present = [word for word in words if word in loaded.chunks or terms.is_half(word)]
            if loaded.can_rank(present):
                scored = loaded.bm25(connection, present, k, allowed, of_all)
                if scored is not None:
                    return scored
        return terms.bm25_of_all(connection, words, k, of_all, allowed)

    def pool(
        self, request: PoolRequest, of_all: terms.CorpusCounts | None, keys: Sequence[str], most: int
    ) -> ShardPool:
        """Return this shard's candidates for a search.

        ``of_all`` has the counts of words over all shards; if it is None, there are no lexical candidates. ``keys`` are
        the keys of the question's names. There are at most ``most`` lexical and at most ``most`` dense candidates;
        chunks that tie with the last one are returned as well.
        """
        k, allowed, walk, dense = request.k, request.filter, request.walk, None
        scored = [] if of_all is None else self._bm25(request.words, min(most, k), of_all, allowed)
        lexical = pools.select_best(scored, most, k)
        if request.vector is not None and request.vector.any():
            nearest, effort, _ = self.snapshot.nearest(request)
            dense = pools.select_best(nearest, most, k, effort)
        subjects = self.subject_chunks(keys, allowed) if keys else []
        parts = [part.records["row"].tolist() for part in (lexical, dense) if part is not None]
        rows = list(dict.fromkeys(chain(*parts, (subject[3] for subject in subjects if subject[3]))))
        named = self.named(rows, keys) if keys else []
        records = self._pack_records(rows) if walk is None else self._pack_records(rows, walk.words, walk.clauses)
        return ShardPool(lexical, dense, subjects, named, records)

    def _pack_records(self, rows: Sequence[int], words: Words | None = None, clauses: Float32 | None = None) -> bytes:
        """Return a record of each chunk as bytes: full with ``words``, else short; see :mod:`monograph.shelf.pools`."""
        ids = self.snapshot.ids(rows)
        names = [ids.get(row, "") for row in rows]
        if words is None:
            return make_records(rows, names).tobytes()
        records = make_records(rows, names, self.snapshot.evidence(rows, words), 0 if clauses is None else len(clauses))
        if clauses is not None and len(clauses):
            found_rows, cosines = self.cosines(rows, clauses)
            # The rows must be distinct.
            positions = {row: index for index, row in enumerate(rows)}
            indexes = [positions[row] for row in found_rows.tolist()]
            records["cosines"][indexes], records["vector"][indexes] = cosines.T, True
        return records.tobytes()

    def containing(self, text: str, k: int, allowed: CompiledFilter) -> dict[int, str]:
        """Return {row: id} of at most k allowed chunks that have all trigrams of a text.

        Such a chunk need not contain the text, so the caller must compare the texts.
        """
        return self.ids(self.snapshot.containing(text, k, allowed))

    def cosines(self, rows: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        """Return the cosines of chunks to vectors: see :meth:`monograph.search.reader.Reader.cosines`."""
        return self.snapshot.cosines(rows, vectors)

    # Texts.

    def titled_texts(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Return {row: (title of the document, text)} of chunks."""
        return dict(zip(rows, self.snapshot.titled_texts(rows), strict=True))

    def ids(self, rows: Sequence[int]) -> dict[int, str]:
        """Return {row: id} of chunks."""
        return chunks.ids(self.connection, rows)

    # The graph.

    def sample(self, k: int, allowed: CompiledFilter) -> list[tuple[str, int]]:
        """Return (id, row) of the k allowed chunks of this shard whose ids come first, in order of id."""
        return chunks.first_by_id(self.connection, k, allowed)

    def titled_extractions(self, rows: Sequence[int]) -> dict[int, tuple[bytes, str]]:
        """Return {row of chunk: (memo key of its extraction, title of its document)}.

        The same chunk has the same key and title in every file. Chunks without a stored extraction are left out.
        """
        found = chunks.titled_extractions(self.connection, rows)
        keys = memo.keys(self.connection, {memo_row for memo_row, _ in found.values()})
        return {row: (keys[memo_row], title) for row, (memo_row, title) in found.items() if memo_row in keys}

    def starts(self, rows: Sequence[int]) -> tuple[tuple[str, ...], list[NamedText]]:
        """Return (keys of names, one named text for each chunk in the order of ``rows``).

        A named text is a chunk's text with names: see :data:`monograph.search.names.NamedText`. Instead of a name's
        row, it has the index of the name's key in the first value.
        """
        self.snapshot.cache.ahead.starts(self.connection, rows)
        texts = self.snapshot.named_texts(rows)
        records = [np.frombuffer(packed, dtype=graphs.NAMED) for _, _, packed, *_ in texts]
        own = [json.loads(name_rows) for *_, name_rows, _ in texts]
        positions, keys = self._index_names([*(record["name"].tolist() for record in records), *own])
        return keys, [
            (
                title,
                text,
                replace_names(names, positions).tobytes(),
                json.dumps([positions[row] for row in about]),
                relations,
            )
            for (title, text, *_, relations), names, about in zip(texts, records, own, strict=True)
        ]

    def name_links(self, rows: Sequence[int]) -> tuple[tuple[str, ...], dict[int, tuple[Records, Records]]]:
        """Return (keys of names, {row of chunk: (NAMED records, LINKED records)}).

        The records are the names and the relations in the chunk: see :mod:`monograph.store.graph.graphs`. Here a NAMED
        record has the index of the name's key in the first value, instead of the name's row. Chunks that are not in
        the graph are left out.
        """
        linked = self.snapshot.linked(rows)
        positions, keys = self._index_names([named["name"].tolist() for named, _ in linked.values()])
        return keys, {row: (replace_names(named, positions), links) for row, (named, links) in linked.items()}

    def _index_names(self, rows: Sequence[Sequence[int]]) -> tuple[dict[int, int], tuple[str, ...]]:
        """Number the distinct names in lists of name rows: return ({row of name: index}, keys in order of index)."""
        distinct = dict.fromkeys(row for part in rows for row in part)
        loaded = names.load(self.connection, distinct)
        keys = tuple([loaded[row].key if row in loaded else "" for row in distinct])
        return {row: index for index, row in enumerate(distinct)}, keys

    def subject_chunks(self, keys: Sequence[str], allowed: CompiledFilter) -> list[Subject]:
        """Return chunks of documents about the names with these keys, as :data:`monograph.shelf.pools.Subject`.

        A document without an allowed chunk is returned with 0 as its chunk row.
        """
        key = {row: key for key, row in names.rows(self.connection, keys).items()}
        return [(*row[:2], key[row[2]], *row[3:]) for row in graphs.subject_rows(self.connection, key, allowed)]

    def mentions(self, keys: Sequence[str], allowed: CompiledFilter) -> list[list[int]]:
        """Return the rows of the allowed chunks that mention each name: one ascending list for each key, in order.

        The list is empty for a key that no name of this shard has.
        """
        rows = names.rows(self.connection, keys)
        chunks_by_name = graphs.mentions(self.connection, rows.values(), allowed)
        return [chunks_by_name.get(rows.get(key, 0), []) for key in keys]

    def leads(
        self, keys: Sequence[str], rare: int, allowed: CompiledFilter, words: Words
    ) -> tuple[list[Subject], list[list[int]], bytes]:
        """Return the chunks of this shard that the graph links to the names with the given keys.

        Returns three values:

        - chunks of the documents that are about the names, as :data:`monograph.shelf.pools.Subject`;
        - for each of the first ``rare`` keys, in order, the rows of the chunks that mention the name, ascending;
        - a full record (:func:`monograph.shelf.pools.full`) for each chunk in the first two values, as bytes.

        ``words`` are hashes of the question's words.
        """
        subjects, mentions = self.subject_chunks(keys, allowed), self.mentions(keys[:rare], allowed)
        rows = dict.fromkeys([*(subject[3] for subject in subjects if subject[3]), *chain.from_iterable(mentions)])
        return subjects, mentions, self._pack_records(list(rows), words)

    def named(self, rows: Sequence[int], keys: Sequence[str]) -> list[tuple[str, int]]:
        """Return (key of a name, row of a chunk) for each given chunk and each given name that the chunk mentions."""
        key = {row: key for key, row in names.rows(self.connection, keys).items()}
        return [(key[name], chunk) for name, chunk in graphs.chunks_that_name(self.connection, rows, key)]

    def descriptions(self, rows: Sequence[int]) -> dict[int, list[str]]:
        """Return {row of chunk: descriptions that a model wrote of things in the chunk}."""
        return self.snapshot.descriptions(rows)

    def show(
        self, rows: Sequence[int], requests: Sequence[tuple[str, int]]
    ) -> tuple[dict[int, LoadedChunk], list[str]]:
        """Load chunks, and return ({row: chunk}, one spelling for each request, in order).

        A request is (key of a name, row of a chunk). Its spelling is the name as written in that chunk or in the title
        of the chunk's document; "" if neither has the name.
        """
        where = {index: row for index, (_, row) in enumerate(requests)}
        spellings = written(self.connection, where, {index: key for index, (key, _) in enumerate(requests)})
        loaded, _ = self.snapshot.show(rows)
        return loaded, [spellings[index] for index in where]

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        """Return the mentions in chunks: see :meth:`monograph.search.reader.Reader.named_in`."""
        return self.snapshot.named_in(texts, kinds)

    # Names and entities, outside of a search.

    def of_names(
        self,
        members: Mapping[str, int],
        read: Callable[[Connection, Mapping[int, int], *Arguments], R],
        *arguments: *Arguments,
    ) -> R:
        """Call ``read``, a function of the store, for names of this shard, and return its result.

        ``members`` is {key of name: row of its entity in the catalogue}. ``read`` gets {row of name in this shard: row
        of its entity in the catalogue}, then ``arguments``. Names that the shard does not have are left out.
        """
        rows = names.rows(self.connection, members)
        return read(self.connection, {row: members[key] for key, row in rows.items()}, *arguments)
