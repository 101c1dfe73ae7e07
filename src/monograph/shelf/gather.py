"""Many files as a search sees them: what it reads is gathered from all, and names come out of the catalogue."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import chain

import numpy as np

from monograph.errors import InputError
from monograph.graph.evidence import Int64
from monograph.graph.names import entity_id
from monograph.search.frequencies import Frequencies, most
from monograph.search.leads import Leads
from monograph.search.one_file import leads, start_texts
from monograph.search.one_file.snapshot import FileSnapshot
from monograph.search.snapshot import NO_DOCUMENT, Nearest, NearName, Walking
from monograph.search.start_texts import StartText
from monograph.shelf.asking import Asking
from monograph.shelf.remembered import Memory
from monograph.shelf.rows import Rows
from monograph.shelf.shard import Beside, Facts, Pools, Subject
from monograph.store import terms, tree_leaves
from monograph.store import tree as stored_tree
from monograph.store.chunks import Found
from monograph.store.counts import Counts
from monograph.store.filters import EVERYTHING, Allowed
from monograph.store.graphs import Records, SubjectChunk
from monograph.store.names import NameRow
from monograph.values import Effort, Float32, Mention, Summary


@dataclass(slots=True, eq=False)
class Gathered:
    """One version of a shelf: see :class:`monograph.search.snapshot.Snapshot`.

    A row of a chunk is :class:`monograph.shelf.rows.Rows`', that of a name is the catalogue's.

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
    _expected: Walking | None = field(default=None, init=False)
    _found: Sequence[Pools] = field(default=(), init=False)
    _about: frozenset[int] = field(default=frozenset(), init=False)
    _cosines: dict[int, Float32] = field(default_factory=dict, init=False)

    @property
    def rows(self) -> Rows:
        """Row numbers over all shards."""
        return self.shards.rows

    # Words.

    def facts(self) -> Sequence[Facts]:
        """What stays the same of each shard while the version does."""
        if not self.memory.facts:
            self.memory.facts = self.shards.all("facts")
        return self.memory.facts

    def total(self) -> int:
        return sum(one.chunks for one in self.facts())

    def expect(self, walking: Walking) -> None:
        self._expected = walking

    def frequencies(self, words: Collection[str], small: Collection[str] = ()) -> Frequencies:
        total = self.total()
        few = {word for word in small if word not in words and word.isascii()}
        whole = {*words, *small} - few
        above = int(most(total)) + 1
        counted = self._counted(whole, few, above)
        return Frequencies(
            total,
            {word: number for word in whole if (number := counted[word])}
            | {word: min(above, number) for word in few if (number := counted[word])},
        )

    def _counted(self, words: Collection[str], few: Collection[str] = (), above: int = 0) -> Mapping[str, int]:
        """In how many chunks words stand; ``few`` are counted no further than ``above``."""
        known = self.memory.counted
        missing, little = [word for word in words if word not in known], [word for word in few if word not in known]
        made: dict[str, int] = {}
        if missing or little:
            found = _summed(self.shards.all("count", missing, little, above))
            made = {word: found.get(word, 0) for word in (*missing, *little)}
            known.update((word, number) for word, number in made.items() if word in missing or number < above)
        return {word: known[word] if word in known else made[word] for word in (*words, *few)}

    def document_frequency(self, words: Collection[str]) -> dict[str, int]:
        if all(word in self.memory.counted for word in words):
            return {word: number for word in words if (number := self.memory.counted[word])}
        return _summed(self.shards.all("document_frequency", words))

    def bm25(self, words: Sequence[str], k: int, allowed: Allowed) -> list[tuple[int, float]]:
        having = dict(self._counted(words))
        halves = [word for word in words if terms.is_half(word)]
        if halves:
            having |= _summed(self.shards.all("having", halves))
        counts = Counts(self.total(), sum(one.words for one in self.facts()), having)
        expected = self._expected
        if expected is not None and (expected.k, expected.allowed) == (k, allowed):
            answers = self._pools(words, counts, expected)
        else:
            answers = self.shards.all("bm25", words, k, counts, allowed)
        return _best(
            [(self.rows.whole(shard, row), score) for shard, some in enumerate(answers) for row, score in some],
            k,
        )

    def _pools(self, words: Sequence[str], counts: Counts, walking: Walking) -> list[Sequence[tuple[int, float]]]:
        """What shards find by words; what they find by meaning and by names is kept until it is asked for."""
        members = self.catalogue.members(walking.heads)
        names = {one.row: one.key for some in members.values() for one in some}
        found: list[Pools] = self.shards.all("pools", words, counts, walking, list(names.values()))
        for shard, one in enumerate(found):
            self._learn(shard, one.beside)
        self._found = found
        self._about = frozenset(names)
        return [one.best for one in found]

    def _learn(self, shard: int, beside: Beside) -> None:
        """Take in what is known of chunks of a shard."""
        rows = self.shards.whole(shard, beside.rows)
        documents = [one if one == NO_DOCUMENT else self.rows.whole(shard, one) for one in beside.documents]
        self.memory.ids.update(zip(rows, beside.ids, strict=True))
        self.memory.words.update(zip(rows, zip(documents, beside.words, strict=True), strict=True))
        if beside.cosines is not None:
            held, cosines = beside.cosines
            self._cosines.update(zip(self.shards.whole(shard, held.tolist()), cosines.T, strict=True))

    def with_phrase(self, text: str, k: int, allowed: Allowed) -> list[int]:
        return self._first(self.shards.all("with_phrase", text, k, allowed), k)

    def containing(self, text: str, k: int, allowed: Allowed) -> list[int]:
        return self._first(self.shards.all("containing", text, k, allowed), k)

    def _first(self, answers: Sequence[Mapping[int, str]], k: int) -> list[int]:
        """Of chunks with their ids at most k, those whose ids come first."""
        found = {self.rows.whole(shard, row): name for shard, some in enumerate(answers) for row, name in some.items()}
        return sorted(sorted(found, key=found.__getitem__)[:k])

    # Meaning.

    def nearest(self, vector: Float32, k: int, allowed: Allowed, stretch: float = 1.0) -> Nearest:
        answers = self._near(vector, k, allowed, stretch)
        scored = [
            (self.rows.whole(shard, row), score) for shard, near in enumerate(answers) for row, score in near.scored
        ]
        return Nearest(_best(scored, k), _together([near.effort for near in answers if near.effort is not None]))

    def _near(self, vector: Float32, k: int, allowed: Allowed, stretch: float) -> list[Nearest]:
        expected = self._expected
        if self._found and expected is not None and (k, allowed, stretch) == (expected.k, expected.allowed, 1.0):
            near = [one.near for one in self._found if one.near is not None]
            if len(near) == len(self._found) and np.array_equal(vector, expected.vector):
                return near
        return self.shards.all("nearest", vector, k, allowed, stretch)

    def cosines(self, chunks: Sequence[int], vectors: Float32) -> tuple[Int64, Float32]:
        expected = self._expected
        known = self._cosines if expected is not None and np.array_equal(expected.clauses, vectors) else {}
        held = {row: known[row] for row in chunks if row in known}
        for shard, _, (rows, values) in self.shards.of("cosines", [row for row in chunks if row not in known], vectors):
            held.update(zip(self.shards.whole(shard, rows.tolist()), values.T, strict=True))
        found = np.array(list(held.values()), dtype=np.float32).reshape(len(held), len(vectors)).T
        return np.array(list(held), dtype=np.int64), np.ascontiguousarray(found)

    # Texts.

    def chunks(self, rows: Iterable[int]) -> dict[int, Found]:
        asked = list(rows)
        found: dict[int, Found] = self.shards.by_row("chunks", asked)
        return {row: replace(found[row], row=row) for row in asked if row in found}

    def titled_texts(self, rows: Iterable[int]) -> list[tuple[str, str]]:
        return self.shards.in_order("titled_texts", list(rows))

    def ids(self, rows: Iterable[int]) -> Mapping[int, str]:
        missing = [row for row in dict.fromkeys(rows) if row not in self.memory.ids]
        if missing:
            self.memory.ids.update({**dict.fromkeys(missing, ""), **self.shards.by_row("ids", missing)})
        return self.memory.ids

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

    def words_in(self, chunks: Sequence[int]) -> tuple[Int64, list[bytes]]:
        missing = [row for row in dict.fromkeys(chunks) if row not in self.memory.words]
        for shard, some, (documents, packed) in self.shards.of("words_in", missing):
            whole = [one if one == NO_DOCUMENT else self.rows.whole(shard, one) for one in documents]
            self.memory.words.update(zip(self.shards.whole(shard, some), zip(whole, packed, strict=True), strict=True))
        found = [self.memory.words[row] for row in chunks]
        return np.array([document for document, _ in found], dtype=np.int64), [packed for _, packed in found]

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
        keys, rare = self._keys(asked.names), self._keys(asked.rare)
        about: list[tuple[int, Subject]] = []
        naming: dict[int, list[int]] = {}
        for shard, (subjects, mentions, beside) in enumerate(self.shards.all("leads", list(keys), list(rare), allowed)):
            self._learn(shard, beside)
            about += [(shard, one) for one in subjects]
            for key, rows in mentions.items():
                naming.setdefault(keys[key], []).extend(self.shards.whole(shard, rows))
        return list(leads.found(asked, self._subject_chunks(about, keys), naming).values())

    def subject_chunks(self, names: Collection[int], allowed: Allowed) -> list[SubjectChunk]:
        keys = self._keys(names)
        expected = self._expected
        if self._found and expected is not None and expected.allowed == allowed and self._about == frozenset(names):
            answers = [one.subjects for one in self._found]
        else:
            answers = self.shards.all("subject_chunks", list(keys), allowed)
        return self._subject_chunks([(shard, one) for shard, some in enumerate(answers) for one in some], keys)

    def _subject_chunks(self, found: Sequence[tuple[int, Subject]], names: Mapping[str, int]) -> list[SubjectChunk]:
        """As :func:`monograph.store.graphs.subject_chunks` has them."""
        documents = {(key, by_title, shard, document) for shard, (_, _, key, _, by_title, _, document) in found}
        counts = Counter((key, by_title) for key, by_title, *_ in documents)
        return [
            SubjectChunk(names[key], self.rows.whole(shard, row), bool(by_title), qualifier, counts[key, by_title])
            for (_, _, key, row, by_title, qualifier, _), shard in sorted((one, shard) for shard, one in found)
            if row
        ]

    def naming(self, chunks: Sequence[int], names: Collection[int]) -> list[tuple[int, int]]:
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

    def written_names(
        self, where: Mapping[int, int], known: Mapping[int, NameRow], texts: Mapping[int, tuple[str, str]]
    ) -> dict[int, tuple[str, str]]:
        heads, keys = self.catalogue.entities(where)
        wanted: dict[int, list[int]] = {}
        for name, chunk in where.items():
            wanted.setdefault(chunk % self.rows.shards, []).append(name)
        asked = {
            shard: [("written", ([(keys.get(name, ""), where[name] // self.rows.shards) for name in some],))]
            for shard, some in wanted.items()
        }
        answers = self.shards.engine.ask(asked) if asked else {}
        found = {
            name: text for shard, some in wanted.items() for name, text in zip(some, answers[shard][0], strict=True)
        }
        return {
            name: (entity_id(keys.get(heads.get(name, name), key)), found[name] or key)
            for name in where
            for key in (keys.get(name, ""),)
        }

    # The tree of summaries.

    def require_tree(self) -> None:
        if not stored_tree.exists(self.catalogue.connection):
            raise InputError(
                "the shelf has no tree of summaries",
                "monograph shelf resummarize URL, or search it another way: --how auto",
            )

    def nearest_summaries(self, vector: Float32, k: int, allowed: Allowed) -> Nearest:
        if allowed == EVERYTHING:
            return self.catalogue.nearest_summaries_but(vector, k, None)
        # Those that are allowed are told: of a shard that is lacking none is.
        told = enumerate(self.shards.all("let_in", allowed))
        rows = chain.from_iterable(self.shards.whole(shard, some.tolist()) for shard, some in told)
        return self.catalogue.nearest_summaries_but(vector, k, tree_leaves.over_others(self.catalogue.connection, rows))

    def summaries(self, nodes: Sequence[int]) -> dict[int, tuple[Summary, int]]:
        return self.catalogue.summaries(nodes, self)


def _summed(answers: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in answers:
        found.update(one)
    return dict(found)


def _best(scored: list[tuple[int, float]], k: int) -> list[tuple[int, float]]:
    """The k best, and all that tie with the last of them, highest first."""
    best = sorted(scored, key=lambda pair: (-pair[1], pair[0]))
    return best if len(best) <= k or k <= 0 else [pair for pair in best if pair[1] >= best[k - 1][1]]


_SUREST = ("exact", "all", "enough", "short")
"""Why searches end, the surest first."""


def _together(efforts: Sequence[Effort]) -> Effort | None:
    if not efforts:
        return None
    stopped = max((one.stopped for one in efforts), key=_SUREST.index)
    return Effort(sum(one.loads for one in efforts), sum(one.compared for one in efforts), stopped)
