"""Many files as a search sees them: what it reads is gathered from all, and names come out of the catalogue."""

from __future__ import annotations

import json
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b

import numpy as np

from monograph.errors import InputError
from monograph.graph.evidence import Int64
from monograph.graph.names import entity_id
from monograph.graph.text import Words
from monograph.search.frequencies import Frequencies
from monograph.search.leads import Leads
from monograph.search.one_file import leads, start_texts
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.search.snapshot import Nearest, NearName, Opening, Pooling, Shown
from monograph.search.start_texts import StartText
from monograph.shelf.gather.asking import Asking
from monograph.shelf.gather.opening import Opened, parts, summed
from monograph.shelf.gather.remembered import Memory
from monograph.shelf.gather.rows import Rows
from monograph.shelf.shard.beside import NO_WORDS, Known
from monograph.shelf.shard.led import Led, Subject, mentioned, subject_chunks
from monograph.shelf.shard.pools import Merged, effort_of, lacking, laid_together, merged, share
from monograph.shelf.shard.shard import Asked, Facts
from monograph.store.chunks import Found
from monograph.store.counts import Counts
from monograph.store.filters import Allowed
from monograph.store.graphs import Records, SubjectChunk
from monograph.store.names import NameRow
from monograph.values import Float32, Mention, Summary


@dataclass(slots=True, eq=False)
class Gathered:
    """One version of a shelf: see :class:`monograph.search.snapshot.Snapshot`.

    A row of a chunk is :class:`monograph.shelf.gather.rows.Rows`', that of a name is the catalogue's.

    Parameters
    ----------
    shards:
        What is asked.
    catalogue:
        The names of all, as one file.
    memory:
        What was read of this version before.
    """

    shards: Asking
    catalogue: FileSnapshot
    memory: Memory
    _opened: Opened = field(init=False)
    _pools: Merged | None = field(default=None, init=False)
    _expected: Pooling | None = field(default=None, init=False)
    _known: Known = field(init=False)

    def __post_init__(self) -> None:
        self._opened = Opened(self.shards, self.memory)
        self._known = Known(self.rows)

    @property
    def rows(self) -> Rows:
        """Row numbers over all shards."""
        return self.shards.rows

    def expect(self, coming: Opening | Pooling) -> None:
        if isinstance(coming, Opening):
            self._opened.expect(coming)
        else:
            self._expected, self._pools = coming, None

    # Words.

    def facts(self) -> Sequence[Facts]:
        """What stays the same of each shard while the version does."""
        return self._opened.facts()

    def total(self) -> int:
        return self._opened.total()

    def frequencies(self, words: Collection[str], small: Collection[str] = ()) -> Frequencies:
        counted = self._opened.counted(*parts(words, small))
        return Frequencies(self.total(), {word: number for word, number in counted.items() if number})

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        if all(word in self.memory.counted for word in words):
            return {word: number for word in words if (number := self.memory.counted[word])}
        return summed(self.shards.all("document_frequency", words))

    def bm25(self, words: Sequence[str], k: int, allowed: Allowed) -> list[tuple[int, float]]:
        counts = Counts(self.total(), sum(one.words for one in self.facts()), self._opened.having(words))
        expected = self._expected
        if expected is not None and (expected.k, expected.allowed) == (k, allowed):
            self._pools = self._pooled(words, counts, expected)
            return self._pools.best
        answers = self.shards.all("bm25", words, k, counts, allowed)
        return merged(answers, k, self.rows)

    def _pooled(self, words: Sequence[str], counts: Counts, pooling: Pooling) -> Merged:
        """What shards find by words; what they find by meaning and by names is kept until it is asked for."""
        names: dict[str, int] = {}
        walking = pooling.walking
        self._known = Known(self.rows)
        if walking is not None:
            self._known = Known(self.rows, walking.words, walking.clauses)
            names = {one.key: one.row for some in self.catalogue.members(walking.heads).values() for one in some}
        asked = words, counts, pooling, list(names)
        k = pooling.k
        found = dict(enumerate(self.shards.all("pools", *asked, share(k, self.rows.shards))))
        if short := lacking(found, k, self.rows):
            found.update(self.shards.some(short, "pools", *asked, k))
        for shard, one in found.items():
            self._known.learn(shard, one.beside)
        return laid_together(found, pooling, self.rows, names)

    def holding(self, text: str, allowed: Allowed) -> list[tuple[int, float]]:
        return self._opened.holding(text, allowed)

    def containing(self, text: str, k: int, allowed: Allowed) -> list[int]:
        return self._first(self.shards.all("containing", text, k, allowed), k)

    def _first(self, answers: Sequence[Mapping[int, str]], k: int) -> list[int]:
        """Of chunks with their ids at most k, those whose ids come first."""
        found = {self.rows.whole(shard, row): name for shard, some in enumerate(answers) for row, name in some.items()}
        return sorted(sorted(found, key=found.__getitem__)[:k])

    # Meaning.

    def nearest(self, vector: Float32, k: int, allowed: Allowed, stretch: float = 1.0) -> Nearest:
        pools, expected = self._pools, self._expected
        if pools is not None and pools.near is not None and expected is not None and expected.vector is not None:
            same = (k, allowed, stretch) == (expected.k, expected.allowed, 1.0)
            if same and np.array_equal(vector, expected.vector):
                return pools.near
        answers: list[Nearest] = self.shards.all("nearest", vector, k, allowed, stretch)
        efforts = [near.effort for near in answers if near.effort is not None]
        return Nearest(merged([near.scored for near in answers], k, self.rows), effort_of(efforts))

    def cosines(self, chunks: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        if self._known.clauses is not None and np.array_equal(self._known.clauses, vectors):
            told = self._known.cosines(chunks)
            if told is not None:
                return told
        rows, made = [np.empty(0, dtype=np.int64)], [np.empty((len(vectors), 0), dtype=np.float32)]
        for shard, _, (some, values) in self.shards.of("cosines", chunks, vectors):
            rows.append(some * self.rows.shards + shard)
            made.append(values)
        return np.concatenate(rows), np.concatenate(made, axis=1)

    # Texts.

    def chunks(self, rows: Iterable[int]) -> dict[int, Found]:
        asked = list(rows)
        found: dict[int, Found] = self.shards.by_row("chunks", asked)
        return {row: replace(found[row], row=row) for row in asked if row in found}

    def titled_texts(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        return self.shards.in_order("titled_texts", list(rows))

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        wanted, held = list(dict.fromkeys(rows)), self.memory.ids
        told = self._known.firsts(wanted)
        if told is not None and len(set(told)) == len(wanted):
            return dict(zip(wanted, told, strict=True))
        missing = [row for row in wanted if row not in held]
        if missing:
            held.update({**dict.fromkeys(missing, ""), **self.shards.by_row("ids", missing)})
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
            self._known = Known(self.rows, asked)
        known = self._known
        found, told = known.records(chunks)
        if not told.all():
            missing = dict.fromkeys(row for row, is_told in zip(chunks, told.tolist(), strict=True) if not is_told)
            for shard, _, beside in self.shards.of("words_in", missing, asked):
                known.learn(shard, beside)
            found, _ = known.records(chunks)
        return np.ascontiguousarray(found["document"]), known.packed(found), found["alike"].tolist()

    def titled_extractions(self, chunks: Collection[int]) -> dict[int, tuple[int, str]]:
        missing = [row for row in dict.fromkeys(chunks) if row not in self.memory.told]
        for row, (key, title) in self.shards.by_row("titled_extractions", missing).items():
            self.memory.told[row] = int.from_bytes(blake2b(key, digest_size=8).digest()), title
        return {row: self.memory.told[row] for row in chunks if row in self.memory.told}

    def starts(self, chunks: Sequence[int]) -> list[StartText]:
        missing = [row for row in chunks if row not in self.memory.starts]
        given: dict[int, start_texts.NamedText] = {}
        for shard, some, (keys, texts) in self.shards.of("starts", missing):
            held = self._names_of(keys)
            rows = np.array([held[key] for key in keys], dtype=np.int64)
            for row, one in zip(self.shards.whole(shard, some), texts, strict=True):
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
        answers: list[Led] = self.shards.all("leads", list(keys), len(rare), allowed, words)
        for shard, one in enumerate(answers):
            if self._known.asked is not None:
                self._known.learn(shard, one.beside)
            about += [(shard, some) for some in one.subjects]
            mentions.append(one.mentions)
        naming = mentioned(mentions, list(keys.values()), self.rows)
        return list(leads.found(asked, subject_chunks(about, keys, self.rows), naming).values())

    def subject_chunks(self, names: Collection[int], allowed: Allowed) -> list[SubjectChunk]:
        pools = self._pools
        if pools is not None and pools.allowed == allowed and pools.names.keys() == set(names):
            return pools.subjects
        keys = self._keys(names)
        answers = self.shards.all("subject_chunks", list(keys), allowed)
        return subject_chunks([(shard, one) for shard, some in enumerate(answers) for one in some], keys, self.rows)

    def naming(self, chunks: Sequence[int], names: Collection[int]) -> list[tuple[int, int]]:
        pools = self._pools
        if pools is not None and pools.names.keys() == set(names) and pools.rows.issuperset(chunks):
            wanted = set(chunks)
            return [(name, chunk) for name, chunk in pools.naming if chunk in wanted]
        keys = self._keys(names)
        found = self.shards.of("naming", chunks, list(keys))
        return [(keys[key], self.rows.whole(shard, row)) for shard, _, some in found for key, row in some]

    def mentions(self, names: Collection[int], allowed: Allowed) -> dict[int, list[int]]:
        keys = self._keys(names)
        found: dict[int, list[int]] = {}
        for shard, some in enumerate(self.shards.all("mentions", list(keys), allowed)):
            for key, rows in some.items():
                found.setdefault(keys[key], []).extend(self.shards.whole(shard, rows))
        return {name: sorted(rows) for name, rows in found.items()}

    def linked(self, chunks: Collection[int]) -> dict[int, tuple[Records, Records]]:
        found = {}
        for shard, _, answer in self.shards.of("linked", chunks):
            held = self._names_of(answer.keys)
            rows = np.array([held[key] for key in answer.keys], dtype=np.int64)
            for row, (named, links) in answer.links.items():
                names = named.copy()
                names["name"] = rows[named["name"]]
                found[self.rows.whole(shard, row)] = names, links
        return {row: found[row] for row in chunks if row in found}

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        found = {
            name: some for answer in self.shards.all("named_in", dict(texts), kinds) for name, some in answer.items()
        }
        return {name: found[name] for name in texts if name in found}

    def descriptions(self, chunks: Iterable[int]) -> dict[int, list[str]]:
        asked = list(chunks)
        found = self.shards.by_row("descriptions", asked)
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
        asked: dict[int, list[Asked]] = {
            shard: [
                ("chunks", (wanted.get(shard, ()),)),
                ("written", ([(keys.get(one, ""), where[one] // self.rows.shards) for one in named.get(shard, ())],)),
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

    # The tree of summaries, which a shelf has none of.

    def require_tree(self) -> None:
        raise InputError("a shelf has no tree of summaries", "search it another way: --how auto")

    def nearest_summaries(self, vector: Float32, k: int, allowed: Allowed) -> Nearest:
        raise InputError("a shelf has no tree of summaries", "search it another way: --how auto")

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        raise InputError("a shelf has no tree of summaries", "search it another way: --how auto")
