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
"""A name with more uses is not followed to the chunks that have it."""

MOST_JOINED = 25
"""A name that asserted relations join to more other names is not followed along them."""

MOST_DOCUMENTS = 12
"""Most chunks of documents about a name that are linked to it: for many homonyms, the first chunks."""

NamedText: TypeAlias = tuple[str, str, bytes, str]
"""(title, text, names as bytes of :data:`monograph.store.graph.graphs.NAMED`, rows of the document's subjects as
JSON)."""

Signs: TypeAlias = dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]]
"""By the number of bytes of a code: (rows of names, int64 (n,), and signs of their embeddings as bits, uint8 (n,
bytes)), in order of key."""

_SIGNS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32) * 2 - 1

LONGEST_TITLE = 8
"""Most words of a title that is looked for in a text."""

MOST_SMALL = 3
"""Most words without a capital that may follow each other in a title."""

LONGEST_UNSPACED = 12
"""Most characters of a name that is looked for in Chinese text."""

_RUN = regex("[\u3400-\u4dbf\u4e00-\u9fff][\u3400-\u4dbf\u4e00-\u9fff0-9·•・]+")
_DOTS = regex("[·•・]")
_EDGES = frozenset("的了是在和与或及对于把被从到向为以并也都就不有这那其之所等个们我你他她它吗呢吧啊由·•・")
"""Characters that no name begins or ends with."""

_SMALL_WORDS = FUNCTION_WORDS["english"]


@dataclass(frozen=True, slots=True)
class NearName:
    """Row of a name, and the estimated cosine of its embedding to a vector, in [-1, 1]."""

    name: int
    cosine: float


@dataclass(frozen=True, slots=True, eq=False)
class StartText:
    """Text of a chunk from which a walk starts, and the names in it whose links may be followed.

    Parameters
    ----------
    title, text:
        The document's title, and the chunk's text.
    begins:
        Offsets at which the sentences of the text begin, ascending; the first is 0.
    names:
        The names.
    sentences:
        For each name, the numbers of the sentences that contain it; empty if no sentence does.
    own:
        For each name, whether the chunk's document is about it.
    """

    title: str
    text: str
    begins: Sequence[int]
    names: tuple[NameRow, ...]
    sentences: tuple[tuple[int, ...], ...]
    own: tuple[bool, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Leads:
    """Links of an entity to chunks, as rows.

    Parameters
    ----------
    documents:
        Chunks of documents about the entity.
    by_beginning:
        For each of ``documents``, whether the document names the entity only at its beginning, not in its title.
    rarity:
        For each of ``documents``, 1 / sqrt(number of documents about the name).
    others:
        All other chunks that name the entity.
    """

    documents: tuple[int, ...]
    by_beginning: tuple[bool, ...]
    rarity: tuple[float, ...]
    others: tuple[int, ...]


NOWHERE = Leads((), (), (), ())


@dataclass(frozen=True, slots=True, eq=False)
class LinkRequest:
    """Entities whose links are to be read, and all the names needed for that.

    Parameters
    ----------
    heads:
        Rows of the entities' heads.
    members:
        The names of each entity, by the row of its head.
    joined:
        The names of other entities that asserted relations join to each entity, by the row of its head.
    names:
        Rows of all these names.
    rare:
        Rows of the names with at most MOST_MENTIONS uses.
    """

    heads: Sequence[int]
    members: Mapping[int, Sequence[NameRow]]
    joined: Mapping[int, Sequence[NameRow]]
    names: Sequence[int]
    rare: Sequence[int]

    def leads(self, subjects: Sequence[SubjectChunk], naming: Mapping[int, Sequence[int]]) -> dict[int, Leads]:
        """Return the links of each entity, by the row of its head, in the order of ``heads``.

        ``subjects`` are the chunks of documents about the names; ``naming`` has the chunks that name each rare name.
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
    """Return the links of an entity: to chunks of documents about it, and to other chunks that name it."""
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
    """Names in one state of a file, or in the catalogue of a shelf. Names are identified by their rows there.

    Parameters
    ----------
    connection:
        A connection in a read transaction.
    ahead:
        Announces pages that are about to be read.
    signs:
        Cache of the embeddings' signs for :meth:`like`, for this state only.
    """

    connection: Connection
    ahead: Prefetcher = field(default_factory=Prefetcher)
    signs: Signs = field(default_factory=dict)

    def known(self, keys: Collection[str]) -> dict[str, NameRow]:
        """Return the names that have one of the keys and are in use, by key."""
        self.ahead.keys(self.connection, keys)
        return names.known(self.connection, keys)

    def called(self, first: Collection[str]) -> list[NameRow]:
        """Return the person names that begin with one of these first names, if only one person has that first name."""
        self.ahead.called(self.connection, first)
        return names.called(self.connection, first)

    def subjects_among(self, rows: Collection[int]) -> set[int]:
        """Return the rows of the names that a document is about."""
        return graphs.are_subjects(self.connection, rows)

    def load(self, rows: Collection[int]) -> dict[int, NameRow]:
        """Return names by row; rows that do not exist are left out."""
        return names.load(self.connection, rows)

    def members(self, heads: Collection[int]) -> dict[int, list[NameRow]]:
        """Return all names in use of each entity, by the row of its head.

        The head itself comes first, the other names in order of key.
        """
        self.ahead.leads(self.connection, heads)
        return names.members(self.connection, heads)

    def entities(self, rows: Collection[int]) -> tuple[dict[int, int], dict[int, str]]:
        """Return (row of the entity of each name, key of each name and of each entity), both by row."""
        found = names.heads(self.connection, rows) if rows else []
        keys = {head: key for *_, head, key in found}
        keys.update((row, key) for row, key, *_ in found)
        return {row: head for row, _, head, _ in found}, keys

    def like(self, vectors: Float32, k: int) -> list[list[NearName]]:
        """Return the k names in use that are nearest to each vector, nearest first, ties by key.

        ``vectors`` is float32 (n, dimension). A vector of zeros has no near names, and a name without an embedding is
        near nothing. Only the signs of an embedding's values are stored. The cosine of a vector to the signs, times
        sqrt(pi / 2), estimates its cosine to the embedding if the embedding's values were normally distributed: within
        about 0.05 for 256 values.
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
        # For each vector and byte of a code, the cosine that each value of the byte contributes: (n, bytes, 256).
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
        """Return the start texts of chunks, in order. The order of a text's names depends on that text alone."""
        named = [np.frombuffer(packed, dtype=graphs.NAMED).tolist() for *_, packed, _ in given]
        own = [frozenset[int](json.loads(rows)) for *_, rows in given]
        titles = title_phrases([text for _, text, *_ in given])
        keys = set[str]().union(*titles)
        self.ahead.keys(self.connection, keys)
        subjects = graphs.known_subjects(self.connection, keys) if keys else {}
        wanted = {name for some in named for name, *_ in some}.union(*own, subjects.values())
        self.ahead.names(self.connection, wanted)
        loaded, alone = names.load_with_single(self.connection, wanted)
        # A name that nothing else uses leads only back to its own chunk, so leave it out. Every second name is such.
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
        """Return the request for the links of some entities: their names, and those joined by asserted relations."""
        members = names.members(self.connection, heads)
        joined = self._joined(members)
        beyond = {row for some in joined.values() for row in some} - {row for some in members.values() for row in some}
        every = [*(name for some in members.values() for name in some), *sorted(beyond)]
        rare = [name.row for name in every if name.uses <= MOST_MENTIONS]
        return LinkRequest(heads, members, joined, [name.row for name in every], rare)

    def written(self, where: Mapping[int, int]) -> dict[int, tuple[str, str]]:
        """Return (entity id, written form of the name) by row of the name.

        ``where`` gives for each name the chunk of this file in which it is looked up. The form is the title of that
        chunk's document if the title is the name, else the form in the chunk, else the name's key.
        """
        heads, keys = self.entities(where)
        return as_entities(heads, keys, written(self.connection, where, keys))

    def _joined_among(self, some: Sequence[NameRow]) -> set[int]:
        """Return the rows of the names that asserted relations join to other names."""
        rows = {one.key: one.row for one in some}
        return {rows[key] for key in assertions.joined(self.connection, rows, MOST_JOINED)}

    def _joined(self, members: Mapping[int, Sequence[NameRow]]) -> dict[int, list[NameRow]]:
        """Return the names of the entities that asserted relations join to each entity, by the entity's head."""
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
    """Return the spelling of each name in a chunk, by the row of the name; an empty text if the chunk lacks the name.

    ``where`` gives the row of the chunk in which each name is looked up, and ``keys`` the key of each name. If the
    title of the chunk's document is the name, the spelling is that of the title, else that of the chunk's text.
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
                # Most names are found near the beginning of the text, so stop once none is missing.
                found.update((name, one.name) for name in wanted.pop(mention_key(one.name, one.kind), ()))
                if not wanted:
                    break
    return found


def as_entities(
    heads: Mapping[int, int], keys: Mapping[int, str], written: Mapping[int, str]
) -> dict[int, tuple[str, str]]:
    """Return (entity id, written form or else key) of names by row; see :meth:`Names.entities` for the arguments."""
    return {
        row: (entity_id(keys.get(heads.get(row, row), "")), text or keys.get(row, "")) for row, text in written.items()
    }


def title_phrases(texts: Sequence[str]) -> list[dict[str, int]]:
    """Return, for each text, the keys of phrases that may be a title, with the offset of the first occurrence.

    A phrase is in one sentence, begins with a capital or digit, and has at most MOST_SMALL words without one in a row.
    In Chinese, any run of characters may be a title.
    """
    found = compiled.title_phrases(list(texts), _SMALL_WORDS, LONGEST_TITLE, MOST_SMALL, LONGEST_KEY)
    for text, one in zip(texts, found, strict=True):
        if not text.isascii():
            for begin, _, key in unspaced_spans(text):
                one.setdefault(key, begin)
    return found


def unspaced_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, key) of runs of 2 to LONGEST_UNSPACED Chinese characters that may be names, by start."""
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
