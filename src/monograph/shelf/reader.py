"""Search reader of a shelf: it calls all shards at once, so that a search needs few rounds over the network.

Names are read from the shelf's catalogue, a file on this machine that has the names of all shards.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import NoReturn, TypeVar

import numpy as np

from monograph.errors import InputError
from monograph.graph.evidence import Int64
from monograph.graph.text import Words
from monograph.search import words as word_for_word
from monograph.search.names import ChunkLinks, NamedText, Names, StartText, as_entities
from monograph.search.one_file.file_reader import FileReader
from monograph.search.reader import NOWHERE, Counts, Evidence, Pool, PoolRequest, SearchModels, Shown
from monograph.shelf import pools
from monograph.shelf.engines import Shards
from monograph.shelf.pools import Rows, SentEvidence, full
from monograph.shelf.shard import Call, ShardReader
from monograph.store.catalogue import Totals
from monograph.store.documents.filters import EVERYTHING, CompiledFilter
from monograph.store.graph import names as stored_names
from monograph.store.graph.graphs import NAMED, Records
from monograph.store.words import terms
from monograph.values import Effort, Float32, Mention, Summary
from monograph.vectors.stop import RankedRecall, StopCondition

K = TypeVar("K")
MOST_WORDS = 65_536
"""Largest number of words whose counts are cached. If there are more, the next search starts with an empty cache."""


@dataclass(frozen=True, slots=True, eq=False)
class WordCounts:
    """Cached counts of words over all shards. They stay valid because a version never changes.

    ``chunks`` is {word: number of chunks that contain the word}.
    ``common`` has function words that are in more chunks than :func:`monograph.search.words.common_word_limit`.
    ``chunks_with`` is {character: number of chunks that contain a pair of characters beginning with this character}. It
    is for writing without spaces, such as Chinese, which the index contains only as pairs of characters.
    """

    chunks: dict[str, int] = field(default_factory=dict)
    common: set[str] = field(default_factory=set)
    chunks_with: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class ShelfReader:
    """One version of a shelf as a :class:`monograph.search.reader.Reader`.

    Chunk rows are numbered over all shards (:class:`monograph.shelf.pools.Rows`). Name rows are the catalogue's.
    """

    shards: Shards
    catalogue: FileReader
    totals: Sequence[Totals]
    counted: WordCounts
    _first: dict[int, str] = field(default_factory=dict, init=False)
    """{global row of a chunk: the first 8 bytes of its id, as text}, for the chunks whose records were received."""
    _ids: dict[int, str] = field(default_factory=dict, init=False)

    @property
    def models(self) -> SearchModels:
        return self.catalogue.models

    @property
    def names(self) -> Names:
        return self.catalogue.names

    @property
    def rows(self) -> Rows:
        """The numbering of rows over all shards."""
        return self.shards.rows

    # Words.

    def total(self) -> int:
        return sum(shard.chunks for shard in self.totals)

    def newest(self) -> int | None:
        return max((shard.newest for shard in self.totals if shard.newest is not None), default=None)

    def has_graph(self) -> bool:
        return self.catalogue.has_graph()

    def count(
        self,
        words: Collection[str],
        small: Collection[str] = (),
        held: Collection[str] = (),
        *,
        allowed: CompiledFilter,
    ) -> Counts:
        function_words = {word for word in small if word not in words and word.isascii()}
        exact = {*words, *small} - function_words
        containing = self._fetch_counts(exact, function_words, list(dict.fromkeys(held)), allowed)
        cached, above = self.counted.chunks, self._common_count()
        counts = {word: cached[word] for word in exact}
        counts |= {word: min(above, cached.get(word, above)) for word in function_words}
        return Counts(self.total(), {word: number for word, number in counts.items() if number}, containing)

    def _common_count(self) -> int:
        """Return the least number of chunks that must contain a word for it to be common."""
        return int(word_for_word.common_word_limit(self.total())) + 1

    def _fetch_counts(
        self, words: Collection[str], function_words: Collection[str], texts: Sequence[str], allowed: CompiledFilter
    ) -> dict[str, list[tuple[int, float]]]:
        """Cache the missing counts of words, and find the allowed chunks that contain ``texts``: codes and phrases.

        Returns {text: list of (row, score) of the chunks that contain the text, rows ascending}. For the score, see
        :func:`monograph.search.words.worth`.
        """
        cached, common, chunks_with = self.counted.chunks, self.counted.common, self.counted.chunks_with
        missing = [word for word in words if word not in cached]
        small = [word for word in function_words if word not in cached and word not in common]
        halves = [word for word in words if terms.is_half(word) and word not in chunks_with]
        if not (missing or small or halves or texts):
            return {}
        # Function words are counted only until they are known to be common.
        above = self._common_count()
        answers = self.shards.all(ShardReader.count, missing, small, above, halves, texts, allowed)
        counts = sum_counts(chunks for chunks, _, _ in answers)
        cached.update((word, counts.get(word, 0)) for word in missing)
        cached.update((word, counts.get(word, 0)) for word in small if counts.get(word, 0) < above)
        common.update(word for word in small if counts.get(word, 0) >= above)
        counts = sum_counts(parts for _, parts, _ in answers)
        chunks_with.update((word, counts.get(word, 0)) for word in halves)
        containing = {}
        for index, text in enumerate(texts):
            candidates = self.rows.merge(enumerate(matches[index] for _, _, matches in answers))
            self._ids.update((row, name) for row, (name, _) in candidates.items())
            # By id, because row numbers depend on the division into shards.
            first = sorted(candidates, key=lambda row: candidates[row][0])[: word_for_word.CANDIDATES]
            containing[text] = [(row, candidates[row][1]) for row in sorted(first)]
        return containing

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        if all(word in self.counted.chunks for word in words):
            return {word: number for word in words if (number := self.counted.chunks[word])}
        return sum_counts(self.shards.all(ShardReader.document_frequency, words))

    def pool(self, request: PoolRequest) -> Pool:
        k, walk, of_all, names = request.k, request.walk, None, {}
        if request.words:
            self._fetch_counts(request.words, (), (), EVERYTHING)
            chunks_with = {
                word: self.counted.chunks_with.get(word) or self.counted.chunks[word] for word in request.words
            }
            of_all = terms.CorpusCounts(self.total(), sum(shard.words for shard in self.totals), chunks_with)
        if walk is not None:
            names = self._load_keys(walk.names)
            walk = replace(walk, names=())
        arguments = replace(request, counts=None, walk=walk), of_all, list(names)
        parts = dict(enumerate(self.shards.all(ShardReader.pool, *arguments, pools.share(k, self.rows.shards))))
        if short := pools.find_short_shards(parts, k):
            parts.update(self.shards.some(short, ShardReader.pool, *arguments, k))
        kind = pools.SHORT if walk is None else full(len(walk.clauses))
        records = self._join_records([(shard, part.records) for shard, part in parts.items()], kind)
        return pools.merge_pools(parts, replace(request, walk=walk), self.rows, names, records)

    def _join_records(self, parts: Sequence[tuple[int, bytes]], kind: np.dtype[np.void]) -> Records:
        """Join chunk records into one array (n,) of dtype ``kind``. A part is (shard, bytes of records)."""
        records = pools.join_records(parts, kind, self.rows)
        self._first.update(zip(records["row"].tolist(), pools.first_bytes(records), strict=True))
        return records

    def containing(self, text: str, k: int, allowed: CompiledFilter) -> list[int]:
        ids = self.rows.merge(enumerate(self.shards.all(ShardReader.containing, text, k, allowed)))
        return sorted(sorted(ids, key=ids.__getitem__)[:k])

    def cosines(self, chunks: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        rows, cosines = [np.empty(0, dtype=np.int64)], [np.empty((len(vectors), 0), dtype=np.float32)]
        for shard, _, (shard_rows, values) in self.shards.of(ShardReader.cosines, chunks, vectors):
            rows.append(shard_rows * self.rows.shards + shard)
            cosines.append(values)
        return np.concatenate(rows), np.concatenate(cosines, axis=1)

    def titled_texts(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        row_list = list(rows)
        texts = self.shards.by_row(ShardReader.titled_texts, list(dict.fromkeys(row_list)))
        return [texts[row] for row in row_list]

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        distinct, cached = list(dict.fromkeys(rows)), self._ids
        first = {row: self._first.get(row, "") for row in distinct}
        if "" not in first.values() and len(set(first.values())) == len(distinct):
            return first
        missing = [row for row in distinct if row not in cached]
        if missing:
            cached.update({**dict.fromkeys(missing, ""), **self.shards.by_row(ShardReader.ids, missing)})
        return cached

    def _load_keys(self, names: Iterable[int]) -> dict[str, int]:
        """Return {key of name: row} for names with the given catalogue rows."""
        rows = list(names)
        loaded = self.names.load(rows)
        return {loaded[row].key: row for row in rows if row in loaded}

    # The graph.

    def sample(self, k: int, allowed: CompiledFilter) -> list[int]:
        answers = self.shards.all(ShardReader.sample, k, allowed)
        first = sorted(
            (name, self.rows.global_row(shard, row)) for shard, rows in enumerate(answers) for name, row in rows
        )
        return [row for _, row in first[:k]]

    def titled_extractions(self, chunks: Collection[int]) -> dict[int, tuple[int, str]]:
        extractions = self.shards.by_row(ShardReader.titled_extractions, list(chunks))
        keys = {row: int.from_bytes(blake2b(key, digest_size=8).digest()) for row, (key, _) in extractions.items()}
        return {row: (keys[row], extractions[row][1]) for row in chunks if row in extractions}

    def starts(self, chunks: Sequence[int]) -> list[StartText]:
        return self.catalogue.cache.starts.get(chunks, self._load_starts)

    def _load_starts(self, chunks: Sequence[int]) -> dict[int, StartText]:
        named_texts: dict[int, NamedText] = {}
        for shard, shard_rows, (keys, texts) in self.shards.of(ShardReader.starts, chunks):
            rows = self._find_name_rows(keys)
            for row, (title, text, packed, own, relations) in zip(
                self.rows.global_rows(shard, shard_rows), texts, strict=True
            ):
                names = pools.replace_names(np.frombuffer(packed, dtype=NAMED), rows)
                about = json.dumps([rows[index] for index in json.loads(own)])
                named_texts[row] = title, text, names.tobytes(), about, relations
        return dict(zip(named_texts, self.names.starts(list(named_texts.values())), strict=True))

    def _find_name_rows(self, keys: Sequence[str]) -> list[int]:
        """Return the catalogue's row of each name, in the order of ``keys``; 0 if it is missing."""
        rows_by_key = stored_names.rows(self.names.connection, keys)
        # Only the catalogue of a damaged shelf lacks a key.
        return [rows_by_key.get(key, 0) for key in keys]

    def leads(self, heads: Sequence[int], words: Words, allowed: CompiledFilter) -> tuple[list[ChunkLinks], Evidence]:
        links = self.names.links(heads)
        rare = self._load_keys(links.rare)
        keys = {**rare, **self._load_keys(links.names)}
        answers = self.shards.all(ShardReader.leads, list(keys), len(rare), allowed, words)
        subjects = [(shard, subject) for shard, (part, _, _) in enumerate(answers) for subject in part]
        mentions = pools.merge_mentions([part for _, part, _ in answers], list(keys.values()), self.rows)
        records = self._join_records([(shard, part) for shard, (_, _, part) in enumerate(answers)], full(0))
        leads = links.leads(pools.merge_subjects(subjects, keys, self.rows), mentions)
        return list(leads.values()), SentEvidence(records)

    def mentions(self, names: Collection[int], allowed: CompiledFilter) -> dict[int, list[int]]:
        keys = self._load_keys(names)
        return pools.merge_mentions(
            self.shards.all(ShardReader.mentions, list(keys), allowed), list(keys.values()), self.rows
        )

    def linked(self, chunks: Collection[int]) -> dict[int, tuple[Records, Records]]:
        linked = {}
        for shard, _, (keys, by_row) in self.shards.of(ShardReader.name_links, chunks):
            rows = self._find_name_rows(keys)
            for row, (named, links) in by_row.items():
                linked[self.rows.global_row(shard, row)] = pools.replace_names(named, rows), links
        return {row: linked[row] for row in chunks if row in linked}

    def named_in(self, texts: Mapping[str, str], kinds: Collection[str]) -> dict[str, list[Mention]]:
        named = {
            name: mentions
            for answer in self.shards.all(ShardReader.named_in, dict(texts), kinds)
            for name, mentions in answer.items()
        }
        return {name: named[name] for name in texts if name in named}

    def descriptions(self, chunks: Iterable[int]) -> dict[int, list[str]]:
        return self.shards.by_row(ShardReader.descriptions, list(chunks))

    def show(self, rows: Collection[int], where: Mapping[int, int] = NOWHERE) -> Shown:
        heads, keys = self.names.entities(where)
        named: dict[int, list[int]] = {}
        for name, chunk in where.items():
            named.setdefault(chunk % self.rows.shards, []).append(name)
        rows_by_shard = self.rows.split(rows)
        calls = {}
        for shard in rows_by_shard.keys() | named.keys():
            requests = [(keys.get(name, ""), where[name] // self.rows.shards) for name in named.get(shard, ())]
            calls[shard] = Call(ShardReader.show, (rows_by_shard.get(shard, ()), requests))
        answers = self.shards.engine.ask(calls) if calls else {}
        loaded = self.rows.merge((shard, chunks) for shard, (chunks, _) in answers.items())
        spellings = {
            name: text for shard, names in named.items() for name, text in zip(names, answers[shard][1], strict=True)
        }
        chunks = {row: replace(loaded[row], row=row) for row in rows if row in loaded}
        return chunks, as_entities(heads, keys, spellings)

    # A shelf has no tree of summaries.

    def nearest_summaries(
        self, vector: Float32, k: int, allowed: CompiledFilter, stop: StopCondition | RankedRecall | None = None
    ) -> tuple[list[tuple[int, float]], Effort | None]:
        _refuse_tree()

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        _refuse_tree()


def sum_counts(answers: Iterable[Mapping[K, int]]) -> dict[K, int]:
    """Add the counts of all shards: return {key: sum of the counts for this key in ``answers``}."""
    counts: Counter[K] = Counter()
    for answer in answers:
        counts.update(answer)
    return dict(counts)


def _refuse_tree() -> NoReturn:
    raise InputError(
        "a shelf has no tree of summaries",
        "use another search mode: --how auto; or give a file that has a tree: monograph resummarize FILE",
    )
