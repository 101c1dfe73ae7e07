"""Names that a file or shelf knows: lookup, merged spellings, and the chunks that a name leads to."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import pi, sqrt
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from monograph.derive.extract.function_words import FUNCTION_WORDS
from monograph.graph.chunk_names import NO_SENTENCE
from monograph.graph.names import LONGEST_KEY, entity_id, key_of, mention_key
from monograph.graph.text import sentence_starts
from monograph.regex import regex
from monograph.store.documents import chunks as stored_chunks
from monograph.store.graph import assertions, extractions, graphs, names
from monograph.store.words.prefetch import Prefetcher
from monograph.text_pass import compiled
from monograph.vectors.kernel import nearest_signs

if TYPE_CHECKING:
    from monograph.store.file.database import Connection
    from monograph.store.graph.graphs import SubjectChunk
    from monograph.store.graph.names import NameRow
    from monograph.values import Float32

MOST_MENTIONS = 25
"""A name that more chunks have is not followed to them."""

MOST_JOINED = 25
"""An entity that relations of callers join to more others is not followed to them."""

MOST_DOCUMENTS = 12
"""Chunks of documents about a name that it links to: of many homonyms the first chunks."""

NamedText: TypeAlias = tuple[str, str, bytes, str]
"""Title, text, names as bytes of :data:`monograph.store.graph.graphs.NAMED`, and the document's subjects as JSON."""

Signs: TypeAlias = dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]]
"""(rows (n,), signs of their embeddings (n, bytes) as bits) of names in order of key, by the number of bytes."""

_SIGNS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32) * 2 - 1

LONGEST_TITLE = 8
"""Words of a title that is looked for in a text."""

MOST_SMALL = 3
"""Words without a capital that follow each other in a title."""

LONGEST_UNSPACED = 12
"""Characters of a name that is looked for in Chinese text."""

_RUN = regex("[\u3400-\u4dbf\u4e00-\u9fff][\u3400-\u4dbf\u4e00-\u9fff0-9·•・]+")
_DOTS = regex("[·•・]")
_EDGES = frozenset("的了是在和与或及对于把被从到向为以并也都就不有这那其之所等个们我你他她它吗呢吧啊由·•・")
"""Characters that no name begins or ends with."""

_SMALL_WORDS = FUNCTION_WORDS["english"]


@dataclass(frozen=True, slots=True)
class NearName:
    """A name by its row, and the estimated cosine of its embedding, in [-1, 1]."""

    name: int
    cosine: float


@dataclass(frozen=True, slots=True, eq=False)
class StartText:
    """A text that a walk starts from, and those of its names that may lead on.

    Parameters
    ----------
    title, text:
        Of the document, and of the chunk.
    begins:
        Offsets at which the text's sentences begin, ascending; the first is 0.
    names:
        The names; ``sentences`` are the places of the sentences that have each, and ``own`` tells whether the text's
        document is about it.
    """

    title: str
    text: str
    begins: Sequence[int]
    names: tuple[NameRow, ...]
    sentences: tuple[tuple[int, ...], ...]
    own: tuple[bool, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Leads:
    """Links of an entity: chunks of documents about it, and all others that name it, by row.

    Of the first ``by_beginning`` tells which documents only begin with it, ``rarity`` is 1 / sqrt(documents about it).
    """

    documents: tuple[int, ...]
    by_beginning: tuple[bool, ...]
    rarity: tuple[float, ...]
    others: tuple[int, ...]


NOWHERE = Leads((), (), (), ())


@dataclass(frozen=True, slots=True, eq=False)
class LinkRequest:
    """Entities whose links are to be read.

    Parameters
    ----------
    heads:
        Rows of their heads.
    members, joined:
        The names of each, and those of entities that relations of callers join to it, by the row of its head.
    names, rare:
        Rows of all these, and of those few enough chunks have.
    """

    heads: Sequence[int]
    members: Mapping[int, Sequence[NameRow]]
    joined: Mapping[int, Sequence[NameRow]]
    names: Sequence[int]
    rare: Sequence[int]

    def leads(self, subjects: Sequence[SubjectChunk], naming: Mapping[int, Sequence[int]]) -> dict[int, Leads]:
        """Return where each entity leads, by the row of its head, in the order of ``heads``.

        ``subjects`` are the chunks of documents about the names; ``naming`` the chunks that have each rare name.
        """
        about: dict[int, list[SubjectChunk]] = {}
        for one in subjects:
            if len(about.setdefault(one.name, [])) < MOST_DOCUMENTS:
                about[one.name].append(one)
        made = dict.fromkeys(self.heads, NOWHERE)
        for head, own in self.members.items():
            some = [*own, *self.joined.get(head, ())]
            chunks = [chunk for name in some for chunk in naming.get(name.row, ())]
            made[head] = leads_of(
                [one for name in some for one in about.get(name.row, ())],
                list(dict.fromkeys(chunks)) if head in self.joined else chunks,
            )
        return made


def leads_of(about: Sequence[SubjectChunk], naming: Sequence[int]) -> Leads:
    """Return where an entity leads: to chunks of documents about it, and to other chunks that name it."""
    if not about:
        return Leads((), (), (), tuple(naming)) if naming else NOWHERE
    documents = tuple([one.chunk for one in about])
    return Leads(
        documents,
        tuple([not one.by_title for one in about]),
        tuple([one.documents**-0.5 for one in about]),
        tuple([chunk for chunk in naming if chunk not in documents]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """The names in one state of a file, or in the catalogue of a shelf. Names are known by their rows there.

    Parameters
    ----------
    connection:
        In a read transaction.
    ahead:
        Announces pages that are about to be read.
    signs:
        Cache of this state for :meth:`like`.
    """

    connection: Connection
    ahead: Prefetcher = field(default_factory=Prefetcher)
    signs: Signs = field(default_factory=dict)

    def known(self, keys: Collection[str]) -> dict[str, NameRow]:
        """Return the names in use among some keys, by key."""
        self.ahead.keys(self.connection, keys)
        return names.known(self.connection, keys)

    def called(self, first: Collection[str]) -> list[NameRow]:
        """Return the persons of some first names that only one person has."""
        self.ahead.called(self.connection, first)
        return names.called(self.connection, first)

    def subjects_among(self, rows: Collection[int]) -> set[int]:
        """Return those of some names that a document is about."""
        return graphs.are_subjects(self.connection, rows)

    def load(self, rows: Collection[int]) -> dict[int, NameRow]:
        """Return names by row."""
        return names.load(self.connection, rows)

    def members(self, heads: Collection[int]) -> dict[int, list[NameRow]]:
        """Return all names in use of entities, by the row of their head, which comes first; the others by key."""
        self.ahead.leads(self.connection, heads)
        return names.members(self.connection, heads)

    def entities(self, rows: Collection[int]) -> tuple[dict[int, int], dict[int, str]]:
        """Return (the entity of each of some names, the key of each name and entity), by row."""
        found = names.heads(self.connection, rows) if rows else []
        keys = {head: key for *_, head, key in found}
        keys.update((row, key) for row, key, *_ in found)
        return {row: head for row, _, head, _ in found}, keys

    def like(self, vectors: Float32, k: int) -> list[list[NearName]]:
        """Return the k names in use nearest to each of some vectors (n, dimension), nearest first, ties by key.

        A vector without a direction is near nothing, nor is a name that is not embedded. Of an embedding the signs of
        its values are stored. The cosine of a vector to the signs, times sqrt(pi / 2), estimates its cosine to the
        embedding, as though the embedding's values were normally distributed: of 256 values, within about 0.05.
        """
        lengths = np.linalg.norm(vectors, axis=1)
        asked = np.flatnonzero(lengths > 0)
        best: list[list[NearName]] = [[] for _ in vectors]
        if k <= 0 or not len(asked):
            return best
        dimension = vectors.shape[1]
        size = names.code_size(dimension)
        padded = np.zeros((len(asked), size * 8), dtype=np.float32)
        padded[:, :dimension] = vectors[asked] / lengths[asked, None] / sqrt(dimension)
        # What each value of each byte of a code adds to the cosine, (n, bytes, 256).
        table: Float32 = padded.reshape(len(asked), size, 8) @ _SIGNS_OF_BYTE.T
        held = self.signs.get(size)
        if held is None:
            fitting = [pair for pair in names.codes(self.connection) if len(pair[1]) == size]
            rows = np.array([row for row, _ in fitting], dtype=np.int64)
            signs = np.frombuffer(b"".join([code for _, code in fitting]), dtype=np.uint8).reshape(len(rows), size)
            alive = signs.any(axis=1)
            self.signs[size] = held = rows[alive], signs[alive]
        found, scores = nearest_signs(table, held[1], k)
        cosines = np.clip(scores * sqrt(pi / 2), -1.0, 1.0)
        for place, near, values in zip(asked.tolist(), held[0][found].tolist(), cosines.tolist(), strict=True):
            best[place] = [NearName(row, cosine) for row, cosine in zip(near, values, strict=True)]
        return best

    def starts(self, given: Sequence[NamedText]) -> list[StartText]:
        """Return texts with the names in them, in an order that depends on each text alone."""
        named = [np.frombuffer(packed, dtype=graphs.NAMED).tolist() for *_, packed, _ in given]
        own = [frozenset[int](json.loads(rows)) for *_, rows in given]
        titles = title_phrases([text for _, text, *_ in given])
        keys = set[str]().union(*titles)
        self.ahead.keys(self.connection, keys)
        subjects = graphs.known_subjects(self.connection, keys) if keys else {}
        wanted = {name for some in named for name, *_ in some}.union(*own, subjects.values())
        self.ahead.names(self.connection, wanted)
        loaded, alone = names.load_with_single(self.connection, wanted)
        # A name that nothing else uses leads back to where it stands, and is left out: it is every second one.
        alone -= self._joined_among([loaded[row] for row in alone])
        found = []
        for (title, text, *_), records, about, within in zip(given, named, own, titles, strict=True):
            begins = sentence_starts(text)
            where: dict[int, tuple[int, ...]] = {
                row: (first,) if second == NO_SENTENCE else (first, second)
                for row, first, second, _ in records
                if row in loaded and row not in alone
            }
            for key in sorted(subjects.keys() & within.keys()):
                row = subjects[key]
                if row not in where and row in loaded and loaded[row].uses > 0:
                    where[row] = (bisect_right(begins, within[key]) - 1,)
            for row in sorted([row for row in about if row in loaded], key=lambda row: loaded[row].key):
                where.setdefault(row, ())
            every, sentences = tuple([loaded[row] for row in where]), tuple(where.values())
            found.append(StartText(title, text, begins, every, sentences, tuple(map(about.__contains__, where))))
        return found

    def links(self, heads: Sequence[int]) -> LinkRequest:
        """Return the names whose links are to be read for some entities."""
        members = names.members(self.connection, heads)
        joined = self._joined(members)
        beyond = {row for some in joined.values() for row in some} - {row for some in members.values() for row in some}
        every = [*(name for some in members.values() for name in some), *sorted(beyond)]
        rare = [name.row for name in every if name.uses <= MOST_MENTIONS]
        return LinkRequest(heads, members, joined, [name.row for name in every], rare)

    def written(self, where: Mapping[int, int]) -> dict[int, tuple[str, str]]:
        """Return (entity id, name as it is written) of names, each looked for in one chunk of the file, by row.

        A name is written as in the title of that chunk's document if that is the name, else as in the chunk, else as
        its key.
        """
        heads, keys = self.entities(where)
        return as_entities(heads, keys, written(self.connection, where, keys))

    def _joined_among(self, some: Sequence[NameRow]) -> set[int]:
        """Return the rows of those of some names that relations of callers join to others."""
        rows = {one.key: one.row for one in some}
        return {rows[key] for key in assertions.joined(self.connection, rows, MOST_JOINED)}

    def _joined(self, members: Mapping[int, Sequence[NameRow]]) -> dict[int, list[NameRow]]:
        """Return the names of the entities that relations of callers join to some, by the row of their head."""
        keys = [name.key for some in members.values() for name in some]
        joined = assertions.joined(self.connection, keys, MOST_JOINED)
        if not joined:
            return {}
        known = names.known(self.connection, {key for some in joined.values() for key in some})
        named = names.members(self.connection, {one.head for one in known.values()})
        found = {}
        for head, some in members.items():
            keys = [key for name in some for key in joined.get(name.key, ())]
            heads = dict.fromkeys(known[key].head for key in keys if key in known)
            beyond = [name for other in heads if other != head for name in named.get(other, ())]
            if beyond:
                found[head] = beyond
        return found


def written(connection: Connection, where: Mapping[int, int], keys: Mapping[int, str]) -> dict[int, str]:
    """Return names as a chunk, or the title of a document about them, writes them, by number; empty if neither does.

    ``where`` has the chunk of each name, ``keys`` its key.
    """
    values = graphs.extraction_values(connection, set(where.values()))
    texts = dict(zip(values, stored_chunks.titled_texts(connection, values), strict=True))
    found = dict.fromkeys(where, "")
    sought: dict[int, dict[str, list[int]]] = {}
    for name, chunk in where.items():
        if chunk in values and name in keys:
            title = texts[chunk][0]
            if key_of(title.partition(" (")[0]) == keys[name]:
                found[name] = title
            else:
                sought.setdefault(chunk, {}).setdefault(keys[name], []).append(name)
    for chunk, wanted in sought.items():
        with extractions.decoding_of(connection, chunk):
            for one in extractions.unpack(values[chunk], texts[chunk][1]).mentions:
                # Most names are found near the beginning of the text.
                found.update((name, one.name) for name in wanted.pop(mention_key(one.name, one.kind), ()))
                if not wanted:
                    break
    return found


def as_entities(
    heads: Mapping[int, int], keys: Mapping[int, str], written: Mapping[int, str]
) -> dict[int, tuple[str, str]]:
    """Return (entity id, name as it is written, or its key) of names by row, from :meth:`Names.entities`."""
    return {
        row: (entity_id(keys.get(heads.get(row, row), "")), text or keys.get(row, "")) for row, text in written.items()
    }


def title_phrases(texts: Sequence[str]) -> list[dict[str, int]]:
    """Keys of the phrases of one sentence that may be a title, and where each stands first, of each text.

    They begin with a capital or digit, and no more than MOST_SMALL words follow each other without one; in Chinese any
    run of characters may be one.
    """
    found = compiled.title_phrases(list(texts), _SMALL_WORDS, LONGEST_TITLE, MOST_SMALL, LONGEST_KEY)
    for text, one in zip(texts, found, strict=True):
        if not text.isascii():
            for begin, _, key in unspaced_spans(text):
                one.setdefault(key, begin)
    return found


def unspaced_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, key) of runs of 2 to LONGEST_UNSPACED characters that may be names, in order of start."""
    if text.isascii():
        return
    for run in _RUN.finditer(text):
        written, begin = run.group(), run.start()
        for first in range(len(written) - 1):
            if written[first] in _EDGES:
                continue
            for last in range(first + 2, min(first + LONGEST_UNSPACED, len(written)) + 1):
                if written[last - 1] not in _EDGES:
                    yield begin + first, begin + last, _DOTS.sub(" ", written[first:last])
