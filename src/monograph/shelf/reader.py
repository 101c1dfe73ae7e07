"""``Reader`` of a shelf: asks all shards in few rounds, and takes names from the catalogue."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import NoReturn

import numpy as np

from monograph.errors import InputError
from monograph.graph.evidence import Int64
from monograph.graph.text import Words
from monograph.search import words as word_for_word
from monograph.search.names import Leads, NamedText, Names, StartText, as_entities
from monograph.search.one_file.file_reader import FileReader
from monograph.search.reader import (
    NOWHERE,
    Counts,
    Evidence,
    Pool,
    PoolRequest,
    SearchModels,
    Shown,
)
from monograph.shelf.engines import Shards
from monograph.shelf.pools import (
    SHORT,
    CountRequest,
    Rows,
    evidence_of,
    first_bytes,
    full,
    joined,
    mentioned,
    merged_pools,
    renamed,
    share,
    subject_chunks,
    too_few,
)
from monograph.shelf.shard import Call, ShardReader
from monograph.store.catalogue import Totals
from monograph.store.documents.filters import EVERYTHING, Allowed
from monograph.store.graph import names as stored_names
from monograph.store.graph.graphs import NAMED, Records
from monograph.store.words import terms
from monograph.values import Effort, Float32, Mention, Summary

MOST_WORDS = 65_536
"""Most words whose counts are cached. With more, the next search starts with an empty cache."""


@dataclass(frozen=True, slots=True, eq=False)
class WordCounts:
    """Cached counts of words over all shards. They stay valid because a version never changes.

    ``chunks`` is the number of chunks that have each word, ``common`` are words known to be common, which need no exact
    count, and ``having`` is the number of chunks that have each half pair.
    """

    chunks: dict[str, int] = field(default_factory=dict)
    common: set[str] = field(default_factory=set)
    having: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class ShelfReader:
    """One version of a shelf as a :class:`monograph.search.reader.Reader`.

    Chunk rows are numbered over all shards (:class:`monograph.shelf.pools.Rows`). Name rows are row numbers of the
    catalogue, the file with the names of all shards.
    """

    shards: Shards
    catalogue: FileReader
    totals: Sequence[Totals]
    counted: WordCounts
    _first: dict[int, str] = field(default_factory=dict, init=False)
    """The first bytes of the ids of chunks, by row, for chunks that shards have sent."""
    _ids: dict[int, str] = field(default_factory=dict, init=False)

    @property
    def models(self) -> SearchModels:
        return self.catalogue.models

    @property
    def names(self) -> Names:
        return self.catalogue.names

    @property
    def rows(self) -> Rows:
        """Row numbers over all shards."""
        return self.shards.rows

    # Words.

    def total(self) -> int:
        return sum(one.chunks for one in self.totals)

    def newest(self) -> int | None:
        return max((one.newest for one in self.totals if one.newest is not None), default=None)

    def has_graph(self) -> bool:
        return self.catalogue.has_graph()

    def count(
        self, words: Collection[str], small: Collection[str] = (), held: Collection[str] = (), *, allowed: Allowed
    ) -> Counts:
        few = {word for word in small if word not in words and word.isascii()}
        whole = {*words, *small} - few
        found = self._count(whole, few, list(dict.fromkeys(held)), allowed)
        total, known = self.total(), self.counted.chunks
        above = int(word_for_word.common_above(total)) + 1
        counts = {word: known[word] for word in whole} | {word: min(above, known.get(word, above)) for word in few}
        return Counts(total, {word: number for word, number in counts.items() if number}, found)

    def _count(
        self, words: Collection[str], few: Collection[str], held: Sequence[str], allowed: Allowed
    ) -> dict[str, list[tuple[int, float]]]:
        """Fetch counts that are not cached, and return (row, worth) of the chunks that contain each code or phrase."""
        known, common, having = self.counted.chunks, self.counted.common, self.counted.having
        missing = [word for word in words if word not in known]
        little = [word for word in few if word not in known and word not in common]
        halves = [word for word in words if terms.is_half(word) and word not in having]
        if not (missing or little or halves or held):
            return {}
        above = int(word_for_word.common_above(self.total())) + 1
        answers = self.shards.all(ShardReader.count, CountRequest(missing, little, above, halves, held, allowed))
        found = summed(one.chunks for one in answers)
        known.update((word, found.get(word, 0)) for word in missing)
        known.update((word, found.get(word, 0)) for word in little if found.get(word, 0) < above)
        common.update(word for word in little if found.get(word, 0) >= above)
        found = summed(one.having for one in answers)
        having.update((word, found.get(word, 0)) for word in halves)
        return {text: self._holding([one.held[place] for one in answers]) for place, text in enumerate(held)}

    def _holding(self, answers: Sequence[Mapping[int, tuple[str, float]]]) -> list[tuple[int, float]]:
        """Return (row, worth) of the CANDIDATES chunks with the lowest ids, ascending by row."""
        found = {self.rows.whole(shard, row): one for shard, some in enumerate(answers) for row, one in some.items()}
        self._ids.update((row, name) for row, (name, _) in found.items())
        first = sorted(found, key=lambda row: found[row][0])[: word_for_word.CANDIDATES]
        return [(row, found[row][1]) for row in sorted(first)]

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        if all(word in self.counted.chunks for word in words):
            return {word: number for word in words if (number := self.counted.chunks[word])}
        return summed(self.shards.all(ShardReader.document_frequency, words))

    def pool(self, request: PoolRequest) -> Pool:
        k, walk, of_all, names = request.k, request.walk, None, {}
        if request.words:
            self._count(request.words, (), (), EVERYTHING)
            having = {word: self.counted.having.get(word) or self.counted.chunks[word] for word in request.words}
            of_all = terms.CorpusCounts(self.total(), sum(one.words for one in self.totals), having)
        if walk is not None:
            names = self._keys(walk.names)
            walk = replace(walk, names=())
        asked = replace(request, counts=None, walk=walk), of_all, list(names)
        found = dict(enumerate(self.shards.all(ShardReader.pool, *asked, share(k, self.rows.shards))))
        if short := too_few(found, k, self.rows):
            found.update(self.shards.some(short, ShardReader.pool, *asked, k))
        kind = SHORT if walk is None else full(len(walk.clauses))
        records = self._records([(shard, one.records) for shard, one in found.items()], kind)
        return merged_pools(found, replace(request, walk=walk), self.rows, names, records)

    def _records(self, parts: Sequence[tuple[int, bytes]], kind: np.dtype[np.void]) -> Records:
        """Join the records that shards sent, and cache the first bytes of their chunks' ids."""
        records = joined(parts, kind, self.rows)
        self._first.update(zip(records["row"].tolist(), first_bytes(records), strict=True))
        return records

    def containing(self, text: str, k: int, allowed: Allowed) -> list[int]:
        answers = self.shards.all(ShardReader.containing, text, k, allowed)
        found = {self.rows.whole(shard, row): name for shard, some in enumerate(answers) for row, name in some.items()}
        return sorted(sorted(found, key=found.__getitem__)[:k])

    def cosines(self, chunks: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        rows, made = [np.empty(0, dtype=np.int64)], [np.empty((len(vectors), 0), dtype=np.float32)]
        for shard, _, (some, values) in self.shards.of(ShardReader.cosines, chunks, vectors):
            rows.append(some * self.rows.shards + shard)
            made.append(values)
        return np.concatenate(rows), np.concatenate(made, axis=1)

    def titled_texts(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        wanted = list(rows)
        found = self.shards.by_row(ShardReader.titled_texts, list(dict.fromkeys(wanted)))
        return [found[row] for row in wanted]

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        wanted, held = list(dict.fromkeys(rows)), self._ids
        first = {row: self._first.get(row, "") for row in wanted}
        if "" not in first.values() and len(set(first.values())) == len(wanted):
            return first
        missing = [row for row in wanted if row not in held]
        if missing:
            held.update({**dict.fromkeys(missing, ""), **self.shards.by_row(ShardReader.ids, missing)})
        return held

    def _keys(self, names: Iterable[int]) -> dict[str, int]:
        """Return {key: row} of these names; names that the catalogue lacks are left out."""
        wanted = list(names)
        held = self.names.load(wanted)
        return {held[row].key: row for row in wanted if row in held}

    # The graph.

    def titled_extractions(self, chunks: Collection[int]) -> dict[int, tuple[int, str]]:
        found = self.shards.by_row(ShardReader.titled_extractions, list(chunks))
        keys = {row: int.from_bytes(blake2b(key, digest_size=8).digest()) for row, (key, _) in found.items()}
        return {row: (keys[row], found[row][1]) for row in chunks if row in found}

    def starts(self, chunks: Sequence[int]) -> list[StartText]:
        return self.catalogue.cache.starts.get(chunks, self._starts)

    def _starts(self, chunks: Sequence[int]) -> dict[int, StartText]:
        given: dict[int, NamedText] = {}
        for shard, some, (keys, texts) in self.shards.of(ShardReader.starts, chunks):
            rows = self._names_of(keys)
            for row, (title, text, packed, own) in zip(self.rows.all_of(shard, some), texts, strict=True):
                names = renamed(np.frombuffer(packed, dtype=NAMED), rows)
                given[row] = title, text, names.tobytes(), json.dumps([rows[place] for place in json.loads(own)])
        return dict(zip(given, self.names.starts(list(given.values())), strict=True))

    def _names_of(self, keys: Sequence[str]) -> list[int]:
        """Return the catalogue's row of each key, in order; 0 for an unknown key, which only a wrong shard has."""
        held = stored_names.rows(self.names.connection, keys)
        return [held.get(key, 0) for key in keys]

    def leads(self, heads: Sequence[int], words: Words, allowed: Allowed) -> tuple[list[Leads], Evidence]:
        asked = self.names.links(heads)
        rare = self._keys(asked.rare)
        keys = {**rare, **self._keys(asked.names)}
        answers = self.shards.all(ShardReader.leads, list(keys), len(rare), allowed, words)
        about = [(shard, one) for shard, some in enumerate(answers) for one in some.subjects]
        naming = mentioned([one.mentions for one in answers], list(keys.values()), self.rows)
        records = self._records([(shard, one.records) for shard, one in enumerate(answers)], full(0))
        found = asked.leads(subject_chunks(about, keys, self.rows), naming)
        return list(found.values()), evidence_of(records)

    def mentions(self, names: Collection[int], allowed: Allowed) -> dict[int, list[int]]:
        keys = self._keys(names)
        return mentioned(self.shards.all(ShardReader.mentions, list(keys), allowed), list(keys.values()), self.rows)

    def linked(self, chunks: Collection[int]) -> dict[int, tuple[Records, Records]]:
        found = {}
        for shard, _, (keys, some) in self.shards.of(ShardReader.name_links, chunks):
            rows = self._names_of(keys)
            for row, (named, links) in some.items():
                found[self.rows.whole(shard, row)] = renamed(named, rows), links
        return {row: found[row] for row in chunks if row in found}

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        found = {
            name: some
            for answer in self.shards.all(ShardReader.named_in, dict(texts), kinds)
            for name, some in answer.items()
        }
        return {name: found[name] for name in texts if name in found}

    def descriptions(self, chunks: Iterable[int]) -> dict[int, list[str]]:
        return self.shards.by_row(ShardReader.descriptions, list(chunks))

    def show(self, rows: Collection[int], where: Mapping[int, int] = NOWHERE) -> Shown:
        heads, keys = self.names.entities(where)
        named: dict[int, list[int]] = {}
        for name, chunk in where.items():
            named.setdefault(chunk % self.rows.shards, []).append(name)
        wanted = self.rows.split(rows)
        asked = {}
        for shard in wanted.keys() | named.keys():
            written = [(keys.get(one, ""), where[one] // self.rows.shards) for one in named.get(shard, ())]
            asked[shard] = Call(ShardReader.show, (wanted.get(shard, ()), written))
        answers = self.shards.engine.ask(asked) if asked else {}
        loaded = {self.rows.whole(shard, row): one for shard, (some, _) in answers.items() for row, one in some.items()}
        found = {
            name: text for shard, some in named.items() for name, text in zip(some, answers[shard][1], strict=True)
        }
        chunks = {row: replace(loaded[row], row=row) for row in rows if row in loaded}
        return chunks, as_entities(heads, keys, found)

    # A shelf has no tree of summaries.

    def nearest_summaries(
        self, vector: Float32, k: int, allowed: Allowed
    ) -> tuple[list[tuple[int, float]], Effort | None]:
        _refuse_tree()

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        _refuse_tree()


def summed(answers: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return {word: sum of its counts over all shards}."""
    found: Counter[str] = Counter()
    for one in answers:
        found.update(one)
    return dict(found)


def _refuse_tree() -> NoReturn:
    raise InputError(
        "a shelf has no tree of summaries",
        "use another search mode: --how auto; or give a file that has a tree: monograph resummarize FILE",
    )
