"""What a search reads of one of many files: as a snapshot of it, but names go by keys, which all files share."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import isfunction
from itertools import chain
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from monograph.errors import InputError
from monograph.graph.evidence import Int64
from monograph.graph.text import Words
from monograph.library import contents
from monograph.library.given import Given
from monograph.library.opened import OpenFile
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.search.one_file.written_names import written
from monograph.search.snapshot import Nearest, Pooling
from monograph.shelf.catalogue import Origin, origin
from monograph.shelf.shard import pools
from monograph.shelf.shard.beside import Beside, told
from monograph.shelf.shard.documents import DocumentsOfShard
from monograph.shelf.shard.graph import GraphOfShard
from monograph.shelf.shard.led import Led, Subject, mentions_of
from monograph.shelf.shard.pools import Pools
from monograph.store import (
    catalogue,
    chunks,
    costs,
    counts,
    documents,
    graphs,
    names,
    postings,
    terms,
)
from monograph.store.chunks import Found
from monograph.store.counts import Counts
from monograph.store.filters import Allowed
from monograph.store.graphs import Records
from monograph.values import Document, Finding, Float32, LedgerEntry, Mention

Asked: TypeAlias = tuple[str, tuple[Any, ...]]
"""What is asked of a shard: the name of one of its methods, and what it takes."""

_WEIGHTS = terms.Weights(title=1.0, text=1.0)


@dataclass(frozen=True, slots=True)
class Facts:
    """What stays the same while a shard does: counts, the newest date, and whether it has a graph."""

    documents: int
    chunks: int
    words: int
    newest: int | None
    has_graph: bool


class NamedText(NamedTuple):
    """A text and its title, with the names in it, and those that its document is about.

    ``names`` are records of :data:`monograph.store.graphs.NAMED` whose names are places among ``keys``.
    """

    title: str
    text: str
    names: Records
    own: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Of chunks by row their names, places among ``keys``, and what links these."""

    keys: tuple[str, ...]
    links: Mapping[int, tuple[Records, Records]]


class Shard:
    """One of many files, open for reading.

    What is asked of it is a tuple of a method's name and its arguments, so that it may have a way to go.
    """

    def __init__(self, given: Given) -> None:
        self._file = OpenFile.open(replace(given, create=False, read_only=True))

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def answer(self, asked: Sequence[Asked]) -> list[Any]:
        """What each of some methods gives, of one state of the file.

        Raises
        ------
        InputError
            If a method is none of :class:`Reading`'s.
        """
        with self._file.reading() as snapshot:
            return Reading(cast(FileSnapshot, snapshot), self._file).answers(asked)


@dataclass(slots=True, eq=False)
class Reading(GraphOfShard, DocumentsOfShard):
    """What is read of one state of a shard's file."""

    snapshot: FileSnapshot
    file: OpenFile

    def answers(self, asked: Sequence[Asked]) -> list[Any]:
        """What each of some methods gives. Raises as :meth:`Shard.answer`."""
        for method, _ in asked:
            if method not in METHODS:
                raise InputError(
                    f"{method!r} is nothing that a shard can be asked", f"ask {', '.join(sorted(METHODS))}"
                )
        return [getattr(self, method)(*arguments) for method, arguments in asked]

    def facts(self) -> Facts:
        """See :class:`Facts`."""
        connection = self.snapshot.connection
        held = documents.count(connection), *counts.totals(connection)
        return Facts(*held, self.snapshot.newest(), self.snapshot.has_graph())

    def origin(self) -> Origin:
        """What it was made with."""
        return origin(self.snapshot.connection)

    def share(self) -> catalogue.Share:
        """What it has of the names."""
        return catalogue.share(self.snapshot.connection)

    def findings(self) -> list[Finding]:
        """Every fault in it: see :meth:`monograph.Monograph.check`."""
        return contents.findings(self.file, repair=False)

    def costs(self) -> list[LedgerEntry]:
        """What models were asked to make it."""
        return costs.every(self.snapshot.connection)

    def documents(self, name: str) -> list[Document]:
        """The documents that an id, a uri or a path means, with their texts."""
        connection = self.snapshot.connection
        found, _ = documents.resolve(connection, [name])
        return [documents.load(connection, one) for one in found]

    # Words.

    def count(self, words: Collection[str], few: Collection[str], most: int) -> dict[str, int]:
        """In how many chunks words stand; ``few`` are counted no further than ``most``."""
        connection = self.snapshot.connection
        found = postings.read(connection, words, few, most, self.snapshot.remembered.counted)
        if found is not None:
            return dict(found.chunks)
        return terms.document_frequency(connection, {*words, *few})

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        """In how many chunks words stand."""
        return terms.document_frequency(self.snapshot.connection, words)

    def having(self, words: Collection[str]) -> dict[str, int]:
        """In how many chunks words are found, half pairs too."""
        return counts.having(self.snapshot.connection, words)

    def bm25(self, words: Sequence[str], k: int, of_all: Counts, allowed: Allowed) -> list[tuple[int, float]]:
        """(row, score) of the k best chunks and all that tie with the last, where words count what they do in all."""
        connection = self.snapshot.connection
        known = postings.read(connection, words, (), of_all.chunks + 1, self.snapshot.remembered.counted)
        if known is not None:
            held = [word for word in words if word in known.chunks or terms.is_half(word)]
            if known.can_rank(held):
                scored = known.bm25(connection, held, k, _WEIGHTS, allowed, of_all)
                if scored is not None:
                    return scored
        return counts.bm25(connection, words, k, of_all, allowed)

    def pools(self, words: Sequence[str], of_all: Counts, pooling: Pooling, keys: Sequence[str], most: int) -> Pools:
        """:meth:`bm25`, :meth:`nearest` and :meth:`subject_chunks` together, with what is known of all these chunks.

        Of the first two not the k best but so many; ``keys`` are those of the question's names.
        """
        k, allowed = pooling.k, pooling.allowed
        best, near = pools.cut(self.bm25(words, min(most, k), of_all, allowed), most, k), None
        if pooling.vector is not None and pooling.vector.any():
            found = self.nearest(pooling.vector, k, allowed, 1.0)
            near = pools.cut(found.scored, most, k, found.effort)
        about = self.subject_chunks(keys, allowed) if keys else []
        found_rows = (one.records["row"].tolist() for one in (best, near) if one is not None)
        rows = list(dict.fromkeys([*chain.from_iterable(found_rows), *(one[3] for one in about if one[3])]))
        naming = self.naming(rows, keys) if keys else []
        walking = pooling.walking
        beside = self._beside(rows) if walking is None else self._beside(rows, walking.words, walking.clauses)
        return Pools(best, near, about, naming, beside)

    def _beside(self, rows: Sequence[int], asked: Words | None = None, clauses: Float32 | None = None) -> Beside:
        """What is known of different chunks; of words and cosines nothing where none are given."""
        ids = self.snapshot.ids(rows)
        names = [ids.get(row, "") for row in rows]
        if asked is None:
            return Beside(told(rows, names).tobytes())
        documents, packed, _ = self.snapshot.words_in(rows, asked)
        made = told(rows, names, (documents, packed), asked)
        if clauses is None or not len(clauses):
            return Beside(made.tobytes())
        held, cosines = self.cosines(rows, clauses)
        each = np.zeros((len(rows), len(clauses)), dtype=np.float32)
        place = {row: at for at, row in enumerate(rows)}
        at = [place[row] for row in held.tolist()]
        each[at] = cosines.T
        made["vector"][at] = True
        return Beside(made.tobytes(), each.tobytes())

    def holding(self, text: str, allowed: Allowed) -> dict[int, tuple[str, float]]:
        """(id, worth) of chunks that may hold a code or phrase, by row: see :class:`Snapshot`."""
        held = dict(self.snapshot.holding(text, allowed))
        return {row: (name, held[row]) for row, name in self._with_ids(list(held)).items()}

    def containing(self, text: str, k: int, allowed: Allowed) -> dict[int, str]:
        """At most k chunks that may have a folded text somewhere within, with their ids."""
        return self._with_ids(self.snapshot.containing(text, k, allowed))

    def _with_ids(self, rows: Sequence[int]) -> dict[int, str]:
        return chunks.ids(self.snapshot.connection, rows)

    # Meaning.

    def nearest(self, vector: Float32, k: int, allowed: Allowed, stretch: float) -> Nearest:
        """See :meth:`monograph.search.snapshot.Snapshot.nearest`."""
        return self.snapshot.nearest(vector, k, allowed, stretch)

    def cosines(self, rows: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        """See :meth:`monograph.search.snapshot.Snapshot.cosines`."""
        return self.snapshot.cosines(rows, vectors)

    # Texts.

    def chunks(self, rows: Sequence[int]) -> dict[int, Found]:
        """Chunks by row."""
        return self.snapshot.chunks(rows)

    def titled_texts(self, rows: Sequence[int]) -> list[tuple[str, str]]:
        """(title, text) of chunks, in order."""
        return self.snapshot.titled_texts(rows)

    def ids(self, rows: Sequence[int]) -> dict[int, str]:
        """Ids of chunks by row."""
        return self._with_ids(rows)

    # The graph.

    def words_in(self, rows: Sequence[int], asked: Words) -> Beside:
        """What is known of different chunks; ``asked`` are the question's words."""
        return self._beside(rows, asked)

    def titled_extractions(self, rows: Sequence[int]) -> dict[int, tuple[bytes, str]]:
        """(the key of what was extracted, title) of chunks by row."""
        return graphs.titled_extraction_keys(self.snapshot.connection, rows)

    def starts(self, rows: Sequence[int]) -> tuple[tuple[str, ...], list[NamedText]]:
        """(keys, texts with the names in them) of chunks, in order."""
        connection = self.snapshot.connection
        self.snapshot.remembered.ahead.starts(connection, rows)
        given = chunks.named_texts(connection, rows)
        records = [np.frombuffer(packed, dtype=graphs.NAMED) for _, _, packed, _ in given]
        own = [json.loads(listed) for *_, listed in given]
        place, keys = self._places([*(one["name"].tolist() for one in records), *own])
        return keys, [
            NamedText(title, text, _placed(names, place), tuple(place[row] for row in about))
            for (title, text, *_), names, about in zip(given, records, own, strict=True)
        ]

    def linked(self, rows: Sequence[int]) -> Links:
        """Names and links of chunks."""
        found = self.snapshot.linked(rows)
        place, keys = self._places([named["name"].tolist() for named, _ in found.values()])
        return Links(keys, {row: (_placed(named, place), links) for row, (named, links) in found.items()})

    def _places(self, rows: Sequence[Sequence[int]]) -> tuple[dict[int, int], tuple[str, ...]]:
        """(place by row, keys in order of place) of names."""
        known = self.snapshot.remembered.names
        wanted = dict.fromkeys(row for some in rows for row in some)
        known.read(self.snapshot.connection, wanted)
        return {row: place for place, row in enumerate(wanted)}, tuple(known.keys.get(row, "") for row in wanted)

    def subject_chunks(self, keys: Sequence[str], allowed: Allowed) -> list[Subject]:
        """What documents are about some names: see :data:`Subject`."""
        rows = names.rows(self.snapshot.connection, keys)
        return graphs.subject_rows(self.snapshot.connection, {row: key for key, row in rows.items()}, allowed)

    def mentions(self, keys: Sequence[str], allowed: Allowed) -> dict[str, list[int]]:
        """The chunks that name each of some names, ascending, by key."""
        rows = names.rows(self.snapshot.connection, keys)
        found = graphs.mentions(self.snapshot.connection, rows.values(), allowed)
        return {key: found[row] for key, row in rows.items() if row in found}

    def leads(self, keys: Sequence[str], rare: int, allowed: Allowed, asked: Words) -> Led:
        """:meth:`subject_chunks` of some names, :meth:`mentions` of the first of them, and what is known of the chunks.

        ``asked`` are the question's words.
        """
        subjects, mentions = self.subject_chunks(keys, allowed), self.mentions(keys[:rare], allowed)
        rows = dict.fromkeys([*(one[3] for one in subjects if one[3]), *chain.from_iterable(mentions.values())])
        return Led(subjects, mentions_of(mentions, keys), self._beside(list(rows), asked))

    def naming(self, rows: Sequence[int], keys: Sequence[str]) -> list[tuple[str, int]]:
        """(key, row) for those of some chunks that name any of some names."""
        key = {row: key for key, row in names.rows(self.snapshot.connection, keys).items()}
        return [(key[name], chunk) for name, chunk in graphs.that_name(self.snapshot.connection, rows, key)]

    def descriptions(self, rows: Sequence[int]) -> dict[int, list[str]]:
        """What a model wrote of what it found in chunks, by row."""
        return self.snapshot.descriptions(rows)

    def written(self, wanted: Sequence[tuple[str, int]]) -> list[str]:
        """Names as a chunk or its title writes them, of (key, row of the chunk), in order; empty where neither does."""
        found = written(
            self.snapshot.connection,
            {place: row for place, (_, row) in enumerate(wanted)},
            {place: key for place, (key, _) in enumerate(wanted)},
        )
        return [found[place] for place in range(len(wanted))]

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        """See :meth:`monograph.search.snapshot.Snapshot.named_in`."""
        return self.snapshot.named_in(texts, kinds)


METHODS = frozenset(
    name
    for kind in (GraphOfShard, DocumentsOfShard, Reading)
    for name, one in vars(kind).items()
    if isfunction(one) and not name.startswith("_") and name != "answers"
)
"""What a shard can be asked. Requests come from elsewhere: nothing else is looked up by their names."""


def _placed(records: Records, place: Mapping[int, int]) -> Records:
    """Records whose names are places."""
    made = records.copy()
    made["name"] = [place[row] for row in records["name"].tolist()]
    return made
