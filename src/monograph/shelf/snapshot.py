"""The shards of a shelf as one snapshot: a search asks all shards in few rounds, and names come from the catalogue."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, NoReturn

import numpy as np

from monograph.errors import InputError
from monograph.graph.evidence import Int64
from monograph.graph.names import entity_id
from monograph.graph.text import Words
from monograph.search import words as word_for_word
from monograph.search.frequencies import Frequencies, most
from monograph.search.leads import Leads, StartText
from monograph.search.one_file import leads, start_texts
from monograph.search.one_file.snapshot import FileReader
from monograph.search.reader import Nearest, NearName, Opening, Pooling, SearchModels, Shown
from monograph.shelf.engines import Shards
from monograph.shelf.pools import (
    NO_WORDS,
    KnownChunks,
    Merged,
    NameLinks,
    Rows,
    Subject,
    effort_of,
    mentioned,
    merged,
    merged_pools,
    share,
    subject_chunks,
    too_few,
)
from monograph.shelf.shard import Call, ShardFacts, ShardReader, call
from monograph.store.documents.chunks import LoadedChunk
from monograph.store.documents.filters import Allowed
from monograph.store.file.database import Connection
from monograph.store.graph import names as stored_names
from monograph.store.graph.graphs import Records, SubjectChunk
from monograph.store.graph.names import NameRow
from monograph.store.words import terms
from monograph.values import Float32, Mention, Summary

MOST = 65_536
"""Chunks, and as many names, about which something is remembered: beyond that, a search starts with an empty memory."""

MOST_STARTS = 4_096


@dataclass(slots=True, eq=False)
class Memory:
    """Cache of what searches have read of a version, which does not change. Rows are over all shards.

    ``counted`` is the number of chunks that have each word, ``common`` are words that are known to be common,
    ``having`` is the number of chunks in which each half pair is found; ``extracted`` is (key of the extraction as a
    number, title) of chunks; ``names`` are rows in the catalogue by key.
    """

    facts: Sequence[ShardFacts] = ()
    counted: dict[str, int] = field(default_factory=dict)
    common: set[str] = field(default_factory=set)
    having: dict[str, int] = field(default_factory=dict)
    ids: dict[int, str] = field(default_factory=dict)
    extracted: dict[int, tuple[int, str]] = field(default_factory=dict)
    starts: dict[int, StartText] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)

    def names_of(self, catalogue: Connection, keys: Collection[str]) -> dict[str, int]:
        """Return the rows of names in the catalogue, by key; 0 for one that is not there."""
        missing = [key for key in keys if key not in self.names]
        if missing:
            self.names.update({**dict.fromkeys(missing, 0), **stored_names.rows(catalogue, missing)})
        return {key: self.names[key] for key in keys}

    def for_search(self) -> Memory:
        """Return this memory, or an empty one if it is full: searches that still read this one keep it."""
        held = max(len(self.counted), len(self.ids), len(self.extracted), len(self.names))
        return Memory(self.facts) if held > MOST or len(self.starts) > MOST_STARTS else self


@dataclass(slots=True, eq=False)
class WordCounts:
    """Counts of words over all shards, and chunks that have a code or phrase: the first round of a search."""

    shards: Shards
    memory: Memory
    _coming: Opening | None = field(default=None, init=False)
    _held: dict[tuple[str, Allowed], list[tuple[int, float]]] = field(default_factory=dict, init=False)

    def expect(self, coming: Opening) -> None:
        """Take note of what the search will ask, to ask it together with the first question."""
        self._coming = coming

    def facts(self) -> Sequence[ShardFacts]:
        """Return the facts about each shard."""
        if not self.memory.facts:
            self._ask((), (), ())
        return self.memory.facts

    def total(self) -> int:
        """Return the number of chunks."""
        return sum(one.chunks for one in self.facts())

    def counted(self, words: Collection[str], few: Collection[str] = ()) -> Mapping[str, int]:
        """Return the number of chunks that have each word; ``few`` are counted until they are common."""
        known, common = self.memory.counted, self.memory.common
        if any(word not in known for word in words) or any(word not in known and word not in common for word in few):
            self._ask(words, few, ())
        above = self.above()
        return {word: known[word] for word in words} | {word: min(above, known.get(word, above)) for word in few}

    def above(self) -> int:
        """Return the number of chunks from which on a word is common."""
        return int(most(self.total())) + 1

    def having(self, words: Collection[str]) -> dict[str, int]:
        """Return the number of chunks in which each word is found, and each half pair as part of a pair."""
        halves = [word for word in words if terms.is_half(word)]
        if any(word not in self.memory.having for word in halves):
            self._ask((), (), halves)
        return dict(self.counted(words)) | {word: number for word in halves if (number := self.memory.having[word])}

    def holding(self, text: str, allowed: Allowed) -> list[tuple[int, float]]:
        """See :meth:`monograph.search.reader.Reader.holding`."""
        if (text, allowed) not in self._held:
            self._held[text, allowed] = self._first(self.shards.all(ShardReader.holding, text, allowed))
        return self._held[text, allowed]

    def _ask(self, words: Collection[str], few: Collection[str], halves: Collection[str]) -> None:
        """Ask for all that is not known of these words, and of the words that the search will ask for."""
        coming, self._coming = self._coming, None
        texts: list[str] = []
        if coming is not None:
            whole, small = parts(*coming.counted(coming.text))
            words, few, halves = {*words, *whole}, {*few, *small}, {*halves, *filter(terms.is_half, whole)}
            texts = list(dict.fromkeys([*word_for_word.codes(coming.text), *word_for_word.phrases(coming.text)]))
        memory = self.memory
        missing = [word for word in words if word not in memory.counted]
        little = [word for word in few if word not in memory.counted and word not in memory.common.union(words)]
        unknown = [word for word in halves if word not in memory.having]
        new = not memory.facts  # Another thread may read them meanwhile.
        if new:
            # They say how far to count: so all are counted to the last chunk.
            missing, little = missing + little, []
        asked: list[Call[Any]] = [call(ShardReader.facts)] if new else []
        if missing or little:
            asked.append(call(ShardReader.count, missing, little, 0 if new else self.above()))
        if unknown:
            asked.append(call(ShardReader.having, unknown))
        asked += [call(ShardReader.holding, text, coming.allowed) for text in texts if coming is not None]
        answers = iter(self.shards.each(asked) if asked else ())
        if new:
            memory.facts = next(answers)
        if missing or little:
            found, above = summed(next(answers)), self.above()
            memory.counted.update((word, found.get(word, 0)) for word in missing)
            memory.counted.update((word, found.get(word, 0)) for word in little if found.get(word, 0) < above)
            memory.common.update(word for word in little if found.get(word, 0) >= above)
        if unknown:
            found = summed(next(answers))
            memory.having.update((word, found.get(word, 0)) for word in unknown)
        if coming is not None:
            self._held.update(((text, coming.allowed), self._first(next(answers))) for text in texts)

    def _first(self, answers: Sequence[Mapping[int, tuple[str, float]]]) -> list[tuple[int, float]]:
        """Return (row, worth) of the chunks with the first ids."""
        rows = self.shards.rows
        found = {rows.whole(shard, row): one for shard, some in enumerate(answers) for row, one in some.items()}
        self.memory.ids.update((row, name) for row, (name, _) in found.items())
        first = sorted(found, key=lambda row: found[row][0])[: word_for_word.CANDIDATES]
        return [(row, found[row][1]) for row in sorted(first)]


def parts(words: Collection[str], small: Collection[str]) -> tuple[set[str], set[str]]:
    """Return (words to count to the last chunk, words to count until they are common)."""
    few = {word for word in small if word not in words and word.isascii()}
    return {*words, *small} - few, few


def summed(answers: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Return the sums of counts of all shards."""
    found: Counter[str] = Counter()
    for one in answers:
        found.update(one)
    return dict(found)


@dataclass(slots=True, eq=False)
class ShelfSnapshot:
    """One version of a shelf: see :class:`monograph.search.reader.Reader`.

    Rows of chunks are those of :class:`monograph.shelf.pools.Rows`; rows of names are the catalogue's.
    """

    shards: Shards
    catalogue: FileReader
    memory: Memory
    _counts: WordCounts = field(init=False)
    _pools: Merged | None = field(default=None, init=False)
    _expected: Pooling | None = field(default=None, init=False)
    _known: KnownChunks = field(init=False)

    def __post_init__(self) -> None:
        self._counts = WordCounts(self.shards, self.memory)
        self._known = KnownChunks(self.rows)

    @property
    def models(self) -> SearchModels:
        return self.catalogue.models

    @property
    def rows(self) -> Rows:
        """Row numbers over all shards."""
        return self.shards.rows

    def expect(self, coming: Opening | Pooling) -> None:
        if isinstance(coming, Opening):
            self._counts.expect(coming)
        else:
            self._expected, self._pools = coming, None

    # Words.

    def facts(self) -> Sequence[ShardFacts]:
        """Return the facts about each shard."""
        return self._counts.facts()

    def total(self) -> int:
        return self._counts.total()

    def frequencies(self, words: Collection[str], small: Collection[str] = ()) -> Frequencies:
        counted = self._counts.counted(*parts(words, small))
        return Frequencies(self.total(), {word: number for word, number in counted.items() if number})

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        if all(word in self.memory.counted for word in words):
            return {word: number for word in words if (number := self.memory.counted[word])}
        return summed(self.shards.all(ShardReader.document_frequency, words))

    def bm25(self, words: Sequence[str], k: int, allowed: Allowed) -> list[tuple[int, float]]:
        counts = terms.Counts(self.total(), sum(one.words for one in self.facts()), self._counts.having(words))
        expected = self._expected
        if expected is not None and (expected.k, expected.allowed) == (k, allowed):
            self._pools = self._pooled(words, counts, expected)
            return self._pools.best
        answers = self.shards.all(ShardReader.bm25, words, k, counts, allowed)
        return merged(answers, k, self.rows)

    def _pooled(self, words: Sequence[str], counts: terms.Counts, pooling: Pooling) -> Merged:
        """Return the candidates of all shards, and keep facts about their chunks."""
        names: dict[str, int] = {}
        walking = pooling.walking
        self._known = KnownChunks(self.rows)
        if walking is not None:
            self._known = KnownChunks(self.rows, walking.words, walking.clauses)
            names = {one.key: one.row for some in self.catalogue.members(walking.heads).values() for one in some}
        asked = words, counts, pooling, list(names)
        k = pooling.k
        found = dict(enumerate(self.shards.all(ShardReader.pools, *asked, share(k, self.rows.shards))))
        if short := too_few(found, k, self.rows):
            found.update(self.shards.some(short, ShardReader.pools, *asked, k))
        for shard, one in found.items():
            self._known.learn(shard, one.facts)
        return merged_pools(found, pooling, self.rows, names)

    def holding(self, text: str, allowed: Allowed) -> list[tuple[int, float]]:
        return self._counts.holding(text, allowed)

    def containing(self, text: str, k: int, allowed: Allowed) -> list[int]:
        return self._first(self.shards.all(ShardReader.containing, text, k, allowed), k)

    def _first(self, answers: Sequence[Mapping[int, str]], k: int) -> list[int]:
        """Return at most k of some chunks with their ids, those whose ids come first."""
        found = {self.rows.whole(shard, row): name for shard, some in enumerate(answers) for row, name in some.items()}
        return sorted(sorted(found, key=found.__getitem__)[:k])

    # Meaning.

    def nearest(self, vector: Float32, k: int, allowed: Allowed, stretch: float = 1.0) -> Nearest:
        pools, expected = self._pools, self._expected
        if pools is not None and pools.near is not None and expected is not None and expected.vector is not None:
            same = (k, allowed, stretch) == (expected.k, expected.allowed, 1.0)
            if same and np.array_equal(vector, expected.vector):
                return pools.near
        answers: list[Nearest] = self.shards.all(ShardReader.nearest, vector, k, allowed, stretch)
        efforts = [near.effort for near in answers if near.effort is not None]
        return Nearest(merged([near.scored for near in answers], k, self.rows), effort_of(efforts))

    def cosines(self, chunks: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        if self._known.clauses is not None and np.array_equal(self._known.clauses, vectors):
            told = self._known.cosines(chunks)
            if told is not None:
                return told
        rows, made = [np.empty(0, dtype=np.int64)], [np.empty((len(vectors), 0), dtype=np.float32)]
        for shard, _, (some, values) in self.shards.of(ShardReader.cosines, chunks, vectors):
            rows.append(some * self.rows.shards + shard)
            made.append(values)
        return np.concatenate(rows), np.concatenate(made, axis=1)

    # Texts.

    def chunks(self, rows: Iterable[int]) -> dict[int, LoadedChunk]:
        asked = list(rows)
        found: dict[int, LoadedChunk] = self.shards.by_row(ShardReader.chunks, asked)
        return {row: replace(found[row], row=row) for row in asked if row in found}

    def titled_texts(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        wanted = list(rows)
        found = {
            self.rows.whole(shard, row): value
            for shard, some, answer in self.shards.of(ShardReader.titled_texts, dict.fromkeys(wanted))
            for row, value in zip(some, answer, strict=True)
        }
        return [found[row] for row in wanted]

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        wanted, held = list(dict.fromkeys(rows)), self.memory.ids
        told = self._known.first_bytes(wanted)
        if told is not None and len(set(told)) == len(wanted):
            return dict(zip(wanted, told, strict=True))
        missing = [row for row in wanted if row not in held]
        if missing:
            held.update({**dict.fromkeys(missing, ""), **self.shards.by_row(ShardReader.ids, missing)})
        return held

    def newest(self) -> int | None:
        return max((one.newest for one in self.facts() if one.newest is not None), default=None)

    # Names.

    def known(self, keys: Collection[str]) -> dict[str, NameRow]:
        return self.catalogue.known(keys)

    def called(self, first: Collection[str]) -> list[NameRow]:
        return self.catalogue.called(first)

    def subjects_among(self, names: Collection[int]) -> set[int]:
        return self.catalogue.subjects_among(names)

    def names(self, rows: Collection[int]) -> dict[int, NameRow]:
        return self.catalogue.names(rows)

    def members(self, heads: Collection[int]) -> dict[int, list[NameRow]]:
        return self.catalogue.members(heads)

    def entities(self, names: Iterable[int]) -> tuple[Mapping[int, int], Mapping[int, str]]:
        return self.catalogue.entities(names)

    def names_like(self, vectors: Float32, k: int) -> list[list[NearName]]:
        return self.catalogue.names_like(vectors, k)

    def _keys(self, names: Iterable[int]) -> dict[str, int]:
        """Names by their keys."""
        wanted = list(names)
        _, keys = self.catalogue.entities(wanted)
        return {keys[row]: row for row in wanted if row in keys}

    def _names_of(self, keys: Collection[str]) -> dict[str, int]:
        """Names by their keys; 0 for one that the catalogue lacks, which only a shard that it is not of has."""
        return self.memory.names_of(self.catalogue.connection, keys)

    # The graph.

    def has_graph(self) -> bool:
        return all(one.has_graph for one in self.facts() if one.chunks)

    def words_in(self, chunks: Sequence[int], asked: Words) -> tuple[Int64, list[bytes], Sequence[Hashable]]:
        if self._known.asked is None or not np.array_equal(self._known.asked, asked):
            self._known = KnownChunks(self.rows, asked)
        known = self._known
        found, told = known.records(chunks)
        if not told.all():
            missing = dict.fromkeys(row for row, is_told in zip(chunks, told.tolist(), strict=True) if not is_told)
            for shard, _, facts in self.shards.of(ShardReader.words_in, missing, asked):
                known.learn(shard, facts)
            found, _ = known.records(chunks)
        return np.ascontiguousarray(found["document"]), known.packed(found), found["alike"].tolist()

    def titled_extractions(self, chunks: Collection[int]) -> dict[int, tuple[int, str]]:
        missing = [row for row in dict.fromkeys(chunks) if row not in self.memory.extracted]
        for row, (key, title) in self.shards.by_row(ShardReader.titled_extractions, missing).items():
            self.memory.extracted[row] = int.from_bytes(blake2b(key, digest_size=8).digest()), title
        return {row: self.memory.extracted[row] for row in chunks if row in self.memory.extracted}

    def starts(self, chunks: Sequence[int]) -> list[StartText]:
        missing = [row for row in chunks if row not in self.memory.starts]
        given: dict[int, start_texts.NamedText] = {}
        for shard, some, (keys, texts) in self.shards.of(ShardReader.starts, missing):
            held = self._names_of(keys)
            rows = np.array([held[key] for key in keys], dtype=np.int64)
            for row, one in zip(self.rows.all_of(shard, some), texts, strict=True):
                names = one.names.copy()
                names["name"] = rows[one.names["name"]]
                own = json.dumps(rows[list(one.own)].tolist())
                given[row] = one.title, one.text, names.tobytes(), own
        made = start_texts.of(self.catalogue.connection, list(given.values()), self.catalogue.remembered.subjects)
        self.memory.starts.update(zip(given, made, strict=True))
        return [self.memory.starts[row] for row in chunks if row in self.memory.starts]

    def leads(self, heads: Sequence[int], known: Mapping[int, NameRow], allowed: Allowed) -> list[Leads]:
        asked = leads.ask(self.catalogue.connection, heads, known)
        rare = self._keys(asked.rare)
        keys = {**rare, **self._keys(asked.names)}
        words = NO_WORDS if self._known.asked is None else self._known.asked
        about: list[tuple[int, Subject]] = []
        mentions = []
        answers: list[NameLinks] = self.shards.all(ShardReader.leads, list(keys), len(rare), allowed, words)
        for shard, one in enumerate(answers):
            if self._known.asked is not None:
                self._known.learn(shard, one.facts)
            about += [(shard, some) for some in one.subjects]
            mentions.append(one.mentions)
        naming = mentioned(mentions, list(keys.values()), self.rows)
        return list(leads.found(asked, subject_chunks(about, keys, self.rows), naming).values())

    def subject_chunks(self, names: Collection[int], allowed: Allowed) -> list[SubjectChunk]:
        pools = self._pools
        if pools is not None and pools.allowed == allowed and pools.names.keys() == set(names):
            return pools.subjects
        keys = self._keys(names)
        answers = self.shards.all(ShardReader.subject_chunks, list(keys), allowed)
        return subject_chunks([(shard, one) for shard, some in enumerate(answers) for one in some], keys, self.rows)

    def naming(self, chunks: Sequence[int], names: Collection[int]) -> list[tuple[int, int]]:
        pools = self._pools
        if pools is not None and pools.names.keys() == set(names) and pools.rows.issuperset(chunks):
            wanted = set(chunks)
            return [(name, chunk) for name, chunk in pools.naming if chunk in wanted]
        keys = self._keys(names)
        found = self.shards.of(ShardReader.naming, chunks, list(keys))
        return [(keys[key], self.rows.whole(shard, row)) for shard, _, some in found for key, row in some]

    def mentions(self, names: Collection[int], allowed: Allowed) -> dict[int, list[int]]:
        keys = self._keys(names)
        found: dict[int, list[int]] = {}
        for shard, some in enumerate(self.shards.all(ShardReader.mentions, list(keys), allowed)):
            for key, rows in some.items():
                found.setdefault(keys[key], []).extend(self.rows.all_of(shard, rows))
        return {name: sorted(rows) for name, rows in found.items()}

    def linked(self, chunks: Collection[int]) -> dict[int, tuple[Records, Records]]:
        found = {}
        for shard, _, answer in self.shards.of(ShardReader.name_links, chunks):
            held = self._names_of(answer.keys)
            rows = np.array([held[key] for key in answer.keys], dtype=np.int64)
            for row, (named, links) in answer.links.items():
                names = named.copy()
                names["name"] = rows[named["name"]]
                found[self.rows.whole(shard, row)] = names, links
        return {row: found[row] for row in chunks if row in found}

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        found = {
            name: some
            for answer in self.shards.all(ShardReader.named_in, dict(texts), kinds)
            for name, some in answer.items()
        }
        return {name: found[name] for name in texts if name in found}

    def descriptions(self, chunks: Iterable[int]) -> dict[int, list[str]]:
        asked = list(chunks)
        found = self.shards.by_row(ShardReader.descriptions, asked)
        return {row: found[row] for row in asked if row in found}

    def shown(
        self,
        rows: Collection[int],
        where: Mapping[int, int],
        known: Mapping[int, NameRow],
        texts: Mapping[int, tuple[str, str]],
    ) -> Shown:
        heads, keys = self.catalogue.entities(where)
        named: dict[int, list[int]] = {}
        for name, chunk in where.items():
            named.setdefault(chunk % self.rows.shards, []).append(name)
        wanted = self.rows.split(rows)
        asked: dict[int, list[Call[Any]]] = {
            shard: [
                call(ShardReader.chunks, wanted.get(shard, ())),
                call(
                    ShardReader.written_in,
                    [(keys.get(one, ""), where[one] // self.rows.shards) for one in named.get(shard, ())],
                ),
            ]
            for shard in wanted.keys() | named.keys()
        }
        answers = self.shards.engine.ask(asked) if asked else {}
        loaded = {self.rows.whole(shard, row): one for shard, (some, _) in answers.items() for row, one in some.items()}
        found = {
            name: text for shard, some in named.items() for name, text in zip(some, answers[shard][1], strict=True)
        }
        written = {
            name: (entity_id(keys.get(heads.get(name, name), key)), found[name] or key)
            for name in where
            for key in (keys.get(name, ""),)
        }
        return {row: replace(loaded[row], row=row) for row in rows if row in loaded}, written

    # A shelf has no tree of summaries.

    def require_tree(self) -> NoReturn:
        raise InputError(
            "a shelf has no tree of summaries",
            "search another way: --how auto; of a file: monograph resummarize FILE",
        )

    def nearest_summaries(self, vector: Float32, k: int, allowed: Allowed) -> Nearest:
        self.require_tree()

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        self.require_tree()
