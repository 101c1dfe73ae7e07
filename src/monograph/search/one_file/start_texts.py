"""The texts that a search follows links from, read out of one file."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Mapping, Sequence, Set
from typing import TypeAlias

import numpy as np

from monograph.graph.chunk_names import NO_SENTENCE
from monograph.search import titles
from monograph.search.leads import Start, StartText, start_of
from monograph.search.one_file import leads
from monograph.search.one_file.memory import SubjectKeys
from monograph.store.documents import chunks as stored_chunks
from monograph.store.file.database import Connection
from monograph.store.graph import graphs, names

NamedText: TypeAlias = tuple[str, str, bytes, str]
"""Title, text, names as bytes of :data:`monograph.store.graph.graphs.NAMED`, and the document's subjects as JSON."""


def read(connection: Connection, chunks: Sequence[int], subjects: SubjectKeys) -> dict[int, StartText]:
    """The texts of chunks and the names in them, by row, in an order that hangs on the chunks alone."""
    return dict(zip(chunks, of(connection, stored_chunks.named_texts(connection, chunks), subjects), strict=True))


def of(connection: Connection, given: Sequence[NamedText], subjects: SubjectKeys) -> list[StartText]:
    """Return start texts for rows of :func:`monograph.store.documents.chunks.named_texts`, with names of a file."""
    texts = [start_of(title, text) for title, text, *_ in given]
    named = [np.frombuffer(packed, dtype=graphs.NAMED).tolist() for *_, packed, _ in given]
    own = [frozenset[int](json.loads(rows)) for *_, rows in given]
    phrases = titles.phrases([one.text for one in texts], subjects.every(connection))
    known = subjects.rows(connection, set().union(*phrases))
    wanted = {name for some in named for name, *_ in some}.union(*own, known.values())
    subjects.ahead.names(connection, wanted)
    loaded, alone = names.load_with_single(connection, wanted)
    alone -= leads.joined_names(connection, [loaded[row] for row in alone])
    within = [_titles_within(some, known, loaded) for some in phrases]
    return [_start_text(loaded, alone, *parts) for parts in zip(texts, named, own, within, strict=True)]


def _titles_within(
    phrases: Mapping[str, int], known: Mapping[str, int], loaded: Mapping[int, names.NameRow]
) -> list[tuple[int, int]]:
    """(name, offset) of documents' subjects that stand in a text and begin with a capital or digit."""
    some = ((known[key], phrases[key]) for key in sorted(known.keys() & phrases.keys()))
    return [(row, offset) for row, offset in some if row in loaded and loaded[row].uses > 0]


def _start_text(
    loaded: Mapping[int, names.NameRow],
    alone: Set[int],
    text: Start,
    named: Sequence[tuple[int, int, int, int]],
    own: frozenset[int],
    within: Sequence[tuple[int, int]],
) -> StartText:
    """A text with the names that it is known to have, the titles within it, and what its document is about."""
    # A name that nothing else uses leads back to where it stands, and is left out: it is every second one.
    where: dict[int, tuple[int, ...]] = {
        row: (first,) if second == NO_SENTENCE else (first, second)
        for row, first, second, _ in named
        if row in loaded and row not in alone
    }
    for row, offset in within:
        if row not in where:
            where[row] = (bisect_right(text.sentences, offset) - 1,)
    for row in sorted((row for row in own if row in loaded), key=lambda row: loaded[row].key):
        where.setdefault(row, ())
    every = tuple(map(loaded.__getitem__, where))
    return StartText(text, every, tuple(where.values()), tuple(map(own.__contains__, where)))
