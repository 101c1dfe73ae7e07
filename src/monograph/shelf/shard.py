"""One shard, open for reading: its side of every search, with names as keys instead of rows."""

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
from monograph.store.documents.filters import Allowed
from monograph.store.file import memo, settings
from monograph.store.file.database import Connection
from monograph.store.graph import graphs, names
from monograph.store.graph.graphs import Records
from monograph.store.words import postings, terms
from monograph.values import Chunk, Document, Finding, Float32, Listed, Mention, StoredChunk

Arguments = TypeVarTuple("Arguments")
R = TypeVar("R")


class Call(NamedTuple):
    """A method of :class:`ShardReader` and its arguments, called in the process that has the shard open.

    Pickle sends the method by name.
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
    """One shard in one read transaction. Rows in arguments and results are the shard's own."""

    snapshot: FileReader
    file: WholeFile

    @property
    def connection(self) -> Connection:
        """The read transaction."""
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
        """Return the documents with this name, with their texts."""
        return [documents.load(self.connection, document) for document in self._resolve(name)]

    def rows_of(self, name: str) -> list[list[int]]:
        """Return the chunk rows of each document with this name, in reading order."""
        return [chunks.rows_of_document(self.connection, document.row) for document in self._resolve(name)]

    def listed(self, like: str, most: int) -> Listed:
        """Return the first ``most`` documents that match ``like``: see :meth:`monograph.Monograph.listed`."""
        return lookup.listed(self.connection, like, 0, most)

    def read_chunks(self, name: str) -> list[list[Chunk]]:
        """Return the chunks of each document with this name, in reading order."""
        return [
            [loaded.chunk for loaded in chunks.of_document(self.connection, document.row, strict=True)]
            for document in self._resolve(name)
        ]

    def fetch(self, ids: Sequence[str] | None, allowed: Allowed, vectors: bool) -> list[StoredChunk]:
        """Return the allowed chunks with these ids (all if None), with vectors if ``vectors``. Skips unknown ids."""
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
        allowed: Allowed,
    ) -> tuple[dict[str, int], dict[str, int], list[dict[int, tuple[str, float]]]]:
        """Return (chunks with each word, chunks with each half pair, {row: (id, worth)} of chunks with each text).

        ``small`` are words that are counted up to ``most`` only, ``halves`` half pairs, which are counted as parts of
        pairs, and ``texts`` codes and phrases, which are looked for in the allowed chunks.
        """
        connection = self.connection
        loaded = postings.read(connection, words, small, most, self.snapshot.cache.counted)
        counts = terms.document_frequency(connection, {*words, *small}) if loaded is None else loaded.chunks
        matches = [dict(self.snapshot.holding(text, allowed)) for text in texts]
        named = [{row: (name, scores[row]) for row, name in self.ids(list(scores)).items()} for scores in matches]
        return dict(counts), terms.having(connection, halves), named

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        """Return the number of chunks that have each word."""
        return terms.document_frequency(self.connection, words)

    def _bm25(
        self, words: Sequence[str], k: int, of_all: terms.CorpusCounts, allowed: Allowed
    ) -> list[tuple[int, float]]:
        """Return (row, score) of the k best chunks, and ties with the last. ``of_all`` are the counts of all shards."""
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
        """Return this shard's candidates of a search.

        ``of_all`` are the counts of all shards; None ranks no words. ``keys`` are the keys of the question's names.
        ``most`` limits the lexical and the dense candidates, each; chunks that tie with the last are added.
        """
        k, allowed, walk, dense = request.k, request.filter, request.walk, None
        scored = [] if of_all is None else self._bm25(request.words, min(most, k), of_all, allowed)
        lexical = pools.select_best(scored, most, k)
        if request.vector is not None and request.vector.any():
            nearest, effort, _ = self.snapshot.nearest(request.vector, k, allowed, request.stretch)
            dense = pools.select_best(nearest, most, k, effort)
        subjects = self.subject_chunks(keys, allowed) if keys else []
        parts = [part.records["row"].tolist() for part in (lexical, dense) if part is not None]
        rows = list(dict.fromkeys(chain(*parts, (subject[3] for subject in subjects if subject[3]))))
        named = self.named(rows, keys) if keys else []
        records = self._pack_records(rows) if walk is None else self._pack_records(rows, walk.words, walk.clauses)
        return ShardPool(lexical, dense, subjects, named, records)

    def _pack_records(self, rows: Sequence[int], words: Words | None = None, clauses: Float32 | None = None) -> bytes:
        """Return records of distinct chunks, as bytes: full ones if the question's words are given, else short ones."""
        ids = self.snapshot.ids(rows)
        names = [ids.get(row, "") for row in rows]
        if words is None:
            return make_records(rows, names).tobytes()
        records = make_records(rows, names, self.snapshot.evidence(rows, words), 0 if clauses is None else len(clauses))
        if clauses is not None and len(clauses):
            found_rows, cosines = self.cosines(rows, clauses)
            positions = {row: index for index, row in enumerate(rows)}
            indexes = [positions[row] for row in found_rows.tolist()]
            records["cosines"][indexes], records["vector"][indexes] = cosines.T, True
        return records.tobytes()

    def containing(self, text: str, k: int, allowed: Allowed) -> dict[int, str]:
        """Return the ids, by row, of at most k chunks that may contain a folded text."""
        return self.ids(self.snapshot.containing(text, k, allowed))

    def cosines(self, rows: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        """See ``Reader.cosines``."""
        return self.snapshot.cosines(rows, vectors)

    # Texts.

    def titled_texts(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Return (title of the document, text) of chunks, by row."""
        return dict(zip(rows, self.snapshot.titled_texts(rows), strict=True))

    def ids(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the ids of chunks, by row."""
        return chunks.ids(self.connection, rows)

    # The graph.

    def titled_extractions(self, rows: Sequence[int]) -> dict[int, tuple[bytes, str]]:
        """Return (memo key of the extraction, document title) by row of chunk; both are the same in every file."""
        found = chunks.titled_extractions(self.connection, rows)
        keys = memo.keys(self.connection, {memo_row for memo_row, _ in found.values()})
        return {row: (keys[memo_row], title) for row, (memo_row, title) in found.items() if memo_row in keys}

    def starts(self, rows: Sequence[int]) -> tuple[tuple[str, ...], list[NamedText]]:
        """Return (keys of names, texts of chunks in order). A name in a text is an index into the keys."""
        self.snapshot.cache.ahead.starts(self.connection, rows)
        texts = chunks.named_texts(self.connection, rows)
        records = [np.frombuffer(packed, dtype=graphs.NAMED) for _, _, packed, _ in texts]
        own = [json.loads(name_rows) for *_, name_rows in texts]
        positions, keys = self._index_names([*(record["name"].tolist() for record in records), *own])
        return keys, [
            (title, text, replace_names(names, positions).tobytes(), json.dumps([positions[row] for row in about]))
            for (title, text, *_), names, about in zip(texts, records, own, strict=True)
        ]

    def name_links(self, rows: Sequence[int]) -> tuple[tuple[str, ...], dict[int, tuple[Records, Records]]]:
        """Return (keys of names, {row: (names, links)} of chunks). A name in a record is an index into the keys."""
        linked = self.snapshot.linked(rows)
        positions, keys = self._index_names([named["name"].tolist() for named, _ in linked.values()])
        return keys, {row: (replace_names(named, positions), links) for row, (named, links) in linked.items()}

    def _index_names(self, rows: Sequence[Sequence[int]]) -> tuple[dict[int, int], tuple[str, ...]]:
        """Return ({row of name: index}, keys of the names in order of index); the key of a missing name is ""."""
        distinct = dict.fromkeys(row for part in rows for row in part)
        loaded = names.load(self.connection, distinct)
        keys = tuple([loaded[row].key if row in loaded else "" for row in distinct])
        return {row: index for index, row in enumerate(distinct)}, keys

    def subject_chunks(self, keys: Sequence[str], allowed: Allowed) -> list[Subject]:
        """Return the documents about the names with these keys: see :data:`monograph.shelf.pools.Subject`."""
        key = {row: key for key, row in names.rows(self.connection, keys).items()}
        return [(*row[:2], key[row[2]], *row[3:]) for row in graphs.subject_rows(self.connection, key, allowed)]

    def mentions(self, keys: Sequence[str], allowed: Allowed) -> list[list[int]]:
        """Return for each key the rows of the allowed chunks that have this name, ascending."""
        rows = names.rows(self.connection, keys)
        chunks_by_name = graphs.mentions(self.connection, rows.values(), allowed)
        return [chunks_by_name.get(rows.get(key, 0), []) for key in keys]

    def leads(
        self, keys: Sequence[str], rare: int, allowed: Allowed, words: Words
    ) -> tuple[list[Subject], list[list[int]], bytes]:
        """Return (subject chunks of names, chunks that mention the first ``rare`` names, full records of all these).

        ``words`` are hashes of the question's words.
        """
        subjects, mentions = self.subject_chunks(keys, allowed), self.mentions(keys[:rare], allowed)
        rows = dict.fromkeys([*(subject[3] for subject in subjects if subject[3]), *chain.from_iterable(mentions)])
        return subjects, mentions, self._pack_records(list(rows), words)

    def named(self, rows: Sequence[int], keys: Sequence[str]) -> list[tuple[str, int]]:
        """Return (key, row) for each of these chunks and each of these names that it has."""
        key = {row: key for key, row in names.rows(self.connection, keys).items()}
        return [(key[name], chunk) for name, chunk in graphs.that_name(self.connection, rows, key)]

    def descriptions(self, rows: Sequence[int]) -> dict[int, list[str]]:
        """Return a model's descriptions of things in chunks, by row."""
        return self.snapshot.descriptions(rows)

    def show(
        self, rows: Sequence[int], requests: Sequence[tuple[str, int]]
    ) -> tuple[dict[int, LoadedChunk], list[str]]:
        """Return ({row: chunk}, spellings of names).

        ``requests`` are (key of a name, row of a chunk). The spelling is that in the chunk or its title; "" if neither
        has the name.
        """
        where = {index: row for index, (_, row) in enumerate(requests)}
        spellings = written(self.connection, where, {index: key for index, (key, _) in enumerate(requests)})
        loaded, _ = self.snapshot.show(rows)
        return loaded, [spellings[index] for index in where]

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        """See ``Reader.named_in``."""
        return self.snapshot.named_in(texts, kinds)

    # Names and entities, outside of a search.

    def of_names(
        self,
        members: Mapping[str, int],
        read: Callable[[Connection, Mapping[int, int], *Arguments], R],
        *arguments: *Arguments,
    ) -> R:
        """Return the result of ``read``, a function of the store, for names of this shard.

        ``members`` are entities (rows in the catalogue) by key of name; ``read`` gets them by this shard's row of name.
        """
        rows = names.rows(self.connection, members)
        return read(self.connection, {row: members[key] for key, row in rows.items()}, *arguments)
