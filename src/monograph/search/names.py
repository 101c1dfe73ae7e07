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
from monograph.graph.chunk_names import NO_SENTENCE, is_short_form
from monograph.graph.names import LONGEST_KEY, entity_id, key_of, mention_key
from monograph.graph.text import Words, sentence_starts, word_hashes
from monograph.regex import regex
from monograph.store.documents import chunks as stored_chunks
from monograph.store.graph import assertions, extractions, graphs, names
from monograph.store.words.prefetch import Prefetcher
from monograph.text_pass import compiled
from monograph.values import Relation
from monograph.vectors.kernel import nearest_signs

if TYPE_CHECKING:
    from monograph.store.file.database import Connection
    from monograph.store.graph.graphs import SubjectChunk
    from monograph.store.graph.names import NameRow
    from monograph.values import Float32

MOST_MENTIONS = 25
"""A walk follows a name to the chunks that contain it only if the name has at most this many uses.

A use is a chunk that mentions the name, or a document about it.
"""

MOST_JOINED = 25
"""Largest number of other names to which a walk follows the asserted relations of one name. If the relations lead to
more names, the walk follows none of these relations."""

MOST_DOCUMENTS = 12
"""Largest number of chunks to which one name is linked because their documents are about the name. If there are more
such chunks, only those nearest to the beginnings of their documents are linked."""

NamedText: TypeAlias = tuple[str, str, bytes, str, tuple[Relation, ...]]
"""A chunk with its names: (title of its document, text of the chunk, names in the chunk, names its document is about,
relations that a model found in the chunk).

The names in the chunk are bytes of dtype :data:`monograph.store.graph.graphs.NAMED`. The names that the document is
about are a JSON list of their rows.
"""

Signs: TypeAlias = dict[int, tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]]
"""Signs of the values of names' embeddings, one bit per value: {number of bytes per name: (rows of the names, signs)}.

The rows are int64 (n,), the signs uint8 (n, bytes). Both are in the order of the names' keys.
"""

_SIGNS_OF_BYTE = np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1).astype(np.float32) * 2 - 1

LONGEST_TITLE = 8
"""Longest phrase, in words, that may be the title of a document."""

MOST_SMALL = 3
"""Longest run of words without a capital in a title."""

LONGEST_UNSPACED = 12
"""Longest phrase of Chinese text, in characters, that may be a name."""

_RUN = regex("[\u3400-\u4dbf\u4e00-\u9fff][\u3400-\u4dbf\u4e00-\u9fff0-9·•・]+")
_DOTS = regex("[·•・]")
_EDGES = frozenset("的了是在和与或及对于把被从到向为以并也都就不有这那其之所等个们我你他她它吗呢吧啊由·•・")
"""Chinese characters and dots with which no name begins or ends."""

_SMALL_WORDS = FUNCTION_WORDS["english"]


@dataclass(frozen=True, slots=True, eq=False)
class StatedRelation:
    """A relation that a model found in a chunk.

    ``ends`` are the positions of its source and target in :attr:`StartText.names`, ascending; an end is left out if no
    name of the start text is it. ``strength`` is above 0 and at most 1. ``words`` are the hashes of the words in its
    description and keywords, without those of its ends and of the document's title.
    """

    ends: tuple[int, ...]
    strength: float
    words: Words


@dataclass(frozen=True, slots=True, eq=False)
class StartText:
    """Text of a chunk from which a walk starts, and the names in it whose links the walk may follow.

    ``title`` is the title of the chunk's document.
    ``begins`` has the offsets at which the sentences of ``text`` begin, ascending from 0.
    ``sentences`` has, for each name, the numbers of the sentences that contain it. It is empty for a name that the
    document is about and that no sentence of the chunk contains.
    ``own`` has, for each name, whether the chunk's document is about it.
    ``relations`` are the relations of these names that a model found in the chunk.
    """

    title: str
    text: str
    begins: Sequence[int]
    names: tuple[NameRow, ...]
    sentences: tuple[tuple[int, ...], ...]
    own: tuple[bool, ...]
    relations: tuple[StatedRelation, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ChunkLinks:
    """Links of an entity to chunks. Chunks are given as rows.

    ``documents`` are chunks at the beginnings of documents about the entity.
    ``by_beginning`` has, for each chunk in ``documents``, True if the text of its document begins with the entity's
    name, and False if the title of its document has the name.
    ``rarity`` has, for each chunk in ``documents``, 1 / sqrt(number of documents about the same name). Documents that
    have the name in the title and documents that begin with the name are counted separately.
    ``others`` are the other chunks that contain a name of the entity. Names with more than MOST_MENTIONS uses do not
    count.

    Names of other entities count, too, if asserted relations join these entities to the entity.
    """

    documents: tuple[int, ...]
    by_beginning: tuple[bool, ...]
    rarity: tuple[float, ...]
    others: tuple[int, ...]


NOWHERE = ChunkLinks((), (), (), ())


@dataclass(frozen=True, slots=True, eq=False)
class LinkRequest:
    """Entities whose links are to be read, and the names that are needed to read them.

    An entity is given as the row of its head, the name that stands for the entity.
    ``heads`` are the entities.
    ``members`` has the names of each entity.
    ``joined`` has, for each entity, the names of other entities that asserted relations join to it.
    ``names`` are the rows of all names in ``members`` and ``joined``. ``rare`` are the rows in ``names`` whose
    name has at most MOST_MENTIONS uses.
    """

    heads: Sequence[int]
    members: Mapping[int, Sequence[NameRow]]
    joined: Mapping[int, Sequence[NameRow]]
    names: Sequence[int]
    rare: Sequence[int]

    def leads(self, subjects: Sequence[SubjectChunk], naming: Mapping[int, Sequence[int]]) -> dict[int, ChunkLinks]:
        """Return the links of each entity of the request, by the row of its head.

        The entities are in the order of ``heads``. ``subjects`` are the first chunks of the documents about the names
        in ``names``. ``naming`` has the rows of the chunks that contain each name in ``rare``, by the row of the name.
        """
        subjects_by_name: dict[int, list[SubjectChunk]] = {}
        for subject in subjects:
            if len(subjects_by_name.setdefault(subject.name, [])) < MOST_DOCUMENTS:
                subjects_by_name[subject.name].append(subject)
        links = dict.fromkeys(self.heads, NOWHERE)
        for head, own in self.members.items():
            name_rows = [*own, *self.joined.get(head, ())]
            about = [subject for name in name_rows for subject in subjects_by_name.get(name.row, ())]
            chunks = [chunk for name in name_rows for chunk in naming.get(name.row, ())]
            distinct = tuple(dict.fromkeys(chunks) if head in self.joined else chunks)
            if about:
                documents = tuple([subject.chunk for subject in about])
                links[head] = ChunkLinks(
                    documents,
                    tuple([not subject.by_title for subject in about]),
                    tuple([subject.documents**-0.5 for subject in about]),
                    tuple([chunk for chunk in distinct if chunk not in documents]),
                )
            elif distinct:  # The case of nearly all entities.
                links[head] = ChunkLinks((), (), (), distinct)
        return links


@dataclass(frozen=True, slots=True, eq=False)
class Names:
    """Names in one state of a file, or in the catalogue of a shelf. A name is identified by its row.

    A name is in use if a chunk mentions it or a document is about it. An entity is given as the row of its head, the
    name that stands for the entity.
    ``connection`` is in a read transaction. ``ahead`` asks the system to read pages before SQLite needs the pages.
    ``signs`` caches the signs of the embeddings for :meth:`like`. This cache is valid for one state only.
    """

    connection: Connection
    ahead: Prefetcher = field(default_factory=Prefetcher)
    signs: Signs = field(default_factory=dict)

    def known(self, keys: Collection[str]) -> dict[str, NameRow]:
        """Return the names in use that have one of the given keys, by key. Keys without such a name are left out."""
        self.ahead.keys(self.connection, keys)
        return names.known(self.connection, keys)

    def called(self, first: Collection[str]) -> list[NameRow]:
        """Return one name of each person that a first name identifies, in order of key.

        ``first`` are first names. A first name identifies a person if all persons with this first name are one entity.
        """
        self.ahead.called(self.connection, first)
        return names.called(self.connection, first)

    def subjects_among(self, rows: Collection[int]) -> set[int]:
        """Return those of ``rows`` whose name is the subject of a document."""
        return graphs.are_subjects(self.connection, rows)

    def load(self, rows: Collection[int]) -> dict[int, NameRow]:
        """Return names by row; rows that do not exist are left out."""
        return names.load(self.connection, rows)

    def members(self, heads: Collection[int]) -> dict[int, list[NameRow]]:
        """Return the names in use of each entity, by the row of the entity's head.

        In each list the head comes first, then the other names in order of key.
        """
        self.ahead.leads(self.connection, heads)
        return names.members(self.connection, heads)

    def entities(self, rows: Collection[int]) -> tuple[dict[int, int], dict[int, str]]:
        """Return ({row of each name: row of its entity's head}, {row of each name and of each head: its key})."""
        records = names.heads(self.connection, rows) if rows else []
        keys = {head: key for *_, head, key in records}
        keys.update((row, key) for row, key, *_ in records)
        return {row: head for row, _, head, _ in records}, keys

    def like(self, vectors: Float32, k: int) -> list[list[tuple[int, float]]]:
        """Return (row, estimated cosine) of the k names in use nearest to each vector, nearest first, ties by key.

        ``vectors`` is float32 (n, dimension). The cosines are in [-1, 1]. The list of a zero vector is empty, and names
        without an embedding are left out.

        Only the signs of the values of an embedding are stored. The cosine of a vector to these signs, times sqrt(pi /
        2), estimates the vector's cosine to the embedding. For 256 normally distributed values the estimate is within
        about 0.05.
        """
        lengths = np.linalg.norm(vectors, axis=1)
        nonzero = np.flatnonzero(lengths > 0)
        best: list[list[tuple[int, float]]] = [[] for _ in vectors]
        if k <= 0 or not len(nonzero):
            return best
        dimension = vectors.shape[1]
        size = names.code_size(dimension)
        padded = np.zeros((len(nonzero), size * 8), dtype=np.float32)
        padded[:, :dimension] = vectors[nonzero] / lengths[nonzero, None] / sqrt(dimension)
        # For each vector and byte of a code, the cosine that each value of the byte contributes: (n, bytes, 256).
        table: Float32 = padded.reshape(len(nonzero), size, 8) @ _SIGNS_OF_BYTE.T
        cached = self.signs.get(size)
        if cached is None:
            fitting = [pair for pair in names.codes(self.connection) if len(pair[1]) == size]
            rows = np.array([row for row, _ in fitting], dtype=np.int64)
            signs = np.frombuffer(b"".join([code for _, code in fitting]), dtype=np.uint8).reshape(len(rows), size)
            alive = signs.any(axis=1)
            self.signs[size] = cached = rows[alive], signs[alive]
        nearest, scores = nearest_signs(table, cached[1], k)
        cosines = np.clip(scores * sqrt(pi / 2), -1.0, 1.0)
        for index, near_rows, values in zip(
            nonzero.tolist(), cached[0][nearest].tolist(), cosines.tolist(), strict=True
        ):
            best[index] = list(zip(near_rows, values, strict=True))
        return best

    def starts(self, given: Sequence[NamedText]) -> list[StartText]:
        """Return the start text of each chunk, in the order of ``given``.

        The order of the names in a start text depends only on its own chunk. Names that no other chunk, document or
        relation uses may be left out.
        """
        named = [np.frombuffer(packed, dtype=graphs.NAMED).tolist() for _, _, packed, *_ in given]
        own_rows = [frozenset[int](json.loads(rows)) for *_, rows, _ in given]
        titles = title_phrases([text for _, text, *_ in given])
        keys = set[str]().union(*titles)
        self.ahead.keys(self.connection, keys)
        subjects = graphs.known_subjects(self.connection, keys) if keys else {}
        needed = {name for chunk_names in named for name, *_ in chunk_names}.union(*own_rows, subjects.values())
        self.ahead.names(self.connection, needed)
        loaded, single = names.load_with_single(self.connection, needed)
        # A name that nothing else uses leads only back to its own chunk, so leave it out. Every second name is such.
        rows = {loaded[row].key: row for row in single}
        single -= {rows[key] for key in assertions.related_names(self.connection, rows, MOST_JOINED)}
        start_texts = []
        for (title, text, _, _, found), records, own_set, phrase_offsets in zip(
            given, named, own_rows, titles, strict=True
        ):
            begins = sentence_starts(text)
            sentences_by_name: dict[int, tuple[int, ...]] = {
                row: (first,) if second == NO_SENTENCE else (first, second)
                for row, first, second, _ in records
                if row in loaded and row not in single
            }
            for key in sorted(subjects.keys() & phrase_offsets.keys()):
                row = subjects[key]
                if row not in sentences_by_name and row in loaded and loaded[row].uses > 0:
                    sentences_by_name[row] = (bisect_right(begins, phrase_offsets[key]) - 1,)
            for row in sorted([row for row in own_set if row in loaded], key=lambda row: loaded[row].key):
                sentences_by_name.setdefault(row, ())
            name_rows, sentences = tuple([loaded[row] for row in sentences_by_name]), tuple(sentences_by_name.values())
            own = tuple(map(own_set.__contains__, sentences_by_name))
            relations = stated_relations(found, title, [name.key for name in name_rows]) if found else ()
            start_texts.append(StartText(title, text, begins, name_rows, sentences, own, relations))
        return start_texts

    def links(self, heads: Sequence[int]) -> LinkRequest:
        """Return a request for the links of entities.

        The request has the names of the entities, and of the other entities that asserted relations join to these
        entities. ``heads`` are the rows of the entities' heads.
        """
        members = names.members(self.connection, heads)
        joined = self._load_joined(members)
        own_names = [name for group in members.values() for name in group]
        other_names = {name for group in joined.values() for name in group}.difference(own_names)
        name_rows = [*own_names, *sorted(other_names)]
        rare = [name.row for name in name_rows if name.uses <= MOST_MENTIONS]
        return LinkRequest(heads, members, joined, [name.row for name in name_rows], rare)

    def written(self, where: Mapping[int, int]) -> dict[int, tuple[str, str]]:
        """Return (entity id, spelling) of each name, by the row of the name; see :func:`as_entities`.

        ``where`` maps the row of each name to the row of the chunk in which its spelling is looked up: see
        :func:`written`.
        """
        heads, keys = self.entities(where)
        return as_entities(heads, keys, written(self.connection, where, keys))

    def _load_joined(self, members: Mapping[int, Sequence[NameRow]]) -> dict[int, list[NameRow]]:
        """Return, by head, the names of the other entities that asserted relations join to each entity."""
        keys = [name.key for group in members.values() for name in group]
        joined = assertions.related_names(self.connection, keys, MOST_JOINED)
        if not joined:
            return {}
        name_rows = names.known(self.connection, {key for group in joined.values() for key in group})
        named = names.members(self.connection, {name.head for name in name_rows.values()})
        joined_names = {}
        for head, group in members.items():
            keys = [key for name in group for key in joined.get(name.key, ())]
            heads = dict.fromkeys(name_rows[key].head for key in keys if key in name_rows)
            other_names = [name for other in heads if other != head for name in named.get(other, ())]
            if other_names:
                joined_names[head] = other_names
        return joined_names


def stated_relations(relations: Sequence[Relation], title: str, keys: Sequence[str]) -> tuple[StatedRelation, ...]:
    """Return the relations of a chunk that have a describing word and an end among some names.

    ``keys`` are the keys of the names. An end is the name with its key, or else the only name of which it is a short
    form. ``title`` is the title of the chunk's document.
    """
    positions = {key: index for index, key in enumerate(keys)}

    def find(name: str) -> int | None:
        key = key_of(name)
        full = [] if key in positions else [index for index, other in enumerate(keys) if is_short_form(key, other)]
        return full[0] if len(full) == 1 else positions.get(key)

    stated = []
    for relation in relations:
        described = " ".join((relation.description, *relation.keywords))
        words, of_ends = word_hashes([described, " ".join((relation.source, relation.target, title))])
        ends = {end for name in (relation.source, relation.target) if (end := find(name)) is not None}
        telling = np.setdiff1d(words, of_ends, assume_unique=True)
        if ends and len(telling):
            stated.append(StatedRelation(tuple(sorted(ends)), relation.strength, telling))
    return tuple(stated)


def written(connection: Connection, where: Mapping[int, int], keys: Mapping[int, str]) -> dict[int, str]:
    """Return the spelling of each name in a chunk, by the row of the name; an empty text if the chunk lacks the name.

    ``where`` maps the row of each name to the row of the chunk. ``keys`` has the key of each name by row. If the title
    of the chunk's document is the name, the title is returned as the spelling. Otherwise the spelling in the chunk's
    text is returned.
    """
    values = graphs.extraction_values(connection, set(where.values()))
    texts = dict(zip(values, stored_chunks.titled_texts(connection, values), strict=True))
    spellings = dict.fromkeys(where, "")
    sought: dict[int, dict[str, list[int]]] = {}
    for name, chunk in where.items():
        if chunk in values and name in keys:
            title = texts[chunk][0]
            if key_of(title.partition(" (")[0]) == keys[name]:
                spellings[name] = title
            else:
                sought.setdefault(chunk, {}).setdefault(keys[name], []).append(name)
    for chunk, missing in sought.items():
        with extractions.decoding_of(connection, chunk):
            for mention in extractions.unpack(values[chunk], texts[chunk][1]).mentions:
                # Most names are found near the beginning of the text, so stop once none is missing.
                spellings.update(
                    (name, mention.name) for name in missing.pop(mention_key(mention.name, mention.kind), ())
                )
                if not missing:
                    break
    return spellings


def as_entities(
    heads: Mapping[int, int], keys: Mapping[int, str], written: Mapping[int, str]
) -> dict[int, tuple[str, str]]:
    """Return (entity id, spelling) of each name in ``written``, by the row of the name.

    ``written`` has the spelling of each name by row. If a spelling is empty, the name's key is returned in its place.
    ``heads`` and ``keys`` are the two mappings that :meth:`Names.entities` returns.
    """
    return {
        row: (entity_id(keys.get(heads.get(row, row), "")), text or keys.get(row, "")) for row, text in written.items()
    }


def title_phrases(texts: Sequence[str]) -> list[dict[str, int]]:
    """Return, for each text, the keys of the phrases that may be a title, each with the offset of its first occurrence.

    A phrase is in one sentence and begins with a capital or a digit. At most MOST_SMALL of its words in a row may lack
    a capital or digit. In Chinese text, any run of characters may be a title.
    """
    phrases = compiled.title_phrases(list(texts), _SMALL_WORDS, LONGEST_TITLE, MOST_SMALL, LONGEST_KEY)
    for text, offsets in zip(texts, phrases, strict=True):
        if not text.isascii():
            for begin, _, key in chinese_spans(text):
                offsets.setdefault(key, begin)
    return phrases


def chinese_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, key) of the spans of Chinese characters that may be names, in order of start.

    A span has 2 to LONGEST_UNSPACED characters. Spans overlap.
    """
    if text.isascii():
        return
    for run in _RUN.finditer(text):
        characters, begin = run.group(), run.start()
        for first in range(len(characters) - 1):
            if characters[first] in _EDGES:
                continue
            for last in range(first + 2, min(first + LONGEST_UNSPACED, len(characters)) + 1):
                if characters[last - 1] not in _EDGES:
                    yield begin + first, begin + last, _DOTS.sub(" ", characters[first:last])
