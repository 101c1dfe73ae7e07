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
from monograph.shelf.pools import CountRequest, NameLinks, ShardPool, Subject, records_of, renamed
from monograph.store import catalogue
from monograph.store.documents import chunks, documents, sources
from monograph.store.documents.chunks import LoadedChunk
from monograph.store.documents.filters import Allowed
from monograph.store.file import settings
from monograph.store.file.database import Connection
from monograph.store.graph import graphs, names
from monograph.store.graph.graphs import Records
from monograph.store.words import postings, terms
from monograph.values import (
    Chunk,
    Document,
    Finding,
    Float32,
    Listed,
    Mention,
    StoredChunk,
)

Arguments = TypeVarTuple("Arguments")
R = TypeVar("R")


class ShardCounts(NamedTuple):
    """Counts of words, counts of half pairs, and {row: (id, worth)} for each code or phrase."""

    chunks: dict[str, int]
    having: dict[str, int]
    held: list[dict[int, tuple[str, float]]]


class Call(NamedTuple):
    """A call of a method of :class:`ShardReader`, made where the shard is. Pickle sends the method by name."""

    method: Callable[..., Any]
    arguments: tuple[Any, ...]

    def answer(self, file: WholeFile) -> Any:
        """Make the call in one read transaction of a shard."""
        with file.reading() as snapshot:
            held = cast(FileReader, snapshot)
            return self.method(ShardReader(held.connection, held, file), *self.arguments)


@dataclass(frozen=True, slots=True, eq=False)
class ShardReader(GraphState):
    """One state of a shard."""

    snapshot: FileReader
    file: WholeFile

    @property
    def connection(self) -> Connection:
        """The read transaction."""
        return self.snapshot.connection

    def share(self) -> catalogue.Share:
        """Return its part of the catalogue of names."""
        return catalogue.load_share(self.connection)

    def findings(self) -> list[Finding]:
        """Return every fault in it: see :meth:`monograph.Monograph.check`."""
        return copies.findings(self.file, repair=False)

    def documents_called(self, name: str) -> list[Document]:
        """Return the documents that an id, a uri or a path names, with their texts."""
        connection = self.connection
        found, _ = sources.resolve(connection, [name])
        return [documents.load(connection, one) for one in found]

    # Documents.

    def listed(self, like: str, most: int) -> Listed:
        """Return the first ``most`` documents: see :meth:`monograph.Monograph.listed`."""
        return lookup.listed(self.connection, like, 0, most)

    def read_chunks(self, name: str) -> list[list[Chunk]]:
        """Return the chunks of each document that an id, a uri or a path names, in reading order."""
        connection = self.connection
        found, _ = sources.resolve(connection, [name])
        return [[one.chunk for one in chunks.of_document(connection, row.row, strict=True)] for row in found]

    def fetch(self, ids: Sequence[str] | None, allowed: Allowed, vectors: bool) -> list[StoredChunk]:
        """Return the stored chunks of those ids that are there, or all; with their vectors if ``vectors``."""
        connection = self.connection
        stored = settings.load_model(connection, "embedder") if vectors else None
        return lookup.fetch(connection, ids, allowed, None if stored is None else stored.dimension)

    # Words.

    def count(self, asked: CountRequest) -> ShardCounts:
        """Count words, and find codes and phrases."""
        connection = self.connection
        read = postings.read(connection, asked.words, asked.few, asked.most, self.snapshot.cache.counted)
        chunks = terms.document_frequency(connection, {*asked.words, *asked.few}) if read is None else read.chunks
        held = [dict(self.snapshot.holding(text, asked.filter)) for text in asked.held]
        named = [{row: (name, some[row]) for row, name in self.ids(list(some)).items()} for some in held]
        return ShardCounts(dict(chunks), terms.having(connection, asked.halves), named)

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        """Return the number of chunks that have each word."""
        return terms.document_frequency(self.connection, words)

    def _bm25(
        self, words: Sequence[str], k: int, of_all: terms.CorpusCounts, allowed: Allowed
    ) -> list[tuple[int, float]]:
        """Return (row, score) of the k best chunks and all that tie with the last, with the counts of all shards."""
        connection = self.connection
        known = postings.read(connection, words, (), of_all.chunks + 1, self.snapshot.cache.counted)
        if known is not None:
            held = [word for word in words if word in known.chunks or terms.is_half(word)]
            if known.can_rank(held):
                scored = known.bm25(connection, held, k, allowed, of_all)
                if scored is not None:
                    return scored
        return terms.bm25_of_all(connection, words, k, of_all, allowed)

    def pool(
        self, request: PoolRequest, of_all: terms.CorpusCounts | None, keys: Sequence[str], most: int
    ) -> ShardPool:
        """Return the candidates of a search.

        ``most`` limits the chunks by words, and as many by meaning; ``keys`` are those of the question's names.
        """
        k, allowed, walk, near = request.k, request.filter, request.walk, None
        scored = [] if of_all is None else self._bm25(request.words, min(most, k), of_all, allowed)
        best = pools.cut(scored, most, k)
        if request.vector is not None and request.vector.any():
            nearest, effort, _ = self.snapshot.nearest(request.vector, k, allowed, request.stretch)
            near = pools.cut(nearest, most, k, effort)
        about = self.subject_chunks(keys, allowed) if keys else []
        found_rows = (one.records["row"].tolist() for one in (best, near) if one is not None)
        rows = list(dict.fromkeys([*chain.from_iterable(found_rows), *(one[3] for one in about if one[3])]))
        naming = self.naming(rows, keys) if keys else []
        records = self._records(rows) if walk is None else self._records(rows, walk.words, walk.clauses)
        return ShardPool(best, near, about, naming, records)

    def _records(self, rows: Sequence[int], asked: Words | None = None, clauses: Float32 | None = None) -> bytes:
        """Return records of different chunks: full with words, and with cosines to clauses, if these are given."""
        ids = self.snapshot.ids(rows)
        names = [ids.get(row, "") for row in rows]
        if asked is None:
            return records_of(rows, names).tobytes()
        made = records_of(rows, names, self.snapshot.evidence(rows, asked), 0 if clauses is None else len(clauses))
        if clauses is not None and len(clauses):
            held, cosines = self.cosines(rows, clauses)
            place = {row: at for at, row in enumerate(rows)}
            at = [place[row] for row in held.tolist()]
            made["cosines"][at], made["vector"][at] = cosines.T, True
        return made.tobytes()

    def containing(self, text: str, k: int, allowed: Allowed) -> dict[int, str]:
        """Return at most k chunks that may contain a folded text, with their ids."""
        return self.ids(self.snapshot.containing(text, k, allowed))

    def cosines(self, rows: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        """See ``Reader.cosines``."""
        return self.snapshot.cosines(rows, vectors)

    # Texts.

    def titled_texts(self, rows: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Return (title, text) of chunks, by row."""
        return dict(zip(rows, self.snapshot.titled_texts(rows), strict=True))

    def ids(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the ids of chunks, by row."""
        return chunks.ids(self.connection, rows)

    # The graph.

    def titled_extractions(self, rows: Sequence[int]) -> dict[int, tuple[bytes, str]]:
        """Return (key of the extraction, title) of chunks, by row."""
        return graphs.titled_extraction_keys(self.connection, rows)

    def starts(self, rows: Sequence[int]) -> tuple[tuple[str, ...], list[NamedText]]:
        """Return (keys, texts with the names in them) of chunks, in order; a name is its place among the keys."""
        connection = self.connection
        self.snapshot.cache.ahead.starts(connection, rows)
        given = chunks.named_texts(connection, rows)
        records = [np.frombuffer(packed, dtype=graphs.NAMED) for _, _, packed, _ in given]
        own = [json.loads(listed) for *_, listed in given]
        place, keys = self._places([*(one["name"].tolist() for one in records), *own])
        return keys, [
            (title, text, renamed(names, place).tobytes(), json.dumps([place[row] for row in about]))
            for (title, text, *_), names, about in zip(given, records, own, strict=True)
        ]

    def name_links(self, rows: Sequence[int]) -> tuple[tuple[str, ...], dict[int, tuple[Records, Records]]]:
        """Return (keys, (names, links) of chunks by row); a name is its place among the keys."""
        found = self.snapshot.linked(rows)
        place, keys = self._places([named["name"].tolist() for named, _ in found.values()])
        return keys, {row: (renamed(named, place), links) for row, (named, links) in found.items()}

    def _places(self, rows: Sequence[Sequence[int]]) -> tuple[dict[int, int], tuple[str, ...]]:
        """Return (place by row, keys in order of place) of names."""
        wanted = dict.fromkeys(row for some in rows for row in some)
        held = names.load(self.connection, wanted)
        keys = tuple([held[row].key if row in held else "" for row in wanted])
        return {row: place for place, row in enumerate(wanted)}, keys

    def subject_chunks(self, keys: Sequence[str], allowed: Allowed) -> list[Subject]:
        """Return the documents that are about some names: see :data:`Subject`."""
        key = {row: key for key, row in names.rows(self.connection, keys).items()}
        return [(*row[:2], key[row[2]], *row[3:]) for row in graphs.subject_rows(self.connection, key, allowed)]

    def mentions(self, keys: Sequence[str], allowed: Allowed) -> list[list[int]]:
        """Return the chunks that have each of some names, ascending, in the order of the names."""
        rows = names.rows(self.connection, keys)
        found = graphs.mentions(self.connection, rows.values(), allowed)
        return [found.get(rows.get(key, 0), []) for key in keys]

    def leads(self, keys: Sequence[str], rare: int, allowed: Allowed, asked: Words) -> NameLinks:
        """Return :meth:`subject_chunks` of names, :meth:`mentions` of the first ``rare``, and records of the chunks.

        ``asked`` are the question's words.
        """
        subjects, mentions = self.subject_chunks(keys, allowed), self.mentions(keys[:rare], allowed)
        rows = dict.fromkeys([*(one[3] for one in subjects if one[3]), *chain.from_iterable(mentions)])
        return NameLinks(subjects, mentions, self._records(list(rows), asked))

    def naming(self, rows: Sequence[int], keys: Sequence[str]) -> list[tuple[str, int]]:
        """Return (key, row) for those of some chunks that have any of some names."""
        key = {row: key for key, row in names.rows(self.connection, keys).items()}
        return [(key[name], chunk) for name, chunk in graphs.that_name(self.connection, rows, key)]

    def descriptions(self, rows: Sequence[int]) -> dict[int, list[str]]:
        """Return the descriptions that a model wrote of things in chunks, by row."""
        return self.snapshot.descriptions(rows)

    def show(self, rows: Sequence[int], wanted: Sequence[tuple[str, int]]) -> tuple[dict[int, LoadedChunk], list[str]]:
        """Return chunks by row; and names, of (key, row), as that chunk or its title has them, empty if neither has."""
        where, keys = {}, {}
        for place, (key, row) in enumerate(wanted):
            where[place], keys[place] = row, key
        found = written(self.connection, where, keys)
        loaded, _ = self.snapshot.show(rows)
        return loaded, [found[place] for place in where]

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
        """Return what a function of the store reads for names, each with its entity in the catalogue."""
        rows = names.rows(self.connection, members)
        return read(self.connection, {row: members[key] for key, row in rows.items()}, *arguments)

    def rows_of(self, name: str) -> list[list[int]]:
        """Return the rows of the chunks of each document that an id, a uri or a path names, in reading order."""
        found, _ = sources.resolve(self.connection, [name])
        return [chunks.rows_of_document(self.connection, one.row) for one in found]
